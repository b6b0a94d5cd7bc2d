"""Values are compared with schemas of servers, and no schema takes long or reaches anything."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wirefence.oracles.document import DEEPEST, UNKNOWN, LongInteger
from wirefence.oracles.json_schema import fits_schema

OLD = {"$schema": "http://json-schema.org/draft-07/schema#"}
NEW = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
TREE = {"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}}
NULL = {"type": "null"}
PAIR = {"type": "array", "items": [{"type": "string"}]}


def fits(schema: Any, value: object) -> str:
    return fits_schema(json.dumps(schema), value)


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "object", "required": ["a"]}, {"a": 1}, {}),
        ({"type": "integer"}, 1.0, 1.5),
        ({"enum": ["a", 1]}, 1, True),
        ({"pattern": "^[a-z]+$"}, "ab", "a1"),
        ({"prefixItems": [{"type": "string"}], "items": False}, ["a"], ["a", 1]),
        ({**OLD, **PAIR}, ["a", 1], [1]),
        ({**NEW, "dependentRequired": {"a": ["b"]}}, {"b": 1}, {"a": 1}),
        ({"$id": "https://example.org/s", "$ref": "#/$defs/x%25", "$defs": {"x%": NULL}}, None, 1),
        (TREE, {"a": {"b": {}}}, {"a": {"b": 1}}),
        ({"unevaluatedItems": False, "allOf": [{"prefixItems": [{}]}]}, [1], [1, 2]),
        ({"format": "email"}, "no address", None),
    ],
)  # fmt: skip
def test_a_value_fits_or_differs(schema: object, good: object, bad: object) -> None:
    assert fits(schema, good) == "fits"
    if bad is not None:
        assert fits(schema, bad) == "differs"


@pytest.mark.parametrize(
    "schema",
    [
        True,
        5,
        {"type": "strin"},
        PAIR,
        {"$schema": "http://json-schema.org/draft-04/schema#"},
        {"$schema": 7},
        {**OLD, "contentEncoding": "base64"},
        {"pattern": "(?=a)a"},
        {"$ref": "#/$defs/none"},
        {"$ref": "other.json"},
        {"$ref": "#name", "$defs": {"a": {"$anchor": "name"}}},
        {"properties": {"a": {"$id": "https://example.org/a"}}},
        {"$dynamicRef": "#a"},
    ],
)
def test_what_is_no_schema_or_may_be_read_in_two_ways_is_not_judged(schema: object) -> None:
    assert fits(schema, {}) == fits(schema, "text") == "unknown"


@pytest.mark.parametrize("text", ["", "{", "{}{}", '"\ud800"', '{"a":1,}'])
def test_what_is_no_json_is_not_judged(text: str) -> None:
    assert fits_schema(text, {}) == "unknown"


@pytest.mark.parametrize(
    "value", [LongInteger("1"), UNKNOWN, 2**53 + 1, -(10**400), 1e300, float("inf")]
)
def test_values_that_readers_round_or_lack_are_not_judged(value: object) -> None:
    for each in (value, [value], {"a": [{"b": value}]}):
        assert fits({"minimum": 2}, each) == "unknown"


def double(levels: int) -> dict[str, Any]:
    """Each level refers to the next one twice."""
    defs = {
        f"d{at}": {"anyOf": [{"$ref": f"#/$defs/d{at + 1}"}, {"$ref": f"#/$defs/d{at + 1}"}]}
        for at in range(levels)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**defs, f"d{levels}": {"const": 1}}}


def nest(levels: int, make: Callable[[Any], Any], inner: Any) -> Any:
    for _ in range(levels):
        inner = make(inner)
    return inner


HOSTILE: dict[str, tuple[str, str]] = {
    "deep": ('{"not":' * 5_000 + "{}" + "}" * 5_000, "1"),
    "deeper than any reader": ('{"not":' * DEEPEST + "{}" + "}" * DEEPEST, "1"),
    "exponential": (json.dumps(double(30)), "2"),
    "recursive twice": (json.dumps(TREE), json.dumps(nest(40, lambda x: {"a": x, "b": 1}, {}))),
    "recursive without end": ('{"anyOf":[{"$ref":"#"},{"$ref":"#"},{"not":{"$ref":"#"}}]}', "1"),
    "refers to itself": ('{"$ref":"#"}', "1"),
    "catastrophic pattern": ('{"pattern":"^(a+)+$"}', json.dumps("a" * 9_000 + "!")),
    "huge pattern": ('{"pattern":"((a{1,999}){1,999}){1,999}"}', '"a"'),
    "pattern and long string": ('{"pattern":"(.*a){1,30}!"}', json.dumps("a" * 2_000_000)),
    "wide": (json.dumps({"properties": {str(at): {} for at in range(50_000)}}), "{}"),
    "long": (json.dumps({"title": "x" * 1_000_000}), "{}"),
    "many values": (
        json.dumps({"items": {"anyOf": [{"const": at} for at in range(900)]}}),
        json.dumps([-1] * 100_000),
    ),
    "unequal items": ('{"uniqueItems":true}', json.dumps([{"a": at} for at in range(50_000)])),
}
ONE_BY_ONE = """\
import json, sys
from wirefence.oracles.document import judge_document
from wirefence.oracles.json_schema import fits_schema
for schema, value in json.load(sys.stdin):
    print(fits_schema(schema, judge_document(value.encode(), profile="spec").value), flush=True)
"""


def test_no_schema_takes_long() -> None:
    """All of them take about a second; one that is not bounded takes more than a minute."""
    sent = json.dumps([*HOSTILE.values()])
    done = subprocess.run(
        [sys.executable, "-c", ONE_BY_ONE],
        input=sent, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    told = dict(zip(HOSTILE, done.stdout.split(), strict=True))
    refused = {name for name, fit in told.items() if fit == "unknown"}
    assert refused == HOSTILE.keys() - {
        *("refers to itself", "recursive without end", "catastrophic pattern", "unequal items"),
    }
    assert told["catastrophic pattern"] == "differs"


@pytest.mark.parametrize("keyword", ["$ref", "$schema", "$dynamicRef", "$id"])
def test_nothing_is_fetched(keyword: str, tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text('{"type":"string"}', encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        host = f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"
        for place in (host, file.as_uri()):
            plain: dict[str, Any] = {keyword: place}
            told = {
                fits(each, 1)
                for each in (
                    plain,
                    {**OLD, "properties": {"a": plain}, "additionalProperties": plain},
                    {"$id": place, "$ref": "other.json"},
                    {"allOf": [{"$id": place}, {"$ref": place + "#/x"}]},
                )
            }
            assert told <= {"unknown", "fits"}
        with pytest.raises(BlockingIOError):
            server.accept()
