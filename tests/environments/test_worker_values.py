"""A worker tells typed values in one encoding, whatever Python it runs under."""

from __future__ import annotations

import ast
import json
import math
import struct
import sys

import pytest

from wirefence.targets.environments import prepare_side
from wirefence.targets.environments.protocol import digest_of
from wirefence.targets.errors import TargetError
from wirefence.targets.parsers.canonical import encode_value

from .absence import skip_where_absent
from .conftest import WORKER

VALUES = {
    b"null": b"N",
    b"true": b"T",
    b"false": b"F",
    b"0": b"i" + struct.pack("<i", 0),
    b"-2147483648": b"i" + struct.pack("<i", -(2**31)),
    b"2147483648": b"l" + struct.pack("<iHHH", 3, 0, 0, 2),
    b"-32768000000": b"l" + struct.pack("<iHHH", -3, 0, 16960, 30),
    b"1.0": b"g" + struct.pack("<d", 1.0),
    b"-0.0": b"g" + struct.pack("<d", -0.0),
    b"NaN": b"g\x00\x00\x00\x00\x00\x00\xf8\x7f",
    b"1e400": b"g" + struct.pack("<d", math.inf),
    b'"\xc3\xa9"': b"u\x02\x00\x00\x00\xc3\xa9",
    b'"\\ud800"': b"u\x03\x00\x00\x00\xed\xa0\x80",
    b'"\\ud83d\\ude00"': b"u\x04\x00\x00\x00\xf0\x9f\x98\x80",
    b"[]": b"[\x00\x00\x00\x00",
    b'{"a":[true]}': b"{u\x01\x00\x00\x00a[\x01\x00\x00\x00T0",
    b'{"b":1,"a":2}': b"{u\x01\0\0\0bi\x01\0\0\0u\x01\0\0\0ai\x02\0\0\0000",
}
DEEP = b"[" * 100_000
"""Deeper than any Python reads: 3.14 reads 65,000 levels with the usual stack."""
OTHERS = ("3.8", "3.9", "3.10", "3.12", "3.13", "3.14")


@pytest.fixture(scope="module")
def standard():
    return prepare_side("json")


def test_each_value_has_the_documented_bytes(standard):
    with standard.worker() as worker:
        seen = [one.value for one in worker.outcomes(list(VALUES))]
    assert seen == list(VALUES.values())


@pytest.mark.parametrize("version", OTHERS)
def test_another_python_gives_the_same_bytes_and_digests(standard, version):
    try:
        other = prepare_side(f"python:{version}")
    except TargetError as error:
        skip_where_absent(error)
    raws = [*VALUES, b"", b"[", b"\xff", b"[" * 200_000, b"[[1.5],{}]" * 2]
    with standard.worker() as here, other.worker() as there:
        assert here.digests(raws) == there.digests(raws)
        assert here.outcomes(list(VALUES)) == there.outcomes(list(VALUES))


def test_the_encoding_is_that_of_the_parser_configurations(standard):
    raws = [raw for raw in VALUES if raw != b"NaN"]
    with standard.worker() as worker:
        assert [one.value for one in worker.outcomes(raws)] == [
            encode_value(json.loads(raw)) for raw in raws
        ]


def test_a_digest_is_that_of_the_outcome_in_full(standard):
    raws = [*VALUES, b"", b"\xff", DEEP]
    with standard.worker() as worker:
        for named in (True, False):
            told = [digest_of(one, named=named) for one in worker.outcomes(raws)]
            assert worker.digests(raws, named=named) == told


def test_a_digest_begins_with_the_kind_and_may_leave_the_type_out(standard):
    with standard.worker() as worker:
        digests = worker.digests([b"1", b"", DEEP])
        bare = worker.digests([b"", DEEP], named=False)
    assert [digest[:1] for digest in digests] == [b"+", b"-", b"!"]
    assert bare[0][1:] == bare[1][1:] != digests[1][1:]


def test_text_that_an_extension_left_malformed_is_told_by_its_characters(opened):
    planted = """
import ctypes, sys
def loads(raw):
    text = "".join(["a", "b"])  # a new object each time, two bytes of ASCII
    ctypes.memmove(id(text) + sys.getsizeof(text) - 3, bytes([0xC3, 0xA9]), 2)
    return text
"""
    with opened(planted) as worker:
        assert worker.outcomes([b"x"])[0].value == b"u\x04\x00\x00\x00\xc3\x83\xc2\xa9"


def test_a_value_of_another_type_is_told_with_its_type(opened):
    with opened("import decimal\nloads = lambda raw: [decimal.Decimal('1.0')]") as worker:
        value = worker.outcomes([b"x"])[0].value
    assert value.startswith(b"[\x01\x00\x00\x00?")
    assert value.endswith(b"decimal.Decimal Decimal('1.0')")


def test_whole_floats_become_integers_for_a_language_with_one_number_type(standard):
    raws = [b"1.0", b"1e2", b"-0.0", b"1.5", b"1e400", b"[1e20]"]
    with standard.worker() as worker:
        seen = [one.value for one in worker.outcomes(raws, project=True)]
        assert worker.digests(raws, project=True) == [
            digest_of(one) for one in worker.outcomes(raws, project=True)
        ]
    assert seen == [encode_value(v) for v in (1, 100, -0.0, 1.5, math.inf, [10**20])]


def test_a_side_writes_values_that_the_other_then_reads(standard):
    values = [math.nan, "\ud800", 10**30, {"a": [1, 1.0, True]}]
    with standard.worker() as worker:
        texts = worker.serialize([encode_value(value) for value in values])
        assert [one.value for one in texts] == [
            b"NaN", b'"\\ud800"', b"1" + b"0" * 30, b'{"a": [1, 1.0, true]}',
        ]  # fmt: skip
        back = worker.outcomes([one.value for one in texts])
    assert [one.value for one in back] == [encode_value(value) for value in values]


def test_what_a_writer_refuses_is_told_like_a_readers_error(opened):
    planted = """
def loads(raw): return 1
def dumps(value):
    if value == 1: raise TypeError("no ones")
    raise RuntimeError("no others")
"""
    with opened(planted) as worker:
        seen = worker.serialize([encode_value(1), encode_value(2)])
    assert [(one.kind, one.error, one.message) for one in seen] == [
        ("reject", "builtins.TypeError", "no ones"),
        ("escape", "builtins.RuntimeError", "no others"),
    ]


def test_text_and_bytes_are_readers_of_their_own(standard):
    raw = '{"a": 1}'.encode("utf-16")
    with standard.worker() as worker:
        assert worker.outcomes([raw], reader="bytes")[0].kind == "accept"
        text = worker.outcomes([raw], reader="str")[0]
        assert (text.kind, text.error) == ("reject", "worker.NotUtf8Error")
        with pytest.raises(ValueError, match="there are str, bytes"):
            worker.outcomes([raw], reader="tape")


def test_errors_are_named_as_callers_catch_them(standard):
    with standard.worker() as worker:
        seen = worker.outcomes([b""])[0]
    assert seen.error == "json.JSONDecodeError"
    assert seen.bases[:2] == ("builtins.ValueError", "builtins.Exception")
    assert "line 1 column 1" in seen.message


def test_the_worker_is_one_file_of_the_standard_library_and_of_python_3_8():
    tree = ast.parse(WORKER.read_bytes(), feature_version=(3, 8))
    names = {
        alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    } | {
        (node.module or "").partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
    }
    assert names <= sys.stdlib_module_names
