"""The passes of a reduction, coarse to fine. Each proposes edits until none of them keeps.

The key insight: what a coarse pass could not take away is mostly needed, so a finer pass looks only
where the coarser one had no say: bytes inside of tokens, and of words only the ends.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from wirefence.fuzz.shrink import json_tree as tree
from wirefence.fuzz.shrink.handshake import KNOWN, outside, plain
from wirefence.fuzz.shrink.json_tree import Node, Span
from wirefence.fuzz.shrink.nesting import FORMS, chains, levels
from wirefence.fuzz.shrink.ordering import simpler_values

__all__ = ["PASSES", "Edit", "Search"]

_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_WHITE = re.compile(rb"[ \t\r]+")
_WORD = re.compile(rb"[A-Za-z0-9_./+-]{3,}")
_PART = re.compile(
    rb'[\xc2-\xf4][\x80-\xbf]{1,3}|\\u[0-9a-fA-F]{4}|\\.|"?[A-Za-z0-9_./+-]{3,}"?|[^\n]|\n',
    re.DOTALL,
)
_ACTION = rb'"arguments":\{("action":(?:"[^"\\\n]*"|[0-9]+))[^{}\n]*\}'
_CALL = re.compile(rb'"name":"[^"\n]+",%b|%b,"name":"[^"\n]+"' % (_ACTION, _ACTION))
_BYTE = re.compile(rb"\\u[0-9a-fA-F]{4}|[\x00-\xff]", re.DOTALL)
_SHORT = 48
_NEAR = 16
_MANY = 16
_RUNS = 8192


Edit = tuple[bytes, object]
"""The bytes after an edit, and what was done to what, wherever it stands."""


class Search(Protocol):
    """What a pass needs: the current bytes, and a way to better them."""

    data: bytes

    def first(self, edits: Iterable[Edit]) -> int | None:
        """Take the first edit whose result is simpler and keeps; return its place among them."""


def _put(data: bytes, span: Span, new: bytes = b"") -> Edit:
    start, end = span
    near = data[max(0, start - _NEAR) : start], data[start:end], new, data[end : end + _NEAR]
    return data[:start] + new + data[end:], near


def _drop(search: Search, spans_of: Callable[[bytes], Sequence[Span]], largest: int = 0) -> None:
    """Delete runs of neighbouring spans, long runs first, from the end to the beginning.

    From the end, because what comes later in a session needs what comes earlier.
    """
    spans = spans_of(search.data)
    size = min(len(spans), largest or len(spans))
    while size and len(spans) // size <= _RUNS:
        end = len(spans)
        while end > 0:
            ends = range(end, 0, -size)
            hit = search.first(_without(search.data, spans, ends, size))
            if hit is None:
                break
            spans = spans_of(search.data)
            end = min(max(0, ends[hit] - size), len(spans))
        size = min(size, len(spans) + 1) // 2


def _without(data: bytes, spans: Sequence[Span], ends: range, size: int) -> Iterator[Edit]:
    for end in ends:
        run = spans[max(0, end - size) : end]
        # Spans that touch go as one; others one by one, with what is between them kept.
        kept, at = [], 0
        for start, stop in run:
            kept.append(data[at:start])
            at = stop
        first, last = run[0][0], run[-1][1]
        near = data[max(0, first - _NEAR) : last + _NEAR], last - first, size
        yield b"".join([*kept, data[at:]]), near


def _found(pattern: re.Pattern[bytes]) -> Callable[[bytes], list[Span]]:
    return lambda data: outside(data, [match.span() for match in pattern.finditer(data)])


def _tokens_of(data: bytes) -> list[Span]:
    return outside(data, tree.tokens(data))


def _unknown(data: bytes, spans: Sequence[Span]) -> list[Span]:
    """The spans that lie in no word of the protocol."""
    known = [span for span in tree.tokens(data) if data[slice(*span)] in KNOWN]
    starts = [start for start, _ in known]

    def inside(span: Span) -> bool:
        place = bisect_right(starts, span[0]) - 1
        return place >= 0 and span[1] <= known[place][1]

    return [span for span in spans if not inside(span)]


def _nodes_of(data: bytes) -> list[Node]:
    found = tree.nodes(data)
    kept = set(outside(data, [(node.start, node.end) for node in found]))
    # A level of plain nesting begins and ends in two such spans: one search has done for all.
    plain_levels = levels(data)
    return [
        node
        for node in found
        if (node.start, node.end) in kept
        and not any(start < node.start < end for start, end in plain_levels)
    ]


def _lines(search: Search) -> None:
    _drop(search, lambda data: [match.span() for match in _LINE.finditer(data)])


def _openings(search: Search) -> None:
    """Put the lines of a handshake in their plainest form."""
    for place in range(len(_LINE.findall(search.data))):
        data = search.data
        start, end = [match.span() for match in _LINE.finditer(data)][place]
        span = start, end - data[start:end].endswith(b"\n")
        search.first(_put(data, span, form) for form in plain(data[slice(*span)]))


def _depths(search: Search) -> None:
    """Nest as plainly, and as little, as will do."""
    for place in range(search.data.count(b"\n") + 1):
        found = chains(tree.lines(search.data)[place])
        # The plainest form that will do anywhere, then the outermost place where it does.
        any(
            _nested(search, (node.start, node.end), depth, form)
            for form in FORMS
            for node, depth in found
        )


def _nested(search: Search, span: Span, depth: int, form: Callable[[int], bytes]) -> bool:
    """Put ``form`` in place of a span, with the least depth that keeps."""
    data, low = search.data, 0
    if data[slice(*span)] != form(depth) and search.first([_put(data, span, form(depth))]) is None:
        return False
    while depth - low > 1:
        middle = (low + depth) // 2
        if search.first([_put(data, span, form(middle))]) is None:
            low = middle
        else:
            depth = middle
    return True


def _white(search: Search) -> None:
    _drop(search, lambda data: [s for s in _tokens_of(data) if _WHITE.fullmatch(data, *s)])


def _tree(search: Search) -> None:
    """Make each node as simple as can be, outermost first: those take the most with them."""
    place, found = 0, _nodes_of(search.data)
    while place < len(found):
        before = search.data
        node = found[place]
        if search.first(_replaced(search.data, node)) is None:
            _items(search, place)
            place += 1
        if search.data is not before:
            found = _nodes_of(search.data)


def _replaced(data: bytes, node: Node) -> Iterator[Edit]:
    """The node as the simplest value of any type, of its own type, or as a child of its."""
    span = node.start, node.end
    lead = data[node.start : node.start + 1]
    if not node.is_name:
        yield _put(data, span, b"0")
    if lead == b'"':
        yield _put(data, span, b'""')
    elif node.kind in ("[", "{"):
        yield _put(data, span, b"[]" if node.kind == "[" else b"{}")
    for child in _inner(node):
        yield _put(data, span, data[child.start : child.end])


def _inner(node: Node) -> Iterator[Node]:
    """What a group may be replaced by: where nesting is deep, far descendants first."""
    largest = _path(node)
    step = len(largest)
    while step > 8:
        yield largest[step - 1]
        step //= 2
    values = [child for child in node.children if not child.is_name]
    yield from sorted(values, key=lambda each: each.start - each.end)[:_MANY]


def _path(node: Node) -> list[Node]:
    path = []
    while node.children:
        node = max(node.children, key=lambda each: each.end - each.start)
        path.append(node)
    return path


def _items(search: Search, place: int) -> None:
    """Drop items of a group, with their commas."""
    node = _nodes_of(search.data)[place]
    size = len(node.marks)
    while size and node.kind != "leaf":
        end = len(node.marks)
        while end > 0:
            ends = range(end, 0, -size)
            data = search.data
            spans = (node.without(max(0, stop - size), stop - 1) for stop in ends)
            hit = search.first(_put(data, span) for span in spans)
            if hit is None:
                break
            found = _nodes_of(search.data)
            if place >= len(found):  # the line has become one that is left alone
                return
            node = found[place]
            end = min(max(0, ends[hit] - size), len(node.marks))
        size = min(size, len(node.marks) + 1) // 2


def _calls(search: Search) -> None:
    """Call the tool that takes the least."""
    place = 0
    while place < len(calls := list(_CALL.finditer(search.data))):
        call, record = calls[place], b'"name":"record"'
        arguments = b'"arguments":{%b}' % (call[1] or call[2])
        parts = (record, arguments) if call[1] else (arguments, record)
        search.first([_put(search.data, call.span(), b",".join(parts))])
        place += 1


def _values(search: Search) -> None:
    """Spell each token more simply: a long one of equal letters is cheap to cut later."""
    place, spans = 0, _spelled(search.data)
    while place < len(spans):
        span, data = spans[place], search.data
        if (
            search.first(_put(data, span, new) for new in simpler_values(data[slice(*span)]))
            is None
        ):
            place += 1
        else:
            spans = _spelled(search.data)


def _spelled(data: bytes) -> list[Span]:
    return _unknown(data, _tokens_of(data))


def _tokens(search: Search) -> None:
    _drop(search, _tokens_of, largest=1)


def _words(search: Search) -> None:
    """Shorten words of which an end or a half can go; others are taken for what they say."""
    place = 0
    while place < len(words := _unknown(search.data, _found(_WORD)(search.data))):
        start, end = words[place]
        half = (start + end) // 2
        parts = ((half, end), (end - 1, end), (start, half), (start, start + 1))
        data = search.data
        if search.first(_put(data, part) for part in parts) is not None:
            _drop(search, _inside(start))
        place += 1


def _inside(start: int) -> Callable[[bytes], list[Span]]:
    def spans(data: bytes) -> list[Span]:
        word = re.compile(rb"[A-Za-z0-9_./+-]*").match(data, start)
        assert word is not None
        return [(at, at + 1) for at in range(*word.span())]

    return spans


def _bytes(search: Search) -> None:
    """Delete bytes; in an input that is still long, words and escapes go only as a whole."""
    pattern = _BYTE if len(search.data) <= _SHORT else _PART
    data = search.data
    widest = max((len(pattern.findall(data, *span)) for span in _spelled(data)), default=1)
    _drop(search, lambda each: _unknown(each, _found(pattern)(each)), largest=max(1, widest // 2))


PASSES: tuple[Callable[[Search], None], ...] = (
    _lines,
    _openings,
    _depths,
    _tree,
    _calls,
    _white,
    _values,
    _words,
    _tokens,
    _bytes,
)
"""All passes in their order."""
