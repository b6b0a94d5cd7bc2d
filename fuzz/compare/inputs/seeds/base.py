"""Building blocks of the generators of known divergences: families, places and sweeps.

A divergence depends on a token and its place. Parsers use different code for one token at the top,
in an array, in a name, and at each offset of a SIMD block. So a generator gives tokens, and each is
put into all places here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

__all__ = [
    "STRING_PLACES",
    "VALUE_PLACES",
    "Family",
    "Place",
    "generate_sizes",
    "make_family",
    "place_tokens",
    "sweep_offsets",
]

Place = tuple[bytes, bytes]
"""The bytes before and after a token."""

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


def make_family(*covers: str) -> Callable[[Callable[[], Iterator[bytes]]], Family]:
    """Make a family of a generator function; it has the function's name."""

    def build(make: Callable[[], Iterator[bytes]]) -> Family:
        return Family(make.__name__.replace("_", "-"), covers, make)

    return build


def place_tokens(
    tokens: Iterable[bytes], places: Sequence[Place] = VALUE_PLACES
) -> Iterator[bytes]:
    """Yield every token in every place."""
    for token in tokens:
        for before, after in places:
            yield before + token + after


def sweep_offsets(bodies: Iterable[bytes], widest: int = _BLOCK) -> Iterator[bytes]:
    """Yield every string body after 0 to ``widest`` letters, also with as many after it."""
    for body in bodies:
        for offset in range(widest + 1):
            yield b'"%b%b"' % (b"a" * offset, body)
            yield b'"%b%b%b"' % (b"a" * offset, body, b"a" * (_BLOCK - offset % _BLOCK))


def generate_sizes(low: int, high: int, ratio: float) -> Iterator[int]:
    """Yield sizes from ``low`` to ``high``, each about ``ratio`` times the one before."""
    size = low
    while size <= high:
        yield size
        size = max(size + 1, int(size * ratio))
