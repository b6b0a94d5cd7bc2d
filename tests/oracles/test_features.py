"""Each feature is seen where it stands, and a plain document has none."""

from __future__ import annotations

import pytest

from wirefence.oracles.document import judge_document
from wirefence.oracles.features import FEATURES, name_features

PLANTED = {
    b"NaN": "nan",
    b"-Infinity": "infinity",
    b"/*x*/1": "block-comment",
    b"1//x": "line-comment",
    b"[1,]": "trailing-comma",
    b"01": "leading-zero",
    b"-01": "neg-leading-zero",
    b"[-]": "bare-minus",
    b"-.5": "neg-dot",
    b"[1.]": "dot-tail",
    b"[.5]": "dot-head",
    b"+1": "plus",
    b"1e": "exponent-tail",
    b"0x1F": "hexadecimal",
    b"'a'": "single-quotes",
    b"\x0c1": "other-white-space",
    b"[\x00]": "nul",
    b"-0": "neg-zero-int",
    b"[\x01]": "control-character",
    b'"\x00"': "nul-in-string",
    b'"\x01"': "control-in-string",
    b'"\\x41"': "bad-escape",
    b'"\\ud800"': "surrogate-escape",
    b'"\\u0000"': "nul-escape",
    b'"\xed\xa0\x80"': "surrogate-bytes",
    b'"\xff"': "invalid-utf8",
    b"\xef\xbb\xbf1": "bom",
    b"1\x00": "utf16-or-utf32",
    b"[" * 129 + b"]" * 129: "deep",
    b"9007199254740993": "big-integer",
    b"1" * 1001: "number-length",
    b"1e400": "number-range",
    b'{"a":1,"\\u0061":2}': "duplicate-name",
    b"1.00000000000000011102": "long-fraction",
    b"2.5": "float",
    b"": "empty",
    b"[1": "unclosed",
    b"{}{}": "trailing",
    b"[1}": "syntax",
}


def seen(raw: bytes) -> frozenset[str]:
    return name_features(raw, judge_document(raw), judge_document(raw, profile="spec"))


def test_what_stands_behind_a_byte_order_mark_is_named_too() -> None:
    assert seen(b'\xef\xbb\xbf"\xff"') == {"bom", "invalid-utf8"}
    assert seen(b"\xef\xbb\xbf1") == {"bom"}


@pytest.mark.parametrize(("raw", "name"), PLANTED.items(), ids=PLANTED.values())
def test_a_planted_feature_is_named(raw: bytes, name: str) -> None:
    assert name in seen(raw)


def test_every_feature_is_planted_once() -> None:
    assert {*PLANTED.values(), "plain"} == set(FEATURES)


@pytest.mark.parametrize(
    "raw",
    [b"1", b'{"a":[1,25,null,true,"x"]}', b'{"jsonrpc":"2.0","id":1,"method":"ping"}', b"[-1]"],
)
def test_a_plain_document_has_no_feature(raw: bytes) -> None:
    assert seen(raw) == {"plain"}


def test_what_stands_in_a_string_is_not_syntax() -> None:
    assert seen(b'{"a":"NaN /* 01 */ .5 [1,] \'x\'"}') == {"plain"}


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (b"9007199254740992", "big-integer"),
        (b"-123456789012345678901", "big-integer"),
        (b"1e400", "number-range"),
        (b"0.123456789012345678", "long-fraction"),
        (b"1" * 1_001, "number-length"),
    ],
)
def test_a_number_is_named_behind_a_fault_that_no_reader_gets_over(
    number: bytes, name: str
) -> None:
    assert {"nan", name} <= seen(b"[NaN,%b]" % number)
    assert name not in seen(b"[NaN,9007199254740991]")


@pytest.mark.parametrize(
    ("raw", "deep"),
    [
        (b"[" * 128 + b"]" * 128, False),
        (b"[[]," + b"[" * 127 + b"]" * 128, False),
        (b"[" * 129, True),
        (b"[" + b",".join([b"[]"] * 500) + b"]", False),
        (b'[{"a":[{}]},' + b'{"a":' * 130, True),
    ],
)
def test_what_is_deep_is_open_at_once(raw: bytes, deep: bool) -> None:
    assert ("deep" in seen(raw)) is deep
