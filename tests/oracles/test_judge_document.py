"""Each rule of the JSON layer, both ways, and hostile sizes."""

import json
import time

import pytest

from wirefence.oracles.document import DEEPEST, UNKNOWN, judge_document

PLANTED = [
    (b"\xef\xbb\xbf1", "utf8-bom", "utf8-bom"),
    (b'"\xc0\xaf"', "utf8-invalid", "utf8-invalid"),
    (b"[1,]", "json-syntax", "json-syntax"),
    (b"[NaN]", "json-syntax", "json-syntax"),
    (b"", "json-syntax", "json-syntax"),
    (b'{"a":1,"\\u0061":2}', "json-duplicate-name", ""),
    (b'"\\ud800"', "json-lone-surrogate", ""),
    (b"9007199254740992", "json-integer-range", ""),
    (b"1e999", "json-number-range", ""),
    (b"1e-999", "json-number-range", ""),
    (b"1" * 1001, "json-number-length", ""),
    (b"[" * 129 + b"]" * 129, "json-depth", ""),
    (b'{"a":1,"b":2}', "", ""),
    (b'"\\ud83d\\ude00"', "", ""),
    (b"9007199254740991", "", ""),
    (b"0e-999", "", ""),
    (b"[" * 128 + b"]" * 128, "", ""),
]


@pytest.mark.parametrize(("raw", "strict", "spec"), PLANTED)
def test_rule_by_profile(raw: bytes, strict: str, spec: str) -> None:
    assert judge_document(raw).rule == strict
    assert judge_document(raw, profile="spec").rule == spec


@pytest.mark.parametrize(
    ("raw", "at"),
    [
        (b"[1 2]", 3),
        (b"[1,]", 3),
        (b"[,1]", 1),
        (b'{"a" 1}', 5),
        (b'{"a":}', 5),
        (b'{"a":1,}', 7),
        (b"{1:2}", 1),
        (b'["a":1]', 4),
        (b'"a":1', 3),
        (b"[[1}]", 3),
        (b"[[1]}", 4),
        (b"1]", 1),
        (b"1,", 1),
        (b"[ ] ]", 4),
        (b"{ } {", 4),
        (b"[1", 2),
        (b'["a" "b"]', 5),
        (b'[1 "b"]', 3),
        (b'[1 "b":2]', 3),
        (b'{"a" "b"}', 5),
        (b'{"a":1 "b":2}', 7),
        (b'{"a":"b" 1}', 9),
        (b" ", 0),
        ("[\u00e9]".encode(), 1),
    ],
)
def test_a_syntax_fault_is_where_the_first_wrong_token_is(raw: bytes, at: int) -> None:
    said = judge_document(raw)
    assert (said.rule, said.at) == ("json-syntax", at)


@pytest.mark.parametrize(
    ("raw", "rule", "at"),
    [
        (b'{"a":1e999,"a":1}', "json-number-range", 5),
        (b'{"a":1,"a":1e999}', "json-duplicate-name", 8),
        (b'{"\\ud800":1e999}', "json-lone-surrogate", 2),
        (b"[" * 130 + b"1e999" + b"]" * 130, "json-depth", 128),
        (b"[1e999," + b"[" * 130 + b"]" * 131, "json-number-range", 1),
    ],
)
def test_of_strict_rules_the_first_by_position_is_named(raw: bytes, rule: str, at: int) -> None:
    said = judge_document(raw)
    assert (said.rule, said.at) == (rule, at)


@pytest.mark.parametrize(
    "text",
    [
        '{"a":[1,[2,{"b":null,"c":[]}],{}],"d":{"e":"f"},"g":[[[true],false]]}',
        '[ [ ] , [ [ ] ] , { } , { "a" : { } } ]',
        '{"a":"\\u0061\\n","\\u0062":[-1.5e3,0,-0,12345678901234567890]}',
        "[[[1]],[[2],3],[]]",
    ],
)
def test_the_value_is_what_the_text_says(text: str) -> None:
    assert judge_document(text.encode(), profile="spec").value == json.loads(text)


@pytest.mark.parametrize("digits", [600, 601, 1_200, 4_000, 4_301, 20_000])
def test_an_integer_of_any_length_has_its_value(digits: int) -> None:
    value = judge_document(b"-" + b"7" * digits, profile="spec").value
    assert isinstance(value, int)
    assert value == -7 * (10**digits - 1) // 9


def test_values_are_kept_down_to_a_bound_and_checked_below_it() -> None:
    inside, beyond = (
        judge_document(b"[" * depth + b'{"a":1}' + b"]" * depth, profile="spec")
        for depth in (DEEPEST - 1, DEEPEST + 1)
    )
    assert _innermost(inside.value) == {"a": 1}
    assert _innermost(beyond.value) is UNKNOWN
    wrong = b"[" * (DEEPEST + 1) + b'{"a":1]'
    assert judge_document(wrong, profile="spec").rule == "json-syntax"


DEPTHS = (1, 2, 65, 200, DEEPEST - 1, DEEPEST, DEEPEST + 1, DEEPEST + 100)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(
    ("opener", "closer", "wrong"), [(b"[", b"]", b"}"), (b'{"a":', b"}", b"]")]
)
def test_a_wrong_closer_is_where_it_stands_at_any_depth(
    depth: int, opener: bytes, closer: bytes, wrong: bytes
) -> None:
    for closed in {0, 1, depth // 2, depth - 1}:
        raw = opener * depth + b"1" + closer * closed + wrong + closer * (depth - closed - 1)
        said = judge_document(raw, profile="spec")
        assert (said.rule, said.at) == ("json-syntax", len(opener) * depth + 1 + closed)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("opener", [b"[", b'{"a":'])
def test_what_follows_a_deep_value_is_read_where_it_stands(depth: int, opener: bytes) -> None:
    closer = b"]" if opener == b"[" else b"}"
    for deep in (b"1", b"", b'{"x":[{}]}', b"[[],{}]"):
        if not deep and opener != b"[":
            continue
        raw = b'{"deep":' + opener * depth + deep + closer * depth + b',"last":[1,{"b":[2]}]}'
        said = judge_document(raw, profile="spec")
        assert said.accepted
        assert said.value["last"] == [1, {"b": [2]}]
        assert not judge_document(raw[:-1], profile="spec").accepted
        twice = judge_document(raw[:-1] + b',"last":0}', profile="spec")
        assert twice.duplicates
        assert twice.value["last"] == 0


def _innermost(value: object) -> object:
    while isinstance(value, list):
        (value,) = value
    return value


@pytest.mark.parametrize(
    ("raw", "places"),
    [
        (b'{"id":-0}', {0}),
        (b'{"id": 0}', set()),
        (b'{"id":-0.0}', set()),
        (b'{"params":{"id":-0}}', set()),
        (b'[{"id":1},{"id":-0},{"x":{"id":-0}},{"\\u0069d":-0}]', {1, 3}),
        (b'[[{"id":-0}]]', set()),
        (b'["id",-0]', set()),
        (b'{"id":-0,"id":0}', set()),
        (b'{"id":-0,"\\u0069d":"x"}', set()),
        (b'{"id":0,"id":-0}', {0}),
        (b'{"id":-0,"params":{"id":1,"id":2}}', {0}),
        (b'[{"id":-0,"id":0},{"id":-0}]', {1}),
    ],
)
def test_messages_with_minus_zero_for_an_id_are_named(raw: bytes, places: set[int]) -> None:
    assert judge_document(raw, profile="spec").minus_zeros == places


def test_a_million_brackets_take_no_longer_than_their_bytes() -> None:
    def cost(raw: bytes) -> float:
        begun = time.process_time()
        judge_document(raw)
        return time.process_time() - begun

    text = max(cost(b'"' + b"a" * 1_000_000 + b"%d" % n) for n in range(3))
    assert cost(b"[" * 1_000_000) < 100 * text + 1.0


def test_nesting_and_length_do_not_blow_the_stack() -> None:
    assert judge_document(b"[" * 100_000).rule == "json-syntax"
    assert judge_document(b'"' + b"a" * 10_000_000 + b'"').accepted
