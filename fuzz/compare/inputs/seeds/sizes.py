"""Names, depth and length: divergences that depend on size.

Each library has its own limits, mostly at round numbers. So every shape is generated in many sizes,
and bisection finds the smallest size that differs.
"""

from __future__ import annotations

from collections.abc import Iterator

from wirefence.fuzz.compare.inputs.seeds.base import Family, generate_sizes, make_family

__all__ = ["FAMILIES", "LONG"]

_NAMES = (
    *(b"", b"a", b"A", b"\xc3\xa9", b"e\xcc\x81", b"\xc3\x89", b"\xe2\x80\x8d", b"a\xe2\x80\x8d"),
    *(b"__proto__", b"constructor", b"1", b"2", b"10", b"01", b"-1", b"1.0", b"null", b"\\u0000"),
    *(
        b"\\u0061",
        b"\\u0031",
        b"\\/",
        b"/",
        b"\xf0\x9d\x84\x9e",
        b"\\ud834\\udd1e",
        b"id",
        b"method",
    ),
)
_LENGTHS = (
    *range(1, 20),
    *(23, 24, 25, 31, 32, 33, 47, 48, 49, 55, 56, 62, 63, 64, 65, 66, 95, 96, 127, 128, 129, 191),
    *(
        255,
        256,
        257,
        511,
        512,
        513,
        1023,
        1024,
        1025,
        2047,
        2048,
        4095,
        4096,
        4097,
        8191,
        8192,
        8193,
    ),
    *(16_383, 16_384, 32_768, 65_536, 131_072),
)
_LETTERS = (
    b"a",
    b"\xc3\xa9",
    b"\xe2\x82\xac",
    b"\xf0\x9d\x84\x9e",
    b"\\n",
    b"\\u00e9",
    b"\\ud834\\udd1e",
)
_DEPTHS = (
    *(
        8,
        16,
        32,
        64,
        100,
        126,
        127,
        128,
        129,
        130,
        199,
        200,
        201,
        202,
        254,
        255,
        256,
        257,
        300,
        400,
    ),
    *(
        500,
        511,
        512,
        513,
        600,
        700,
        800,
        900,
        930,
        960,
        *range(980, 1035, 5),
        1023,
        1024,
        1025,
        1100,
    ),
    *(
        1300,
        1490,
        1500,
        1600,
        2000,
        2048,
        2500,
        3000,
        4000,
        5000,
        7000,
        9_990,
        10_000,
        10_010,
        15_000,
    ),
    *(20_000, 32_768, 50_000, 65_536, 100_000, 200_000, 400_000, 1_000_000),
)
_ODD = (b"\xff", b"\xc3", b"\\ud800", b"\\u00e9", b"\xf0\x9d\x84\x9e", b"\x01", b"\\")
"""What may stand after a long run of letters."""
_SHAPES = ((b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]"), (b"[ ", b" ]"), (b"[1,", b"]"))
_SHALLOW = 2_100
"""Levels; deeper inputs are generated in the plainest shapes only, since each costs megabytes."""


@make_family("dup-key", "dup-escaped", "intlike-key-order", "case variants", "__proto__", "NFC")
def names() -> Iterator[bytes]:
    """Names that are equal, nearly equal or special, twice in one object and one in another."""
    for first in _NAMES:
        yield from (b'{"%b":1}' % first, b'[{"%b":1},{"%b":2}]' % (first, first))
        for second in _NAMES:
            yield b'{"%b":1,"%b":2}' % (first, second)
            yield b'{"%b":0,"%b":[1],"%b":2}' % (first, second, first)


@make_family("repeated names", "name caches")
def long_names() -> Iterator[bytes]:
    """Names at every length of a cache's limit, repeated and with one byte changed."""
    for length in _LENGTHS:
        if length > 10_000:
            break
        for letter in _LETTERS[:4]:
            name = letter * (length // len(letter)) + b"x" * (length % len(letter))
            yield b'[{"%b":1},{"%b":2},{"%by":3}]' % (name, name, name[:-1])
            yield b'{"%b":1,"%b":2}' % (name, name)
    for count in (10, 100, 255, 256, 257, 1_000, 1_024, 2_048, 2_049, 5_000, 70_000):
        members = b",".join([b'"key%d":%d' % (at, at) for at in range(count)])
        yield from (b"{%b}" % members, b"[{%b},{%b}]" % (members, members))
        yield b"{%b}" % b",".join([b'"%d":%d' % (at % 97, at) for at in range(count)])
        yield b"{%b}" % b",".join([b'"%032x":0' % (at * 0x9E3779B97F4A7C15) for at in range(count)])


@make_family("long strings")
def lengths() -> Iterator[bytes]:
    """Strings, arrays and white space at every power of two and its neighbours."""
    for length in _LENGTHS:
        for letter in _LETTERS:
            body = letter * max(1, length // len(letter))
            yield from (b'"%b"' % body, b'"a%b"' % body, b'"%b' % body)
        yield from (
            b" " * length + b"1",
            b"1" + b" " * length,
            b"[%b]" % b",".join([b"1"] * length),
        )
        yield from (b'"%b%b"' % (b"a" * (length - 1), odd) for odd in _ODD)
        yield b"[%b1]" % (b'"a",' * min(length, 70_000))


@make_family("depth")
def depth() -> Iterator[bytes]:
    """Containers in containers, closed, open, and closed with something behind."""
    for height in dict.fromkeys((*_DEPTHS, *generate_sizes(1_040, 2_100, 1.07))):
        for before, after in _SHAPES if height <= _SHALLOW else _SHAPES[:2]:
            yield before * height + (b"" if before == b"[1," else b"1") + after * height
            if height <= _SHALLOW or before == b"[":
                yield before * height
        yield b"[" * height + b"]" * height
        if height <= _SHALLOW:
            yield from (b"[" * height + b"}" * height, b"[" * height + b"]" * (height - 1))
            yield from (b"]" * height, b"[]," * height, b"[" + b"[]," * height + b"[]]")


FAMILIES: tuple[Family, ...] = (names, depth)
LONG: tuple[Family, ...] = (lengths, long_names)
