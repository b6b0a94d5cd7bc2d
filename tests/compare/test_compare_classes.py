"""Effects, traits and values: each kind of difference has its name, and shrinking keeps it."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from wirefence.fuzz.compare.classes import EFFECTS, choose_subject, effect_of, explain_effect
from wirefence.fuzz.compare.repetitions import find_input_traits, squeeze_runs
from wirefence.fuzz.compare.shrink import shrink_difference
from wirefence.fuzz.compare.values import format_value, name_value_effect
from wirefence.oracles.traits import TRAITS
from wirefence.targets.environments import Observation
from wirefence.targets.parsers.canonical import encode_value


def _nested(depth):
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("old", "new", "effect"),
    [
        (1, 1.0, "number-type"),
        (1, True, "type"),
        (1, 2, "number-value"),
        (1.0, math.nextafter(1.0, 2.0), "float-rounding"),
        (1.0, 1.5, "number-value"),
        (5e-324, 0.0, "float-rounding"),
        (0.0, -0.0, "zero-sign"),
        ("a", "b", "string"),
        ("a", None, "type"),
        ([1], [1, 2], "members"),
        ({"a": 1}, {"b": 1}, "name"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "order"),
        ({"a": 1}, {"a": 1, "b": 2}, "members"),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": "2"}]}, "type"),
        ([], {}, "type"),
        ([{}, 1], [{}, 2], "number-value"),
        ([{"a": {}}, [], 1, "x"], [{"a": {}}, [], 1, "y"], "string"),
        (_nested(5_000), [_nested(4_999), 1], "members"),
        (10**400, 10**401, "number-value"),
        ("\ud800", "", "string"),
        (float("nan"), 1.0, "number-value"),
    ],
)
def test_values_differ_in_a_named_way(old, new, effect):
    assert name_value_effect(encode_value(old), encode_value(new)) == effect


def test_equal_values_do_not_differ():
    deep = encode_value(_nested(4_000))
    assert name_value_effect(deep, deep) == ""


ACCEPT, REJECT = Observation("accept", encode_value(1)), Observation("reject", b"", "a.Error", "m")
ESCAPE, DEATH = Observation("escape", b"", "b.Error"), Observation("death", b"", "SIGSEGV")
HANG, MEMORY = Observation("hang", b"", "timeout"), Observation("memory", b"", "MemoryError")


@pytest.mark.parametrize(
    ("old", "new", "effect"),
    [
        (ACCEPT, ACCEPT, ""),
        (ACCEPT, REJECT, "newly-rejected"),
        (REJECT, ACCEPT, "newly-accepted"),
        (ACCEPT, ESCAPE, "escapes"),
        (REJECT, ESCAPE, "escapes"),
        (ESCAPE, REJECT, "error-type"),
        (ESCAPE, ACCEPT, "newly-accepted"),
        (ACCEPT, DEATH, "dies"),
        (DEATH, REJECT, "survives"),
        (DEATH, Observation("death", b"", "SIGABRT"), ""),
        (REJECT, HANG, "hangs"),
        (HANG, REJECT, "recovers"),
        (ACCEPT, MEMORY, "memory"),
        (REJECT, Observation("reject", b"", "a.Error", "other"), "message"),
        (REJECT, Observation("reject", b"", "a.Other", "m"), "error-type"),
    ],
)
def test_outcomes_differ_in_a_named_way(old, new, effect):
    assert effect_of(old, new) == effect


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (b'"\\ud800"', "lone-hi"),
        (b'"\\udc00"', "lone-lo"),
        (b'"\\ud800\\udc00"', "escaped-pair"),
        (b'"\\udc00\\ud800"', "lone-hi"),
        (b'{"\\ud800":1}', "surrogate-key"),
        (b'"\\u00e9"', "unicode-escape"),
        (b'"\\u+041"', "lax-hex"),
        (b'"\\u0_41"', "lax-hex"),
        (b'"\\x41"', "bad-escape"),
        (b"9007199254740993", "int>2^53"),
        (b"9223372036854775808", "int>=2^63"),
        (b"-9223372036854775808", "int>2^53"),
        (b"-9223372036854775809", "int<-2^63"),
        (b"18446744073709551616", "int>=2^64"),
        (b"1" * 400, "int-310d"),
        (b"1" * 4301, "int-4301d"),
        (b"1e309", "overflow-exp"),
        (b"1.7976931348623157e308", "float>=1e300"),
        (b"1e299", "exponent"),
        (b"1.8e308", "overflow-exp"),
        (b"0e400", "zero-huge-exp"),
        (b"5e-324", "underflow"),
        (b"-0", "neg-zero-int"),
        (b"1.00000000000000011102230246", "long-mantissa"),
        (b"[" * 200 + b"]" * 200, "depth"),
        (b'{"a":1,"a":2}', "duplicate-name"),
        (b'{"a":1,"\\u0061":2}', "dup-escaped"),
        (b'"\xff"', "invalid-utf8"),
        (b"\xef\xbb\xbf1", "bom"),
        (b"", "empty"),
        (b"1", "any"),
        (b"[,]", "trailing-comma"),
        (b"1 2", "trailing"),
        (b"[1", "unclosed"),
        (b"]", "foreign-text"),
    ],
)
def test_traits_name_what_an_input_holds(raw, name):
    assert choose_subject(find_input_traits(raw)) == name


def test_larger_integers_have_all_traits_of_smaller_ones():
    sizes = (b"9007199254740993", b"9223372036854775808", b"18446744073709551616", b"9" * 400)
    for small, large in pairwise(sizes):
        assert find_input_traits(small) < find_input_traits(large)


def test_an_integer_behind_thousands_of_zeros_has_the_traits_of_its_value():
    assert find_input_traits(b"0" * 5_000 + b"9007199254740993") >= {"int>2^53", "leading-zero"}


def test_every_trait_that_is_found_has_a_meaning():
    inputs = (
        b"[1,] \x00 'a' +1 .5 NaN",
        b'"\\x\x01" //',
        b'{"":1,"2":1e5}',
        b'"' + b"\xf0\x9f\x98\x80" * 40,
    )
    for raw in inputs:
        assert find_input_traits(raw) <= TRAITS.keys()


def test_long_repetitions_do_not_change_traits():
    raw = b"[" * 50_000 + b"]" * 50_000
    assert len(squeeze_runs(raw)) < 20_000
    assert find_input_traits(raw) == {"depth"}
    assert find_input_traits(raw[:-1]) == {"depth", "unclosed"}
    assert find_input_traits(b"[" * 1_000 + b"]" * 300) == {"depth", "unclosed"}
    assert find_input_traits(raw + b"]" * 5) == {"depth", "trailing"}
    assert find_input_traits(b"1" * 50_000) >= {"int-4301d", "int-310d"}


@pytest.mark.parametrize("effect", EFFECTS)
def test_every_effect_has_one_sentence(effect):
    sentence = explain_effect(effect, frozenset(("nan",)), "old==1", "new==2")
    assert sentence.startswith("For a spelling of NaN")
    assert sentence.endswith(".")
    assert "{" not in sentence


def test_shrinking_finds_the_limit_of_nesting():
    tries = []

    def keeps_many(raws):
        tries.extend(raws)
        return [raw.count(b"[") == raw.count(b"]") and raw.count(b"[") > 1024 for raw in raws]

    assert shrink_difference(b"[" * 70_000 + b"1" + b"]" * 70_000, keeps_many) in (
        b"[" * 1025 + b"]" * 1025,
        b"[" * 1025 + b"1" + b"]" * 1025,
    )
    assert len(tries) < 500


def test_deep_nesting_is_shown_in_its_plainest_kind():
    """As a reader dies of it whatever the brackets: where its stack ends, whose sum they are."""

    def keeps_many(raws):
        return [raw.count(b"[") + 2 * raw.count(b"{") >= 100_000 for raw in raws]

    objects = b'{"a":' * 90_000 + b"1" + b"}" * 90_000
    assert shrink_difference(objects, keeps_many) == b"[" * 100_000


def test_shrinking_an_input_that_no_longer_shows_it_gives_it_back():
    assert shrink_difference(b"[1,2]", lambda raws: [False] * len(raws)) == b"[1,2]"


def test_shrinking_survives_a_side_that_changes_its_mind():
    answers = iter([True] + [False] * 10_000)
    assert shrink_difference(b"[1,2]", lambda raws: [next(answers) for _ in raws]) == b"[1,2]"


def test_values_are_shown_short_and_without_raw_surrogates():
    assert format_value(encode_value("\ud800")) == r"'\ud800'"
    assert "deep" in format_value(encode_value(_nested(5_000)))
    assert len(format_value(encode_value(["x" * 500]))) < 200
