"""Compile the shapes of a protocol table into checks.

A shape in a table is one of:

- ``"string"``, ``"integer"``, ``"number"``, ``"boolean"``, ``"null"``, ``"object"``, ``"any"``;
  ``"string uri"`` has a format, ``"number 0..1"`` and ``"integer 0.."`` have bounds;
- ``"'text'"`` or ``"-32042"``: this value only;
- ``"Role"``: the definition of that name;
- ``"Role[]"`` or ``["Role"]``: an array; ``["string", "..100"]`` bounds the number of items;
- ``{"name": "string", "title?": "string"}``: an object, ``?`` marks an optional member, ``*``
  stands for all other members. Unknown members are allowed;
- ``"Text | Image"`` or ``{"|": [...]}``: one of these;
- ``"Result & Task"`` or ``{"&": [...]}``: all of these.

Values are as :mod:`wirefence.oracles.document` reads them: 1.0 is no integer, and neither is true.
Definitions do not refer to themselves, so no check goes deeper than the table, whatever it is
given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from wirefence.oracles.document import LongInteger
from wirefence.oracles.protocol.formats import FORMATS

__all__ = ["ANY_NAME", "Find", "Notation", "Shape", "ShapeCompiler", "ShapeFault"]


ANY_NAME = "*"
"""Stands in a place for the name of a member that no table names."""


class ShapeFault(NamedTuple):
    """Where a value differs from its shape, and how.

    ``place`` holds member names and indices, from the params or result down, and
    :data:`ANY_NAME` for a name of the sender's choice. A ``value`` has the right type, but is not
    among those allowed, or out of bounds.
    """

    place: tuple[str | int, ...]
    kind: Literal["missing", "type", "value", "format"]


Notation = str | list[Any] | dict[str, Any]
Find = Callable[[Any], ShapeFault | None]
Types = frozenset[type]

_WRONG_TYPE = ShapeFault((), "type")
_WRONG_VALUE = ShapeFault((), "value")
_WRONG_FORMAT = ShapeFault((), "format")
_TYPES: Mapping[str, Types] = {
    "any": frozenset({dict, list, str, int, float, bool, type(None), LongInteger}),
    "array": frozenset({list}),
    "boolean": frozenset({bool}),
    "integer": frozenset({int, LongInteger}),
    "null": frozenset({type(None)}),
    "number": frozenset({int, float, LongInteger}),
    "object": frozenset({dict}),
    "string": frozenset({str}),
}


class Shape(NamedTuple):
    """A compiled shape: the types that a value may have, and what else is checked.

    ``find`` is called with values of these types only. ``literals`` are the strings that the shape
    allows, if it allows no others; ``tags`` are those of each member that has some, and whether the
    member is required.
    """

    types: Types
    find: Find | None = None
    literals: frozenset[str] = frozenset()
    tags: Mapping[str, tuple[frozenset[str], bool]] = {}

    def find_fault(self, value: object) -> ShapeFault | None:
        """The first fault of ``value``, or None."""
        if type(value) not in self.types:
            return _WRONG_TYPE
        return None if self.find is None else self.find(value)


class ShapeCompiler:
    """The shapes of one table, each compiled when it is first asked for.

    Raises KeyError for a name that is no definition, ValueError for a shape that holds itself.
    """

    def __init__(self, definitions: Mapping[str, Notation]) -> None:
        self._definitions = definitions
        self._shapes: dict[str, Shape | None] = {}

    def compile_definition(self, name: str) -> Shape:
        """The shape of a definition."""
        if name not in self._shapes:
            self._shapes[name] = None
            self._shapes[name] = self.compile_shape(self._definitions[name])
        shape = self._shapes[name]
        if shape is None:
            raise ValueError(f"{name} holds itself")
        return shape

    def compile_shape(self, notation: Notation) -> Shape:
        """The shape that ``notation`` describes."""
        if isinstance(notation, str):
            return self._compile_text(notation)
        if isinstance(notation, list):
            return _make_array(self.compile_shape(notation[0]), *notation[1:])
        if "|" in notation:
            return _make_union([self.compile_shape(each) for each in notation["|"]])
        if "&" in notation:
            return _make_intersection([self.compile_shape(each) for each in notation["&"]])
        rest = self.compile_shape(notation["*"]) if "*" in notation else None
        members = {name: self.compile_shape(each) for name, each in notation.items() if name != "*"}
        return _make_object(members, rest)

    def _compile_text(self, text: str) -> Shape:
        for sign, make in ((" & ", _make_intersection), (" | ", _make_union)):
            if sign in text:
                return make([self._compile_text(each) for each in text.split(sign)])
        if text.endswith("[]"):
            return _make_array(self._compile_text(text[:-2]))
        if text.startswith("'"):
            return _make_literals(frozenset({text[1:-1]}))
        word, _, limit = text.partition(" ")
        if word in _TYPES:
            return _make_plain(word, limit)
        if text.lstrip("-").isdecimal():
            return _make_constant(int(text))
        return self.compile_definition(text)


def _make_plain(word: str, limit: str) -> Shape:
    if not limit:
        return Shape(_TYPES[word])
    if word == "string":
        fits = FORMATS[limit]
        return Shape(_TYPES[word], lambda value: None if fits(value) else _WRONG_FORMAT)
    low, high = _read_bounds(limit)

    def find_bound(value: float | LongInteger) -> ShapeFault | None:
        if isinstance(value, LongInteger):
            value = -math.inf if value.token.startswith("-") else math.inf
        return None if low <= value <= high else _WRONG_VALUE

    return Shape(_TYPES[word], find_bound)


def _read_bounds(text: str) -> tuple[float, float]:
    low, high = text.split("..")
    return float(low or "-inf"), float(high or "inf")


def _make_literals(allowed: frozenset[str]) -> Shape:
    return Shape(
        _TYPES["string"], lambda value: None if value in allowed else _WRONG_VALUE, allowed
    )


def _make_constant(allowed: int) -> Shape:
    return Shape(_TYPES["integer"], lambda value: None if value == allowed else _WRONG_VALUE)


def _make_array(item: Shape, bounds: str = "..") -> Shape:
    types, find = item.types, item.find
    low, high = _read_bounds(bounds)

    def find_item(value: list[Any]) -> ShapeFault | None:
        if not low <= len(value) <= high:
            return _WRONG_VALUE
        for index, each in enumerate(value):
            if type(each) not in types:
                return ShapeFault((index,), "type")
            if find is not None:
                fault = find(each)
                if fault is not None:
                    return ShapeFault((index, *fault.place), fault.kind)
        return None

    checked = types != _TYPES["any"] or find is not None or bounds != ".."
    return Shape(_TYPES["array"], find_item if checked else None)


def _make_object(members: Mapping[str, Shape], rest: Shape | None) -> Shape:
    """An object: what is missing comes first, then members in the table's order, then others."""
    required = tuple(name for name in members if not name.endswith("?"))
    named = {name.removesuffix("?"): shape for name, shape in members.items()}
    checked = tuple(
        (name, shape.types, shape.find)
        for name, shape in named.items()
        if shape.types != _TYPES["any"] or shape.find is not None
    )

    def find_member(value: dict[str, Any]) -> ShapeFault | None:
        for name in required:
            if name not in value:
                return ShapeFault((name,), "missing")
        for name, types, find in checked:
            if name in value:
                item = value[name]
                if type(item) not in types:
                    return ShapeFault((name,), "type")
                if find is not None:
                    fault = find(item)
                    if fault is not None:
                        return ShapeFault((name, *fault.place), fault.kind)
        return None if rest is None else _find_among_others(value, named, rest)

    return Shape(
        _TYPES["object"],
        find_member if required or checked or rest else None,
        tags={
            name: (shape.literals, name in required)
            for name, shape in named.items()
            if shape.literals
        },
    )


def _find_among_others(
    value: dict[str, Any], named: Mapping[str, Shape], rest: Shape
) -> ShapeFault | None:
    for name, item in value.items():
        fault = None if name in named else rest.find_fault(item)
        if fault is not None:
            return ShapeFault((ANY_NAME, *fault.place), fault.kind)
    return None


def _make_intersection(parts: Sequence[Shape]) -> Shape:
    """All of ``parts``: the faults of the first one come first."""
    finds = tuple(part.find for part in parts if part.find is not None)

    def find_in_parts(value: object) -> ShapeFault | None:
        for find in finds:
            fault = find(value)
            if fault is not None:
                return fault
        return None

    types = frozenset.intersection(*(part.types for part in parts))
    return Shape(types, find_in_parts if finds else None)


def _make_union(branches: Sequence[Shape]) -> Shape:
    """One of ``branches``: the type of a value chooses those that are tried."""
    if all(branch.literals for branch in branches):
        return _make_literals(frozenset[str]().union(*(branch.literals for branch in branches)))
    types = frozenset[type]().union(*(branch.types for branch in branches))
    finds = {each: _choose([b for b in branches if each in b.types]) for each in types}

    def find_by_type(value: object) -> ShapeFault | None:
        find = finds[type(value)]
        return None if find is None else find(value)

    return Shape(types, find_by_type if any(finds.values()) else None)


def _choose(branches: Sequence[Shape]) -> Find | None:
    """What checks a value that has the type of all ``branches``: by a tag, if all have one."""
    tag = next((name for name in branches[0].tags if all(name in b.tags for b in branches)), "")
    return _find_by_tag(tag, branches) if tag and len(branches) > 1 else _try_each(branches)


def _try_each(branches: Sequence[Shape]) -> Find | None:
    """What accepts a value that one of ``branches`` accepts.

    Else the fault is that of the branch that reads deepest; of several, the first that misses
    no member there, as a member that is there says what was meant.
    """
    finds = [branch.find for branch in branches if branch.find is not None]
    if len(finds) < len(branches):
        return None
    if len(finds) == 1:
        return finds[0]

    def find_in_each(value: object) -> ShapeFault | None:
        faults = []
        for find in finds:
            fault = find(value)
            if fault is None:
                return None
            faults.append(fault)
        return max(faults, key=lambda fault: (len(fault.place), fault.kind != "missing"))

    return find_in_each


def _find_by_tag(tag: str, branches: Sequence[Shape]) -> Find:
    """What lets the member ``tag`` choose among ``branches``, some of which may not require it."""
    allowed = frozenset[str]().union(*(branch.tags[tag][0] for branch in branches))
    tagged = {each: _try_each([b for b in branches if each in b.tags[tag][0]]) for each in allowed}
    untagged = [branch for branch in branches if not branch.tags[tag][1]]
    find_untagged = _try_each(untagged)

    def find_in_tagged(value: dict[str, Any]) -> ShapeFault | None:
        if tag not in value:
            if not untagged:
                return ShapeFault((tag,), "missing")
            find = find_untagged
        else:
            choice = value[tag]
            if type(choice) is not str:
                return ShapeFault((tag,), "type")
            if choice not in tagged:
                return ShapeFault((tag,), "value")
            find = tagged[choice]
        return None if find is None else find(value)

    return find_in_tagged
