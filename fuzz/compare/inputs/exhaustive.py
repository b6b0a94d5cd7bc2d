"""Exhaustive inputs: every input of a small shape, so that a report can claim "none" for it.

A shape is a finite list with a description. Shapes are sorted by size, so that a small budget
finishes some of them. Only a finished shape is claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from wirefence.fuzz.compare.inputs.seeds.text import SURROGATES
from wirefence.strategies.exhaustive import BYTES, TOKENS, byte_strings, token_strings

__all__ = ["SHAPES", "Shape", "summarize_claims"]


@dataclass(frozen=True, slots=True)
class Shape:
    """All inputs of one shape.

    ``claim`` describes it for the report. ``kind`` is common to shapes that differ only in their
    ``bound``; it is empty for shapes that a summary omits.
    """

    claim: str
    kind: str
    make: Callable[[], Iterator[bytes]]
    bound: int = 0


_NUMBER = b"019-+.eE"
_DIGITS = b"019aFg+-_ x"
_LEADS = (
    *(0x00, 0x22, 0x5C, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0),
    *(0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF7, 0xF8, 0xFC, 0xFE, 0xFF),
)
_WIDE = (0x41, 0x7F, 0x80, 0x8F, 0x90, 0xA0, 0xBF, 0xC0, 0xFF)
_PLACES = (
    *((b"", b""), (b"[", b"]"), (b'{"a":', b"}"), (b"1", b""), (b"", b"1"), (b"[1", b"]")),
    *((b'"', b'"'), (b'"a', b"a"), (b'{"', b'":1}'), (b'{"a"', b":1}"), (b'"\\', b'"')),
    *((b'"\\u004', b'"'), (b'"', b""), (b"-", b""), (b"1e", b""), (b"nul", b""), (b"0.", b"")),
)


def _bytes_in_places() -> Iterator[bytes]:
    for before, after in _PLACES:
        for byte in range(256):
            yield before + bytes((byte,)) + after


def _two_bytes(before: bytes, after: bytes) -> Callable[[], Iterator[bytes]]:
    return lambda: (before + bytes(pair) + after for pair in product(range(256), repeat=2))


def _in_string(bodies: Iterable[Sequence[int]]) -> Iterator[bytes]:
    return (b'"%b"' % bytes(body) for body in bodies)


def _utf8_corners() -> Iterator[bytes]:
    yield from _in_string(product(_LEADS, repeat=3))
    yield from _in_string(product((0xF0, 0xF1, 0xF3, 0xF4, 0xF5), _WIDE, _WIDE, _WIDE))


def _code_points() -> Iterator[bytes]:
    return (b'"%b"' % chr(point).encode("utf-8", "surrogatepass") for point in range(0x10000))


def _escaped_units() -> Iterator[bytes]:
    return (b'"\\u%04x"' % unit for unit in range(0x10000))


def _escaped_names() -> Iterator[bytes]:
    return (b'{"\\u%04X":0}' % unit for unit in range(0x10000))


def _escape_digits() -> Iterator[bytes]:
    letters = [b"%c" % byte for byte in _DIGITS]
    return (b'"\\u%b"' % b"".join(four) for four in product(letters, repeat=4))


def _surrogates() -> Iterator[bytes]:
    return (b'"%b"' % b"".join(units) for units in product(SURROGATES[:12], repeat=4))


def _numbers(longest: int) -> Callable[[], Iterator[bytes]]:
    return lambda: byte_strings(_NUMBER, longest)


def _tokens(longest: int) -> Callable[[], Iterator[bytes]]:
    return lambda: token_strings(TOKENS, longest)


def _bytes(longest: int) -> Callable[[], Iterator[bytes]]:
    return lambda: byte_strings(BYTES, longest)


_NUMBER_WORDS = f"strings over {_NUMBER.decode()}"
_TOKEN_WORDS = f"strings of JSON tokens ({len(TOKENS)} kinds)"
_BYTE_WORDS = f"strings over {len(set(BYTES))} bytes that mean something to JSON"

SHAPES: tuple[Shape, ...] = (
    Shape(f"every single byte in {len(_PLACES)} places", "single bytes", _bytes_in_places),
    Shape(f"{_BYTE_WORDS}, up to 3 bytes", "{} bytes", _bytes(3), 3),
    Shape(f"{_TOKEN_WORDS}, up to 3 tokens", "{} tokens", _tokens(3), 3),
    Shape(f"{_NUMBER_WORDS}, up to 5 bytes", "numbers of {} bytes", _numbers(5), 5),
    Shape(r"every \uXXXX escape in a string", r"every \uXXXX", _escaped_units),
    Shape(rf"every \u and four bytes of {_DIGITS.decode()!r}", "", _escape_digits),
    Shape("corners of UTF-8: three and four bytes in a string", "", _utf8_corners),
    Shape(f"{_TOKEN_WORDS}, up to 4 tokens", "{} tokens", _tokens(4), 4),
    Shape("every two bytes in a string", "", _two_bytes(b'"', b'"')),
    Shape("every two bytes as a document", "", _two_bytes(b"", b"")),
    Shape("four surrogates, escapes or letters in a string", "", _surrogates),
    Shape("every character of the basic plane, raw in a string", "", _code_points),
    Shape(r"every \uXXXX escape in a name", "", _escaped_names),
    Shape(f"{_NUMBER_WORDS}, up to 6 bytes", "numbers of {} bytes", _numbers(6), 6),
    Shape(f"{_BYTE_WORDS}, up to 4 bytes", "{} bytes", _bytes(4), 4),
    Shape("every two bytes behind a digit", "", _two_bytes(b"1", b"")),
    Shape("every two bytes behind a backslash in a string", "", _two_bytes(b'"\\', b'"')),
    Shape(f"{_NUMBER_WORDS}, up to 7 bytes", "numbers of {} bytes", _numbers(7), 7),
    Shape(f"{_TOKEN_WORDS}, up to 5 tokens", "{} tokens", _tokens(5), 5),
    Shape(f"{_BYTE_WORDS}, up to 5 bytes", "{} bytes", _bytes(5), 5),
)
"""Small shapes first. A larger bound of one kind includes the inputs of the smaller."""

_BY_CLAIM = {shape.claim: shape for shape in SHAPES}


def summarize_claims(claims: Sequence[str]) -> str:
    """Return the largest bound of each kind of finished shapes, in a few words."""
    kinds: dict[str, int] = {}
    for shape in (_BY_CLAIM[claim] for claim in claims):
        kinds[shape.kind] = max(shape.bound, kinds.get(shape.kind, 0))
    return ", ".join(kind.format(bound) for kind, bound in kinds.items() if kind)
