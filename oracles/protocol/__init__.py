"""Check params, results and errors against the shapes that each protocol version defines.

The tables ``VERSION.json`` are made of the official schemas by ``python -m
scripts.protocol_table``; :mod:`wirefence.oracles.protocol.shapes` says how to read them. They name
each definition as the schema of that version does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from wirefence.oracles.protocol.shapes import Shape, ShapeCompiler, ShapeFault
from wirefence.strategies.records import Direction, Version

__all__ = [
    "ShapeFault",
    "Sort",
    "find_definition_fault",
    "find_error_fault",
    "find_params_fault",
    "find_result_fault",
    "list_methods",
]

Sort = Literal["request", "notification"]

_FOLDER = Path(__file__).parent
_SIDES: Mapping[Direction, str] = {"client-to-server": "client", "server-to-client": "server"}


@dataclass(frozen=True, slots=True)
class _Method:
    """A method of one version.

    ``results`` are the shapes of its result by ``resultType``; ``""`` is that for all other types.
    """

    sort: Sort
    senders: tuple[str, ...]
    params: Shape
    params_required: bool
    results: Mapping[str, Shape]
    task: Shape | None


@dataclass(frozen=True, slots=True)
class _Protocol:
    """The compiled table of one version."""

    methods: Mapping[str, _Method]
    errors: Mapping[int, Shape]
    definitions: ShapeCompiler


@cache
def _load_protocol(version: Version) -> _Protocol:
    return _compile_table(json.loads((_FOLDER / f"{version}.json").read_bytes()))


def _compile_table(table: Mapping[str, Any]) -> _Protocol:
    shapes = ShapeCompiler(table["definitions"])
    methods = {name: _read_method(entry, shapes) for name, entry in table["methods"].items()}
    errors = {int(code): shapes.compile_definition(name) for code, name in table["errors"].items()}
    return _Protocol(methods, errors, shapes)


def _read_method(entry: Mapping[str, Any], shapes: ShapeCompiler) -> _Method:
    sort: Sort = "request" if "request" in entry else "notification"
    required = "params" in entry
    result = entry.get("result", {})
    results = result if isinstance(result, dict) else {"": result}
    return _Method(
        sort,
        tuple(entry[sort].split()),
        shapes.compile_shape(entry["params" if required else "params?"]),
        required,
        {name: shapes.compile_shape(each) for name, each in results.items()},
        shapes.compile_definition(entry["task"]) if "task" in entry else None,
    )


@cache
def list_methods(version: Version, sort: Sort, sender: Direction) -> frozenset[str]:
    """The methods of the requests or notifications that ``sender`` may send."""
    side = _SIDES[sender]
    return frozenset(
        name
        for name, method in _load_protocol(version).methods.items()
        if method.sort == sort and side in method.senders
    )


def find_params_fault(
    version: Version, method: str, params: object, sender: Direction
) -> ShapeFault | None:
    """The first fault of the params of a request or notification; None if there is none.

    ``params`` is None where the message has none. A method that ``sender`` has not in this version
    has no shape, and so no fault.
    """
    known = _load_protocol(version).methods.get(method)
    if known is None or _SIDES[sender] not in known.senders:
        return None
    if params is None:
        return ShapeFault((), "missing") if known.params_required else None
    return known.params.find_fault(params)


def find_result_fault(
    version: Version, method: str, result: object, *, augmented: bool = False
) -> ShapeFault | None:
    """The first fault of the result of a request for ``method``; None if there is none.

    ``augmented`` says that the request had a ``task`` member: then the result may be that of a
    task. Where a method has several results, ``resultType`` chooses; a type that the version does
    not define is that of an extension, and its other members are not checked.
    """
    known = _load_protocol(version).methods.get(method)
    if known is None or known.sort == "notification":
        return None
    name = result.get("resultType") if isinstance(result, dict) else ""
    shape = known.results.get(name) if isinstance(name, str) else None
    fault = (shape or known.results[""]).find_fault(result)
    if fault is not None and augmented and known.task is not None:
        meant = isinstance(result, dict) and "task" in result
        return known.task.find_fault(result) if meant else fault
    return fault


def find_error_fault(version: Version, error: Mapping[str, Any]) -> ShapeFault | None:
    """The first fault of an error whose code has a definition; None if there is none."""
    code = error.get("code")
    shape = _load_protocol(version).errors.get(code) if isinstance(code, int) else None
    return None if shape is None else shape.find_fault(error)


def find_definition_fault(version: Version, name: str, value: object) -> ShapeFault | None:
    """The first fault of ``value`` as the definition ``name``; None if there is none.

    Raises KeyError for a definition that no params, result or error of the version holds.
    """
    return _load_protocol(version).definitions.compile_definition(name).find_fault(value)
