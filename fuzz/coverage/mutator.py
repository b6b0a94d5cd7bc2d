"""The custom mutator and crossover of every target.

The key insight: libFuzzer must not stack mutations here (``-mutate_depth=1``). Then what it hands
over is nearly always a corpus input whose tree is known already, and the stacking is done on the
tree, where it costs a slice and not a reading.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Literal

from wirefence.fuzz.coverage.grammar_stock import Fresh
from wirefence.fuzz.coverage.line_mutations import LINE_EDITS
from wirefence.fuzz.coverage.token_tree import Tree, TreeCache
from wirefence.fuzz.coverage.tree_mutations import Hand, apply, fitting
from wirefence.strategies.damage import FAMILIES, OPERATORS, Family, Scene, apply_damage
from wirefence.strategies.records import VERSIONS, Frame
from wirefence.strategies.source import RandomSource

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
_SHARES: dict[Family, int] = {
    family: 6 if family == "structure" else 2
    for family in FAMILIES
    if family not in ("lifecycle", "resource", "chunking")
}
"""Damage of one document, by family; what is about sizes or sessions makes nothing that fits."""

_SPOILERS = {
    family: [each for each in OPERATORS if each.family == family and not each.heavy]
    for family in _SHARES
}
_SPOILED = tuple(family for family, share in _SHARES.items() for _ in range(share))
_STACK = (1, 1, 1, 1, 1, 2, 2, 3, 5)
_TRIES = 4
_RING = 64
_ACTION = re.compile(rb'("action"\s*:\s*")([^"\\]*(?:\\.[^"\\]*)*)(?=")')
_ID = re.compile(rb'("id"\s*:\s*)(-?[0-9]+|"[^"\\]*")')


class _Ring:
    """The last trees that were sound: donors, and parents in place of those that are not."""

    __slots__ = ("_at", "trees")

    def __init__(self) -> None:
        self.trees: list[Tree] = []
        self._at = 0

    def add(self, tree: Tree) -> None:
        if len(self.trees) < _RING:
            self.trees.append(tree)
        else:
            self._at = at = (self._at + 1) % _RING
            self.trees[at] = tree


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
        generator = random.Random(seed)
        self._draw = generator.random
        self._source = RandomSource(generator)
        self._fresh = Fresh(self._source, words)
        self._new = self._fresh.document if form == "document" else self._fresh.session
        self._cache = TreeCache()
        self._most = 0
        self._hand = Hand(self._draw, self._fresh, Tree(b""), self._scramble_part)
        self._ring = _Ring()
        self._ways = _WAYS[form]
        self._large = _LARGE[form]
        self._finish = _one_line if form == "document" else self._settled

    def mutate(self, data: bytes, max_size: int) -> bytes:
        """A mutation of ``data`` of at most ``max_size`` bytes."""
        return self._mutate(self._cache.read(data), None, max_size)

    def cross(self, one: bytes, two: bytes, max_size: int) -> bytes:
        """A mutation of ``one`` that takes from ``two``, of at most ``max_size`` bytes."""
        return self._mutate(self._cache.read(one), self._cache.read(two), max_size)

    def _mutate(self, tree: Tree, donor: Tree | None, max_size: int) -> bytes:
        if tree.sound and len(tree.raw) <= self._large:
            self._ring.add(tree)
        elif self._draw() < 7 / 8:
            # What is no JSON gives little that is, and what is large little that is fast: most of
            # the time its place is taken.
            tree = self._stand_in()
        hand = self._hand
        self._most = max_size
        for _ in range(_TRIES):
            hand.donor = donor or self._donor()
            made = self._once(tree, hand)
            if made != tree.raw and 0 < len(made) <= max_size:
                return made
        return self._new()[:max_size]

    def _stand_in(self) -> Tree:
        trees = self._ring.trees
        if trees and self._draw() < 1 / 2:
            return trees[int(self._draw() * len(trees))]
        return self._cache.read(self._new())

    def _donor(self) -> Tree:
        trees = self._ring.trees
        return trees[int(self._draw() * len(trees))] if trees else self._cache.read(self._new())

    def _once(self, tree: Tree, hand: Hand) -> bytes:
        way = self._ways[int(self._draw() * len(self._ways))]
        if way == "tree":
            return self._edited(tree, hand)
        if way == "fresh":
            return self._renewed(hand)
        if way == "bytes":
            made = self._scramble(tree.raw, self._most)
            return _one_line(made) if self._form == "document" else made
        if way == "damage":
            return self._damaged(tree)
        return self._rearranged(tree, hand)

    def _renewed(self, hand: Hand) -> bytes:
        """What the grammar makes, a session mostly as it is, a document with an edit: it is from
        a stock.
        """
        made = self._new()
        if self._form == "session" and self._draw() < 2 / 3:
            return made
        return self._edited(self._cache.read(made), hand)

    def _scramble_part(self, part: bytes) -> bytes:
        return self._scramble(part, self._most)

    def _edited(self, tree: Tree, hand: Hand) -> bytes:
        draw, fit = self._draw, fitting(tree.there)
        count = _STACK[int(draw() * len(_STACK))]
        edits = [fit[int(draw() * len(fit))](tree, hand) for _ in range(count)]
        return self._finish(apply(tree.raw, edits))

    def _rearranged(self, tree: Tree, hand: Hand) -> bytes:
        choice = hand.choice
        edits = [choice(LINE_EDITS)(tree, hand) for _ in range(choice(_STACK))]
        return self._settled(apply(tree.raw, edits))

    def _damaged(self, tree: Tree) -> bytes:
        raw, choice = tree.raw, self._hand.choice
        version = choice(VERSIONS)
        if self._form == "document":
            scene = Scene((Frame(raw + b"\n"),), 0, version)
            spoiled = choice(_SPOILERS[choice(_SPOILED)]).apply(self._source, scene)
            return raw if spoiled is None else _one_line(_joined(spoiled.frames))
        frames = [Frame(raw[start:end]) for start, end in tree.lines[:16]]
        return self._settled(_joined(apply_damage(self._source, frames, version)[0]))

    def _settled(self, raw: bytes) -> bytes:
        """Every action named once, and nearly every id: what an oracle traces calls by."""
        raw = _ACTION.sub(_Renamer(self._action), raw)
        return raw if self._draw() < 1 / 12 else _ID.sub(_Renamer(self._id), raw)

    def _action(self) -> bytes:
        return self._fresh.name().encode()

    def _id(self) -> bytes:
        return b"%d" % self._source.integer(1_000, 999_999)


def _joined(frames: Sequence[Frame]) -> bytes:
    return b"".join([frame.raw for frame in frames])


def _one_line(raw: bytes) -> bytes:
    """A document stays one frame: each LF less is white space, where that changes nothing."""
    if b"\n" in raw:
        raw = raw.rstrip(b"\n").replace(b"\n", b" ")
    return raw or b" "


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
