"""Compare two accepted values: find the first place, in document order, where they differ.

Canonical values are in marshal's format, but marshal.loads fails at the depth of some inputs. So
containers are decoded without recursion, and only scalars with marshal.
"""

from __future__ import annotations

import marshal
import struct
from dataclasses import dataclass

__all__ = ["format_value", "name_value_effect"]

_INT = struct.Struct("<i")
_SIZES = {b"N": 1, b"T": 1, b"F": 1, b"i": 5, b"g": 9}
_ULPS = 2.0**-48
"""Relative difference below which two floats count as one number with different rounding."""
_SHOWN = 120
"""Characters of a value in a report."""


@dataclass(frozen=True, slots=True)
class _List:
    items: list[object]


@dataclass(frozen=True, slots=True)
class _Object:
    names: list[object]
    items: list[object]


@dataclass(frozen=True, slots=True)
class _Other:
    text: bytes


def name_value_effect(old: bytes, new: bytes) -> str:
    """Name the first difference of two canonical values: one of the effects of accepted values.

    Returns ``""`` for equal values.
    """
    if old == new:
        return ""
    pending = [(_decode_value(old), _decode_value(new))]
    while pending:
        a, b = pending.pop()
        effect = _name_effect(a, b)
        if effect:
            return effect
        if isinstance(a, _List | _Object) and isinstance(b, _List | _Object):
            pending += reversed(list(zip(a.items, b.items, strict=True)))
    return "type"


def _name_effect(a: object, b: object) -> str:
    if isinstance(a, _List) and isinstance(b, _List):
        return "" if len(a.items) == len(b.items) else "members"
    if isinstance(a, _Object) and isinstance(b, _Object):
        return _name_member_effect(a.names, b.names)
    if type(a) is not type(b):
        numbers = {int, float}
        return "number-type" if {type(a), type(b)} == numbers else "type"
    if isinstance(a, float) and isinstance(b, float):
        return _name_float_effect(a, b)
    if a == b:
        return ""
    return {int: "number-value", str: "string"}.get(type(a), "type")


def _name_member_effect(a: list[object], b: list[object]) -> str:
    if a == b:
        return ""
    if len(a) != len(b):
        return "members"
    return "order" if sorted(map(repr, a)) == sorted(map(repr, b)) else "name"


def _name_float_effect(a: float, b: float) -> str:
    if struct.pack("<d", a) == struct.pack("<d", b):
        return ""
    if a == b:
        return "zero-sign"
    near = abs(a - b) <= max(abs(a), abs(b)) * _ULPS or max(abs(a), abs(b)) < 1e-300
    return "float-rounding" if near else "number-value"


def _decode_value(encoded: bytes) -> object:
    """The value as records of lists, so that order and equal names are kept."""
    root: list[object] = []
    open_: list[tuple[list[object], int]] = [(root, 1)]  # items so far, and how many are due
    at = 0
    while open_:
        items, due = open_[-1]
        if len(items) == due:
            open_.pop()
            continue
        code = encoded[at : at + 1]
        if code == b"0":
            open_.pop()
            at += 1
            continue
        if code in (b"[", b"{"):
            at = _open_container(code, encoded, at, open_)
            continue
        size = _scalar_size(code, encoded, at)
        items.append(_decode_scalar(encoded[at : at + size]))
        at += size
    return _build_containers(root[0])


def _open_container(
    code: bytes, encoded: bytes, at: int, open_: list[tuple[list[object], int]]
) -> int:
    """Begin a container: its items go into a list that is put into place at once."""
    items: list[object] = []
    open_[-1][0].append((code, items))
    if code == b"{":
        open_.append((items, -1))
        return at + 1
    open_.append((items, _INT.unpack_from(encoded, at + 1)[0]))
    return at + 5


def _scalar_size(code: bytes, encoded: bytes, at: int) -> int:
    if code in _SIZES:
        return _SIZES[code]
    (count,) = _INT.unpack_from(encoded, at + 1)
    return 5 + (2 * abs(count) if code == b"l" else int(count))


def _decode_scalar(encoded: bytes) -> object:
    if encoded[:1] == b"?":
        return _Other(encoded[5:])
    return marshal.loads(encoded)  # noqa: S302 - a scalar by its code, whoever wrote it


def _build_containers(root: object) -> object:
    """Turn pairs of code and items into records, innermost last, without recursion."""
    out: list[object] = []
    pending: list[tuple[object, list[object]]] = [(root, out)]
    while pending:
        value, into = pending.pop()
        if not isinstance(value, tuple):
            into.append(value)
            continue
        code, items = value
        held: list[object] = []
        if code == b"[":
            into.append(_List(held))
            pending += [(item, held) for item in reversed(items)]
        else:
            into.append(_Object(items[::2], held))
            pending += [(item, held) for item in reversed(items[1::2])]
    return out[0]


def format_value(encoded: bytes, limit: int = _SHOWN) -> str:
    """A short text of a canonical value in Python's spelling; its size where it is too deep."""
    try:
        value = marshal.loads(encoded)  # noqa: S302 - refuses what it does not know
        text = ascii(value) if _has_lone_surrogate(encoded) else repr(value)
    except (ValueError, TypeError, EOFError, RecursionError):
        return _format_size(encoded)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text):,} characters)"


def _has_lone_surrogate(encoded: bytes) -> bool:
    """Whether a string may hold half a surrogate pair, which no terminal shows."""
    return b"\xed" in encoded


def _format_size(encoded: bytes) -> str:
    depth = len(encoded) - len(encoded.lstrip(b"[\x01\x00"))
    if encoded[:1] == b"?":
        return encoded[5 : 5 + _SHOWN].decode(errors="replace")
    if depth > 1_000:
        return f"a list nested about {depth // 5:,} deep"
    kind = {b"l": "an integer", b"[": "a list", b"{": "an object"}.get(encoded[:1], "a value")
    return f"{kind} of {len(encoded):,} bytes in memory"
