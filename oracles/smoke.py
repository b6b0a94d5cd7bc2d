"""Oracle *smoke*: what every client relies on, before any bad frame is sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wirefence.oracles.deviation_table import NONE
from wirefence.oracles.records import Finding, make_finding

__all__ = ["check_end", "check_tools"]


def check_tools(target: str, listed: Sequence[str], expected: Sequence[str]) -> Iterator[Finding]:
    """Yield a finding for each expected tool that a server does not list."""
    for name in expected:
        if name not in listed:
            has = ", ".join(listed) or "none"
            text = f"tools/list has no tool {name!r}; it has {has}"
            yield make_finding("smoke", "smoke-tool", target, name, text)


def check_end(  # noqa: PLR0913 - what was seen of one end
    target: str, *, missing: int, owed: int, exited: bool, status: str, seconds: float
) -> Iterator[Finding]:
    """Yield what is wrong with a server whose stdin ended right after a good session.

    ``missing`` of ``owed`` replies did not come. ``exited`` says that it ended by itself within
    ``seconds``, with ``status`` unless that was in order (``""``).
    """
    if missing:
        text = f"{missing} of {owed} replies were lost at the end of stdin"
        yield make_finding("smoke", "smoke-lost", target, NONE, text)
    if not exited:
        text = f"still running {seconds:g} s after its stdin ended"
        yield make_finding("smoke", "smoke-exit:stays", target, NONE, text)
    elif status:
        text = f"{status} after its stdin ended"
        yield make_finding("smoke", "smoke-exit:status", target, status, text)
