"""Which optional packages a command needs, and the sentence for a user who lacks them.

The base installation serves ``gate``, the pytest plugin and the strategies. Whatever judges parsers
needs the extra ``parsers``; coverage-guided fuzzing needs ``coverage``, which includes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.util import find_spec

from wirefence.fuzz.errors import UsageError

__all__ = ["EXTRAS", "has_extra", "require_extra", "require_for_targets"]

_PARSERS = (
    *("jiter", "msgspec", "orjson", "pydantic", "pydantic_core", "rapidjson", "simplejson"),
    "ujson",
)
EXTRAS = {"parsers": _PARSERS, "coverage": ("atheris", *_PARSERS)}
"""The modules that each extra brings. pysimdjson is no part: no wheel exists for Python 3.14."""

_ELSEWHERE = {
    "atheris": " (atheris has wheels for Linux on x86-64 only)",
    "simdjson": " (pysimdjson has no wheel for Python 3.14)",
}
"""Modules that are missing on some machines whatever one types."""

_JUDGE_ALL = frozenset({"parsers", "gateway", "gateway/spec", "process"})
"""Targets that stand for every parser; ``process`` is that of a campaign's own worker."""


def has_extra(extra: str) -> bool:
    """Return whether everything of an extra is installed."""
    return not _missing_modules(EXTRAS[extra])


def require_extra(extra: str, purpose: str) -> None:
    """Raise UsageError with the command to type where ``purpose`` lacks an extra."""
    _require_modules(EXTRAS[extra], extra, purpose)


def require_for_targets(targets: Iterable[str]) -> None:
    """Raise UsageError where targets, as users or reproducers name them, lack the parsers."""
    for target in targets:
        if target in _JUDGE_ALL:
            require_extra("parsers", f"the target {target!r}")
        elif (library := _library_of(target)) in (*_PARSERS, "simdjson"):
            _require_modules((library,), "parsers", f"the target {target!r}")


def _library_of(target: str) -> str:
    """Return the module that a parser's name, or a gateway's, begins with; ``""`` if neither."""
    name = target.removeprefix("parser:").removeprefix("gateway/")
    if ":" in name:  # planted:NAME, module:factory
        return ""
    return re.split(r"[\[/]", name, maxsplit=1)[0].replace("-", "_")


def _require_modules(modules: Iterable[str], extra: str, purpose: str) -> None:
    missing = _missing_modules(modules)
    if missing:
        notes = "".join(_ELSEWHERE.get(name, "") for name in missing)
        raise UsageError(
            f"{purpose} needs the extra '{extra}' (not installed: {', '.join(missing)})",
            f"type: pip install 'wirefence[{extra}]'{notes}",
        )


def _missing_modules(modules: Iterable[str]) -> list[str]:
    return [name for name in modules if find_spec(name) is None]
