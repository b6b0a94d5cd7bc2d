"""Random inputs: documents of the grammar, mutants of them, and numbers that are hard to round.

Generating a document costs ten times as much as mutating it, so each one is mutated often. Block
*n* of a seed is a function of seed and *n* alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from wirefence.fuzz.compare.inputs.seeds.numbers import (
    generate_decimal,
    generate_halfway,
    generate_integer,
)
from wirefence.fuzz.compare.inputs.seeds.text import INVALID_UTF8, SURROGATES
from wirefence.strategies.json_text import DICTIONARY, json_text, load_words
from wirefence.strategies.source import RandomSource

__all__ = ["generate_block"]

_DOCUMENTS = 40
_MUTANTS = 20
_NUMBERS = 120
_MIX = 0x9E3779B97F4A7C15
_SPLICES: tuple[bytes, ...] = (
    *INVALID_UTF8,
    *SURROGATES,
    *(b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"/", b"0", b"-", b"+", b".", b"e", b"1"),
    *(
        b"-0",
        b"00",
        b"1.",
        b".5",
        b"1e5",
        b"1e400",
        b"NaN",
        b"Infinity",
        b"null",
        b"true",
        b"1" * 20,
    ),
    *(
        b" ",
        b"\t",
        b"\n",
        b"\r",
        b"\x00",
        b"\x0b",
        b"\x0c",
        b"\x1f",
        b"\x7f",
        b"\xc2\xa0",
        b"\xef\xbb\xbf",
    ),
    *(b"\\u0000", b"\\u00e9", b"\\x41", b"\\u+041", b"\\u0_41", b"//", b"/*", b"*/", b"#", b"'"),
    *(b"18446744073709551616", b"9223372036854775808", b"99999999999999999999", b'"a":1,', b"[[[["),
)


def generate_block(seed: int, number: int, words: Sequence[bytes] = ()) -> Iterator[bytes]:
    """Yield the inputs of one block: documents of the grammar, mutants of each, and hard numbers.

    ``words`` are strings found in the libraries; they become names, strings and raw tokens.
    """
    rng = random.Random((seed * _MIX + number) & (1 << 64) - 1)
    source = RandomSource(rng)
    vocabulary = [*load_words(DICTIONARY), *filter(_is_plain_word, words)]
    tokens = [*_SPLICES, *words]
    documents = [
        json_text(source, lone_surrogates=True, words=vocabulary) for _ in range(_DOCUMENTS)
    ]
    for document in documents:
        yield document
        for _ in range(_MUTANTS):
            yield _make_mutant(rng.random, document, documents, tokens)
    for _ in range(_NUMBERS):
        yield from (generate_halfway(rng), generate_decimal(rng), generate_integer(rng))


def _is_plain_word(word: bytes) -> bool:
    """Return whether a word can stand between quotes unchanged."""
    return word.isascii() and b'"' not in word and b"\\" not in word and word.isalnum()


def _make_mutant(
    draw: Callable[[], float], raw: bytes, others: Sequence[bytes], tokens: Sequence[bytes]
) -> bytes:
    """Return ``raw`` changed in at least one place, mostly in up to three."""
    while True:
        raw = _mutate_once(draw, raw, others, tokens)
        if draw() < 0.6:
            return raw


def _mutate_once(
    draw: Callable[[], float], raw: bytes, others: Sequence[bytes], tokens: Sequence[bytes]
) -> bytes:
    kind, at = draw(), int(draw() * (len(raw) + 1))
    if kind < 0.40:
        return raw[:at] + tokens[int(draw() * len(tokens))] + raw[at:]
    if kind < 0.55:
        return raw[:at] + raw[at + 1 + int(draw() * draw() * 8) :]
    if kind < 0.70:
        return b"%b%c%b" % (raw[:at], int(draw() * 256), raw[at + 1 :])
    if kind < 0.80:
        return raw[:at] + raw[at // 2 :]
    if kind < 0.90:
        return raw[:at]
    other = others[int(draw() * len(others))]
    return raw[:at] + other[int(draw() * len(other)) :]
