"""Deep nesting, in its plainest form, and which parts of an input are nothing else.

The key insight: where depth itself is what matters, no level differs from another. So the levels
are searched by bisection, in the three spellings that readers can tell apart, and once they are
plain they are left alone: to look into each of them would cost thousands of runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from wirefence.fuzz.shrink.json_tree import DEPTH, Node, Span

__all__ = ["FORMS", "chains", "levels"]

FORMS: tuple[Callable[[int], bytes], ...] = (
    lambda depth: b"[" * depth,
    lambda depth: b"[" * depth + b"]" * depth,
    lambda depth: b'{"":' * depth + b"0" + b"}" * depth,
)
"""So many levels in one spelling: left open, of arrays, of objects."""

_PLACES = 8
_LEVELS = re.compile(rb'(?:(?:\[|\{"[^"\\\n]{0,32}":)){24,}|[\]}]{24,}')


def chains(line: Node) -> list[tuple[Node, int]]:
    """Where nesting deeper than :data:`DEPTH` begins in a line: nodes, outermost first, with depth.

    Empty where nothing is that deep.
    """
    path = []
    node = line
    while node.children:
        node = max(node.children, key=lambda each: each.end - each.start)
        path.append(node)
    if len(path) <= DEPTH:
        return []
    return [(each, len(path) - place) for place, each in enumerate(path[:_PLACES])]


def levels(data: bytes) -> list[Span]:
    """The spans that are nothing but level upon level."""
    return [match.span() for match in _LEVELS.finditer(data)]
