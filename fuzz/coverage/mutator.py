"""The custom mutator and crossover of every target.

The key insight: libFuzzer must not stack mutations here (``-mutate_depth=1``). Then what it hands
over is nearly always a corpus input whose tree is known already, and the stacking is done on the
tree, where it costs a slice and not a reading.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from fuzz.coverage.edits import Edit, Hand, apply, fitting
from fuzz.coverage.fresh import Fresh
from fuzz.coverage.line_edits import LINE_EDITS
from fuzz.coverage.tree import Tree, TreeCache
from strategies.damage import apply_damage
from strategies.records import VERSIONS, Frame
from strategies.source import RandomSource

__all__ = ["Form", "Mutator", "Scramble"]

Form = Literal["document", "session"]
Scramble = Callable[[bytes, int], bytes]
"""libFuzzer's own mutator: bytes and the greatest size of the result."""

_Way = Literal["tree", "lines", "fresh", "damage", "bytes"]
_WAYS: dict[Form, tuple[_Way, ...]] = {
    "document": ("tree",) * 110 + ("fresh",) * 8 + ("damage",) + ("bytes",) * 6,
    "session": ("tree",) * 11 + ("lines",) * 13 + ("fresh",) * 3 + ("damage",) * 3 + ("bytes",),
}
_LARGE: dict[Form, int] = {"document": 600, "session": 3_000}
_STACK = (1, 1, 1, 1, 1, 2, 2, 3, 5)
_TRIES = 4
_RING = 64
_ACTION = re.compile(rb'("action"\s*:\s*")((?:[^"\\]|\\.)*+)(?=")')
_ID = re.compile(rb'("id"\s*:\s*)(-?[0-9]+|"[^"\\]*+")')


@dataclass(slots=True)
class _Ring:
    """The last trees that were sound: donors, and parents in place of those that are not."""

    trees: list[Tree]
    at: int = 0

    def add(self, tree: Tree) -> None:
        if len(self.trees) < _RING:
            self.trees.append(tree)
        else:
            self.trees[self.at] = tree
            self.at = (self.at + 1) % _RING


class Mutator:
    """Mutates raw inputs. Equal seeds and equal calls give equal results.

    ``form`` is what an input is: one document without LF, or a session of lines. ``scramble`` is
    libFuzzer's own byte mutator, ``words`` are more bodies of strings for the grammar's dictionary.
    """

    def __init__(
        self, form: Form, scramble: Scramble, *, words: Sequence[bytes] = (), seed: int = 0
    ) -> None:
        self._form: Form = form
        self._scramble = scramble
        self._source = RandomSource(random.Random(seed))
        self._fresh = Fresh(self._source, words)
        self._cache = TreeCache()
        self._most = 0
        self._hand = Hand(self._source, self._fresh, Tree(b""), self._scramble_part)
        self._ring = _Ring([])
        self._ways = _WAYS[form]
        self._large = _LARGE[form]

    def mutate(self, data: bytes, max_size: int) -> bytes:
        """A mutation of ``data`` of at most ``max_size`` bytes."""
        return self._mutate(self._cache.read(data), None, max_size)

    def cross(self, one: bytes, two: bytes, max_size: int) -> bytes:
        """A mutation of ``one`` that takes from ``two``, of at most ``max_size`` bytes."""
        return self._mutate(self._cache.read(one), self._cache.read(two), max_size)

    def _mutate(self, tree: Tree, donor: Tree | None, max_size: int) -> bytes:
        if tree.sound and len(tree.raw) <= self._large:
            self._ring.add(tree)
        elif self._source.chance(7, 8):
            # What is no JSON gives little that is, and what is large little that is fast: most of
            # the time its place is taken.
            tree = self._stand_in()
        for _ in range(_TRIES):
            made = self._once(tree, donor or self._donor(), max_size)
            if made != tree.raw and 0 < len(made) <= max_size:
                return made
        return self._new()[:max_size]

    def _stand_in(self) -> Tree:
        trees = self._ring.trees
        if trees and self._source.chance(3, 4):
            return self._source.choice(trees)
        return self._cache.read(self._new())

    def _donor(self) -> Tree:
        trees = self._ring.trees
        return self._source.choice(trees) if trees else self._cache.read(self._new())

    def _new(self) -> bytes:
        fresh = self._fresh
        return fresh.document() if self._form == "document" else fresh.session()

    def _once(self, tree: Tree, donor: Tree, max_size: int) -> bytes:
        way = self._source.choice(self._ways)
        if way == "tree":
            return self._edited(tree, self._give(donor, max_size))
        if way == "fresh":
            return self._renewed(donor, max_size)
        if way == "bytes":
            made = self._scramble(tree.raw, max_size)
            return _one_line(made) if self._form == "document" else made
        if way == "damage":
            return self._damaged(tree)
        return self._rearranged(tree, self._give(donor, max_size))

    def _renewed(self, donor: Tree, max_size: int) -> bytes:
        """What the grammar makes, a session mostly as it is, a document with an edit: it is from
        a stock.
        """
        made = self._new()
        if self._form == "session" and self._source.chance(2, 3):
            return made
        return self._edited(self._cache.read(made), self._give(donor, max_size))

    def _give(self, donor: Tree, max_size: int) -> Hand:
        """The one hand, with another donor in it: to make one each time would cost an edit."""
        self._hand.donor, self._most = donor, max_size
        return self._hand

    def _scramble_part(self, part: bytes) -> bytes:
        return self._scramble(part, self._most)

    def _edited(self, tree: Tree, hand: Hand) -> bytes:
        choice = self._source.choice
        edits: list[Edit] = []
        fit = fitting(tree)
        for _ in range(choice(_STACK)):
            edit = choice(fit)(tree, hand)
            if edit is not None:
                edits.append(edit)
        made = apply(tree.raw, edits)
        return _one_line(made) if self._form == "document" else self._settled(made)

    def _rearranged(self, tree: Tree, hand: Hand) -> bytes:
        choice = self._source.choice
        edits = [choice(LINE_EDITS)(tree, hand) for _ in range(choice(_STACK))]
        return self._settled(apply(tree.raw, [edit for edit in edits if edit is not None]))

    def _damaged(self, tree: Tree) -> bytes:
        raw = tree.raw
        frames = [Frame(raw[start:end]) for start, end in tree.lines[:16]]
        if self._form == "document":
            frames = [Frame(raw + b"\n")]
        version = self._source.choice(VERSIONS)
        damaged, _, _ = apply_damage(self._source, frames, version)
        made = b"".join([frame.raw for frame in damaged])
        return _one_line(made) if self._form == "document" else self._settled(made)

    def _settled(self, raw: bytes) -> bytes:
        """Every action named once, and nearly every id: what an oracle traces calls by."""
        raw = _ACTION.sub(_Renamer(self._action), raw)
        return raw if self._source.chance(1, 12) else _ID.sub(_Renamer(self._id), raw)

    def _action(self) -> bytes:
        return self._fresh.name().encode()

    def _id(self) -> bytes:
        return b"%d" % self._source.integer(1_000, 999_999)


def _one_line(raw: bytes) -> bytes:
    """A document stays one frame: each LF less is white space, where that changes nothing."""
    return raw.rstrip(b"\n").replace(b"\n", b" ") or b" "


class _Renamer:
    """Replaces a value (second group) that was seen before in the same input."""

    __slots__ = ("_new", "_seen")

    def __init__(self, new: Callable[[], bytes]) -> None:
        self._new = new
        self._seen: set[bytes] = set()

    def __call__(self, match: re.Match[bytes]) -> bytes:
        head, value = match[1], match[2]
        if value in self._seen:
            value = self._new()
        self._seen.add(value)
        return head + value
