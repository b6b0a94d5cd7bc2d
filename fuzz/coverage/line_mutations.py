"""The edits of a session: which lines stand where.

The key insight: what a session remembers shows only in what follows, so the edits that matter put
whole runs of lines together: a rejected one before a good one, one caller before another.
"""

from __future__ import annotations

from wirefence.fuzz.coverage.token_tree import Span, Tree, read_tree
from wirefence.fuzz.coverage.tree_mutations import Edit, Hand, Make, fitting

__all__ = ["LINE_EDITS"]

_HANDSHAKE = (b'"initialize"', b'"notifications/initialized"')
_STATELESS = b'"2026-07-28"'


def insert_line(tree: Tree, hand: Hand) -> Edit | None:
    """A message of the grammar as one more line."""
    line = hand.pick(tree.lines)
    at = line[hand.choice((0, 1))] if line else 0
    return at, at, hand.fresh.message() + b"\n"


def splice_line(tree: Tree, hand: Hand) -> Edit | None:
    """A line of the other tree as one more line."""
    line, other = hand.pick(tree.lines), hand.pick(hand.donor.lines)
    if line is None or other is None:
        return None
    return line[1], line[1], hand.donor.raw[other[0] : other[1]]


def repeat_line(tree: Tree, hand: Hand) -> Edit | None:
    """A line again, behind any line."""
    line, place = hand.pick(tree.lines), hand.pick(tree.lines)
    if line is None or place is None:
        return None
    return place[1], place[1], tree.raw[line[0] : line[1]]


def delete_line(tree: Tree, hand: Hand) -> Edit | None:
    """One line less."""
    line = hand.pick(tree.lines)
    return line and (*line, b"")


def exchange_lines(tree: Tree, hand: Hand) -> Edit | None:
    """Two neighbouring lines in the other order."""
    if len(tree.lines) < 2:
        return None
    at = hand.between(0, len(tree.lines) - 2)
    (start, middle), (_, end) = tree.lines[at], tree.lines[at + 1]
    return start, end, tree.raw[middle:end] + tree.raw[start:middle]


def splice_tail(tree: Tree, hand: Hand) -> Edit | None:
    """The lines of the other tree behind its handshake, or the last few of them."""
    place, lines = hand.pick(tree.lines), _body(hand.donor)
    if place is None or not lines:
        return None
    start = hand.choice(lines)[0] if hand.draw() < 1 / 2 else lines[0][0]
    return place[1], place[1], hand.donor.raw[start:]


def _body(tree: Tree) -> list[Span]:
    return [line for line in tree.lines if not _greets(tree.raw, line)]


def _greets(raw: bytes, line: Span) -> bool:
    return any(raw.find(word, *line) >= 0 for word in _HANDSHAKE)


def vary_line(tree: Tree, hand: Hand) -> Edit | None:
    """A line once more, with an edit of the inside: what was refused in one form in another."""
    lines = _body(tree)
    if not lines:
        return None
    start, end = hand.choice(lines)
    copy = read_tree(tree.raw[start:end])
    edit = hand.choice(fitting(copy.there))(copy, hand)
    if edit is None:
        return None
    made = copy.raw[: edit[0]] + edit[2] + copy.raw[edit[1] :]
    at = hand.choice((start, end))
    return at, at, made


def insert_call(tree: Tree, hand: Hand) -> Edit | None:
    """A call of the grammar, by any caller of any tool, as one more line behind the handshake."""
    lines = _body(tree)
    line = hand.choice(lines) if lines else hand.pick(tree.lines[-1:])
    at = line[hand.choice((0, 1))] if lines and line else len(tree.raw)
    return at, at, hand.fresh.call(stateless=_STATELESS in tree.raw) + b"\n"


def insert_damaged(tree: Tree, hand: Hand) -> Edit | None:
    """A call of the grammar with something wrong in it, as one more line."""
    found = insert_call(tree, hand)
    if found is None:
        return None
    call = read_tree(found[2])
    edit = hand.choice(fitting(call.there))(call, hand)
    if edit is None:
        return found
    return found[0], found[1], call.raw[: edit[0]] + edit[2] + call.raw[edit[1] :]


LINE_EDITS: tuple[Make, ...] = (
    *(insert_line, splice_line, splice_tail, splice_tail, repeat_line, vary_line, vary_line),
    *(insert_call, insert_call, insert_damaged, insert_damaged, delete_line, exchange_lines),
)
"""Edits of the order of lines: what a session is made of."""
