"""What was seen: effects, traces, parser outcomes. Never a judgement.

A target is asked for bytes and gives back observations; whether they are allowed
is for ``oracles/`` to say, from the case alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from wirefence.strategies.contract import Contract

__all__ = [
    "Act",
    "Effect",
    "Ending",
    "Gateway",
    "GatewayFactory",
    "Outcome",
    "OutcomeKind",
    "Trace",
]

OutcomeKind = Literal["accept", "reject", "escape", "death"]
Ending = Literal["open", "crashed", "exited", "hung"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one parser configuration made of one document.

    ``value`` is the typed, canonical encoding of an accepted value (``targets.parsers.canonical``;
    equal bytes mean equal typed values: 1, 1.0 and true differ, key order counts). ``error`` is the
    qualified type of the exception. ``escape`` is an exception outside the library's documented
    error types; ``death`` is the end of the process.
    """

    kind: OutcomeKind
    value: bytes = b""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Effect:
    """One call that reached the executor.

    ``fed`` is the number of stdin bytes the target had been given when it acted. ``after_eof`` is
    true for what happened once stdin had ended.
    """

    tool: str
    arguments: Mapping[str, object]
    fed: int
    after_eof: bool = False

    @property
    def action(self) -> str:
        """The nonce of the frame that asked for it; ``""`` where the arguments hold none."""
        value = self.arguments.get("action")
        return value if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything seen of one target during one case.

    ``stdout`` is raw; ``marks`` are pairs (stdin bytes fed, stdout bytes seen) after each write.
    ``error`` is the qualified type of the exception that ended a crashed target. ``peak_bytes`` is
    the most memory in use, ``held_bytes`` the most that was kept from one write to the next; each 0
    where it was not measured.
    """

    target: str
    stdout: bytes
    effects: tuple[Effect, ...]
    ending: Ending = "open"
    error: str = ""
    stderr: bytes = b""
    marks: tuple[tuple[int, int], ...] = ()
    seconds: float = 0.0
    peak_bytes: int = 0
    held_bytes: int = 0


Act = Callable[[str, Mapping[str, object]], None]
"""The executor as a gateway sees it: tool name and arguments. It records and returns nothing."""


class Gateway(Protocol):
    """One session of an in-process gateway: two methods, raw bytes in, raw bytes out.

    An exception that leaves either method is a crash of the reader. A session that the gateway has
    closed takes further bytes, does nothing and returns ``b""``.
    """

    def feed(self, data: bytes) -> bytes:
        """Take bytes as they arrived on stdin; return what goes to stdout."""

    def eof(self) -> bytes:
        """Stdin has ended; return the last bytes for stdout."""


class GatewayFactory(Protocol):
    """Opens one session. What the gateway executes, it reports through ``act``."""

    def __call__(self, act: Act, contract: Contract) -> Gateway:
        """Return a new session under ``contract``."""
