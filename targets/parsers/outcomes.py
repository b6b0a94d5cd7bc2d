"""What parsers make of a document: the hot loop of every comparison.

Outcomes are compared far more often than they are looked at, so a value is kept as
its canonical bytes, and nothing is described that does not differ.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

from wirefence.targets.parsers.canonical import encode_value
from wirefence.targets.parsers.configs import ParserConfig
from wirefence.targets.records import Outcome

__all__ = ["DEPTH", "at_depth", "is_dangerous", "outcome_of", "outcomes_of"]

P = ParamSpec("P")
T = TypeVar("T")

DEPTH = 1_000
"""Python frames left to a parser, whoever calls it: what deep nesting does depends on it."""

_BRACKETS = 900


def is_dangerous(raw: bytes) -> bool:
    """Whether a document nests so deeply that it may overflow a stack: run it elsewhere.

    A strict configuration never gets that far: its prescan counts the brackets first.
    """
    return len(raw) > _BRACKETS and raw.count(b"[") + raw.count(b"{") > _BRACKETS


def outcome_of(config: ParserConfig, raw: bytes) -> Outcome:
    """What one configuration makes of one document."""
    return outcomes_of((config,), raw)[0]


def outcomes_of(configs: Sequence[ParserConfig], raw: bytes) -> list[Outcome]:
    """What each configuration makes of one document, in order.

    Any exception is an outcome, also those that are no ``Exception`` (a panic of a Rust library);
    KeyboardInterrupt and SystemExit go on.
    """
    return at_depth(_read_outcomes, configs, raw)


def at_depth(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function with :data:`DEPTH` frames above its own, in whatever thread this is."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(_count_frames() + 1 + DEPTH)
    try:
        return function(*args, **kwargs)
    finally:
        sys.setrecursionlimit(limit)


def _read_outcomes(configs: Sequence[ParserConfig], raw: bytes) -> list[Outcome]:
    accepted: list[Outcome] = []
    return [_read_outcome(config, raw, accepted) for config in configs]


def _read_outcome(config: ParserConfig, raw: bytes, accepted: list[Outcome]) -> Outcome:
    """One outcome; ``accepted`` are those of other parsers, since one that is equal will do."""
    try:
        value = config.parse(raw)
    except config.documented as error:
        return Outcome("reject", b"", _name_error(error))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - what escapes is what is looked for
        return Outcome("escape", b"", _name_error(error))
    packed = encode_value(value)
    for seen in accepted:
        if seen.value == packed:
            return seen
    accepted.append(Outcome("accept", packed))
    return accepted[-1]


def _name_error(error: BaseException) -> str:
    kind = type(error)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _count_frames() -> int:
    frame, depth = sys._getframe(), 0
    while (before := frame.f_back) is not None:
        frame, depth = before, depth + 1
    return depth
