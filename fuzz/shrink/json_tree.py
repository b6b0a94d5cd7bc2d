"""A token tree of any bytes: the shape of JSON where there is some, and never a complaint.

The key insight: a node is a span of the bytes, so an edit of the tree is an edit of the bytes and
everything that was not edited stays exactly as it was sent. Brackets that do not match, values
without commas and texts that end early have a tree too: those are what is interesting.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

__all__ = ["DEPTH", "Node", "Span", "lines", "nodes", "tokens"]

Span = tuple[int, int]
"""Start and end offset, end excluded."""

DEPTH = 64
"""Nesting beyond this is interesting for its depth: it is cut from above, never node by node."""

_TOKEN = re.compile(
    rb'"(?:[^"\\\n]|\\[^\n])*"?'  # a string, closed or not
    rb"|[\[\]{},:\n]|[ \t\r]+"
    rb'|[^ \t\r\n"\[\]{},:]+'  # a number, a literal, or what is no JSON
)


@dataclass(slots=True)
class Node:
    """A value, a name, or a line of the session (an unbracketed group).

    ``marks`` are the offsets at which the items of a group begin: behind its bracket and behind
    each of its commas; ``close`` is where the last item ends.
    """

    start: int
    end: int = -1
    kind: str = "leaf"
    is_name: bool = False
    marks: list[int] = field(default_factory=list)
    close: int = -1
    children: list[Node] = field(default_factory=list)

    def without(self, first: int, last: int) -> Span:
        """The span to delete for items ``first`` to ``last`` to go, with one comma each."""
        if last + 1 < len(self.marks):
            return self.marks[first], self.marks[last + 1]
        return self.marks[first] - (first > 0), self.close


def tokens(data: bytes) -> list[Span]:
    """The spans of all tokens: strings, brackets, commas, colons, white space, and the rest."""
    return [match.span() for match in _TOKEN.finditer(data)]


def lines(data: bytes) -> list[Node]:
    """The lines of ``data``, each as the unbracketed group of what stands in it."""
    return list(_lines(data))


def nodes(data: bytes, depth: int = DEPTH) -> list[Node]:
    """The nodes of the lines of ``data``, outermost first, none below ``depth`` levels."""
    found: list[Node] = []
    level: Sequence[Node] = lines(data)
    while level and depth:
        found += level
        level = [child for node in level for child in node.children]
        depth -= 1
    return found


def _lines(data: bytes) -> Iterator[Node]:
    stack = [_group("line", 0, 0)]
    for start, end in tokens(data):
        lead = data[start : start + 1]
        if lead == b"\n":
            yield _closed(stack, start)
            stack = [_group("line", end, end)]
        else:
            _take(stack, lead, start, end)
    yield _closed(stack, len(data))


def _take(stack: list[Node], lead: bytes, start: int, end: int) -> None:
    top = stack[-1]
    if lead in (b"[", b"{"):
        group = _group(lead.decode(), start, end)
        top.children.append(group)
        stack.append(group)
    elif lead in (b"]", b"}") and len(stack) > 1:
        top.close, top.end = start, end
        stack.pop()
    elif lead == b",":
        top.marks.append(end)
    elif lead == b":":
        if top.children:
            top.children[-1].is_name = True
    elif lead not in (b" ", b"\t", b"\r"):
        top.children.append(Node(start, end))


def _group(kind: str, start: int, inside: int) -> Node:
    return Node(start, kind=kind, marks=[inside])


def _closed(stack: list[Node], at: int) -> Node:
    """The line, with every group that nothing closed ending where the line does."""
    for node in stack:
        node.close = node.end = at
    return stack[0]
