"""What the generators of known divergences are made of: families, places and sweeps.

The key insight: a divergence is a token in a place. Parsers take other paths for the same token at
the top, in an array, in a name, and at each offset from the start of a SIMD block, so a generator
gives tokens and the places are multiplied in here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

__all__ = [
    "STRING_PLACES",
    "VALUE_PLACES",
    "Family",
    "Place",
    "family",
    "ladder",
    "placed",
    "swept",
]

Place = tuple[bytes, bytes]
"""What stands before and behind a token."""

VALUE_PLACES: tuple[Place, ...] = (
    (b"", b""),
    (b"[", b"]"),
    (b'{"a":', b"}"),
    (b"[0,", b",0]"),
    (b" ", b"\n"),
)
STRING_PLACES: tuple[Place, ...] = (
    (b'"', b'"'),
    (b'"a', b'a"'),
    (b'["', b'"]'),
    (b'{"', b'":0}'),
)
_BLOCK = 64
"""The widest block that a vectorized scanner reads at once, in bytes."""


@dataclass(frozen=True, slots=True)
class Family:
    """A generator of inputs around one kind of divergence, the same inputs each time.

    ``covers`` names the divergence classes whose kind it can show.
    """

    name: str
    covers: tuple[str, ...]
    make: Callable[[], Iterator[bytes]]


def family(*covers: str) -> Callable[[Callable[[], Iterator[bytes]]], Family]:
    """Make a family of a generator function; its name is the function's."""

    def build(make: Callable[[], Iterator[bytes]]) -> Family:
        return Family(make.__name__.replace("_", "-"), covers, make)

    return build


def placed(tokens: Iterable[bytes], places: Sequence[Place] = VALUE_PLACES) -> Iterator[bytes]:
    """Every token in every place."""
    for token in tokens:
        for before, after in places:
            yield before + token + after


def swept(bodies: Iterable[bytes], widest: int = _BLOCK) -> Iterator[bytes]:
    """Every string body behind 0 to ``widest`` letters, and with as many behind it."""
    for body in bodies:
        for offset in range(widest + 1):
            yield b'"%b%b"' % (b"a" * offset, body)
            yield b'"%b%b%b"' % (b"a" * offset, body, b"a" * (_BLOCK - offset % _BLOCK))


def ladder(low: int, high: int, ratio: float) -> Iterator[int]:
    """Sizes from ``low`` to ``high``, each about ``ratio`` times the one before."""
    size = low
    while size <= high:
        yield size
        size = max(size + 1, int(size * ratio))
