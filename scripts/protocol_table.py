"""Write the tables of the protocol's shapes, ``oracles/protocol/VERSION.json`` and ``traits.json``.

``python -m scripts.protocol_table``, from a checkout, reads ``mcp/VERSION/schema.json`` of each
version below ``$WIREFENCE_SHARED``, else below ``../shared``. With ``--check`` it writes nothing
and exits with 1 if a table differs. A schema that says something that a table cannot is an error.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from scripts.protocol_traits import write_traits
from wirefence.oracles.protocol.formats import FORMATS
from wirefence.oracles.protocol.shapes import Notation

__all__ = ["TABLES", "UnknownConstructError", "make_table", "write_table"]

ROOT = Path(__file__).resolve().parents[1]
TABLES = ROOT / "oracles" / "protocol"

Schema = Mapping[str, Any]

_ANNOTATIONS = {"$comment", "default", "deprecated", "description", "examples", "title"}
"""Keywords that allow and forbid nothing."""

_CORRECTIONS: Mapping[tuple[str, str], str] = {
    ("JSONValue", "JSONObject | JSONValue[] | string | integer | boolean"): "any",
    **{
        ("ElicitResult.content.*", said): said.replace("integer", "number")
        for said in ("string | integer | boolean", "string[] | string | integer | boolean")
    },
}
"""What the table says in place of a notation that forbids, by accident, what ``schema.ts`` allows.
What makes the schemas from it leaves ``null`` out of a union and takes ``number`` there for
``integer``."""

_RESULT_TYPES = {"InputRequiredResult": "input_required"}
"""The ``resultType`` of each result that is not ``complete``. Source: the description of
``ResultType``; to the schema it is any string, so ``InputRequiredResult`` would allow anything."""

_SIDES = ("Client", "Server")
_COLUMNS = 120


class UnknownConstructError(click.ClickException):
    """A schema says something that a table has no notation for."""


@dataclass(slots=True)
class _Reader:
    """One schema on its way to a table; ``definitions`` are those of the table so far."""

    version: str
    schemas: Mapping[str, Schema]
    definitions: dict[str, Notation] = field(default_factory=dict)

    def fail(self, at: str, what: str) -> UnknownConstructError:
        return UnknownConstructError(
            f"{self.version}: {at} {what}; add it to {Path(__file__).name}"
        )

    def schema(self, name: str, at: str) -> Schema:
        if name not in self.schemas:
            raise self.fail(at, f"needs the definition {name}, which is absent")
        return self.schemas[name]

    def define(self, name: str, schema: Schema) -> str:
        """Put ``schema`` and all that it refers to into the table, under ``name``."""
        if name not in self.definitions:
            notation = self.read(schema, name)
            self.definitions[name] = notation
            for other in _find_references(notation):
                self.define_named(other, name)
        return name

    def define_named(self, name: str, at: str) -> str:
        """Put the definition that ``at`` refers to into the table."""
        return self.define(name, self.schema(name, at))

    def define_params(self, name: str) -> str:
        """Put the params of a message into the table, and give their name."""
        schema = self.schema(name, "the protocol")
        if schema.keys() - _ANNOTATIONS != {"properties", "required", "type"}:
            raise self.fail(name, "is no plain object, as messages are")
        members = schema["properties"]
        if not {"method", "params"} <= members.keys() <= {"id", "jsonrpc", "method", "params"}:
            raise self.fail(name, f"is a message with the members {', '.join(members)}")
        at = f"{name}.params"
        params = members["params"]
        return (
            self.define_named(_target(params), at) if "$ref" in params else self.define(at, params)
        )

    def read(self, schema: Schema, at: str) -> Notation:
        """The notation of ``schema``; raises UnknownConstructError where there is none."""
        says = {key: value for key, value in schema.items() if key not in _ANNOTATIONS}
        for read in (self._read_composed, self._read_scalar, self._read_container):
            found = read(dict(says), at)
            if found:
                return _CORRECTIONS.get((at, found), found) if isinstance(found, str) else found
        raise self.fail(at, f"has the unknown construct {json.dumps(says)[:200]}")

    def _read_composed(self, says: dict[str, Any], at: str) -> Notation:
        match says:
            case {"$ref": str() as reference, **rest} if not rest:
                return _target({"$ref": reference})
            case {"anyOf": list() as parts, **rest} if not rest:
                return _join("|", [self.read(part, at) for part in parts])
            case {"allOf": list() as parts, **rest} if not rest:
                return _join("&", [self.read(part, at) for part in parts])
            case {"type": list() as names, **rest} if not rest:
                return _join("|", [self.read({"type": name}, at) for name in names])
        return "" if says else "any"

    def _read_scalar(self, says: dict[str, Any], at: str) -> Notation:
        match says:
            case {"const": value, "type": "string" | "integer", **rest} if not rest:
                return self._spell(value, at)
            case {"enum": list() as values, "type": "string", **rest} if not rest:
                return _join("|", [self._spell(value, at) for value in values])
            case {"type": "boolean" | "null" | "string" as name, **rest} if not rest:
                return str(name)
            case {"type": "string", "format": name, **rest} if not rest and name in FORMATS:
                return f"string {name}"
            case {"type": "integer" | "number" as name, **rest}:
                bounds = _take_bounds(rest, "minimum", "maximum")
                return "" if rest else f"{name} {bounds}".rstrip()
        return ""

    def _read_container(self, says: dict[str, Any], at: str) -> Notation:
        match says:
            case {"type": "array", **rest}:
                return self._read_array(rest, at)
            case {"type": "object", **rest}:
                return self._read_object(rest, at)
        return ""

    def _read_array(self, says: dict[str, Any], at: str) -> Notation:
        item = self.read(says.pop("items", {}), at + "[]")
        bounds = _take_bounds(says, "minItems", "maxItems")
        if says:
            raise self.fail(at, f"is an array with {', '.join(says)}")
        return [item, bounds] if bounds else [item]

    def _read_object(self, says: dict[str, Any], at: str) -> Notation:
        members, required = says.pop("properties", {}), says.pop("required", [])
        others = says.pop("additionalProperties", True)
        if says or others is False or not set(required) <= set(members):
            raise self.fail(at, "is an object that is closed or has unknown keywords")
        found: dict[str, Notation] = {}
        for name, member in members.items():
            if name.endswith("?") or name in ("*", "|", "&"):
                raise self.fail(at, f"has a member {name!r}, which the notation has no name for")
            key = name if name in required else name + "?"
            found[key] = self.read(member, f"{at}.{name}")
        rest = "any" if others is True else self.read(others, at + ".*")
        return found | ({} if rest == "any" else {"*": rest}) or "object"

    def _spell(self, value: object, at: str) -> str:
        if isinstance(value, str) and not re.search(r"['|&]", value):
            return f"'{value}'"
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        raise self.fail(at, f"allows the value {value!r}, which the notation cannot spell")

    def list_union(self, name: str) -> list[str]:
        """The definitions that a union such as ``ClientRequest`` lists."""
        union = self.schemas.get(name, {"anyOf": []})
        parts = union.get("anyOf", [union])
        return [_target(part) if "$ref" in part else self._find_twin(part, name) for part in parts]

    def _find_twin(self, schema: Schema, at: str) -> str:
        """The definition with the method of ``schema``, which a union of one holds in its place."""
        for name, other in self.schemas.items():
            if name != at and _method_of(other) == _method_of(schema) != "":
                return name
        raise self.fail(at, "holds a part that is no definition")


def _target(schema: Schema) -> str:
    """The name of the definition that a reference refers to."""
    name: str = schema["$ref"].rsplit("/", 1)[1]
    return name


def _find_references(notation: Notation) -> Iterator[str]:
    if isinstance(notation, str):
        # Literals out: what is left with a capital letter at its start is a definition.
        yield from re.findall(r"\b[A-Z]\w*(?:\.\w+)*", re.sub("'[^']*'", "", notation))
    else:
        for part in notation.values() if isinstance(notation, dict) else notation:
            yield from _find_references(part)


def _join(sign: str, parts: list[Notation]) -> Notation:
    """A union or intersection: a text if the parts are texts or arrays of words."""
    words = [
        f"{each[0]}[]" if isinstance(each, list) and len(each) == 1 and _is_text(each[0]) else each
        for each in parts
    ]
    other = "&" if sign == "|" else "|"
    texts = [each for each in words if isinstance(each, str) and other not in each]
    return f" {sign} ".join(texts) if len(texts) == len(parts) else {sign: parts}


def _is_text(notation: Notation) -> bool:
    """Whether a notation is a text that ``[]`` can follow."""
    return isinstance(notation, str) and not re.search(r"[|& ]", notation)


def _take_bounds(says: dict[str, Any], low: str, high: str) -> str:
    if low not in says and high not in says:
        return ""
    return f"{says.pop(low, '')}..{says.pop(high, '')}"


def _method_of(schema: Schema) -> str:
    method: str = schema.get("properties", {}).get("method", {}).get("const", "")
    return method


def make_table(version: str, schema: Schema) -> dict[str, dict[str, Notation]]:
    """The table of one schema: its methods, its error codes, and the definitions they reach.

    Raises UnknownConstructError for a schema that says what a table cannot.
    """
    reader = _Reader(version, schema.get("$defs") or schema["definitions"])
    methods = [*_read_methods(reader, "Request"), *_read_methods(reader, "Notification")]
    errors = [*_read_errors(reader)]
    _refuse_recursion(reader)
    for name, times in Counter(name for name, _ in (*methods, *errors)).items():
        if times > 1:
            raise reader.fail(name, "has several definitions")
    definitions = reader.definitions.items()
    return {
        "methods": dict(sorted(methods, key=lambda entry: entry[0])),
        "errors": dict(sorted(errors)),
        "definitions": dict(sorted(definitions, key=lambda entry: entry[0])),
    }


def _read_methods(reader: _Reader, sort: str) -> Iterator[tuple[str, dict[str, Notation]]]:
    listed = {side: reader.list_union(side + sort) for side in _SIDES}
    for name in sorted({name for names in listed.values() for name in names}):
        senders = [side for side in _SIDES if name in listed[side]]
        entry: dict[str, Notation] = {sort.lower(): " ".join(senders).lower()}
        entry |= _read_params(reader, name, "JSONRPC" + sort)
        if sort == "Request":
            entry |= _read_result(reader, name, senders)
            if _takes_task(reader, reader.define_params(name)):
                entry["task"] = reader.define_named("CreateTaskResult", name)
        yield _method_of(reader.schemas[name]), entry


def _takes_task(reader: _Reader, name: str) -> bool:
    """Whether the request with these params can ask for a task in place of its result."""
    notation = reader.definitions[name]
    if isinstance(notation, str):
        return any(_takes_task(reader, each) for each in _find_references(notation))
    return "task?" in notation


def _read_params(reader: _Reader, name: str, envelope: str) -> dict[str, Notation]:
    """The params of a message: those of its definition, and those of all messages of its sort."""
    params = reader.define_params(name)
    key = "params" if "params" in reader.schemas[name]["required"] else "params?"
    common = reader.schema(envelope, name)["properties"]["params"]
    notation = reader.read(common, envelope + ".params")
    if notation in ("object", reader.definitions[params]):
        return {key: params}
    return {key: f"{params} & {reader.define(envelope + '.params', common)}"}


def _read_result(reader: _Reader, name: str, senders: list[str]) -> dict[str, Notation]:
    result = name.removesuffix("Request") + "Result"
    response = reader.schemas.get(result + "Response")
    if response is None:
        names = [result if result in reader.schemas else "EmptyResult"]
    else:
        schema = response["properties"]["result"]
        parts = schema.get("anyOf", [schema])
        if not all("$ref" in part for part in parts):
            raise reader.fail(result + "Response", "holds a result that is no definition")
        names = [_target(part) for part in parts]
    for each in names:
        reader.define_named(each, name)
        for side in _SIDES:
            answers = reader.list_union(side + "Result")
            if senders != [side] and each not in (*answers, "EmptyResult"):
                raise reader.fail(name, f"has the result {each}, which {side}Result does not list")
    if len(names) == 1:
        return {"result": names[0]}
    typed: dict[str, Notation] = {_RESULT_TYPES.get(each, "complete"): each for each in names}
    if len(typed) != len(names):
        raise reader.fail(name, f"has several results of one resultType: {', '.join(names)}")
    return {"result": typed | {"": reader.define_named("Result", name)}}


def _read_errors(reader: _Reader) -> Iterator[tuple[str, Notation]]:
    """The code and the definition of each error that has a code of its own."""
    for name, schema in reader.schemas.items():
        members = schema.get("properties", {})
        error = members.get("error", schema)
        for part in error.get("allOf", [error]):
            code = part.get("properties", {}).get("code", {}).get("const")
            if code is not None:
                at = f"{name}.error" if "error" in members else name
                yield str(code), reader.define(at, error)


def _refuse_recursion(reader: _Reader) -> None:
    """Raise if a definition holds itself: checks are no deeper than their table."""
    left = {name: set(_find_references(shape)) for name, shape in reader.definitions.items()}
    while flat := {name for name, others in left.items() if left.keys().isdisjoint(others)}:
        left = {name: others for name, others in left.items() if name not in flat}
    if left:
        # Whatever is left leads to a circle: go on until a name comes again.
        seen, name = set[str](), min(left)
        while name not in seen:
            seen.add(name)
            name = min(left[name] & left.keys())
        raise reader.fail(name, "holds itself")


def write_table(table: Mapping[str, Mapping[str, Notation]]) -> str:
    """A table as JSON: an entry on a line, or its members on a line each where it is long."""
    sections = (
        f'"{section}": {{\n'
        + ",\n".join(map(_write_entry, *zip(*entries.items(), strict=True)))
        + "\n}"
        if entries
        else f'"{section}": {{}}'
        for section, entries in table.items()
    )
    return "{\n" + ",\n".join(sections) + "\n}\n"


def _write_entry(name: str, notation: Notation) -> str:
    line = f'  "{name}": {json.dumps(notation)}'
    if len(line) <= _COLUMNS or not isinstance(notation, dict):
        return line
    members = (f"    {json.dumps(key)}: {json.dumps(each)}" for key, each in notation.items())
    return f'  "{name}": {{\n' + ",\n".join(members) + "\n  }"


@click.command()
@click.option("--check", is_flag=True, help="Compare only; exit with 1 on a difference.")
def main(check: bool) -> None:
    """Write the tables of the protocol's shapes from the official schemas."""
    shared = Path(os.environ.get("WIREFENCE_SHARED", ROOT.parent / "shared"))
    schemas = sorted(shared.glob("mcp/*/schema.json"))
    if not schemas:
        raise click.ClickException(f"no schemas in {shared / 'mcp'}; set WIREFENCE_SHARED")
    tables = {p.parent.name: make_table(p.parent.name, json.loads(p.read_bytes())) for p in schemas}
    texts = {version: write_table(table) for version, table in tables.items()}
    differ = []
    for name, text in {**texts, "traits": write_traits(tables)}.items():
        path = TABLES / f"{name}.json"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            differ.append(name)
            if not check:
                path.write_text(text, encoding="utf-8")
    if differ:
        print(("differs: " if check else "written: ") + ", ".join(differ))
    raise SystemExit(1 if check and differ else 0)


if __name__ == "__main__":
    main()
