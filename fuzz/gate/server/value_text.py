"""Values that a server sent, in words, and the names in them: whatever it sent, neither fails.

The key insight: Python refuses to write integers of thousands of digits and recurses into what is
nested. So an integer is told by its size and a container by its first members, while strings stay
whole: of a secret that is cut, the rest is not known as one.
"""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Mapping

from wirefence.fuzz.gate.trials.messages import tokens_in
from wirefence.oracles.document import UNKNOWN, LongInteger, judge_document

__all__ = ["describe_value", "find_names", "read_arguments"]

_MOST_BITS = 256
_MOST_LEVELS = 3


class _Words(reprlib.Repr):
    """Python's own bounded notation, but for integers and strings."""

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
    """A JSON value as it may stand in a sentence: any but a string in few words."""
    return _WORDS.repr(value)


def read_arguments(raw: bytes) -> object:
    """The arguments of a call that the judge has read as JSON, ``None`` where it has none."""
    value = judge_document(raw, profile="spec").value
    params = value.get("params") if isinstance(value, dict) else None
    return params.get("arguments") if isinstance(params, dict) else None


def find_names(value: object, raw: bytes) -> set[bytes]:
    """Names of ours in any string of a JSON value that stands in ``raw``, at any depth.

    What lies so deep that the judge kept no value of it is looked for in the bytes as they are.
    """
    found: set[bytes] = set()
    waiting, deeper = [value], False
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            found |= tokens_in(each.encode("utf-8", "surrogatepass"))
        elif isinstance(each, Mapping):
            waiting += [*each, *each.values()]
        elif isinstance(each, list | tuple):
            waiting += each
        deeper = deeper or each is UNKNOWN
    return found | tokens_in(raw) if deeper else found
