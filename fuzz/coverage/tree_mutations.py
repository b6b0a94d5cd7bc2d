"""The edits of a token tree: each takes a tree and says which bytes become which.

The key insight: most edits put a whole value where a whole value stood, so that what was JSON stays
JSON; those that do not are few and named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from wirefence.fuzz.coverage.grammar_stock import Fresh
from wirefence.fuzz.coverage.token_tree import PARTS, Span, Tree

__all__ = ["EDITS", "Edit", "Hand", "Make", "apply", "fitting"]

T = TypeVar("T")
Edit = tuple[int, int, bytes]
"""Replace the bytes between two offsets."""


@dataclass(slots=True)
class Hand:
    """What an edit may use: choices, fresh output, another tree, and a mutator of few bytes.

    ``draw`` gives numbers of ``0 <= n < 1``. Choices are made from it here and not by a source, as
    calls are most of what a mutation costs.
    """

    draw: Callable[[], float]
    fresh: Fresh
    donor: Tree
    scramble: Callable[[bytes], bytes]

    def choice(self, options: Sequence[T]) -> T:
        """One of ``options``; raises IndexError if there are none."""
        return options[int(self.draw() * len(options))]

    def pick(self, options: Sequence[T]) -> T | None:
        """One of ``options``, ``None`` if there are none."""
        return options[int(self.draw() * len(options))] if options else None

    def between(self, low: int, high: int) -> int:
        """An integer of ``low .. high``, both included."""
        return low + int(self.draw() * (high - low + 1))

    def value(self) -> bytes:
        """A value: fresh, or one of the other tree."""
        if self.draw() < 1 / 2 and (span := self.pick(self.donor.values)):
            return self.donor.raw[span[0] : span[1]]
        return self.fresh.value()


Make = Callable[[Tree, Hand], Edit | None]

_SPACES = (b" ", b"\t", b"\r", b"  ")
_CONFUSIONS = (
    *(b"true", b"false", b"null", b"0", b"1", b"-0", b"1.0", b"1.5", b"1e2", b'""', b'"1"'),
    *(b"[]", b"{}", b"[1]", b'"{}"', b'"2.0"', b"2.0", b"9007199254740993"),
)
_MISSPELLINGS = (
    *(b"NaN", b"Infinity", b"-Infinity", b"01", b"-01", b"+1", b"1.", b".5", b"0x1", b"1e", b"-"),
    *(b"None", b"True", b"undefined", b"'a'", b"[1,]", b'{"a":1,}', b"[,1]", b"1 2", b"{}{}"),
    *(b"/**/1", b"1//\r", b"#\r1", b'"\x01"', b'"\t"', b'"\x7f"', b'"\\x41"', b'"\\u12"', b'"\\'),
    *(
        b'"\\ud800"',
        b'"\\udc00\\ud800"',
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b'"\xc0\xaf"',
        b"\xef\xbb\xbf1",
    ),
    *(b"\x0c1", b"\xc2\xa01", b"1\x00", b'"\x00"', b"1e999", b"-1e-999", b"{1:2}", b"{a:1}", b"[1"),
)
_DEPTHS = (2, 17, 63, 64, 65, 70, 200)
_WORDS = (b"true", b"false", b"null")
_BLANK = b" \t\r"


def apply(raw: bytes, edits: Sequence[Edit | None]) -> bytes:
    """Carry out edits from the last to the first; of two that overlap, the later one only."""
    if len(edits) == 1:
        # Most mutations are one edit: sorting it would cost more than doing it.
        (only,) = edits
        return raw if only is None else raw[: only[0]] + only[2] + raw[only[1] :]
    upto = len(raw)
    for start, end, new in sorted([edit for edit in edits if edit is not None], reverse=True):
        if end <= upto:
            raw = raw[:start] + new + raw[end:]
            upto = start
    return raw


def _swap_in(hand: Hand, span: Span | None) -> Edit | None:
    return None if span is None else (*span, hand.value())


def replace_member(tree: Tree, hand: Hand) -> Edit | None:
    """Another value for a member."""
    member = hand.pick(tree.members)
    return _swap_in(hand, member and (member[2], member[3]))


def replace_value(tree: Tree, hand: Hand) -> Edit | None:
    """Another value for a scalar or container, wherever it stands."""
    return _swap_in(hand, hand.pick(tree.values))


def replace_item(tree: Tree, hand: Hand) -> Edit | None:
    """Another value for an item of an array."""
    return _swap_in(hand, hand.pick(tree.items))


def change_number(tree: Tree, hand: Hand) -> Edit | None:
    """Another number, at some reader's limit or any."""
    span = hand.pick(tree.numbers)
    return span and (*span, hand.fresh.number())


def change_string(tree: Tree, hand: Hand) -> Edit | None:
    """Another string, from the dictionary."""
    span = hand.pick(tree.strings)
    return span and (*span, b'"%b"' % hand.fresh.word())


def change_word(tree: Tree, hand: Hand) -> Edit | None:
    """One literal for another, or for any value."""
    span = hand.pick(tree.words)
    return span and (*span, hand.choice(_WORDS))


def confuse(tree: Tree, hand: Hand) -> Edit | None:
    """A value of another type for one of the outer members: what sloppy readers take for it."""
    member = hand.pick(tree.outer)
    return member and (member[2], member[3], hand.choice(_CONFUSIONS))


def misspell(tree: Tree, hand: Hand) -> Edit | None:
    """What no grammar of JSON makes and some readers take, in place of a value."""
    span = hand.pick(tree.values)
    return span and (*span, hand.choice(_MISSPELLINGS))


def concatenate(tree: Tree, hand: Hand) -> Edit | None:
    """One more value behind, or before, the only one of a line."""
    span = hand.pick(tree.tops)
    if span is None:
        return None
    if hand.draw() < 1 / 3:
        return span[0], span[0], hand.value() + b" "
    return span[1], span[1], hand.choice((b"", b" ", b",")) + hand.value()


def rename(tree: Tree, hand: Hand) -> Edit | None:
    """Another name for a member, from the dictionary or from another member."""
    member = hand.pick(tree.members)
    if member is None:
        return None
    other = hand.pick(hand.donor.members) if hand.draw() < 1 / 2 else None
    name = hand.donor.raw[other[0] : other[1]] if other else b'"%b"' % hand.fresh.word()
    return member[0], member[1], name


def escape(tree: Tree, hand: Hand) -> Edit | None:
    """A character of a string or name spelled as an escape, which means the same."""
    member = hand.pick(tree.members)
    span = (member[0], member[1]) if member else hand.pick(tree.strings)
    if span is None or span[1] - span[0] < 3:
        return None
    at = hand.between(span[0] + 1, span[1] - 2)
    byte = tree.raw[at]
    plain = 0x20 <= byte < 0x7F and byte not in b'"\\' and b"\\" not in tree.raw[span[0] : at]
    return (at, at + 1, b"\\u%04x" % byte) if plain else None


def splice_string(tree: Tree, hand: Hand) -> Edit | None:
    """A word of the dictionary in the middle of a string."""
    span = hand.pick(tree.strings)
    if span is None:
        return None
    return span[0] + 1, span[0] + 1, hand.fresh.word()


def delete(tree: Tree, hand: Hand) -> Edit | None:
    """One member or item less, with its comma."""
    span = _slot(tree, hand)
    if span is None:
        return None
    start, end = span
    raw = tree.raw
    after = end
    while after < len(raw) and raw[after] in _BLANK:
        after += 1
    if after < len(raw) and raw[after] == 0x2C:
        return start, after + 1, b""
    before = start
    while before and raw[before - 1] in _BLANK:
        before -= 1
    if before and raw[before - 1] == 0x2C:
        return before - 1, end, b""
    return start, end, b""


def _slot(tree: Tree, hand: Hand) -> Span | None:
    """A member, name and all, or an item."""
    if tree.members and (not tree.items or hand.draw() < 2 / 3):
        member = hand.choice(tree.members)
        return member[0], member[3]
    return hand.pick(tree.items)


def repeat(tree: Tree, hand: Hand) -> Edit | None:
    """A member or item twice, for a member sometimes with another value: a duplicate name."""
    span = _slot(tree, hand)
    if span is None:
        return None
    copy = tree.raw[span[0] : span[1]]
    if hand.draw() < 1 / 2 and (colon := copy.find(b":") + 1):
        copy = copy[:colon] + hand.value()
    return span[0], span[0], copy + b","


def insert(tree: Tree, hand: Hand) -> Edit | None:
    """One more member or item, fresh or from the other tree."""
    if tree.members and hand.draw() < 2 / 3:
        at = hand.choice(tree.members)[0]
        other = hand.pick(hand.donor.members)
        if other and hand.draw() < 1 / 2:
            return at, at, hand.donor.raw[other[0] : other[3]] + b","
        return at, at, b'"%b":%b,' % (hand.fresh.word(), hand.value())
    item = hand.pick(tree.items)
    return item and (item[0], item[0], hand.value() + b",")


def wrap(tree: Tree, hand: Hand) -> Edit | None:
    """A value inside one more array or object."""
    span = hand.pick(tree.values)
    if span is None:
        return None
    old = tree.raw[span[0] : span[1]]
    form = hand.choice((b"[%b]", b'{"a":%b}', b"[[%b]]"))
    return (*span, form % old)


def nest(tree: Tree, hand: Hand) -> Edit | None:
    """A value inside many arrays, about as many as some reader's limit."""
    span = hand.pick(tree.values)
    if span is None:
        return None
    depth = hand.choice(_DEPTHS)
    return (*span, b"[" * depth + tree.raw[span[0] : span[1]] + b"]" * depth)


def unwrap(tree: Tree, hand: Hand) -> Edit | None:
    """A container replaced by one of the values in it."""
    outer = hand.pick(tree.containers)
    if outer is None:
        return None
    inner = [v for v in tree.values if outer[0] < v[0] and v[1] < outer[1]]
    if not inner:
        return None
    start, end = hand.choice(inner)
    return (*outer, tree.raw[start:end])


def exchange(tree: Tree, hand: Hand) -> Edit | None:
    """Two neighbouring members in the other order, which means the same."""
    if len(tree.members) < 2:
        return None
    at = hand.between(0, len(tree.members) - 2)
    one, two = tree.members[at], tree.members[at + 1]
    if one[3] > two[0]:
        return None
    raw = tree.raw
    between = raw[one[3] : two[0]]
    if between.strip(_BLANK) != b",":
        return None
    return one[0], two[3], raw[two[0] : two[3]] + between + raw[one[0] : one[3]]


def space(tree: Tree, hand: Hand) -> Edit | None:
    """White space before a value or name."""
    member = hand.pick(tree.members)
    if member is None:
        return None
    at = member[hand.choice((0, 1, 2, 3))]
    return at, at, hand.choice(_SPACES)


def scramble_token(tree: Tree, hand: Hand) -> Edit | None:
    """Arbitrary bytes inside one token: libFuzzer's own mutations, confined."""
    span = hand.pick(tree.strings if hand.draw() < 1 / 2 else tree.numbers)
    if span is None:
        return None
    return (*span, hand.scramble(tree.raw[span[0] : span[1]]))


_ANY = ("members", "items")
_WEIGHTED: tuple[tuple[int, Make, tuple[str, ...]], ...] = (
    (8, replace_member, ("members",)),
    (4, replace_value, ("values",)),
    (4, replace_item, ("items",)),
    (8, change_number, ("numbers",)),
    (4, change_string, ("strings",)),
    (4, change_word, ("words",)),
    (8, confuse, ("outer",)),
    (5, misspell, ("values",)),
    (2, concatenate, ("tops",)),
    (8, rename, ("members",)),
    (4, escape, ("members", "strings")),
    (4, splice_string, ("strings",)),
    (8, delete, _ANY),
    (8, repeat, _ANY),
    (12, insert, _ANY),
    (4, wrap, ("values",)),
    (1, nest, ("values",)),
    (4, unwrap, ("containers",)),
    (4, exchange, ("members",)),
    (4, space, ("members",)),
    (4, scramble_token, ("strings", "numbers")),
)
EDITS: tuple[Make, ...] = tuple(make for weight, make, _ in _WEIGHTED for _ in range(weight))
"""Edits of the inside of a document, as often as they are chosen."""


@cache
def fitting(there: int) -> tuple[Make, ...]:
    """Those of :data:`EDITS` that find something to work on where a tree has the parts of ``there``
    (:attr:`Tree.there`); all, if none does.
    """
    has = {part for bit, part in enumerate(PARTS) if there >> bit & 1}
    rows = [(weight, make) for weight, make, parts in _WEIGHTED if has.intersection(parts)]
    return tuple(make for weight, make in rows for _ in range(weight)) or EDITS
