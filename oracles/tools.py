"""Judge a tools/call: the tool, identity and authorization layers of docs/contract.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wirefence.oracles.json_schema import Fit, admits_others, fits_schema
from wirefence.oracles.message import is_integer, is_number
from wirefence.oracles.records import Call
from wirefence.strategies.contract import Argument, Contract, Tool

__all__ = ["call_fault", "fits_argument"]

_TOKEN = "wirefence/token"  # noqa: S105 - the name of a member, not a secret


def _is_list_of_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


_FITS: dict[str, Callable[[object], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": is_integer,
    "number": is_number,
    "boolean": lambda value: isinstance(value, bool),
    "array": _is_list_of_strings,
    "object": lambda value: isinstance(value, dict),
    "any": lambda _value: True,
}


def call_fault(
    name: str, arguments: dict[str, Any], meta: dict[str, Any], contract: Contract
) -> tuple[str, Call | None]:
    """The refusal that a call meets, or ``""`` and the call as it may act.

    The call is not ``required`` where nothing tells whether its arguments fit the tool's schema.
    """
    tool = next((each for each in contract.tools if each.name == name), None)
    if tool is None:
        return "tool-unknown", None
    kept = arguments
    if not (tool.input_schema and admits_others(tool.input_schema)):
        declared = {argument.name for argument in tool.arguments}
        kept = {key: arguments[key] for key in arguments if key in declared}
    fit = _fit_arguments(tool, kept)
    if fit == "differs":
        return "tool-arguments", None
    if contract.profile == "strict" and len(kept) < len(arguments):
        return "tool-unknown-argument", None
    token = meta.get(_TOKEN)
    if _TOKEN in meta and token != contract.token:
        return "identity-unknown", None
    if tool.operator_only and _TOKEN not in meta:
        return "authz-denied", None
    return "", Call(name, dict(kept), required=fit == "fits")


def _fit_arguments(tool: Tool, arguments: dict[str, Any]) -> Fit:
    if tool.input_schema:
        return fits_schema(tool.input_schema, arguments)
    return "fits" if all(fits_argument(each, arguments) for each in tool.arguments) else "differs"


def fits_argument(argument: Argument, arguments: dict[str, Any]) -> bool:
    """Whether the arguments of a call have one that fits its declaration."""
    if argument.name not in arguments:
        return not argument.required
    value = arguments[argument.name]
    if not _FITS[argument.type](value):
        return False
    return not argument.choices or value in argument.choices
