"""Describe values that a server sent, whatever it sent.

Python refuses to write integers of thousands of digits and recurses into nested containers. So an
integer is described by its size and a container by its first members. Strings stay whole, as a
secret that is cut would no longer be recognized and redacted.
"""

from __future__ import annotations

import reprlib
import sys

from wirefence.oracles.document import UNKNOWN, LongInteger

__all__ = ["describe_value"]

_MOST_BITS = 256
"""Integers up to this size are written in digits, at most 78."""
_MOST_LEVELS = 3
"""Levels of nesting that are written; deeper values are elided."""


class _Words(reprlib.Repr):
    """Python's bounded repr, with rules of its own for integers and strings."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = _MOST_LEVELS
        self.maxstring = sys.maxsize

    def repr_int(self, x: int, level: int) -> str:
        del level
        bits = x.bit_length()
        return repr(x) if bits < _MOST_BITS else f"an integer of {bits:,} bits"

    def repr_instance(self, x: object, level: int) -> str:
        if isinstance(x, LongInteger):
            return f"an integer of {len(x.token.lstrip('-')):,} digits"
        return "..." if x is UNKNOWN else super().repr_instance(x, level)


_WORDS = _Words()


def describe_value(value: object) -> str:
    """Return a JSON value as short text for a sentence; strings stay whole."""
    return _WORDS.repr(value)
