"""Parse any bytes into a tree of tokens: JSON where there is some, without errors elsewhere.

A node is a span of the bytes, so an edit of the tree is an edit of the bytes, and all other bytes
stay as they were sent. Unmatched brackets, missing commas and truncated texts have a tree too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

__all__ = ["MAX_DEPTH", "Node", "Span", "find_tokens", "list_nodes", "parse_lines"]

Span = tuple[int, int]
"""Start and end offset, end excluded."""

MAX_DEPTH = 64
"""Levels. Deeper nesting is shrunk as a whole by ``nesting``, not node by node."""

_TOKEN = re.compile(
    rb'"(?:[^"\\\n]|\\[^\n])*"?'  # a string, closed or not
    rb"|[\[\]{},:\n]|[ \t\r]+"
    rb'|[^ \t\r\n"\[\]{},:]+'  # a number, a literal, or what is no JSON
)


@dataclass(slots=True)
class Node:
    """A value, a name, or a line of the session (a group without brackets).

    ``marks`` are the offsets at which the items of a group begin: after its bracket and after each
    of its commas. ``close`` is where the last item ends.
    """

    start: int
    end: int = -1
    kind: str = "leaf"
    is_name: bool = False
    marks: list[int] = field(default_factory=list)
    close: int = -1
    children: list[Node] = field(default_factory=list)

    def find_deletion_span(self, first: int, last: int) -> Span:
        """Return the span to delete in order to remove items ``first`` to ``last``, with one comma
        each.
        """
        if last + 1 < len(self.marks):
            return self.marks[first], self.marks[last + 1]
        return self.marks[first] - (first > 0), self.close


def find_tokens(data: bytes) -> list[Span]:
    """Return the spans of all tokens: strings, brackets, commas, colons, white space, and the
    rest.
    """
    return [match.span() for match in _TOKEN.finditer(data)]


def parse_lines(data: bytes) -> list[Node]:
    """Return the lines of ``data``, each as a group of its tokens."""
    return list(_parse_lines(data))


def list_nodes(data: bytes, depth: int = MAX_DEPTH) -> list[Node]:
    """Return the nodes of the lines of ``data``, outermost first, down to ``depth`` levels."""
    found: list[Node] = []
    level: Sequence[Node] = parse_lines(data)
    while level and depth:
        found += level
        level = [child for node in level for child in node.children]
        depth -= 1
    return found


def _parse_lines(data: bytes) -> Iterator[Node]:
    stack = [_make_group("line", 0, 0)]
    for start, end in find_tokens(data):
        lead = data[start : start + 1]
        if lead == b"\n":
            yield _close_groups(stack, start)
            stack = [_make_group("line", end, end)]
        else:
            _add_token(stack, lead, start, end)
    yield _close_groups(stack, len(data))


def _add_token(stack: list[Node], lead: bytes, start: int, end: int) -> None:
    top = stack[-1]
    if lead in (b"[", b"{"):
        group = _make_group(lead.decode(), start, end)
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


def _make_group(kind: str, start: int, inside: int) -> Node:
    return Node(start, kind=kind, marks=[inside])


def _close_groups(stack: list[Node], at: int) -> Node:
    """Return the line, with every open group closed at its end."""
    for node in stack:
        node.close = node.end = at
    return stack[0]
