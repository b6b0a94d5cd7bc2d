"""Tools and their arguments: what a call may say, and the schema that tells so.

The same declarations make the published schema and the check, so that a client
which keeps to the one is never refused by the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from wirefence.strategies.contract import Argument, Contract, Tool
from wirefence.targets.gateway.rpc import is_integer, is_number
from wirefence.targets.gateway.verdicts import RefusedError

__all__ = ["describe", "find_tool", "take_arguments"]


def find_tool(name: str, contract: Contract) -> Tool:
    """Return the tool of that name, compared code point by code point, or refuse (tool-unknown)."""
    for tool in contract.tools:
        if tool.name == name:
            return tool
    raise RefusedError("tool-unknown")


def take_arguments(tool: Tool, given: Mapping[str, Any], *, strict: bool) -> dict[str, object]:
    """Return those of the given arguments that the tool declares, as they came.

    Raises:
        RefusedError: tool-arguments or, under strict, tool-unknown-argument.

    """
    declared = {argument.name: argument for argument in tool.arguments}
    for name, argument in declared.items():
        if not (_fits(argument, given[name]) if name in given else not argument.required):
            raise RefusedError("tool-arguments")
    if strict and not given.keys() <= declared.keys():
        raise RefusedError("tool-unknown-argument")
    return {name: value for name, value in given.items() if name in declared}


def describe(tool: Tool) -> dict[str, object]:
    """The tool as ``tools/list`` shows it."""
    return {
        "name": tool.name,
        "inputSchema": {
            "type": "object",
            "properties": {argument.name: _schema(argument) for argument in tool.arguments},
            "required": [argument.name for argument in tool.arguments if argument.required],
            "additionalProperties": False,
        },
    }


def _fits(argument: Argument, value: object) -> bool:
    if not _TYPES[argument.type](value):
        return False
    return not argument.choices or value in argument.choices


def _is_string(value: object) -> bool:
    return isinstance(value, str)


def _is_boolean(value: object) -> bool:
    return isinstance(value, bool)


def _is_array(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


_TYPES: dict[str, Callable[[object], bool]] = {
    "string": _is_string,
    "integer": is_integer,
    "number": is_number,
    "boolean": _is_boolean,
    "array": _is_array,
    "object": _is_object,
}


def _schema(argument: Argument) -> dict[str, object]:
    schema: dict[str, object] = {"type": argument.type}
    if argument.type == "array":
        schema["items"] = {"type": "string"}
    if argument.choices:
        schema["enum"] = list(argument.choices)
    return schema
