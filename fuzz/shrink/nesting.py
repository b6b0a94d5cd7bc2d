"""Shrink deep nesting: find it, and replace it by the plainest form of the least depth.

If depth itself causes a fault, all levels are alike. So the depth is found by bisection, in the
three forms that parsers distinguish; plain levels are then excluded from further passes, which
would cost thousands of runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from wirefence.fuzz.shrink.json_tree import MAX_DEPTH, Node, Span

__all__ = ["FORMS", "find_deep_nesting", "find_plain_nesting"]

FORMS: tuple[Callable[[int], bytes], ...] = (
    lambda depth: b"[" * depth,
    lambda depth: b"[" * depth + b"]" * depth,
    lambda depth: b'{"":' * depth + b"0" + b"}" * depth,
)
"""Plain nesting of a given depth: unclosed arrays, arrays, objects."""

_PLACES = 8
"""Outermost levels at which plain nesting is tried; deeper ones give the same result."""
_LEVELS = re.compile(rb'(?:(?:\[|\{"[^"\\\n]{0,32}":)){24,}|[\]}]{24,}')


def find_deep_nesting(line: Node) -> list[tuple[Node, int]]:
    """Return nodes with nesting deeper than :data:`MAX_DEPTH` below, outermost first, with that
    depth.
    """
    path = []
    node = line
    while node.children:
        node = max(node.children, key=lambda each: each.end - each.start)
        path.append(node)
    if len(path) <= MAX_DEPTH:
        return []
    return [(each, len(path) - place) for place, each in enumerate(path[:_PLACES])]


def find_plain_nesting(data: bytes) -> list[Span]:
    """Return the spans that consist only of opening or closing brackets of many levels."""
    return [match.span() for match in _LEVELS.finditer(data)]
