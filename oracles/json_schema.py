"""Whether a value fits a JSON Schema that a server declared: arguments of a tool, or its result.

A schema of another's server may be anything. Nothing that it refers to is fetched, its patterns run
in linear time, and the work is bounded before it begins: what could take long is not judged at all,
and neither is what readers of schemas do differently. No word is better than a late or wrong one.
Source: JSON Schema 2020-12, the default dialect of MCP, and draft-07, which many servers declare.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote

from wirefence.oracles.document import judge_document

if TYPE_CHECKING:
    from jsonschema_rs import Draft7Validator, Draft202012Validator

__all__ = ["Fit", "admits_others", "fits_schema"]

Fit = Literal["fits", "differs", "unknown"]
"""``unknown`` where the schema is unusable, too complex, or written for another dialect."""

_MODERN = "https://json-schema.org/draft/2020-12/schema"
_OLD = "http://json-schema.org/draft-07/schema"
_MOST_BYTES = 262_144
_MOST_DEPTH = 128
"""Containers of a schema that lie within each other, with each reference followed."""
_MOST_STEPS = 20_000
"""Values in a schema in which each reference is followed."""
_MOST_WORK = 5_000_000
"""Values in a schema times values that it is compared with: about a second."""
_MOST_PATTERN, _MOST_MATCHED = 1 << 20, 10_000
"""Bytes of a compiled pattern, and characters in strings that patterns are compared with."""
_EXACT = 2**53
"""The magnitude up to which every reader has the same number."""
_ELSEWHERE = frozenset({"$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef"})
"""Keywords by which a reference means something else than a place in the schema."""
_CONTENT = frozenset({"contentEncoding", "contentMediaType"})
"""Keywords that draft-07 lets a validator assert or not."""
_PATTERNS = frozenset({"pattern", "patternProperties"})


_SILENT = frozenset(
    {
        *("$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "default"),
        *("examples", "type", "properties", "required", "minProperties", "maxProperties"),
        *("dependentRequired", "deprecated", "readOnly", "writeOnly"),
    }
)
"""Keywords that name no member of an object which ``properties`` does not name."""


class _UnknownError(Exception):
    """A schema or value is not judged."""


@dataclass(frozen=True, slots=True)
class _Schema:
    """A schema that is judged, and what bounds the work.

    ``steps`` are the values in it, ``returns`` the references from within what they refer to.
    """

    validator: Draft7Validator | Draft202012Validator
    steps: int
    returns: int
    matches: bool


def fits_schema(schema: str, value: object) -> Fit:
    """Return whether a value of the judge's reader fits a schema, given as JSON text."""
    try:
        return "fits" if _is_valid(_compile(schema), value) else "differs"
    except (_UnknownError, ValueError, OverflowError, RecursionError):
        return "unknown"


@lru_cache(maxsize=64)
def admits_others(schema: str) -> bool:
    """Return whether a schema may admit a member on purpose that its ``properties`` do not name."""
    root = judge_document(schema.encode(), profile="spec").value
    if not isinstance(root, dict):
        return True
    closed = root.get("additionalProperties", False) is False
    return not closed or not root.keys() <= _SILENT | {"additionalProperties"}


def _is_valid(schema: _Schema | None, value: object) -> bool:
    if schema is None:
        raise _UnknownError
    count, depth, text = _measure_value(value)
    ways = schema.returns ** min(depth, _MOST_DEPTH) if schema.returns > 1 else 1
    if schema.steps * count * ways > _MOST_WORK or (schema.matches and text > _MOST_MATCHED):
        raise _UnknownError
    return schema.validator.is_valid(value)


def _measure_value(value: object) -> tuple[int, int, int]:
    """Return the number of values in one, how deep they lie, and the characters in strings.

    Raises _UnknownError for a number that a validator may round.
    """
    count = deepest = text = 0
    waiting = [(value, 1)]
    while waiting:
        each, depth = waiting.pop()
        count, deepest = count + 1, max(deepest, depth)
        if isinstance(each, dict):
            text += sum(map(len, each))
            waiting += [(inner, depth + 1) for inner in each.values()]
        elif isinstance(each, list):
            waiting += [(inner, depth + 1) for inner in each]
        elif isinstance(each, str):
            text += len(each)
        elif isinstance(each, int | float):
            if abs(each) > _EXACT or not math.isfinite(each):
                raise _UnknownError
        elif each is not None:
            raise _UnknownError
    return count, deepest, text


@lru_cache(maxsize=64)
def _compile(schema: str) -> _Schema | None:
    """Return what judges by a schema; ``None`` for one that is not judged."""
    try:
        return _prepare(schema)
    except (_UnknownError, ValueError, OverflowError, RecursionError):
        return None


def _prepare(schema: str) -> _Schema:
    if len(schema) > _MOST_BYTES:
        raise _UnknownError
    read = judge_document(schema.encode(), profile="spec")
    root = read.value
    if not read.accepted or not isinstance(root, dict):
        raise _UnknownError
    walk = _Walk(root)
    walk.visit({name: each for name, each in root.items() if name != "$id"}, 0)
    if walk.names & _ELSEWHERE:
        raise _UnknownError
    validator = _make_validator(root, walk.names)
    return _Schema(validator, walk.steps, walk.returns, bool(walk.names & _PATTERNS))


def _make_validator(
    root: dict[str, Any], names: set[str]
) -> Draft7Validator | Draft202012Validator:
    """Raises ValueError for a schema that is none, or has a pattern that needs to go back."""
    # Imported here: it takes longer than all else, and few commands need it.
    from jsonschema_rs import Draft7Validator, Draft202012Validator, RegexOptions  # noqa: PLC0415

    said = root.get("$schema", _MODERN)
    dialect = said.removesuffix("#") if isinstance(said, str) else ""
    old = dialect == _OLD and not names & _CONTENT
    if not old and dialect != _MODERN:
        raise _UnknownError
    make = Draft7Validator if old else Draft202012Validator
    options = RegexOptions(size_limit=_MOST_PATTERN)
    return make(root, offline=True, validate_formats=False, pattern_options=options)


class _Walk:
    """Counts what is in a schema; a reference from within its own target is not followed."""

    def __init__(self, root: dict[str, Any]) -> None:
        self.root = root
        self.steps = self.returns = 0
        self.names: set[str] = set()
        self._open = {id(root)}

    def visit(self, value: object, depth: int) -> None:
        """Raises _UnknownError for too much, and for a reference that leaves the schema."""
        self.steps += 1
        if self.steps > _MOST_STEPS or depth > _MOST_DEPTH:
            raise _UnknownError
        if isinstance(value, list):
            for each in value:
                self.visit(each, depth + 1)
        elif isinstance(value, dict):
            if id(value) in self._open:
                self.returns += 1
                return
            self._open.add(id(value))
            self.names |= value.keys()
            for each in value.values():
                self.visit(each, depth + 1)
            if isinstance(reference := value.get("$ref"), str):
                self.visit(self._resolve(reference), depth + 1)
            self._open.remove(id(value))

    def _resolve(self, reference: str) -> object:
        if reference != "#" and not reference.startswith("#/"):
            raise _UnknownError
        found: Any = self.root
        for part in unquote(reference).split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, dict) or name not in found:
                raise _UnknownError  # a place in an array as well: nobody refers to one
            found = found[name]
        return found
