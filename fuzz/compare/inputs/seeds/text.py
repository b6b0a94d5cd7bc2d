"""Bytes and strings: encodings, white space, escapes, surrogates, raw characters.

Vectorized scanners look at 16, 32 or 64 bytes at once and fall back to slow code
near the end of the buffer, so every body is also moved through a whole block.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from itertools import product

from wirefence.fuzz.compare.inputs.seeds.base import (
    STRING_PLACES,
    VALUE_PLACES,
    Family,
    make_family,
    place_tokens,
    sweep_offsets,
)

__all__ = ["FAMILIES", "INVALID_UTF8", "SURROGATES"]

INVALID_UTF8: tuple[bytes, ...] = (
    *(
        b"\xff",
        b"\xfe",
        b"\x80",
        b"\xbf",
        b"\xc0\xaf",
        b"\xc0\x80",
        b"\xc1\xbf",
        b"\xc3",
        b"\xe2\x80",
    ),
    *(b"\xf0\x9f\x98", b"\xe0\x80\xaf", b"\xf0\x80\x80\xaf", b"\xed\xa0\x80", b"\xed\xbf\xbf"),
    *(
        b"\xed\xa0\xbd\xed\xb8\x80",
        b"\xf4\x90\x80\x80",
        b"\xf5\x80\x80\x80",
        b"\xf8\x88\x80\x80\x80",
    ),
    *(b"\xfc\x84\x80\x80\x80\x80", b"\xe9", b"\xc3(", b"\xe2(\xa1", b"\xf0\x9f(\x80", b"\xc0\xa2"),
)
_VALID_UTF8 = tuple(
    chr(point).encode()
    for point in (
        *(0x7F, 0x80, 0x85, 0xE9, 0x301, 0x7FF, 0x800, 0x200D, 0x2028, 0x20AC, 0x212A, 0xD7FF),
        *(0xE000, 0xFEFF, 0xFFFD, 0xFFFF, 0x10000, 0x1D11E, 0x10FFFF),
    )
)
SURROGATES: tuple[bytes, ...] = (
    *(
        b"\\ud800",
        b"\\uDBFF",
        b"\\udbff",
        b"\\udc00",
        b"\\uDFFF",
        b"\\ud834",
        b"\\udd1e",
        b"\\uD83D",
    ),
    *(b"\\u0041", b"\\ue000", b"a", b"\\n", b'\\"', "𝄞".encode(), b"\\ud7ff", b"\\uffff"),
)
_ESCAPES = (
    *(
        b"\\u0000",
        b"\\u001f",
        b"\\u007f",
        b"\\u0080",
        b"\\u00e9",
        b"\\u00E9",
        b"\\u07ff",
        b"\\u0800",
    ),
    *(
        b"\\u20AC",
        b"\\ud834\\udd1e",
        b"\\uD834\\uDD1E",
        b"\\ufffd",
        b"\\uFFFF",
        b"\\ufeff",
        b"\\u0022",
    ),
    *(
        b"\\u005c",
        b'\\"',
        b"\\\\",
        b"\\/",
        b"\\b",
        b"\\f",
        b"\\n",
        b"\\r",
        b"\\t",
        b"\\u2028",
        b"\\u0061",
    ),
)
_BAD_ESCAPES = (
    *(
        b"\\x41",
        b"\\'",
        b"\\0",
        b"\\101",
        b"\\a",
        b"\\v",
        b"\\e",
        b"\\U0041",
        b"\\u{41}",
        b"\\ ",
        b"\\\n",
    ),
    *(b"\\N", b"\\u", b"\\u4", b"\\u41", b"\\u041", b"\\u004g", b"\\u+041", b"\\u-041", b"\\u 041"),
    *(
        b"\\u0_41",
        b"\\u0x41",
        b"\\u00 41",
        b"\\uD834\\u",
        b"\\ud834\\",
        b"\\ud834\\udd1",
        b"\\ud834\\x",
    ),
    *(
        b"\\ud834\\u+d1e",
        b"\\u004\x00",
        b"\\\x00",
        b"\\\xff",
        b"\\u\xef\xbc\x90041",
        b"\\uD834\\uDD_E",
    ),
    *(
        b"\\u 41",
        b"\\u\t041",
        b"\\u0041\\",
        b"\\u004",
        b"\\u00\\u0041",
        b"\\u00\xc3\xa9",
        b"\\u1.e1",
    ),
)
_WHITE = (
    *(
        b" ",
        b"\t",
        b"\n",
        b"\r",
        b"\r\n",
        b"\x0b",
        b"\x0c",
        b"\x1c",
        b"\x1d",
        b"\x1e",
        b"\x1f",
        b"\x00",
    ),
    *(b"\xc2\xa0", b"\xc2\x85", b"\xe1\x9a\x80", b"\xe2\x80\x80", b"\xe2\x80\x8b", b"\xe2\x80\xa8"),
    *(
        b"\xe2\x80\xa9",
        b"\xe2\x80\xaf",
        b"\xe2\x81\x9f",
        b"\xe3\x80\x80",
        b"\xef\xbb\xbf",
        b"\x85",
        b"\xa0",
    ),
    *(b"\x08", b"\x7f", b"\x1b", b"\\n", b"\x01", b"\xff"),
)
_ENCODINGS = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-7", "latin-1", "cp037")
_BOMS = (
    *(codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, b"+/v8"),
    *(
        codecs.BOM_UTF32_BE,
        codecs.BOM_UTF8 * 2,
        b"\xef\xbb",
        b"\xef",
        b"\xef\xbb\xbe",
        b"\xfe\xff\x00",
    ),
)
_SMALL = ("1", "12", "123", "{}", "[]", '""', '"é"', '{"a":1}', "null", "[1,2]")


@make_family("utf16-sniff", "utf32-sniff", "nul-as-utf16", "bom-bytes", "bom-str", "bytes!=str")
def encodings() -> Iterator[bytes]:
    """Small documents behind byte order marks and in other encodings."""
    for text in _SMALL:
        yield from (mark + text.encode() for mark in _BOMS)
        for encoding in _ENCODINGS:
            raw = text.encode(encoding)
            yield from (raw, *(mark + raw for mark in _BOMS[:5]), raw[:-1], raw + b"\x00")
    yield from _BOMS
    yield from (b" \xef\xbb\xbf1", b"1\xef\xbb\xbf", b"[\xef\xbb\xbf1]", b"\xef\xbb\xbf 1")


@make_family(
    "ff-whitespace", "strip-set", "cr-ws-drop", "ls/ps/nel-split", "ff/vt/1c-split", "cr-frame"
)
def white_space() -> Iterator[bytes]:
    """What some reader takes for white space or for the end of a line, in every gap."""
    gaps = (b"1", b"[]", b'"a"')
    for white in _WHITE:
        yield from (white, white * 2)
        yield from place_tokens(
            gaps, ((white, b""), (b"", white), (white, white), (b"", white + b"1"))
        )
        yield from place_tokens(
            (white,), ((b"[", b"1]"), (b"[1", b"]"), (b"[1,", b"2]"), (b"{", b"}"))
        )
        yield from place_tokens(
            (white,), ((b'{"a"', b":1}"), (b'{"a":', b"1}"), (b'"a', b'b"'), (b"-", b"1"))
        )


@make_family("nul-trunc", "raw-nul-in-string")
def nul_bytes() -> Iterator[bytes]:
    """NUL before, in and behind documents."""
    for text in _SMALL:
        raw = text.encode()
        for at in range(len(raw) + 1):
            yield from (raw[:at] + b"\x00" * many + raw[at:] for many in (1, 2, 3))
        yield from (raw + b"\x00garbage", raw + b"\x00" * 64, raw + b"\x00" + raw, b"\x00" + raw)


@make_family("ctl-in-string", "escaped NUL")
def raw_characters() -> Iterator[bytes]:
    """Every single byte, and UTF-8's corners, in strings and names, at every offset of a block."""
    singles = [bytes((byte,)) for byte in range(256)]
    yield from place_tokens(singles, STRING_PLACES)
    yield from sweep_offsets((*_VALID_UTF8, b"\x01", b"\x1f", b"\n", b"\t", b"\x00"))
    yield from place_tokens(_VALID_UTF8, (*STRING_PLACES, *VALUE_PLACES))


@make_family("decode-replace", "raw-surrogate", "cesu8", "overlong UTF-8")
def invalid_utf8() -> Iterator[bytes]:
    """Every kind of invalid UTF-8 in strings, names and outside, at every offset of a block."""
    yield from place_tokens(
        INVALID_UTF8, (*STRING_PLACES, *VALUE_PLACES, (b'"', b""), (b'"a', b""))
    )
    yield from sweep_offsets(INVALID_UTF8)


@make_family("`\\x`", "`\\u+041`")
def escapes() -> Iterator[bytes]:
    """Escapes that JSON has and escapes that it has not, at every offset of a block."""
    yield from place_tokens((*_ESCAPES, *_BAD_ESCAPES), STRING_PLACES)
    yield from place_tokens([b"\\" + bytes((byte,)) for byte in range(256)], STRING_PLACES[:2])
    yield from sweep_offsets((*_ESCAPES, b"\\x41", b"\\u+041", b"\\u0_41", b"\\u004", b"\\"))
    yield from place_tokens(_BAD_ESCAPES, ((b'"', b""),))
    yield from (b'"%b"' % b"".join(pair) for pair in product(_ESCAPES, repeat=2))


@make_family("lone-hi", "lone-lo", "surrogate-key")
def surrogates() -> Iterator[bytes]:
    """Halves of surrogate pairs in every order with what may stand around them."""
    for length in (1, 2, 3):
        bodies = map(b"".join, product(SURROGATES, repeat=length))
        yield from place_tokens(bodies, STRING_PLACES if length < 3 else STRING_PLACES[:1])
    yield from sweep_offsets(
        (*SURROGATES[:4], b"\\ud834\\udd1e", b"\\udc00\\ud800", b"\\ud800\\ud800")
    )


FAMILIES: tuple[Family, ...] = (
    *(encodings, white_space, nul_bytes, raw_characters, invalid_utf8, escapes, surrogates),
)
