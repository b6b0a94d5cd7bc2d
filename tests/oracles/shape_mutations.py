"""Params, results and errors of every kind of message, each with what checks it, and damage."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.oracles.official_schemas import Official
from wirefence.oracles.document import judge_document
from wirefence.oracles.protocol import (
    ShapeFault,
    find_definition_fault,
    find_params_fault,
    find_result_fault,
)
from wirefence.strategies.mcp import message_of
from wirefence.strategies.mcp_kinds import KINDS, Kind, kinds
from wirefence.strategies.records import Direction, Version
from wirefence.strategies.source import RandomSource

Find = Callable[[object], ShapeFault | None]

REPLACEMENTS: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, 1.0, 2**70, "x", "", "long " * 100, [], {}, [{}], [1], {"x": None}),
    *({"x": {"y": 1.5}}, ["x"], {"type": "text", "text": "x"}),
    *("a:b", "http://[::1]/", "http://[::g]/", "/a", "a:%zz", "a:é", "a b:", "{a", "{}"),
    *("x{?a,b*}", "a b{x}"),
    *("AA==", "AAA", "A===", "AA-_", "text", "image", "complete", "input_required", "form", "url"),
    *("string", "array", "number", "user", "accept", "debug", "roots/list"),
)  # fmt: skip

_ANSWERED = {
    "EmptyResult": "ping",
    "InputRequiredResult": "tools/call",
    "CreateTaskResult": "tools/call",
}
"""A method of each result that is not named after its request."""


@dataclass(frozen=True)
class Subject:
    """A kind of message, what checks its params, result or error, and their name in the schema."""

    version: Version
    kind: Kind
    find: Find
    parts: tuple[str, ...]

    def official_parts(self, value: object) -> tuple[str, ...]:
        """The parts for a value: where a request has several results, resultType chooses."""
        name = {"InputRequiredResult": "CallToolResult"}.get(self.kind.name, self.kind.name)
        if name not in ("CallToolResult", "GetPromptResult", "ReadResourceResult"):
            return self.parts
        if self.version < "2026-07-28":
            return self.parts
        chosen = value.get("resultType") if isinstance(value, dict) else None
        routes = {"complete": name, "input_required": "InputRequiredResult"}
        return (routes.get(chosen, "Result") if isinstance(chosen, str) else "Result",)

    def make_message(self, source: RandomSource) -> Any:
        """A valid message with its envelope, which may be changed."""
        raw = message_of(source, self.version, self.kind).encode()
        return copy.deepcopy(judge_document(raw, profile="spec").value)

    def make_value(self, source: RandomSource) -> Any:
        """A valid value of its own, which may be changed."""
        message = self.make_message(source)
        member = {"result": "result", "error": "error"}.get(self.kind.sort, "params")
        return message.get(member, {})


def subjects(version: Version, direction: Direction) -> Iterator[Subject]:
    """The kinds that ``version`` lets be sent in ``direction`` and that have a shape."""
    for kind in kinds(version, direction):
        if kind.sort in ("request", "notification"):
            find = partial(_find_in_params, version, kind.method, direction)
            parts = (f"{kind.name}.params", f"JSONRPC{kind.sort.title()}.params")
        elif kind.sort == "result":
            if kind.name == "EmptyResult" and version == "2026-07-28":
                continue  # the answer to no request of this version
            find = partial(_find_in_result, version, kind.name)
            parts = (kind.name,)
        elif kind.name.startswith("JSONRPC"):
            continue  # any error, which is judged with the envelope
        else:
            find = partial(find_definition_fault, version, f"{kind.name}.error")
            parts = (f"{kind.name}.error",)
        yield Subject(version, kind, find, parts)


def _find_in_params(
    version: Version, method: str, direction: Direction, value: object
) -> ShapeFault | None:
    return find_params_fault(version, method, value, direction)


def _find_in_result(version: Version, name: str, value: object) -> ShapeFault | None:
    return find_result_fault(
        version, method_answered(name), value, augmented=name == "CreateTaskResult"
    )


def method_answered(name: str) -> str:
    """A method whose result is the definition ``name``."""
    request = name.removesuffix("Result") + "Request"
    named = (kind.method for kind in KINDS if kind.name == request)
    return _ANSWERED.get(name) or next(named)


def make_from_schema(choose: random.Random, official: Official, schema: Any, depth: int = 9) -> Any:
    """A value that ``schema`` mostly accepts, with members that the grammar never makes."""
    if "$ref" in schema:
        schema = official.definitions[schema["$ref"].rsplit("/", 1)[1]]
        return make_from_schema(choose, official, schema, depth - 1)
    if "anyOf" in schema:
        return make_from_schema(choose, official, choose.choice(schema["anyOf"]), depth)
    if "allOf" in schema:
        parts = [make_from_schema(choose, official, part, depth) for part in schema["allOf"]]
        return {name: item for part in parts for name, item in part.items()}
    kinds = schema.get("type", "null")
    kind = kinds if isinstance(kinds, str) else choose.choice(kinds)
    if kind == "array":
        size = choose.choice((0, 1, 2)) if depth > 0 else 0
        return [make_from_schema(choose, official, schema["items"], depth - 1) for _ in range(size)]
    if kind == "object":
        return _make_members(choose, official, schema, depth)
    return _make_scalar(choose, kind, schema)


def _make_scalar(choose: random.Random, kind: str, schema: Any) -> Any:
    allowed = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    texts = {"uri": "a:b", "byte": "AA==", "uri-template": "a:{b}"}
    plain = {
        "string": texts.get(schema.get("format"), "s"),
        "boolean": True,
        "integer": 1,
        "number": choose.choice((0, 0.5, 1, 1, -1)),
    }
    return choose.choice(allowed) if allowed else plain.get(kind)


def _make_members(choose: random.Random, official: Official, schema: Any, depth: int) -> Any:
    members = dict(schema.get("properties", {}))
    if isinstance(schema.get("additionalProperties"), dict) and depth > 0:
        members |= dict.fromkeys(("other", "another"), schema["additionalProperties"])
    required = schema.get("required", ())
    return {
        name: make_from_schema(choose, official, each, depth - 1)
        for name, each in members.items()
        if name in required or choose.random() < 0.4
    }


def mutate(choose: random.Random, value: Any) -> Any:
    """Change ``value`` in one or two places within it."""
    for _ in range(choose.choice((1, 1, 2))):
        places = list(_places(value))
        if not places or choose.random() < 0.1:
            items = [value, *(holder[key] for holder, key in places)]
            objects = [each for each in items if isinstance(each, dict)] or [{}]
            choose.choice(objects)[choose.choice(("x", "type", "_meta", "task"))] = _replacement(
                choose
            )
            continue
        holder, key = choose.choice(places)
        if choose.random() < 0.25:
            del holder[key]
        else:
            holder[key] = _replacement(choose)
    return value


def _replacement(choose: random.Random) -> Any:
    return copy.deepcopy(choose.choice(REPLACEMENTS))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each member and item in ``value``, as the container and the name or index."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in pairs:
        yield value, key
        if isinstance(item, dict | list):
            yield from _places(item)
