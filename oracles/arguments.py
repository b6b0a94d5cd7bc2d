"""Compare the arguments of two calls as typed values: 1, 1.0 and true differ."""

from __future__ import annotations

import marshal
import math
from collections.abc import Mapping
from typing import Any

from wirefence.oracles.document import UNKNOWN, LongInteger

__all__ = ["same_arguments"]


def same_arguments(said: Mapping[str, object], done: Mapping[str, object]) -> bool:
    """Whether two argument objects are equal as typed values: 1, 1.0 and true differ.

    The order of names is not compared, at any depth: what acts takes names, not positions.
    """
    try:
        if _encode_call(said) == _encode_call(done):
            return True
    except ValueError:  # nested too deeply for marshal, or a type that it does not know
        pass
    return _is_same_call(said, done)


def _encode_call(arguments: Mapping[str, Any]) -> bytes:
    return marshal.dumps(dict(arguments), 2)


def _is_same_call(one: object, other: object) -> bool:
    """Compare value by value, with a list in place of the stack that deep nesting would blow."""
    pairs: list[tuple[Any, Any]] = [(one, other)]
    while pairs:
        a, b = pairs.pop()
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            if a.keys() != b.keys():
                return False
            pairs += [(a[name], b[name]) for name in a]
        elif isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return False
            pairs += zip(a, b, strict=True)
        elif a is UNKNOWN or (isinstance(a, LongInteger) and isinstance(b, int)):
            continue  # the judge keeps no value to compare with
        elif a != b or _name_kind(a) != _name_kind(b):
            return False
    return True


def _name_kind(value: object) -> object:
    """What tells equal scalars apart: true from 1 from 1.0, and 0.0 from -0.0."""
    if isinstance(value, float):
        return math.copysign(1.0, value)
    return type(value) if isinstance(value, (bool, int)) else None
