"""Where choices come from.

The grammar is written once, as plain functions that ask a :class:`Source` for
their choices. Whoever answers decides what the grammar is: a fast random generator here, a property
test that shrinks in ``strategies.hypothesis_driver``. Options stand simplest first, and shrinking
goes towards the first.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol, TypeVar

__all__ = ["ALPHABETS", "RandomSource", "Source"]

T = TypeVar("T")

ALPHABETS: tuple[tuple[int, int], ...] = (
    (0x20, 0x7E),
    (0x61, 0x7A),
    (0x00, 0x7F),
    (0x80, 0x7FF),
    (0x800, 0xD7FF),
    (0xE000, 0xFFFF),
    (0x10000, 0x10FFFF),
)
"""Ranges of code points that differ in length under UTF-8; none of them holds a surrogate."""

_EXACT_FLOAT_RANGE = 1 << 48
"""Spans below this are drawn from one float without a bias that anyone could notice."""


class Source(Protocol):
    """The only thing a grammar function may take its choices from."""

    def split(self) -> Source:
        """A source for one part of what is made, such as a frame or a JSON value.

        The choices of a part shrink without a change to other parts. ``self`` may be given back.
        """

    def choice(self, options: Sequence[T]) -> T:
        """One of ``options``, all equally likely; raises IndexError if there are none."""

    def integer(self, low: int, high: int) -> int:
        """An integer of ``low .. high``, both included; raises ValueError if ``low > high``."""

    def weighted(self, options: Sequence[tuple[int, T]]) -> T:
        """One of ``options``, pairs of a positive weight and a value, as often as it weighs."""

    def chance(self, numerator: int, denominator: int) -> bool:
        """True in ``numerator`` of ``denominator`` cases; false is the simpler answer."""

    def text(self, max_size: int) -> str:
        """At most ``max_size`` code points, none of them a surrogate."""


class RandomSource:
    """The fast source. Equal seeds give equal choices in every process and Python version.

    ``seed`` is an integer or a generator to share. Only ``random()`` and ``getrandbits()`` are
    called: their sequences are fixed by the generator, while those of ``choice`` and ``randint``
    have changed between Python versions.
    """

    __slots__ = ("_bits", "_random")

    def __init__(self, seed: int | random.Random) -> None:
        generator = seed if isinstance(seed, random.Random) else random.Random(seed)
        self._random = generator.random
        self._bits = generator.getrandbits

    def split(self) -> RandomSource:
        return self

    def choice(self, options: Sequence[T]) -> T:
        return options[int(self._random() * len(options))]

    def integer(self, low: int, high: int) -> int:
        span = high - low + 1
        if span <= 0:
            raise ValueError(f"no integer between {low} and {high}")
        if span < _EXACT_FLOAT_RANGE:
            return low + int(self._random() * span)
        return low + self._bits(span.bit_length() + 64) % span

    def weighted(self, options: Sequence[tuple[int, T]]) -> T:
        left = self._random() * sum([weight for weight, _ in options])
        for weight, value in options:
            left -= weight
            if left < 0:
                return value
        return options[-1][1]

    def chance(self, numerator: int, denominator: int) -> bool:
        return self._random() * denominator < numerator

    def text(self, max_size: int) -> str:
        low, high = self.choice(ALPHABETS)
        draw, span = self._random, high - low + 1
        size = int(draw() * (max_size + 1))
        return "".join([chr(low + int(draw() * span)) for _ in range(size)])
