"""Every kind of message of every version is made, and is what the official schema says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from wirefence.strategies.mcp import message, message_of
from wirefence.strategies.mcp_calls import PLANS, call
from wirefence.strategies.mcp_kinds import Kind, kinds
from wirefence.strategies.mcp_message import batch, reorder
from wirefence.strategies.records import VERSIONS, Direction, Version
from wirefence.strategies.source import RandomSource

Schema = Mapping[str, Any]

DIRECTIONS: tuple[Direction, Direction] = ("client-to-server", "server-to-client")
SIDES = {"client-to-server": "Client", "server-to-client": "Server"}
EACH = 12
NOT_IN_A_UNION = {"CreateTaskResult"}
"""Answers a request that was made a task, whatever its kind: the schema lists it nowhere."""


@lru_cache
def schema_of(shared: Path, version: Version) -> Schema:
    schema: Schema = json.loads((shared / "mcp" / version / "schema.json").read_text())
    return schema


def key_of(schema: Schema) -> str:
    return "$defs" if "$defs" in schema else "definitions"


def check(schema: Schema, definition: str, value: object) -> None:
    reference = {"$ref": f"#/{key_of(schema)}/{definition}"}
    rooted = {key_of(schema): schema[key_of(schema)], "$schema": schema["$schema"], **reference}
    # Before 2019-09 a $ref hides what stands beside it, the definitions included; allOf doesn't.
    if key_of(schema) == "definitions":
        rooted = rooted | {"allOf": [reference]}
        del rooted["$ref"]
    jsonschema.validators.validator_for(rooted)(rooted).validate(value)


def members_of(schema: Schema, union: str) -> set[str]:
    """The names that a union of the schema lists; ``EmptyResult`` for a bare ``Result``."""
    found = schema[key_of(schema)].get(union, {})
    listed = found.get("anyOf", [found] if "$ref" in found else [])
    names = {each["$ref"].rsplit("/", 1)[1] for each in listed}
    if "properties" in found:
        names.add({"notifications/cancelled": "CancelledNotification"}[_method(found)])
    return {"EmptyResult" if name == "Result" else name for name in names}


def _method(definition: Schema) -> str:
    method: str = definition["properties"]["method"]["const"]
    return method


def whole(kind: Kind, document: dict[str, Any]) -> object:
    """What the definition of ``kind`` describes: results stand in responses, the rest alone."""
    return document["result"] if kind.sort == "result" else document


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_table_lists_what_the_schema_lists(
    shared: Path, version: Version, direction: Direction
) -> None:
    schema = schema_of(shared, version)
    for sort, union in (
        ("request", "Request"),
        ("notification", "Notification"),
        ("result", "Result"),
    ):
        listed = members_of(schema, SIDES[direction] + union)
        ours = {kind.name for kind in kinds(version, direction) if kind.sort == sort}
        assert ours - NOT_IN_A_UNION == listed, union


@pytest.mark.parametrize("version", VERSIONS)
def test_every_error_with_a_shape_of_its_own_is_in_the_table(
    shared: Path, version: Version
) -> None:
    definitions = schema_of(shared, version)[key_of(schema_of(shared, version))]
    shaped = {
        name
        for name, definition in definitions.items()
        if "error" in definition.get("properties", {})
    }
    assert shaped == {kind.name for kind in kinds(version, "server-to-client", "error")}


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("version", VERSIONS)
def test_every_kind_is_valid_by_its_definition(
    shared: Path, version: Version, direction: Direction
) -> None:
    schema, source = schema_of(shared, version), RandomSource(1)
    for kind in kinds(version, direction):
        for _ in range(EACH):
            made = message_of(source, version, kind)
            document = json.loads(made.encode())
            check(schema, kind.name, whole(kind, document))
            assert made.kind == kind.name


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("version", VERSIONS)
def test_every_message_is_a_message_of_the_protocol(
    shared: Path, version: Version, direction: Direction
) -> None:
    schema, source = schema_of(shared, version), RandomSource(2)
    for _ in range(40):
        document = json.loads(message(source, version, direction).encode())
        check(schema, "JSONRPCMessage", document)


def test_every_kind_comes_up() -> None:
    source = RandomSource(3)
    for version in VERSIONS:
        for direction in DIRECTIONS:
            made = {message(source, version, direction).kind for _ in range(600)}
            assert made == {kind.name for kind in kinds(version, direction)}


def test_optional_members_come_and_go() -> None:
    source = RandomSource(4)
    initialize = kinds("2025-11-25", "client-to-server", "request")[0]
    seen = {
        tuple(
            json.loads(message_of(source, "2025-11-25", initialize).encode())["params"][
                "capabilities"
            ]
        )
        for _ in range(100)
    }
    assert () in seen
    assert {name for names in seen for name in names} >= {
        "roots",
        "sampling",
        "elicitation",
        "tasks",
    }


def test_requests_from_server_to_client_do_not_exist_in_2026() -> None:
    with pytest.raises(ValueError, match="2026-07-28 has no request server-to-client"):
        message(RandomSource(0), "2026-07-28", "server-to-client", sort="request")


def test_the_id_that_is_given_is_the_id_that_is_sent() -> None:
    made = message(RandomSource(0), "2025-06-18", sort="request", ident=b'"x"')
    assert json.loads(made.encode())["id"] == "x"


def test_reordered_members_mean_the_same() -> None:
    source = RandomSource(5)
    made = call(source, "2025-11-25", "n", b"1")
    orders = {reorder(source, made).members for _ in range(100)}
    assert len(orders) > 10
    for members in orders:
        assert sorted(members) == sorted(made.members)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_call_is_valid_by_the_schema(shared: Path, version: Version) -> None:
    schema, source = schema_of(shared, version), RandomSource(6)
    for plan in PLANS:
        for _ in range(EACH):
            made = call(source, version, "n-1", b"7", plan=plan)
            check(schema, "CallToolRequest", json.loads(made.encode()))
            check(schema, "CallToolRequest", json.loads(made.encode(spaced=True)))


def test_a_batch_is_valid_by_the_one_schema_that_has_batches(shared: Path) -> None:
    source = RandomSource(7)
    made = [message(source, "2025-03-26", sort="request") for _ in range(3)]
    check(schema_of(shared, "2025-03-26"), "JSONRPCBatchRequest", json.loads(batch(made)))
