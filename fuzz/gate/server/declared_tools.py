"""Translate tools as a server declares them into the contract's terms.

JSON Schema can express more than the contract's six types. Where a schema does, the judge's verdict
on arguments is ignored and only frames are judged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from wirefence.fuzz.gate.records import NominatedTool
from wirefence.strategies.contract import Argument, ArgumentType, Tool

__all__ = ["choose_tool", "declare_tool"]

_ARGUMENT_TYPES: tuple[str, ...] = get_args(ArgumentType)
_PLAIN_KEYWORDS = frozenset(
    {"type", "title", "description", "default", "enum", "examples", "format"}
)


def choose_tool(tools: Sequence[Mapping[str, Any]]) -> NominatedTool | None:
    """Return a tool that may be called without being named by the user; ``None`` for none.

    Such a tool declares that it only reads, and needs no arguments.
    """
    for tool in tools:
        notes = tool.get("annotations")
        schema = tool.get("inputSchema")
        reads = isinstance(notes, dict) and notes.get("readOnlyHint") is True
        name = tool.get("name")
        free = isinstance(schema, dict) and not schema.get("required")
        if reads and free and isinstance(name, str):
            return NominatedTool(name)
    return None


def declare_tool(tool: Mapping[str, Any], nominee: NominatedTool) -> tuple[Tool, bool]:
    """Return the tool in the contract's terms, and whether these express its whole schema.

    Parts of the schema that have the wrong type are ignored.
    """
    schema = tool.get("inputSchema")
    schema = schema if isinstance(schema, dict) else {}
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    needed = set(_list_strings(schema.get("required")))
    try:
        given = json.loads(nominee.arguments)
    except (ValueError, RecursionError):
        given = {}
    given = given if isinstance(given, dict) else {}
    whole = schema.get("additionalProperties", False) is False
    arguments = []
    for name, each in properties.items():
        argument = _declare_argument(name, each, needed)
        whole = whole and argument is not None and _accepts_value(argument, given)
        arguments.append(argument or Argument(name, "string"))
    whole = whole and set(given) <= set(properties)
    return Tool(nominee.name, tuple(arguments)), whole


def _list_strings(value: object) -> tuple[str, ...]:
    return tuple(x for x in value if isinstance(x, str)) if isinstance(value, list) else ()


def _declare_argument(name: str, schema: object, needed: set[str]) -> Argument | None:
    if not isinstance(schema, dict) or not schema.keys() <= _PLAIN_KEYWORDS:
        return None
    kind = schema.get("type")
    if kind not in _ARGUMENT_TYPES or kind == "array" or ("enum" in schema and kind != "string"):
        return None
    return Argument(name, kind, name in needed, _list_strings(schema.get("enum")))


def _accepts_value(argument: Argument, given: Mapping[str, object]) -> bool:
    """Whether the judge accepts the given value; an absent one must not be required."""
    if argument.name not in given:
        return not argument.required
    value = given[argument.name]
    kinds: dict[str, type | tuple[type, ...]] = {
        "string": str,
        "integer": int,
        "number": (int, float),
        "boolean": bool,
        "object": dict,
    }
    return isinstance(value, kinds[argument.type])
