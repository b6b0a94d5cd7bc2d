"""The passes of the shrinker, coarse to fine. Each proposes edits until none of them is kept.

What a coarse pass could not delete is mostly needed. So a finer pass tries only what the coarser
ones did not: bytes within tokens, and of words only the ends.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from wirefence.fuzz.shrink import json_tree as tree
from wirefence.fuzz.shrink.handshake import (
    PROTOCOL_STRINGS,
    exclude_plain_parts,
    simplify_handshake_line,
)
from wirefence.fuzz.shrink.json_tree import Node, Span
from wirefence.fuzz.shrink.nesting import FORMS, find_deep_nesting, find_plain_nesting
from wirefence.fuzz.shrink.ordering import propose_simpler_tokens

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
_SHORT_INPUT = 48
"""Bytes of an input in which every single byte is tried."""
_CONTEXT = 16
"""Bytes on each side of an edit that identify it in later rounds."""
_MAX_CHILDREN = 16
"""Children of a node that are tried in its place, largest first."""
_MAX_RUNS = 8192
"""Runs of one length that are tried for an input; longer runs are tried first."""


Edit = tuple[bytes, object]
"""The bytes after an edit, and a key of the edit that does not depend on its offset."""


class Search(Protocol):
    """What a pass needs: the current bytes, and a way to replace them by simpler ones."""

    data: bytes

    def take_first_edit(self, edits: Iterable[Edit]) -> int | None:
        """Apply the first edit that is simpler and keeps the fault; return its index, else None."""


def _replace_span(data: bytes, span: Span, new: bytes = b"") -> Edit:
    start, end = span
    near = data[max(0, start - _CONTEXT) : start], data[start:end], new, data[end : end + _CONTEXT]
    return data[:start] + new + data[end:], near


def _delete_runs(
    search: Search, spans_of: Callable[[bytes], Sequence[Span]], largest: int = 0
) -> None:
    """Delete runs of adjacent spans, long runs first, from the end to the beginning.

    From the end, because later lines of a session depend on earlier ones.
    """
    spans = spans_of(search.data)
    size = min(len(spans), largest or len(spans))
    while size and len(spans) // size <= _MAX_RUNS:
        end = len(spans)
        while end > 0:
            ends = range(end, 0, -size)
            hit = search.take_first_edit(_propose_deletions(search.data, spans, ends, size))
            if hit is None:
                break
            spans = spans_of(search.data)
            end = min(max(0, ends[hit] - size), len(spans))
        size = min(size, len(spans) + 1) // 2


def _propose_deletions(
    data: bytes, spans: Sequence[Span], ends: range, size: int
) -> Iterator[Edit]:
    for end in ends:
        run = spans[max(0, end - size) : end]
        # Bytes between the spans are kept.
        kept, at = [], 0
        for start, stop in run:
            kept.append(data[at:start])
            at = stop
        first, last = run[0][0], run[-1][1]
        near = data[max(0, first - _CONTEXT) : last + _CONTEXT], last - first, size
        yield b"".join([*kept, data[at:]]), near


def _make_span_finder(pattern: re.Pattern[bytes]) -> Callable[[bytes], list[Span]]:
    return lambda data: exclude_plain_parts(
        data, [match.span() for match in pattern.finditer(data)]
    )


def _find_tokens(data: bytes) -> list[Span]:
    return exclude_plain_parts(data, tree.find_tokens(data))


def _exclude_protocol_strings(data: bytes, spans: Sequence[Span]) -> list[Span]:
    """Return the spans outside strings that the protocol defines."""
    known = [span for span in tree.find_tokens(data) if data[slice(*span)] in PROTOCOL_STRINGS]
    starts = [start for start, _ in known]

    def inside(span: Span) -> bool:
        place = bisect_right(starts, span[0]) - 1
        return place >= 0 and span[1] <= known[place][1]

    return [span for span in spans if not inside(span)]


def _find_nodes(data: bytes) -> list[Node]:
    found = tree.list_nodes(data)
    kept = set(exclude_plain_parts(data, [(node.start, node.end) for node in found]))
    # A level of plain nesting begins and ends in such spans: _reduce_nesting has handled it.
    plain_levels = find_plain_nesting(data)
    return [
        node
        for node in found
        if (node.start, node.end) in kept
        and not any(start < node.start < end for start, end in plain_levels)
    ]


def _delete_lines(search: Search) -> None:
    _delete_runs(search, lambda data: [match.span() for match in _LINE.finditer(data)])


def _simplify_handshakes(search: Search) -> None:
    """Replace the lines of a handshake by their plainest form."""
    for place in range(len(_LINE.findall(search.data))):
        data = search.data
        start, end = [match.span() for match in _LINE.finditer(data)][place]
        span = start, end - data[start:end].endswith(b"\n")
        search.take_first_edit(
            _replace_span(data, span, form) for form in simplify_handshake_line(data[slice(*span)])
        )


def _reduce_nesting(search: Search) -> None:
    """Replace deep nesting by the plainest form of the least depth that keeps the fault."""
    for place in range(search.data.count(b"\n") + 1):
        found = find_deep_nesting(tree.parse_lines(search.data)[place])
        # The plainest form that keeps the fault anywhere, then its outermost place.
        any(
            _bisect_depth(search, (node.start, node.end), depth, form)
            for form in FORMS
            for node, depth in found
        )


def _bisect_depth(search: Search, span: Span, depth: int, form: Callable[[int], bytes]) -> bool:
    """Replace a span by ``form`` of the least depth that keeps the fault; return whether one
    does.
    """
    data, low = search.data, 0
    if (
        data[slice(*span)] != form(depth)
        and search.take_first_edit([_replace_span(data, span, form(depth))]) is None
    ):
        return False
    while depth - low > 1:
        middle = (low + depth) // 2
        if search.take_first_edit([_replace_span(data, span, form(middle))]) is None:
            low = middle
        else:
            depth = middle
    return True


def _delete_white_space(search: Search) -> None:
    _delete_runs(search, lambda data: [s for s in _find_tokens(data) if _WHITE.fullmatch(data, *s)])


def _simplify_tree(search: Search) -> None:
    """Simplify each node, outermost first, since those remove the most bytes."""
    place, found = 0, _find_nodes(search.data)
    while place < len(found):
        before = search.data
        node = found[place]
        if search.take_first_edit(_propose_simpler_nodes(search.data, node)) is None:
            _delete_items(search, place)
            place += 1
        if search.data is not before:
            found = _find_nodes(search.data)


def _propose_simpler_nodes(data: bytes, node: Node) -> Iterator[Edit]:
    """Yield the node as the simplest value of any type, of its own type, or as one of its
    children.
    """
    span = node.start, node.end
    lead = data[node.start : node.start + 1]
    if not node.is_name:
        yield _replace_span(data, span, b"0")
    if lead == b'"':
        yield _replace_span(data, span, b'""')
    elif node.kind in ("[", "{"):
        yield _replace_span(data, span, b"[]" if node.kind == "[" else b"{}")
    for child in _list_replacements(node):
        yield _replace_span(data, span, data[child.start : child.end])


def _list_replacements(node: Node) -> Iterator[Node]:
    """Yield descendants that may replace a group: in deep nesting, far ones first."""
    largest = _follow_largest_child(node)
    step = len(largest)
    while step > 8:
        yield largest[step - 1]
        step //= 2
    values = [child for child in node.children if not child.is_name]
    yield from sorted(values, key=lambda each: each.start - each.end)[:_MAX_CHILDREN]


def _follow_largest_child(node: Node) -> list[Node]:
    path = []
    while node.children:
        node = max(node.children, key=lambda each: each.end - each.start)
        path.append(node)
    return path


def _delete_items(search: Search, place: int) -> None:
    """Delete items of a group, with their commas."""
    node = _find_nodes(search.data)[place]
    size = len(node.marks)
    while size and node.kind != "leaf":
        end = len(node.marks)
        while end > 0:
            ends = range(end, 0, -size)
            data = search.data
            spans = (node.find_deletion_span(max(0, stop - size), stop - 1) for stop in ends)
            hit = search.take_first_edit(_replace_span(data, span) for span in spans)
            if hit is None:
                break
            found = _find_nodes(search.data)
            if place >= len(found):  # the line is now plain, and excluded
                return
            node = found[place]
            end = min(max(0, ends[hit] - size), len(node.marks))
        size = min(size, len(node.marks) + 1) // 2


def _simplify_calls(search: Search) -> None:
    """Replace each tool call by one of the tool with the fewest arguments."""
    place = 0
    while place < len(calls := list(_CALL.finditer(search.data))):
        call, record = calls[place], b'"name":"record"'
        arguments = b'"arguments":{%b}' % (call[1] or call[2])
        parts = (record, arguments) if call[1] else (arguments, record)
        search.take_first_edit([_replace_span(search.data, call.span(), b",".join(parts))])
        place += 1


def _simplify_tokens(search: Search) -> None:
    """Spell each token more simply. Long tokens of equal letters are cheap to shorten later."""
    place, spans = 0, _find_simplifiable_tokens(search.data)
    while place < len(spans):
        span, data = spans[place], search.data
        if (
            search.take_first_edit(
                _replace_span(data, span, new) for new in propose_simpler_tokens(data[slice(*span)])
            )
            is None
        ):
            place += 1
        else:
            spans = _find_simplifiable_tokens(search.data)


def _find_simplifiable_tokens(data: bytes) -> list[Span]:
    return _exclude_protocol_strings(data, _find_tokens(data))


def _delete_tokens(search: Search) -> None:
    _delete_runs(search, _find_tokens, largest=1)


def _shorten_words(search: Search) -> None:
    """Shorten words of which an end or a half can be deleted; others are needed as they are."""
    place = 0
    while place < len(
        words := _exclude_protocol_strings(search.data, _make_span_finder(_WORD)(search.data))
    ):
        start, end = words[place]
        half = (start + end) // 2
        parts = ((half, end), (end - 1, end), (start, half), (start, start + 1))
        data = search.data
        if search.take_first_edit(_replace_span(data, part) for part in parts) is not None:
            _delete_runs(search, _make_word_byte_finder(start))
        place += 1


def _make_word_byte_finder(start: int) -> Callable[[bytes], list[Span]]:
    def spans(data: bytes) -> list[Span]:
        word = re.compile(rb"[A-Za-z0-9_./+-]*").match(data, start)
        assert word is not None
        return [(at, at + 1) for at in range(*word.span())]

    return spans


def _delete_bytes(search: Search) -> None:
    """Delete bytes. In an input that is still long, words and escapes are deleted only as a
    whole.
    """
    pattern = _BYTE if len(search.data) <= _SHORT_INPUT else _PART
    data = search.data
    widest = max(
        (len(pattern.findall(data, *span)) for span in _find_simplifiable_tokens(data)), default=1
    )
    _delete_runs(
        search,
        lambda each: _exclude_protocol_strings(each, _make_span_finder(pattern)(each)),
        largest=max(1, widest // 2),
    )


PASSES: tuple[Callable[[Search], None], ...] = (
    _delete_lines,
    _simplify_handshakes,
    _reduce_nesting,
    _simplify_tree,
    _simplify_calls,
    _delete_white_space,
    _simplify_tokens,
    _shorten_words,
    _delete_tokens,
    _delete_bytes,
)
"""All passes, in the order in which they run."""
