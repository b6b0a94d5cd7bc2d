"""All inputs of a shape, in shortlex order: shorter first, then in the order of the alphabet.

Random search can say that nothing was found; going through everything of a small
shape can say that there is nothing. The first witness it meets is also the smallest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

__all__ = [
    "BYTES",
    "TOKENS",
    "byte_strings",
    "count_strings",
    "generate_truncations",
    "token_strings",
]

TOKENS: tuple[bytes, ...] = (
    *(b"{", b"}", b"[", b"]", b":", b",", b" ", b"\n"),
    *(b"null", b"true", b"0", b"-", b"1", b".", b"e", b'""', b'"a"', b'"\\u0061"'),
)
"""JSON's structure and one scalar of each kind; ``"a"`` twice, spelled in two ways."""

BYTES: bytes = b'{}[]:,"\\ 0-1.eEtnu/\r\n\x00\x0b\xc2\x85\xef\xbb\xbf\xff'
"""Bytes that mean something to some reader of JSON or of lines."""


def token_strings(tokens: Sequence[bytes] = TOKENS, longest: int = 4) -> Iterator[bytes]:
    """Every concatenation of up to ``longest`` tokens, the empty one included.

    Different token strings may spell the same bytes. Raises ValueError if ``longest`` is negative.
    """
    if longest < 0:
        raise ValueError(f"longest must not be negative, got {longest}")
    for length in range(longest + 1):
        yield from map(b"".join, product(tokens, repeat=length))


def byte_strings(alphabet: bytes = BYTES, longest: int = 3) -> Iterator[bytes]:
    """Every byte string of up to ``longest`` bytes of ``alphabet``, each once."""
    letters = [bytes((byte,)) for byte in dict.fromkeys(alphabet)]
    return token_strings(letters, longest)


def generate_truncations(frame: bytes) -> Iterator[bytes]:
    """Every proper prefix of ``frame``, the empty one first."""
    return (frame[:end] for end in range(len(frame)))


def count_strings(symbols: int, longest: int) -> int:
    """How many strings of up to ``longest`` of so many ``symbols`` there are."""
    return sum(symbols**length for length in range(longest + 1))
