"""Numbers on which parsers differ: limits of machine types, middles of two floats, odd spellings.

A wrong last bit shows only for a decimal next to the middle between two floats. So these middles
are computed exactly, and then cut, extended and changed.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from itertools import product

from wirefence.fuzz.compare.inputs.seeds.base import VALUE_PLACES, Family, make_family, place_tokens

__all__ = ["FAMILIES", "LONG", "generate_decimal", "generate_halfway", "generate_integer"]

_POWERS = (7, 8, 15, 16, 24, 31, 32, 52, 53, 54, 62, 63, 64, 65, 66, 96, 127, 128, 256, 1023, 1024)
_LENGTHS = (
    *range(14, 27),
    *(30, 31, 32, 33, 38, 39, 40, 63, 64, 65, 77, 78, 100, 127, 128, 129, 255, 256, 257),
    *range(306, 312),
    *(400, 511, 512, 513, 640, 641, 767, 768, 769, 800, 999, 1000, 1001, 1023, 1024, 1025),
    *(2048, 4095, 4096, 4097, 4299, 4300, 4301, 4302, 4310, 5000, 8192, 10_000, 20_000),
)
_PATTERNS = (b"1", b"9", b"10", b"12345678901234567890", b"7")
_SPELLINGS = (
    *(b"00", b"01", b"-00", b"-01", b"00.5", b"-00.5", b"01e1", b"000", b"0123", b"08", b"1."),
    *(b"-1.", b"0.", b"-0.", b"1.e5", b"0.e1", b".5", b"-.5", b"+1", b"+0", b"++1", b"--1", b"+-1"),
    *(b"-", b"+", b".", b"1e", b"1E", b"1e+", b"1e-", b"1.5e", b"1.5e+", b"e5", b"1ee5", b"1e1.5"),
    *(b"1.2.3", b"1..2", b"1e5e5", b"0x1F", b"0X1", b"0b1", b"0o7", b"1_000", b"1,000", b"1 000"),
    *(b"1f", b"1d", b"1L", b"1n", b"1j", b"1%", b"0x", b"0x1p3", b"1/2", b"1e0x5", b"1-", b"1+"),
    *("１".encode(), "1٠".encode(), "−1".encode(), b"- 1", b"1 e5", b"1. 5"),
)
_ZEROS = (
    *(b"-0", b"0", b"-0.0", b"0.0", b"-0e0", b"0e0", b"-0E5", b"-0.0e-5", b"0e400", b"-0e400"),
    *(b"0e-400", b"0.0e99999", b"0e99999999999999999999", b"0.000e-99999999999", b"-0e-1", b"00e1"),
)
_RANGE = (
    *(b"1e307", b"1e308", b"1.7976931348623157e308", b"1.7976931348623158e308", b"1.8e308"),
    *(b"1.7976931348623159e308", b"1e309", b"1e310", b"1e400", b"1e999", b"1e4096", b"1e9999"),
    *(b"1e65536", b"1e99999", b"1e2147483647", b"1e2147483648", b"1e-2147483649", b"0.1e401"),
    *(b"1e9223372036854775808", b"1e18446744073709551616", b"1e-18446744073709551616"),
    *(b"4.9e-324", b"5e-324", b"2.5e-324", b"2.4e-324", b"2e-324", b"1e-323", b"1e-400"),
    *(b"2.2250738585072014e-308", b"2.2250738585072011e-308", b"2.225073858507201e-308"),
    *(b"1e-999", b"1e-99999", b"123e-400", b"1000000e-330", b"0.00001e313", b"1e-00", b"1e+00"),
    *(b"1e0000000000000000000001", b"1e-0000000000000000000001", b"1e+0000000000000000000308"),
)
_SEED = 6_180_339
_NARROW = 0.97
"""How often exponents stay near 1, where middles have few digits and cost little."""


def generate_integer(rng: random.Random) -> bytes:
    """An integer token of 15 to 25 digits, where 64 bits end."""
    low = rng.choice((10**14, 2**53, 2**63, 2**64, 10**19, 10**20, 10**24))
    value = low + rng.randrange(low) - (low >> 2)
    return b"%d" % (-value if rng.random() < 0.3 else value)


def _float_from_bits(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<Q", bits))[0])


def _find_middle(value: float) -> tuple[int, int]:
    """Digits and power of ten of the number half-way between ``value`` and the next float."""
    numerator, denominator = value.as_integer_ratio()
    step_up = _float_from_bits(struct.unpack("<Q", struct.pack("<d", value))[0] + 1)
    over, under = step_up.as_integer_ratio()
    top, shift = numerator * under + over * denominator, 2 * denominator * under
    power = shift.bit_length() - 1
    digits = top * 5**power
    while power and digits % 10 == 0:
        digits, power = digits // 10, power - 1
    return digits, -power


def _format_decimal(digits: bytes, power: int, *, plain: bool) -> bytes:
    """The number ``digits * 10**power``, without an exponent if it stays short."""
    if not plain or not -80 < power <= 0:
        return b"%b.%be%d" % (digits[:1], digits[1:] or b"0", power + len(digits) - 1)
    if power == 0:
        return digits + b".0"
    padded = digits.rjust(1 - power, b"0")
    return padded[:power] + b"." + padded[power:]


def generate_halfway(rng: random.Random) -> bytes:
    """A decimal at, just below or just above the middle between two neighbouring floats."""
    narrow = rng.random() < _NARROW
    exponent = rng.randrange(990, 1060) if narrow else rng.randrange(2046)
    value = _float_from_bits(
        (exponent << 52) | rng.getrandbits(52) & -(1 << rng.choice((0, 0, 20, 40, 51)))
    )
    number, power = _find_middle(value)
    digits = b"%d" % number
    cut = rng.choice((17, 18, 19, 20, 21, 25, 40, len(digits), len(digits)))
    if cut < len(digits):
        digits, power = digits[:cut], power + len(digits) - cut
    nudge = rng.randrange(5)
    if nudge == 1:
        digits = digits[:-1] + b"%d" % rng.randrange(10)
    elif nudge == 2:
        tail = b"0" * rng.randrange(30) + b"1"
        digits, power = digits + tail, power - len(tail)
    return _format_decimal(digits, power, plain=rng.random() < 0.5)


def generate_decimal(rng: random.Random) -> bytes:
    """A fraction of 15 to 40 digits over the whole range of exponents."""
    size = rng.choice((15, 16, 17, 17, 17, 18, 19, 19, 20, 20, 21, 25, 40))
    digits = b"%0*d" % (size, rng.randrange(10**size))
    power = rng.choice((rng.randrange(-330, 312), rng.randrange(-25, 25), 0))
    token = b"%b.%b" % (digits[:1], digits[1:])
    return b"%be%d" % (token, power) if power else token


@make_family("int>2^53", "int=2^64", "int=10^20")
def machine_integers() -> Iterator[bytes]:
    """Powers of two and ten and their neighbours, both signs; two digits at every length."""
    for length in range(9, 26):
        for first, second in product(b"123456789", b"0123456789"):
            token = bytes((first, *(second,) * (length - 1)))
            yield from (token, b"-" + token)
    edges = [2**power for power in _POWERS] + [10**power for power in (*range(41), 308, 309, 310)]
    tokens = [
        b"%d" % (sign * (edge + by)) for edge in edges for by in range(-2, 3) for sign in (1, -1)
    ]
    yield from place_tokens(tokens)
    rng = random.Random(_SEED)
    for _ in range(4_000):
        yield generate_integer(rng)


@make_family("int-310d", "int-4301d", "long-mantissa")
def long_numbers() -> Iterator[bytes]:
    """Many digits: as an integer, before and behind the point, against the exponent."""
    for length in _LENGTHS:
        for pattern in _PATTERNS:
            digits = (pattern * (length // len(pattern) + 1))[:length]
            yield from (digits, b"-" + digits, digits + b".0", digits + b"e0", digits + b".5e1")
            yield from (b"0." + digits, b"1." + digits, digits + b"." + digits, b"-0." + digits)
            yield from (b"%be-%d" % (digits, by) for by in (1, length - 1, length, length + 300))
            yield from (b"%be%d" % (digits, by) for by in (1, max(0, 308 - length)))
            yield from (b"%b.%be-%d" % (digits, tail, length - 1) for tail in (b"0", b"1", digits))
            yield from (b"0.%b1" % (b"0" * length), b"1%b" % (b"0" * length), b"[%b]" % digits)
        yield from (b"0" * length, b"1e" + b"0" * length + b"1", b"1e" + b"9" * length)


@make_family("float-ulp")
def rounding() -> Iterator[bytes]:
    """Decimals next to the middle between two floats, and fractions of many digits."""
    rng = random.Random(_SEED)
    for _ in range(10_000):
        yield generate_halfway(rng)
        yield generate_decimal(rng)
    for power in range(-345, 312):
        yield from (b"1e%d" % power, b"%d.5e%d" % (rng.randrange(10**15), power))


@make_family("overflow-exp", "overflow-near", "zero-huge-exp", "neg-zero-int")
def ranges() -> Iterator[bytes]:
    """Zeros of both signs, and exponents beyond what binary64 holds."""
    yield from place_tokens(_ZEROS)
    yield from place_tokens([sign + token for token in _RANGE for sign in (b"", b"-")])


@make_family("leading-zero", "neg-leading-zero", "bare-minus", "dot-tail", "neg-dot", "plus/.5")
def spellings() -> Iterator[bytes]:
    """Numbers as other languages spell them."""
    yield from place_tokens(_SPELLINGS, (*VALUE_PLACES, (b"-", b""), (b"", b" 1")))


FAMILIES: tuple[Family, ...] = (spellings, ranges, machine_integers)
LONG: tuple[Family, ...] = (rounding, long_numbers)
