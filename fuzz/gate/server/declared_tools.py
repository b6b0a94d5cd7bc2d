"""Translate tools as a server declares them into the contract's terms.

Its own schema decides which arguments fit; the contract's types say in few words what is wrong with
those that do not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from wirefence.fuzz.gate.records import NominatedTool
from wirefence.fuzz.gate.trials.messages import TrialNames
from wirefence.oracles.tools import call_fault
from wirefence.strategies.contract import UNREADABLE, Argument, ArgumentType, Contract, Tool

__all__ = ["choose_tool", "declare_tool"]

_PLAIN_TYPES: tuple[ArgumentType, ...] = ("string", "integer", "number", "boolean", "object")


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


def declare_tool(tool: Mapping[str, Any], nominee: NominatedTool) -> Tool:
    """Return the tool in the contract's terms.

    Parts of the schema that have the wrong type are ignored. If the tool would refuse the nominee's
    own arguments, its schema is taken for unreadable: the user knows better than what it declares.
    """
    schema = tool.get("inputSchema")
    schema = schema if isinstance(schema, dict) else {}
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    needed = set(_list_strings(schema.get("required")))
    arguments = tuple(_declare_argument(name, each, needed) for name, each in properties.items())
    declared = Tool(
        nominee.name,
        arguments,
        input_schema=_write_schema(schema) or UNREADABLE,
        output_schema=_write_schema(tool.get("outputSchema")),
    )
    rule, _ = call_fault(nominee.name, _read_given(nominee), {}, Contract(tools=(declared,)))
    return replace(declared, input_schema=UNREADABLE) if rule else declared


def _write_schema(schema: object) -> str:
    """Return a schema as JSON text; ``""`` for none."""
    try:
        return json.dumps(schema) if isinstance(schema, dict) else ""
    except RecursionError:
        return ""


def _read_given(nominee: NominatedTool) -> dict[str, Any]:
    """Return the arguments of the nominee, with a name as calls have it."""
    try:
        given = json.loads(nominee.arguments.replace("{nonce}", TrialNames(0).action_name("p")))
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}


def _list_strings(value: object) -> tuple[str, ...]:
    return tuple(x for x in value if isinstance(x, str)) if isinstance(value, list) else ()


def _declare_argument(name: str, schema: object, needed: set[str]) -> Argument:
    schema = schema if isinstance(schema, dict) else {}
    said = schema.get("type")
    kind: ArgumentType = next((each for each in _PLAIN_TYPES if each == said), "any")
    choices = _list_strings(schema.get("enum")) if kind == "string" else ()
    return Argument(name, kind, name in needed, choices)
