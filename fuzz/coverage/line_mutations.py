"""Edits of the lines of a session.

State of a session shows only in later lines. So these edits combine whole lines: a rejected one
before a valid one, one caller before another.
"""

from __future__ import annotations

from wirefence.fuzz.coverage.token_tree import Span, Tree, read_tree
from wirefence.fuzz.coverage.tree_mutations import Edit, EditContext, MakeEdit, select_edits

__all__ = ["LINE_EDITS"]

_HANDSHAKE = (b'"initialize"', b'"notifications/initialized"')
_STATELESS = b'"2026-07-28"'


def insert_line(tree: Tree, hand: EditContext) -> Edit | None:
    """Insert a message of the grammar as a line."""
    line = hand.choose_if_any(tree.lines)
    at = line[hand.choose((0, 1))] if line else 0
    return at, at, hand.fresh.take_message() + b"\n"


def splice_line(tree: Tree, hand: EditContext) -> Edit | None:
    """Insert a line of the other tree."""
    line, other = hand.choose_if_any(tree.lines), hand.choose_if_any(hand.donor.lines)
    if line is None or other is None:
        return None
    return line[1], line[1], hand.donor.raw[other[0] : other[1]]


def repeat_line(tree: Tree, hand: EditContext) -> Edit | None:
    """Copy a line to after any line."""
    line, place = hand.choose_if_any(tree.lines), hand.choose_if_any(tree.lines)
    if line is None or place is None:
        return None
    return place[1], place[1], tree.raw[line[0] : line[1]]


def delete_line(tree: Tree, hand: EditContext) -> Edit | None:
    """Delete one line."""
    line = hand.choose_if_any(tree.lines)
    return line and (*line, b"")


def swap_lines(tree: Tree, hand: EditContext) -> Edit | None:
    """Swap two adjacent lines."""
    if len(tree.lines) < 2:
        return None
    at = hand.choose_integer(0, len(tree.lines) - 2)
    (start, middle), (_, end) = tree.lines[at], tree.lines[at + 1]
    return start, end, tree.raw[middle:end] + tree.raw[start:middle]


def splice_tail(tree: Tree, hand: EditContext) -> Edit | None:
    """Insert the lines of the other tree after its handshake, or the last few of them."""
    place, lines = hand.choose_if_any(tree.lines), _list_body_lines(hand.donor)
    if place is None or not lines:
        return None
    start = hand.choose(lines)[0] if hand.draw() < 1 / 2 else lines[0][0]
    return place[1], place[1], hand.donor.raw[start:]


def _list_body_lines(tree: Tree) -> list[Span]:
    return [line for line in tree.lines if not _is_handshake(tree.raw, line)]


def _is_handshake(raw: bytes, line: Span) -> bool:
    return any(raw.find(word, *line) >= 0 for word in _HANDSHAKE)


def vary_line(tree: Tree, hand: EditContext) -> Edit | None:
    """Copy a line with an edit in it, so that it occurs in two forms."""
    lines = _list_body_lines(tree)
    if not lines:
        return None
    start, end = hand.choose(lines)
    copy = read_tree(tree.raw[start:end])
    edit = hand.choose(select_edits(copy.there))(copy, hand)
    if edit is None:
        return None
    made = copy.raw[: edit[0]] + edit[2] + copy.raw[edit[1] :]
    at = hand.choose((start, end))
    return at, at, made


def insert_call(tree: Tree, hand: EditContext) -> Edit | None:
    """Insert a call of the grammar, by any caller of any tool, as a line after the handshake."""
    lines = _list_body_lines(tree)
    line = hand.choose(lines) if lines else hand.choose_if_any(tree.lines[-1:])
    at = line[hand.choose((0, 1))] if lines and line else len(tree.raw)
    return at, at, hand.fresh.take_call(stateless=_STATELESS in tree.raw) + b"\n"


def insert_damaged_call(tree: Tree, hand: EditContext) -> Edit | None:
    """Insert a call of the grammar with a damage, as a line."""
    found = insert_call(tree, hand)
    if found is None:
        return None
    call = read_tree(found[2])
    edit = hand.choose(select_edits(call.there))(call, hand)
    if edit is None:
        return found
    return found[0], found[1], call.raw[: edit[0]] + edit[2] + call.raw[edit[1] :]


LINE_EDITS: tuple[MakeEdit, ...] = (
    *(insert_line, splice_line, splice_tail, splice_tail, repeat_line, vary_line, vary_line),
    *(insert_call, insert_call, insert_damaged_call, insert_damaged_call, delete_line, swap_lines),
)
"""Edits of lines, repeated by their weight."""
