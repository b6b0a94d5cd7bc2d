"""Canonical bytes tell typed values apart and do not depend on the path that wrote them."""

import itertools
import struct

import pytest

from wirefence.targets.parsers.canonical import (
    _encode_iteratively,
    decode_value,
    describe_value,
    encode_value,
)

DISTINCT = [None, True, 1, 1.0, 0, 0.0, -0.0, "1", "\ud800", 10**5000, -(10**20), [], {}, [[]],
            {"a": 1, "b": 2}, {"b": 2, "a": 1}]  # fmt: skip


@pytest.mark.parametrize(
    ("left", "right"), list(itertools.combinations(DISTINCT, 2)), ids=lambda _: "value"
)
def test_values_that_differ_in_type_or_order_differ_in_bytes(left: object, right: object) -> None:
    assert encode_value(left) != encode_value(right)


@pytest.mark.parametrize("value", DISTINCT, ids=lambda _: "value")
def test_both_writers_emit_the_same_bytes(value: object) -> None:
    assert _encode_iteratively(value) == encode_value(value)


def test_nan_payload_and_sign_do_not_count() -> None:
    odd = struct.unpack("<d", b"\x01\0\0\0\0\0\xf8\xff")[0]
    assert encode_value([odd]) == encode_value([float("nan")])


def test_nesting_beyond_the_recursion_limit_encodes() -> None:
    value: list[object] = []
    for _ in range(50_000):
        value = [value]
    assert len(encode_value(value)) == 5 * 50_001


@pytest.mark.parametrize("value", DISTINCT, ids=lambda _: "value")
def test_decoding_gives_back_the_encoded_value(value: object) -> None:
    assert encode_value(decode_value(encode_value(value))) == encode_value(value)


def test_descriptions_are_short_and_survive_any_value() -> None:
    assert describe_value(encode_value({"a": [1, -0.0]})) == "{'a': [1, -0.0]}"
    long = [[1.5, {"a": "b'c"}, None, []]] * 1_000
    assert describe_value(encode_value(long)) == f"{repr(long)[:200]}..."
    assert describe_value(encode_value("x" * 1000)).endswith("...")
    assert describe_value(b"[\1\0\0\0" * 5000 + b"N").startswith("a value of 25,001 bytes")
    assert describe_value(encode_value(10**5000)).startswith("a value of")
