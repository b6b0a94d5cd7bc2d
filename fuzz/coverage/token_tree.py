"""The token tree of an input, as offsets into its bytes.

The key insight: an edit of a tree is an edit of bytes between two offsets, so no tree is ever built
or written out. A corpus input is read once, and each mutation of it costs two slices.
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
"""What edits work on, named as the attributes of a tree."""

_INNER = re.compile(rb"[{}\[\]\n]|-?[0-9][0-9.eE+-]*|[A-Za-z]+")
"""A token that is no string."""
_TOKEN = re.compile(rb'"[^"\\\n]*(?:\\[^\n][^"\\\n]*)*(")?|' + _INNER.pattern)
"""A token; its group is there if it is a string that is closed."""
_LONGEST = 65_536


@dataclass(frozen=True, slots=True)
class Tree:
    """What could be read of an input; what could not is left out, as no reader of ours may fail.

    Every span is of bytes that stand where such a thing may stand. ``lines`` includes each line's
    LF, ``items`` are values in arrays, ``tops`` values in no container, ``outer`` the members of
    what is in no container. ``values`` are all values: scalars first, names left out. ``sound`` is
    true where every line is a JSON text. ``there`` has a bit for each of :data:`PARTS`, in their
    order, which is set where there is any.
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


class _Reader:
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
        """Open containers: offset, whether an object, the name that waits for its value."""

    def read(self, tokens: Iterator[re.Match[bytes]], raw: bytes) -> None:
        for match in tokens:
            start, end = match.span()
            mark = raw[start]
            if mark == 0x22:
                if match.lastindex:
                    self._string(start, end)
                else:
                    # Each later quote of this line is escaped, so it opens no string that is
                    # closed. To try each of them takes quadratic time.
                    self.read(_INNER.finditer(raw, start + 1, end), raw)
            elif mark in b"{[":
                self.open.append((start, mark == 0x7B, None))
            elif mark in b"}]":
                self._close(end)
            elif mark == 0x0A:
                # A frame ends here, whatever it left open.
                self.open.clear()
            else:
                (self.words if mark >= 0x41 else self.numbers).append((start, end))
                self._put(start, end)

    def _string(self, start: int, end: int) -> None:
        if self.open:
            at, is_object, name = self.open[-1]
            if is_object and name is None:
                self.open[-1] = (at, True, (start, end))
                return
        self.strings.append((start, end))
        self._put(start, end)

    def _close(self, end: int) -> None:
        if self.open:
            start = self.open.pop()[0]
            self.containers.append((start, end))
            self._put(start, end)

    def _put(self, start: int, end: int) -> None:
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
    """Whether a fast, strict parser takes ``raw`` as one JSON text."""
    # The command that asks for the extra 'coverage' imports this before it can ask.
    import orjson  # noqa: PLC0415

    try:
        orjson.loads(raw)
    except ValueError:
        return False
    return True


def _lines(raw: bytes) -> list[Span]:
    found, start = [], 0
    while (at := raw.find(b"\n", start)) >= 0:
        found.append((start, at + 1))
        start = at + 1
    if start < len(raw):
        found.append((start, len(raw)))
    return found


def read_tree(raw: bytes) -> Tree:
    """Read what can be read of ``raw``; of more than 64 KiB, only the lines."""
    lines = _lines(raw)
    if len(raw) > _LONGEST:
        return Tree(raw, lines=tuple(lines))
    found = _Reader()
    found.read(_TOKEN.finditer(raw), raw)
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
        _there([*(getattr(found, part) for part in PARTS[:-1]), values]),
        bool(lines) and all(is_json(raw[start:end]) for start, end in lines),
    )


def _there(parts: Sequence[Sequence[object]]) -> int:
    return sum(bool(part) << bit for bit, part in enumerate(parts))


class TreeCache:
    """Trees of the inputs seen last: libFuzzer mutates the same corpus inputs over and over."""

    __slots__ = ("_size", "_trees")

    def __init__(self, size: int = 4_096) -> None:
        self._size = size
        self._trees: dict[bytes, Tree] = {}

    def read(self, raw: bytes) -> Tree:
        """The tree of ``raw``, read at most once while it is kept."""
        tree = self._trees.get(raw)
        if tree is None:
            if len(self._trees) >= self._size:
                self._trees.clear()
            tree = self._trees[raw] = read_tree(raw)
        return tree
