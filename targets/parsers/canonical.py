"""Typed canonical bytes: equal bytes exactly when two parsed values are equal with their types.

Marshal version 2 is typed, ordered and has no back references, so its bytes depend on the value
alone. It refuses deep nesting and keeps NaN payloads; for those an iterative writer emits the
same format, so a value has one encoding whichever path wrote it.
"""

import marshal
import math
import re
import struct
from collections.abc import Iterator
from typing import Any

_MAYBE_NAN = re.compile(rb"g.{6}[\xf0-\xff][\x7f\xff]", re.DOTALL)
_NAN = b"g" + struct.pack("<d", float("nan"))


def encode_value(value: Any) -> bytes:
    """Encode a value of None, bool, int, float, str, list and dict; TypeError for other objects."""
    try:
        fast = marshal.dumps(value, 2)
    except ValueError:
        return _encode_iteratively(value)
    return _encode_iteratively(value) if _MAYBE_NAN.search(fast) else fast


def _encode_iteratively(root: object) -> bytes:
    out: list[bytes] = []
    pending: list[object] = [root]
    end = object()
    while pending:
        value = pending.pop()
        if value is end:
            out.append(b"0")
        elif type(value) is list:
            out.append(b"[" + struct.pack("<i", len(value)))
            pending.extend(reversed(value))
        elif type(value) is dict:
            out.append(b"{")
            pending.append(end)
            for key, member in reversed(value.items()):
                pending += (member, key)
        else:
            out.append(_encode_scalar(value))
    return b"".join(out)


def _encode_scalar(value: Any) -> bytes:
    if type(value) is float and math.isnan(value):
        return _NAN
    if value is None or type(value) in (bool, int, float, str):
        return marshal.dumps(value, 2)
    raise TypeError(f"no canonical form for {type(value).__qualname__}")


def decode_value(encoded: bytes) -> object:
    """Return the value `encode_value` wrote; ValueError where it nests too deeply for marshal.

    Its limit is about 2000.
    """
    return marshal.loads(encoded)  # noqa: S302 - only bytes this module wrote


_SHOWN = 200


def describe_value(encoded: bytes) -> str:
    """A short text for people of what `encode_value` wrote; only its size where it is too deep."""
    try:
        text = "".join(_pieces_to_limit(decode_value(encoded)))
    except (ValueError, RecursionError):  # deeper than marshal or repr goes, or digits beyond str()
        return f"a value of {len(encoded):,} bytes"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _pieces_to_limit(value: object) -> Iterator[str]:
    """The pieces of ``repr(value)``, until there are more than enough of them."""
    length = 0
    for piece in _generate_pieces(value):
        yield piece
        length += len(piece)
        if length > _SHOWN:
            return


def _generate_pieces(value: object) -> Iterator[str]:
    if isinstance(value, list):
        yield "["
        for at, item in enumerate(value):
            yield ", " if at else ""
            yield from _generate_pieces(item)
        yield "]"
    elif isinstance(value, dict):
        yield "{"
        for at, (name, member) in enumerate(value.items()):
            yield ", " if at else ""
            yield from _generate_pieces(name)
            yield ": "
            yield from _generate_pieces(member)
        yield "}"
    else:
        yield repr(value[: _SHOWN + 1] if isinstance(value, str) else value)
