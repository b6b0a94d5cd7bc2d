"""The tables of the protocol's shapes are those of the official schemas, and so are the verdicts.

``WIREFENCE_PROFILE=nightly`` or ``WIREFENCE_SHAPES=100000`` compares more values.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from scripts import protocol_table
from tests.oracles.official_schemas import DIFFERENCES, Official, definitions_of, explain, schema_of
from tests.oracles.shape_mutations import (
    make_from_schema,
    method_answered,
    mutate,
    subjects,
)
from wirefence.oracles import protocol
from wirefence.oracles.message import judge_message
from wirefence.oracles.protocol import (
    ShapeFault,
    find_definition_fault,
    find_params_fault,
    find_result_fault,
    list_methods,
)
from wirefence.strategies.records import VERSIONS, Direction, Version
from wirefence.strategies.source import RandomSource

DIRECTIONS: tuple[Direction, Direction] = ("client-to-server", "server-to-client")
NIGHTLY = "100000" if os.environ.get("WIREFENCE_PROFILE") == "nightly" else "1500"
VALUES = int(os.environ.get("WIREFENCE_SHAPES", NIGHTLY))
"""Values for each version and direction; as many, and 6,000 at least, for all definitions."""

Table = dict[str, Any]


def table_of(version: Version) -> Table:
    table: Table = json.loads((protocol_table.TABLES / f"{version}.json").read_bytes())
    return table


def compare_messages(
    shared: Path, version: Version, direction: Direction, count: int
) -> Iterator[str]:
    """Compare the verdicts on ``count`` damaged messages: what explains each, see ``explain``."""
    choose, source = random.Random(version), RandomSource(direction)
    known = list(subjects(version, direction))
    for number in range(count):
        subject = known[number % len(known)]
        value = mutate(choose, subject.make_value(source))
        ours = subject.find(value) is None
        yield name_difference(shared, version, subject.official_parts(value), value, ours=ours)


def compare_definitions(shared: Path, version: Version, count: int) -> Iterator[str]:
    """The same for values made from the schema, two of three of them damaged."""
    choose, official = random.Random(version), Official(schema_of(shared, version))
    names = list(table_of(version)["definitions"])
    for number in range(count):
        name = names[number % len(names)]
        value = make_from_schema(choose, official, official.part(name))
        if number // len(names) % 3 and isinstance(value, dict | list):
            value = mutate(choose, value)
        ours = find_definition_fault(version, name, value) is None
        yield name_difference(shared, version, (name,), value, ours=ours)


def name_difference(
    shared: Path, version: Version, parts: tuple[str, ...], value: Any, *, ours: bool
) -> str:
    found = explain(shared, version, parts, value, ours=ours)
    return f"unexplained: {parts} {json.dumps(value)[:500]}" if found == "unexplained" else found


def unexplained(found: Iterable[str]) -> Iterator[str]:
    return (name for name in found if name.startswith("unexplained"))


def test_the_tables_are_made_of_the_schemas(shared: Path) -> None:
    result = CliRunner().invoke(
        protocol_table.main, ["--check"], env={"WIREFENCE_SHARED": str(shared)}
    )
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("version", VERSIONS)
def test_damaged_messages_are_judged_as_by_the_schema(
    shared: Path, version: Version, direction: Direction
) -> None:
    assert not [*unexplained(compare_messages(shared, version, direction, VALUES))]


def compare_whole_messages(
    shared: Path, version: Version, direction: Direction, count: int
) -> Iterator[str]:
    """Compare the judge's verdicts on requests and notifications, damaged anywhere."""
    choose, source = random.Random(version), RandomSource(direction)
    known = [each for each in subjects(version, direction) if each.kind.sort in ENVELOPES]
    kinds = {each.kind.method: each.kind for each in known}
    for number in range(count):
        subject = known[number % len(known)]
        message = mutate(choose, subject.make_message(source))
        method = message.get("method")  # damage may put another one there
        kind = kinds.get(method, subject.kind) if isinstance(method, str) else subject.kind
        parts = (kind.name, ENVELOPES[kind.sort])
        ours = judge_message(json.dumps(message).encode(), version, direction, "spec").accepted
        yield name_difference(shared, version, parts, message, ours=ours)


ENVELOPES = {"request": "JSONRPCRequest", "notification": "JSONRPCNotification"}


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("version", VERSIONS)
def test_whole_messages_are_judged_as_by_the_schema(
    shared: Path, version: Version, direction: Direction
) -> None:
    assert not [*unexplained(compare_whole_messages(shared, version, direction, VALUES))]


@pytest.mark.parametrize("version", VERSIONS)
def test_values_of_each_definition_are_judged_as_by_the_schema(
    shared: Path, version: Version
) -> None:
    assert not [*unexplained(compare_definitions(shared, version, max(VALUES, 6_000)))]


@pytest.mark.parametrize("name", DIFFERENCES)
def test_each_difference_on_purpose_occurs(shared: Path, name: str) -> None:
    version, definition, value = DIFFERENCES[name].sample
    ours = find_definition_fault(version, definition, value) is None
    assert explain(shared, version, (definition,), value, ours=ours) == name


def test_the_contract_lists_each_difference_with_its_reason() -> None:
    page = (protocol_table.ROOT / "docs" / "contract.md").read_text(encoding="utf-8")
    listed = page.partition("## Where the judge differs from the schemas")[2]
    named = [line.split("*")[1].strip("`") for line in listed.splitlines() if line.startswith("- ")]
    assert named == [*DIFFERENCES, "resultType"]


def test_a_complete_result_cannot_pass_for_one_that_requires_input(shared: Path) -> None:
    """One more difference: to the schema, any ``resultType`` makes an InputRequiredResult."""
    official = Official(schema_of(shared, "2026-07-28"))
    bare = {"resultType": "complete"}
    assert official.accepts(("CallToolResultResponse.result",), bare)
    assert find_result_fault("2026-07-28", "tools/call", bare) == (("content",), "missing")
    asked = {"resultType": "input_required", "inputRequests": 1}
    assert find_result_fault("2026-07-28", "tools/call", asked) == (("inputRequests",), "type")
    assert find_result_fault("2026-07-28", "tools/call", {"resultType": "org.example/x"}) is None


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("version", VERSIONS)
def test_valid_messages_have_no_fault(version: Version, direction: Direction) -> None:
    source = RandomSource(1)
    for subject in subjects(version, direction):
        for _ in range(20):
            value = subject.make_value(source)
            assert subject.find(value) is None, (subject.kind.name, value)


PLANTS: dict[str, Callable[[str], str]] = {
    "required members are optional": lambda text: re.sub(r'(?<![?|&*])": ', '?": ', text),
    "optional members are required": lambda text: text.replace('?": ', '": '),
    "integers are numbers": lambda text: text.replace('"integer"', '"number"'),
    "numbers are integers": lambda text: text.replace('"number"', '"integer"'),
    "strings are anything": lambda text: text.replace('"string"', '"any"'),
    "objects are anything": lambda text: text.replace('"object"', '"any"'),
    "formats are not checked": lambda text: re.sub('"string [a-z-]+"', '"string"', text),
    "URIs are templates": lambda text: text.replace('"string uri"', '"string uri-template"'),
    "bounds are not checked": lambda text: re.sub(r' \d+\.\.\d*"', '"', text),
    "bounds are moved": lambda text: text.replace("0..", "1.."),
    "one literal is another": lambda text: text.replace("'text'", "'txt'"),
    "one member of an enumeration is lost": lambda text: text.replace(" | 'user'", ""),
    "one branch of a union is lost": lambda text: text.replace("TextContent | ", ""),
    "maps are not checked": lambda text: text.replace('"*": "string"', '"*": "any"'),
    "items are not checked": lambda text: text.replace('["ContentBlock"]', '["any"]'),
    "half of an intersection is lost": lambda text: text.replace("Result & Task", "Result"),
}  # fmt: skip


@pytest.mark.parametrize("plant", PLANTS)
def test_a_wrong_table_is_noticed(
    shared: Path, monkeypatch: pytest.MonkeyPatch, plant: str
) -> None:
    version: Version = "2025-11-25"
    table = table_of(version)
    plain = table["definitions"]
    broken = {name: json.loads(PLANTS[plant](json.dumps(each))) for name, each in plain.items()}
    assert broken != plain
    compiled = protocol._compile_table(table | {"definitions": broken})
    monkeypatch.setattr(protocol, "_load_protocol", lambda _: compiled)
    messages = (compare_messages(shared, version, direction, 1_500) for direction in DIRECTIONS)
    assert any(unexplained(chain(*messages, compare_definitions(shared, version, 3_000))))


WRONG_EXAMPLES = {"ReadResourceResultResponse"}
"""It has no cacheScope and no ttlMs: the schema takes it for an InputRequiredResult."""


def examples() -> Iterator[tuple[str, Any]]:
    shared = Path(os.environ.get("WIREFENCE_SHARED", protocol_table.ROOT.parent / "shared"))
    for path in sorted((shared / "mcp" / "2026-07-28" / "examples").glob("*/*.json")):
        yield path.parent.name, json.loads(path.read_bytes())


def find_example_fault(name: str, value: Any) -> ShapeFault | None:
    """The fault of an official example as what its folder names, judged without its envelope."""
    version: Version = "2026-07-28"
    if name.endswith("ResultResponse"):
        return find_result_fault(
            version, method_answered(name.removesuffix("Response")), value["result"]
        )
    if "jsonrpc" in value and "method" in value:
        listed = (
            list_methods(version, sort, "client-to-server") for sort in ("request", "notification")
        )
        ours = any(value["method"] in methods for methods in listed)
        sender = DIRECTIONS[not ours]
        return find_params_fault(version, value["method"], value.get("params"), sender)
    if name.endswith("Error") and "error" in value:
        return find_definition_fault(version, name + ".error", value["error"])
    return find_definition_fault(version, name, value)


def body_of(name: str, value: Any) -> tuple[str, Any]:
    """What is judged of an example, and its name in the schema."""
    for member in ("result", "error", "params"):
        if "jsonrpc" in value and member in value:
            return f"{name}.{member}", value[member]
    return name, value


def test_the_official_examples_have_no_fault(shared: Path) -> None:
    seen = [name for name, value in examples() if find_example_fault(name, value) is not None]
    assert set(seen) == WRONG_EXAMPLES
    assert len({name for name, _ in examples()}) > 80


def required_of(official: Official, schema: Any) -> list[str]:
    """The members that a schema requires, through references and intersections."""
    if "$ref" in schema:
        return required_of(official, official.definitions[schema["$ref"].rsplit("/", 1)[1]])
    parts = [required_of(official, part) for part in schema.get("allOf", ())]
    return [*schema.get("required", ()), *(name for part in parts for name in part)]


def test_an_example_without_a_required_member_is_refused(shared: Path) -> None:
    official, tried = Official(schema_of(shared, "2026-07-28")), 0
    for name, value in examples():
        if name in WRONG_EXAMPLES:
            continue
        part, body = body_of(name, value)
        for member in required_of(official, official.part(part)):
            kept = body.pop(member)
            assert find_example_fault(name, value) == ((member,), "missing"), (name, member)
            body[member] = kept
            tried += 1
    assert tried > 150


CONSTRUCTS: dict[str, tuple[str, Any]] = {
    "pattern": ("Icon.src", {"type": "string", "pattern": "^a"}),
    "email": ("Icon.src", {"type": "string", "format": "email"}),
    "closed": ("Icon.src", {"type": "object", "additionalProperties": False}),
    "uniqueItems": ("Icon.src", {"type": "array", "items": {}, "uniqueItems": True}),
    "null": ("Icon.src", {"const": None}),
    "exclusiveMinimum": ("Icon.src", {"type": "number", "exclusiveMinimum": 0}),
    "absent": ("Icon.src", {"$ref": "#/$defs/Nothing"}),
    "holds itself": ("Icon.src", {"$ref": "#/$defs/Icon"}),
    "cannot spell": ("Icon.src", {"const": "a | b", "type": "string"}),
    "no name": ("Icon.a?", {"type": "string"}),
    "several definitions": ("CallToolRequest.method", {"const": "tools/list", "type": "string"}),
    "with the members": ("CallToolRequest.more", {"type": "string"}),
}


@pytest.mark.parametrize("named", CONSTRUCTS)
def test_what_a_table_cannot_say_is_refused(shared: Path, named: str) -> None:
    schema = json.loads(json.dumps(schema_of(shared, "2025-11-25")))
    place, construct = CONSTRUCTS[named]
    definition, _, member = place.partition(".")
    definitions_of(schema)[definition]["properties"][member] = construct
    with pytest.raises(protocol_table.UnknownConstructError, match=named):
        protocol_table.make_table("2025-11-25", schema)


def test_a_result_that_its_side_does_not_send_is_refused(shared: Path) -> None:
    schema = json.loads(json.dumps(schema_of(shared, "2025-11-25")))
    listed = definitions_of(schema)["ServerResult"]["anyOf"]
    listed.remove({"$ref": "#/$defs/CallToolResult"})
    with pytest.raises(protocol_table.UnknownConstructError, match="ServerResult does not list"):
        protocol_table.make_table("2025-11-25", schema)


def test_a_correction_is_for_what_the_schema_says_now(shared: Path) -> None:
    schema = json.loads(json.dumps(schema_of(shared, "2026-07-28")))
    definitions_of(schema)["JSONValue"] = {"type": ["string", "number"]}
    table = protocol_table.make_table("2026-07-28", schema)
    assert table["definitions"]["JSONValue"] == "string | number"
