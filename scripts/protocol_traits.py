"""List every trait that a message of the protocol can have, from the tables of its shapes."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from wirefence.oracles.protocol.shapes import Notation, ShapeFault
from wirefence.oracles.protocol.traits import name_trait

__all__ = ["write_traits"]

_TYPES = frozenset({"any", "boolean", "integer", "null", "number", "object", "string"})
_RULES = ("mcp-meta", "mcp-params", "mcp-result")


def write_traits(tables: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """Return ``traits.json`` for the tables of all versions: by rule and outermost member."""
    found: dict[str, dict[str, set[str]]] = {rule: defaultdict(set) for rule in _RULES}
    for table in tables.values():
        for entry in table["methods"].values():
            for rule, notation in _list_checked(entry):
                for fault in _list_faults(notation, (), table["definitions"]):
                    if not fault.place and fault.kind == "type":
                        continue  # an earlier rule says that params and result are objects
                    broken, trait = name_trait(rule, fault)
                    member, dash, rest = trait.partition("-")
                    member, rest = (member, rest) if dash else ("", member)
                    found[broken][member].add(rest)
    lines = (
        f'"{rule}": {{\n'
        + ",\n".join(
            f"  {json.dumps(member)}: {json.dumps(' '.join(sorted(traits)))}"
            for member, traits in sorted(members.items())
        )
        + "\n}"
        for rule, members in found.items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _list_checked(entry: Mapping[str, Any]) -> Iterator[tuple[str, Notation]]:
    """Yield what the judge checks of a method: params that clients send, and results."""
    if "client" in entry.get("request", entry.get("notification", "")):
        yield "mcp-params", {"": entry["params"]} if "params" in entry else entry["params?"]
    for result in (entry.get("result", {}), entry.get("task", {})):
        for each in result.values() if isinstance(result, dict) else [result]:
            yield "mcp-result", each


def _list_faults(
    notation: Notation, place: tuple[str, ...], definitions: Mapping[str, Notation]
) -> Iterator[ShapeFault]:
    """Yield all faults that a value may have at a place and below it."""
    if isinstance(notation, str):
        yield from _list_text_faults(notation, place, definitions)
    elif isinstance(notation, list):
        yield ShapeFault(place, "type")
        if len(notation) > 1:
            yield ShapeFault(place, "value")
        yield from _list_faults(notation[0], place, definitions)
    elif notation.keys() & {"|", "&"}:
        for part in next(iter(notation.values())):
            yield from _list_faults(part, place, definitions)
    else:
        yield ShapeFault(place, "type")
        for name, each in notation.items():
            inner = (*place, *filter(None, (name.removesuffix("?"),)))
            if not name.endswith("?") and name != "*":
                yield ShapeFault(inner, "missing")
            yield from _list_faults(each, inner, definitions)


def _list_text_faults(
    text: str, place: tuple[str, ...], definitions: Mapping[str, Notation]
) -> Iterator[ShapeFault]:
    for sign in (" & ", " | "):
        if sign in text:
            for part in text.split(sign):
                yield from _list_faults(part, place, definitions)
            return
    word, _, limit = text.partition(" ")
    if text.endswith("[]"):
        yield ShapeFault(place, "type")
        yield from _list_faults(text[:-2], place, definitions)
    elif text.startswith("'") or text.lstrip("-").isdecimal():
        yield ShapeFault(place, "type")
        yield ShapeFault(place, "value")
    elif word not in _TYPES:
        yield from _list_faults(definitions[text], place, definitions)
    elif word != "any":
        yield ShapeFault(place, "type")
        if limit:
            yield ShapeFault(place, "format" if word == "string" else "value")
