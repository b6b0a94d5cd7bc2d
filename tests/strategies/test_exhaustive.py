"""Everything of a small shape, once, smallest first."""

from __future__ import annotations

import pytest

from wirefence.strategies.exhaustive import (
    BYTES,
    TOKENS,
    byte_strings,
    count_strings,
    generate_truncations,
    token_strings,
)


def test_token_strings_are_all_there_in_shortlex_order() -> None:
    assert list(token_strings((b"a", b"bc"), 2)) == [
        *(b"", b"a", b"bc", b"aa", b"abc", b"bca", b"bcbc"),
    ]


def test_byte_strings_are_all_there_each_once() -> None:
    made = list(byte_strings(BYTES, 2))
    letters = len(set(BYTES))
    assert len(made) == len(set(made)) == count_strings(letters, 2) == 1 + letters + letters**2
    assert made == sorted(made, key=len)


def test_the_count_is_what_is_made() -> None:
    assert sum(1 for _ in token_strings(TOKENS, 3)) == count_strings(len(TOKENS), 3)


def test_truncations_stop_before_every_byte() -> None:
    assert list(generate_truncations(b"{}\n")) == [b"", b"{", b"{}"]


def test_tokens_spell_a_whole_document() -> None:
    assert b'{"a":[0]}' in set(token_strings((b"{", b'"a"', b":", b"[", b"0", b"]", b"}"), 7))


def test_a_negative_length_is_refused() -> None:
    with pytest.raises(ValueError, match="longest must not be negative, got -1"):
        list(token_strings(TOKENS, -1))
