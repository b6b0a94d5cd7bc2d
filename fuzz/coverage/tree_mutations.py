"""The edits of a token tree: each takes a tree and returns which bytes to replace.

Most edits replace a whole value by a whole value, so that JSON stays JSON. The few others have
names that say so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from wirefence.fuzz.coverage.grammar_stock import GrammarStock
from wirefence.fuzz.coverage.token_tree import PARTS, Span, Tree

__all__ = ["EDITS", "Edit", "EditContext", "MakeEdit", "apply_edits", "select_edits"]

T = TypeVar("T")
Edit = tuple[int, int, bytes]
"""Replaces the bytes between two offsets."""


@dataclass(slots=True)
class EditContext:
    """What an edit may use: random choices, fresh output, another tree, and a byte mutator.

    ``draw`` returns numbers ``0 <= n < 1``. Choices use it directly, not a source, because calls
    are most of the cost of a mutation.
    """

    draw: Callable[[], float]
    fresh: GrammarStock
    donor: Tree
    scramble: Callable[[bytes], bytes]

    def choose(self, options: Sequence[T]) -> T:
        """Return one of ``options``; raises IndexError if there are none."""
        return options[int(self.draw() * len(options))]

    def choose_if_any(self, options: Sequence[T]) -> T | None:
        """Return one of ``options``, ``None`` if there are none."""
        return options[int(self.draw() * len(options))] if options else None

    def choose_integer(self, low: int, high: int) -> int:
        """Return an integer in ``low .. high``, both included."""
        return low + int(self.draw() * (high - low + 1))

    def make_value(self) -> bytes:
        """Return a value: fresh, or one of the other tree."""
        if self.draw() < 1 / 2 and (span := self.choose_if_any(self.donor.values)):
            return self.donor.raw[span[0] : span[1]]
        return self.fresh.take_value()


MakeEdit = Callable[[Tree, EditContext], Edit | None]

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
"""Levels around the limits of gateways and parsers."""
_WORDS = (b"true", b"false", b"null")
_BLANK = b" \t\r"


def apply_edits(raw: bytes, edits: Sequence[Edit | None]) -> bytes:
    """Apply edits from the last to the first; of two that overlap, only the later one."""
    if len(edits) == 1:
        # Most mutations are one edit: sorting it would cost more than applying it.
        (only,) = edits
        return raw if only is None else raw[: only[0]] + only[2] + raw[only[1] :]
    upto = len(raw)
    for start, end, new in sorted([edit for edit in edits if edit is not None], reverse=True):
        if end <= upto:
            raw = raw[:start] + new + raw[end:]
            upto = start
    return raw


def _replace_span(hand: EditContext, span: Span | None) -> Edit | None:
    return None if span is None else (*span, hand.make_value())


def replace_member(tree: Tree, hand: EditContext) -> Edit | None:
    """Replace the value of a member."""
    member = hand.choose_if_any(tree.members)
    return _replace_span(hand, member and (member[2], member[3]))


def replace_value(tree: Tree, hand: EditContext) -> Edit | None:
    """Replace any scalar or container."""
    return _replace_span(hand, hand.choose_if_any(tree.values))


def replace_item(tree: Tree, hand: EditContext) -> Edit | None:
    """Replace an item of an array."""
    return _replace_span(hand, hand.choose_if_any(tree.items))


def change_number(tree: Tree, hand: EditContext) -> Edit | None:
    """Replace a number by another one, often at a limit of some parser."""
    span = hand.choose_if_any(tree.numbers)
    return span and (*span, hand.fresh.take_number())


def change_string(tree: Tree, hand: EditContext) -> Edit | None:
    """Replace a string by one of the dictionary."""
    span = hand.choose_if_any(tree.strings)
    return span and (*span, b'"%b"' % hand.fresh.take_word())


def change_word(tree: Tree, hand: EditContext) -> Edit | None:
    """Replace a literal by another one."""
    span = hand.choose_if_any(tree.words)
    return span and (*span, hand.choose(_WORDS))


def confuse_type(tree: Tree, hand: EditContext) -> Edit | None:
    """Replace the value of an outermost member by one of another type that lenient code accepts."""
    member = hand.choose_if_any(tree.outer)
    return member and (member[2], member[3], hand.choose(_CONFUSIONS))


def misspell_value(tree: Tree, hand: EditContext) -> Edit | None:
    """Replace a value by text that is invalid JSON, and that some parsers accept."""
    span = hand.choose_if_any(tree.values)
    return span and (*span, hand.choose(_MISSPELLINGS))


def concatenate_value(tree: Tree, hand: EditContext) -> Edit | None:
    """Add a second value after, or before, the only one of a line."""
    span = hand.choose_if_any(tree.tops)
    if span is None:
        return None
    if hand.draw() < 1 / 3:
        return span[0], span[0], hand.make_value() + b" "
    return span[1], span[1], hand.choose((b"", b" ", b",")) + hand.make_value()


def rename_member(tree: Tree, hand: EditContext) -> Edit | None:
    """Replace the name of a member, by one of the dictionary or of another member."""
    member = hand.choose_if_any(tree.members)
    if member is None:
        return None
    other = hand.choose_if_any(hand.donor.members) if hand.draw() < 1 / 2 else None
    name = hand.donor.raw[other[0] : other[1]] if other else b'"%b"' % hand.fresh.take_word()
    return member[0], member[1], name


def escape_character(tree: Tree, hand: EditContext) -> Edit | None:
    """Replace a character of a string or name by an escape with the same meaning."""
    member = hand.choose_if_any(tree.members)
    span = (member[0], member[1]) if member else hand.choose_if_any(tree.strings)
    if span is None or span[1] - span[0] < 3:
        return None
    at = hand.choose_integer(span[0] + 1, span[1] - 2)
    byte = tree.raw[at]
    plain = 0x20 <= byte < 0x7F and byte not in b'"\\' and b"\\" not in tree.raw[span[0] : at]
    return (at, at + 1, b"\\u%04x" % byte) if plain else None


def splice_string(tree: Tree, hand: EditContext) -> Edit | None:
    """Insert a word of the dictionary at the start of a string."""
    span = hand.choose_if_any(tree.strings)
    if span is None:
        return None
    return span[0] + 1, span[0] + 1, hand.fresh.take_word()


def delete_entry(tree: Tree, hand: EditContext) -> Edit | None:
    """Delete one member or item, with its comma."""
    span = _choose_entry(tree, hand)
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


def _choose_entry(tree: Tree, hand: EditContext) -> Span | None:
    """Return the span of a member, with its name, or of an item."""
    if tree.members and (not tree.items or hand.draw() < 2 / 3):
        member = hand.choose(tree.members)
        return member[0], member[3]
    return hand.choose_if_any(tree.items)


def repeat_entry(tree: Tree, hand: EditContext) -> Edit | None:
    """Repeat a member or item; a member sometimes with another value, as a duplicate name."""
    span = _choose_entry(tree, hand)
    if span is None:
        return None
    copy = tree.raw[span[0] : span[1]]
    if hand.draw() < 1 / 2 and (colon := copy.find(b":") + 1):
        copy = copy[:colon] + hand.make_value()
    return span[0], span[0], copy + b","


def insert_entry(tree: Tree, hand: EditContext) -> Edit | None:
    """Insert a member or item, fresh or from the other tree."""
    if tree.members and hand.draw() < 2 / 3:
        at = hand.choose(tree.members)[0]
        other = hand.choose_if_any(hand.donor.members)
        if other and hand.draw() < 1 / 2:
            return at, at, hand.donor.raw[other[0] : other[3]] + b","
        return at, at, b'"%b":%b,' % (hand.fresh.take_word(), hand.make_value())
    item = hand.choose_if_any(tree.items)
    return item and (item[0], item[0], hand.make_value() + b",")


def wrap_value(tree: Tree, hand: EditContext) -> Edit | None:
    """Put a value into one more array or object."""
    span = hand.choose_if_any(tree.values)
    if span is None:
        return None
    old = tree.raw[span[0] : span[1]]
    form = hand.choose((b"[%b]", b'{"a":%b}', b"[[%b]]"))
    return (*span, form % old)


def nest_value(tree: Tree, hand: EditContext) -> Edit | None:
    """Put a value into many arrays, about as many as the limit of some parser."""
    span = hand.choose_if_any(tree.values)
    if span is None:
        return None
    depth = hand.choose(_DEPTHS)
    return (*span, b"[" * depth + tree.raw[span[0] : span[1]] + b"]" * depth)


def unwrap_container(tree: Tree, hand: EditContext) -> Edit | None:
    """Replace a container by one of the values in it."""
    outer = hand.choose_if_any(tree.containers)
    if outer is None:
        return None
    inner = [v for v in tree.values if outer[0] < v[0] and v[1] < outer[1]]
    if not inner:
        return None
    start, end = hand.choose(inner)
    return (*outer, tree.raw[start:end])


def swap_members(tree: Tree, hand: EditContext) -> Edit | None:
    """Swap two adjacent members, which keeps the meaning."""
    if len(tree.members) < 2:
        return None
    at = hand.choose_integer(0, len(tree.members) - 2)
    one, two = tree.members[at], tree.members[at + 1]
    if one[3] > two[0]:
        return None
    raw = tree.raw
    between = raw[one[3] : two[0]]
    if between.strip(_BLANK) != b",":
        return None
    return one[0], two[3], raw[two[0] : two[3]] + between + raw[one[0] : one[3]]


def insert_space(tree: Tree, hand: EditContext) -> Edit | None:
    """Insert white space before a value or name."""
    member = hand.choose_if_any(tree.members)
    if member is None:
        return None
    at = member[hand.choose((0, 1, 2, 3))]
    return at, at, hand.choose(_SPACES)


def scramble_token(tree: Tree, hand: EditContext) -> Edit | None:
    """Mutate the bytes within one token with libFuzzer's own mutator."""
    span = hand.choose_if_any(tree.strings if hand.draw() < 1 / 2 else tree.numbers)
    if span is None:
        return None
    return (*span, hand.scramble(tree.raw[span[0] : span[1]]))


_ANY = ("members", "items")
_WEIGHTED: tuple[tuple[int, MakeEdit, tuple[str, ...]], ...] = (
    (8, replace_member, ("members",)),
    (4, replace_value, ("values",)),
    (4, replace_item, ("items",)),
    (8, change_number, ("numbers",)),
    (4, change_string, ("strings",)),
    (4, change_word, ("words",)),
    (8, confuse_type, ("outer",)),
    (5, misspell_value, ("values",)),
    (2, concatenate_value, ("tops",)),
    (8, rename_member, ("members",)),
    (4, escape_character, ("members", "strings")),
    (4, splice_string, ("strings",)),
    (8, delete_entry, _ANY),
    (8, repeat_entry, _ANY),
    (12, insert_entry, _ANY),
    (4, wrap_value, ("values",)),
    (1, nest_value, ("values",)),
    (4, unwrap_container, ("containers",)),
    (4, swap_members, ("members",)),
    (4, insert_space, ("members",)),
    (4, scramble_token, ("strings", "numbers")),
)
EDITS: tuple[MakeEdit, ...] = tuple(make for weight, make, _ in _WEIGHTED for _ in range(weight))
"""Edits of one document, repeated by their weight."""


@cache
def select_edits(there: int) -> tuple[MakeEdit, ...]:
    """Return those of :data:`EDITS` that find something to edit in a tree with the parts of
    ``there`` (:attr:`Tree.there`); all, if none does.
    """
    has = {part for bit, part in enumerate(PARTS) if there >> bit & 1}
    rows = [(weight, make) for weight, make, parts in _WEIGHTED if has.intersection(parts)]
    return tuple(make for weight, make in rows for _ in range(weight)) or EDITS
