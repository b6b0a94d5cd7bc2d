"""The official schemas as validators, and the differences from them that are on purpose.

A difference is a change of the validator. It explains a verdict of ours that the official
validator does not give, if the changed one gives it.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import jsonschema
import uri_template
from rfc3986_validator import validate_rfc3986

from wirefence.strategies.records import Version

Schema = Mapping[str, Any]
Check = Callable[[str], bool]


def is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except ValueError:
        return False
    return True


def is_uri(text: str) -> bool:
    return bool(validate_rfc3986(text, rule="URI"))


def is_rfc6570_template(template: str) -> bool:
    """What uri_template accepts, with the literals checked as well."""
    literals = re.sub(r"\{[^{}]*\}", "", template)
    stray = re.search("%(?![0-9A-Fa-f]{2})", literals)
    return not stray and not any(each in '"<>\\^`{|}' or each <= " " for each in literals)


OFFICIAL_FORMATS: Mapping[str, Check] = {
    "byte": is_base64,
    "uri": is_uri,
    "uri-template": uri_template.validate,
}


@dataclass(frozen=True)
class Difference:
    """``definitions`` replace those of the schema, ``formats`` its checks of formats.

    ``sample`` is a value that we judge otherwise than the schema, and what it is.
    """

    reason: str
    sample: tuple[Version, str, object]
    definitions: Callable[[Schema], Mapping[str, Any]] = lambda _: {}
    formats: Mapping[str, Check] = field(default_factory=dict)
    strict_integers: bool = False


def _numbers_in_forms(definitions: Schema) -> Mapping[str, Any]:
    if "ElicitResult" not in definitions:
        return {}
    text = json.dumps(definitions["ElicitResult"])
    return {"ElicitResult": json.loads(text.replace('"integer"', '"number"'))}


DIFFERENCES: Mapping[str, Difference] = {
    "integral fraction": Difference(
        "1.0 is spelled as a fraction, and readers differ on it",
        ("2025-11-25", "TaskMetadata", {"ttl": 1.0}),
        strict_integers=True,
    ),
    "JSONValue": Difference(
        "schema.ts allows null and every number in a JSONValue; the schema made from it does not",
        ("2026-07-28", "ClientCapabilities", {"experimental": {"x": {"a": None, "b": 0.5}}}),
        lambda definitions: {"JSONValue": {}} if "JSONValue" in definitions else {},
    ),
    "number in a form": Difference(
        "schema.ts allows every number in ElicitResult.content, and NumberSchema asks for them",
        ("2025-06-18", "ElicitResult", {"action": "accept", "content": {"x": 0.5}}),
        _numbers_in_forms,
    ),
    "IP literal": Difference(
        "only the characters of an IP literal are checked",
        ("2024-11-05", "Root", {"uri": "http://[::g]/"}),
        formats={"uri": lambda text: is_uri(re.sub(r"\[[0-9A-Za-z:.]+\]", "h", text))},
    ),
    "literals of templates": Difference(
        "uri_template does not look at the literals of a template; RFC 6570 forbids some",
        ("2025-03-26", "ResourceTemplate", {"name": "x", "uriTemplate": "a b:{c}"}),
        formats={"uri-template": is_rfc6570_template},
    ),
}
ALL = frozenset(DIFFERENCES)


@lru_cache
def schema_of(shared: Path, version: Version) -> Schema:
    schema: Schema = json.loads((shared / "mcp" / version / "schema.json").read_text())
    return schema


def definitions_of(schema: Schema) -> Mapping[str, Any]:
    definitions: Mapping[str, Any] = schema.get("$defs") or schema["definitions"]
    return definitions


class Official:
    """The official schema of one version, with the differences that are named."""

    def __init__(self, schema: Schema, differences: frozenset[str] = frozenset()) -> None:
        wanted = [DIFFERENCES[name] for name in sorted(differences)]
        self._key = "$defs" if "$defs" in schema else "definitions"
        self.definitions = dict(definitions_of(schema))
        formats = dict(OFFICIAL_FORMATS)
        for each in wanted:
            self.definitions |= each.definitions(self.definitions)
            formats |= each.formats
        self._formats = jsonschema.FormatChecker(formats=())
        for name, check in formats.items():
            self._formats.checks(name)(
                lambda value, check=check: not isinstance(value, str) or check(value)
            )
        self._class = jsonschema.validators.validator_for(schema)
        if any(each.strict_integers for each in wanted):
            checker = self._class.TYPE_CHECKER.redefine(
                "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
            )
            self._class = jsonschema.validators.extend(self._class, type_checker=checker)
        self._validators: dict[str, Any] = {}

    def accepts(self, parts: tuple[str, ...], value: object) -> bool:
        """Whether ``value`` is all of ``parts``: ``Name``, or ``Name.member`` for its member."""
        return all(self._validator(part).is_valid(value) for part in parts)

    def part(self, name: str) -> Any:
        definition, _, member = name.partition(".")
        schema = self.definitions[definition]
        return schema["properties"][member] if member else schema

    def _validator(self, name: str) -> Any:
        if name not in self._validators:
            rooted = {self._key: self.definitions, "allOf": [self.part(name)]}
            self._validators[name] = self._class(rooted, format_checker=self._formats)
        return self._validators[name]


@lru_cache
def official(shared: Path, version: Version, differences: frozenset[str] = frozenset()) -> Official:
    return Official(schema_of(shared, version), differences)


def explain(
    shared: Path, version: Version, parts: tuple[str, ...], value: object, *, ours: bool
) -> str:
    """What makes the official verdict differ from ``ours``: ``""`` if it does not.

    The difference on purpose that does it alone, else ``"several"``, else ``"unexplained"``.
    """
    if official(shared, version).accepts(parts, value) == ours:
        return ""
    if official(shared, version, ALL).accepts(parts, value) != ours:
        return "unexplained"
    alone = (
        name
        for name in DIFFERENCES
        if official(shared, version, frozenset({name})).accepts(parts, value) == ours
    )
    return next(alone, "several")
