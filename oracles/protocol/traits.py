"""Name what is wrong with the shape of a message: few names, equal for equal faults.

A trait is the outermost member of the params or result, the innermost one, and what is wrong with
that: ``uri-missing``, ``content-text-missing``; the place ``serverInfo.icons[0].src`` gives
``serverInfo-src-format``. Indices and names of the sender's choice are data, and no part of it.
``traits.json`` lists them all; ``python -m scripts.protocol_table`` makes it of the tables.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from wirefence.oracles.protocol.shapes import ANY_NAME, ShapeFault

__all__ = ["KINDS", "Trait", "describe_fault", "list_traits", "name_trait"]

_META = "_meta"
_SHOWN = 80
"""Characters of a place in a sentence."""
KINDS = {
    "missing": "is missing",
    "type": "has another type",
    "value": "has a value that is not allowed",
    "format": "does not have its format",
}
"""What may be wrong with a member, in words."""

Trait = tuple[str, str]
"""A rule, ``mcp-params``, ``mcp-meta`` or ``mcp-result``, and the trait by which it is broken."""


def name_trait(rule: str, fault: ShapeFault) -> Trait:
    """Return the rule and trait of a fault; ``_meta`` of params has a rule of its own."""
    names = [each for each in fault.place if isinstance(each, str) and each != ANY_NAME]
    if rule == "mcp-params" and names[:1] == [_META]:
        rule, names = "mcp-meta", names[1:]
    shown = [name.rsplit("/")[-1] for name in (*names[:1], *names[1:][-1:])]
    return rule, "-".join([*shown, fault.kind])


def describe_fault(fault: ShapeFault, whole: str) -> str:
    """Return a fault in words; ``whole`` says what was checked, such as "the result"."""
    place = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in fault.place)
    return f"{place.removeprefix('.')[:_SHOWN] or whole} {KINDS[fault.kind]}"


@cache
def list_traits() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Return all traits by rule, and there by the outermost member."""
    table = json.loads(Path(__file__).with_name("traits.json").read_bytes())
    return {
        rule: {
            member: tuple(f"{member}-{each}" if member else each for each in rest.split())
            for member, rest in members.items()
        }
        for rule, members in table.items()
    }
