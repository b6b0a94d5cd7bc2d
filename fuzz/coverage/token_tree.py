"""The token tree of an input, as offsets into its bytes.

An edit of a tree replaces the bytes between two offsets, so no tree is built or written. A corpus
input is parsed once, and each mutation of it costs two slices. The shrinker's tree
(``fuzz/shrink/json_tree.py``) has a node for each token instead: an edit needs lists of one kind,
and making nodes first would take a third of the mutations per second.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["PARTS", "Member", "Span", "Tree", "TreeCache", "is_json", "read_tree"]

Span = tuple[int, int]
"""Start and end offset in the input."""

Member = tuple[int, int, int, int]
"""Start and end of a member's name (quotes included), start and end of its value."""

PARTS = (
    *("strings", "numbers", "words", "containers", "members", "items", "tops", "outer"),
    "values",
)
"""What edits work on, named like the attributes of a tree."""

_INNER = re.compile(rb"[{}\[\]\n]|-?[0-9][0-9.eE+-]*|[A-Za-z]+")
"""A token that is no string."""
_TOKEN = re.compile(rb'"[^"\\\n]*(?:\\[^\n][^"\\\n]*)*(")?|' + _INNER.pattern)
"""A token; its group matches if it is a closed string."""
_LONGEST = 65_536
"""Bytes. Of a longer input only the lines are found: parsing it would take too long."""


@dataclass(frozen=True, slots=True)
class Tree:
    """What was found in an input. Bytes that fit nowhere are skipped without an error.

    Every span lies where such a token may stand. ``lines`` include each line's LF, ``items`` are
    values in arrays, ``tops`` values in no container, ``outer`` the members of outermost objects.
    ``values`` are all values: scalars first, without names. ``sound`` is true if every line is a
    JSON text. ``there`` has one bit for each of :data:`PARTS`, in their order, set if the tree has
    any.
    """

    raw: bytes
    strings: tuple[Span, ...] = ()
    numbers: tuple[Span, ...] = ()
    words: tuple[Span, ...] = ()
    containers: tuple[Span, ...] = ()
    members: tuple[Member, ...] = ()
    items: tuple[Span, ...] = ()
    tops: tuple[Span, ...] = ()
    outer: tuple[Member, ...] = ()
    values: tuple[Span, ...] = ()
    lines: tuple[Span, ...] = ()
    there: int = 0
    sound: bool = False


class _TreeReader:
    """One pass over the tokens of an input, with a stack of open containers."""

    __slots__ = (
        *("containers", "items", "members", "numbers", "open", "outer", "strings", "tops"),
        "words",
    )

    def __init__(self) -> None:
        self.strings: list[Span] = []
        self.numbers: list[Span] = []
        self.words: list[Span] = []
        self.containers: list[Span] = []
        self.members: list[Member] = []
        self.outer: list[Member] = []
        self.items: list[Span] = []
        self.tops: list[Span] = []
        self.open: list[tuple[int, bool, Span | None]] = []
        """Open containers: offset, whether an object, the name whose value comes next."""

    def read_tokens(self, tokens: Iterator[re.Match[bytes]], raw: bytes) -> None:
        for match in tokens:
            start, end = match.span()
            mark = raw[start]
            if mark == 0x22:
                if match.lastindex:
                    self._add_string(start, end)
                else:
                    # Each later quote of this line is escaped, so no closed string starts
                    # there. Trying each of them would take quadratic time.
                    self.read_tokens(_INNER.finditer(raw, start + 1, end), raw)
            elif mark in b"{[":
                self.open.append((start, mark == 0x7B, None))
            elif mark in b"}]":
                self._close_container(end)
            elif mark == 0x0A:
                # A frame ends here, and closes every container.
                self.open.clear()
            else:
                (self.words if mark >= 0x41 else self.numbers).append((start, end))
                self._add_value(start, end)

    def _add_string(self, start: int, end: int) -> None:
        if self.open:
            at, is_object, name = self.open[-1]
            if is_object and name is None:
                self.open[-1] = (at, True, (start, end))
                return
        self.strings.append((start, end))
        self._add_value(start, end)

    def _close_container(self, end: int) -> None:
        if self.open:
            start = self.open.pop()[0]
            self.containers.append((start, end))
            self._add_value(start, end)

    def _add_value(self, start: int, end: int) -> None:
        if not self.open:
            self.tops.append((start, end))
            return
        at, is_object, name = self.open[-1]
        if not is_object:
            self.items.append((start, end))
        elif name is not None:
            member = (*name, start, end)
            self.members.append(member)
            if len(self.open) == 1:
                self.outer.append(member)
            self.open[-1] = (at, True, None)


def is_json(raw: bytes) -> bool:
    """Return whether a fast, strict parser accepts ``raw`` as one JSON text."""
    # The command that asks for the extra 'coverage' imports this before it can ask.
    import orjson  # noqa: PLC0415

    try:
        orjson.loads(raw)
    except ValueError:
        return False
    return True


def _split_lines(raw: bytes) -> list[Span]:
    found, start = [], 0
    while (at := raw.find(b"\n", start)) >= 0:
        found.append((start, at + 1))
        start = at + 1
    if start < len(raw):
        found.append((start, len(raw)))
    return found


def read_tree(raw: bytes) -> Tree:
    """Parse what can be parsed of ``raw``; of more than 64 KiB, only the lines."""
    lines = _split_lines(raw)
    if len(raw) > _LONGEST:
        return Tree(raw, lines=tuple(lines))
    found = _TreeReader()
    found.read_tokens(_TOKEN.finditer(raw), raw)
    values = (*found.strings, *found.numbers, *found.words, *found.containers)
    return Tree(
        raw,
        tuple(found.strings),
        tuple(found.numbers),
        tuple(found.words),
        tuple(found.containers),
        tuple(found.members),
        tuple(found.items),
        tuple(found.tops),
        tuple(found.outer),
        values,
        tuple(lines),
        _encode_parts([*(getattr(found, part) for part in PARTS[:-1]), values]),
        bool(lines) and all(is_json(raw[start:end]) for start, end in lines),
    )


def _encode_parts(parts: Sequence[Sequence[object]]) -> int:
    return sum(bool(part) << bit for bit, part in enumerate(parts))


class TreeCache:
    """Trees of recent inputs: libFuzzer mutates the same corpus inputs many times."""

    __slots__ = ("_size", "_trees")

    def __init__(self, size: int = 4_096) -> None:
        self._size = size
        self._trees: dict[bytes, Tree] = {}

    def read_tree(self, raw: bytes) -> Tree:
        """Return the tree of ``raw``, parsed at most once while it is cached."""
        tree = self._trees.get(raw)
        if tree is None:
            if len(self._trees) >= self._size:
                self._trees.clear()
            tree = self._trees[raw] = read_tree(raw)
        return tree
