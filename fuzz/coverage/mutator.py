"""The custom mutator and crossover of every libFuzzer target.

libFuzzer must not stack mutations (``-mutate_depth=1``). Then its input is nearly always a corpus
input whose tree is cached, and stacking edits on the tree costs a slice instead of parsing.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Literal

from wirefence.fuzz.coverage.grammar_stock import GrammarStock
from wirefence.fuzz.coverage.line_mutations import LINE_EDITS
from wirefence.fuzz.coverage.token_tree import Tree, TreeCache
from wirefence.fuzz.coverage.tree_mutations import EditContext, apply_edits, select_edits
from wirefence.strategies.damage import FAMILIES, OPERATORS, Family, Scene, apply_damage
from wirefence.strategies.records import VERSIONS, Frame
from wirefence.strategies.source import RandomSource

__all__ = ["Form", "Mutator", "Scramble"]

Form = Literal["document", "session"]
Scramble = Callable[[bytes, int], bytes]
"""libFuzzer's own mutator: takes bytes and the largest size of the result."""

_Way = Literal["tree", "lines", "fresh", "damage", "bytes"]
_WAYS: dict[Form, tuple[_Way, ...]] = {
    "document": ("tree",) * 110 + ("fresh",) * 8 + ("damage",) + ("bytes",) * 6,
    "session": ("tree",) * 11 + ("lines",) * 13 + ("fresh",) * 3 + ("damage",) * 3 + ("bytes",),
}
"""Ways to mutate each form, repeated by their weight."""
_LARGE: dict[Form, int] = {"document": 600, "session": 3_000}
"""Bytes of the largest input that is kept as a donor or parent; larger ones are slow."""
_SHARES: dict[Family, int] = {
    family: 6 if family == "structure" else 2
    for family in FAMILIES
    if family not in ("lifecycle", "resource", "chunking")
}
"""Weights of damage for one document, by family; families about sizes or sessions do not fit."""

_SPOILERS = {
    family: [each for each in OPERATORS if each.family == family and not each.heavy]
    for family in _SHARES
}
_SPOILED = tuple(family for family, share in _SHARES.items() for _ in range(share))
_STACK = (1, 1, 1, 1, 1, 2, 2, 3, 5)
"""Number of edits of one mutation, repeated by their weight."""
_TRIES = 4
"""Tries for a mutation that changes the input and fits the size."""
_RING = 64
"""Donors that are kept."""
_ACTION = re.compile(rb'("action"\s*:\s*")([^"\\]*(?:\\.[^"\\]*)*)(?=")')
_ID = re.compile(rb'("id"\s*:\s*)(-?[0-9]+|"[^"\\]*")')


class _TreeRing:
    """The last valid trees: donors, and parents in place of invalid ones."""

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
    libFuzzer's own byte mutator, ``words`` are further string contents for the grammar.
    """

    def __init__(
        self, form: Form, scramble: Scramble, *, words: Sequence[bytes] = (), seed: int = 0
    ) -> None:
        self._form: Form = form
        self._scramble = scramble
        generator = random.Random(seed)
        self._draw = generator.random
        self._source = RandomSource(generator)
        self._fresh = GrammarStock(self._source, words)
        self._new = self._fresh.take_document if form == "document" else self._fresh.take_session
        self._cache = TreeCache()
        self._most = 0
        self._hand = EditContext(self._draw, self._fresh, Tree(b""), self._scramble_part)
        self._ring = _TreeRing()
        self._ways = _WAYS[form]
        self._large = _LARGE[form]
        self._finish = _make_one_line if form == "document" else self._make_names_unique

    def mutate_input(self, data: bytes, max_size: int) -> bytes:
        """Return a mutation of ``data`` of at most ``max_size`` bytes."""
        return self._mutate_tree(self._cache.read_tree(data), None, max_size)

    def cross_inputs(self, one: bytes, two: bytes, max_size: int) -> bytes:
        """Return a mutation of ``one`` with parts of ``two``, of at most ``max_size`` bytes."""
        return self._mutate_tree(self._cache.read_tree(one), self._cache.read_tree(two), max_size)

    def _mutate_tree(self, tree: Tree, donor: Tree | None, max_size: int) -> bytes:
        if tree.sound and len(tree.raw) <= self._large:
            self._ring.add(tree)
        elif self._draw() < 7 / 8:
            # Invalid inputs rarely become valid, and large ones are slow: mostly another tree is
            # mutated instead.
            tree = self._choose_substitute()
        hand = self._hand
        self._most = max_size
        for _ in range(_TRIES):
            hand.donor = donor or self._choose_donor()
            made = self._mutate_once(tree, hand)
            if made != tree.raw and 0 < len(made) <= max_size:
                return made
        return self._new()[:max_size]

    def _choose_substitute(self) -> Tree:
        trees = self._ring.trees
        if trees and self._draw() < 1 / 2:
            return trees[int(self._draw() * len(trees))]
        return self._cache.read_tree(self._new())

    def _choose_donor(self) -> Tree:
        trees = self._ring.trees
        return (
            trees[int(self._draw() * len(trees))] if trees else self._cache.read_tree(self._new())
        )

    def _mutate_once(self, tree: Tree, hand: EditContext) -> bytes:
        way = self._ways[int(self._draw() * len(self._ways))]
        if way == "tree":
            return self._edit_tree(tree, hand)
        if way == "fresh":
            return self._generate_input(hand)
        if way == "bytes":
            made = self._scramble(tree.raw, self._most)
            return _make_one_line(made) if self._form == "document" else made
        if way == "damage":
            return self._apply_damage(tree)
        return self._edit_lines(tree, hand)

    def _generate_input(self, hand: EditContext) -> bytes:
        """Return output of the grammar: a session mostly unchanged, a document with an edit."""
        made = self._new()
        if self._form == "session" and self._draw() < 2 / 3:
            return made
        return self._edit_tree(self._cache.read_tree(made), hand)

    def _scramble_part(self, part: bytes) -> bytes:
        return self._scramble(part, self._most)

    def _edit_tree(self, tree: Tree, hand: EditContext) -> bytes:
        draw, fit = self._draw, select_edits(tree.there)
        count = _STACK[int(draw() * len(_STACK))]
        edits = [fit[int(draw() * len(fit))](tree, hand) for _ in range(count)]
        return self._finish(apply_edits(tree.raw, edits))

    def _edit_lines(self, tree: Tree, hand: EditContext) -> bytes:
        choice = hand.choose
        edits = [choice(LINE_EDITS)(tree, hand) for _ in range(choice(_STACK))]
        return self._make_names_unique(apply_edits(tree.raw, edits))

    def _apply_damage(self, tree: Tree) -> bytes:
        raw, choice = tree.raw, self._hand.choose
        version = choice(VERSIONS)
        if self._form == "document":
            scene = Scene((Frame(raw + b"\n"),), 0, version)
            spoiled = choice(_SPOILERS[choice(_SPOILED)]).apply(self._source, scene)
            return raw if spoiled is None else _make_one_line(_join_frames(spoiled.frames))
        frames = [Frame(raw[start:end]) for start, end in tree.lines[:16]]
        return self._make_names_unique(_join_frames(apply_damage(self._source, frames, version)[0]))

    def _make_names_unique(self, raw: bytes) -> bytes:
        """Make every action unique, and nearly every id: oracles match calls by them."""
        raw = _ACTION.sub(_Renamer(self._make_action), raw)
        return raw if self._draw() < 1 / 12 else _ID.sub(_Renamer(self._make_id), raw)

    def _make_action(self) -> bytes:
        return self._fresh.make_name().encode()

    def _make_id(self) -> bytes:
        return b"%d" % self._source.integer(1_000, 999_999)


def _join_frames(frames: Sequence[Frame]) -> bytes:
    return b"".join([frame.raw for frame in frames])


def _make_one_line(raw: bytes) -> bytes:
    """Replace each LF by a space, so that a document stays one frame."""
    if b"\n" in raw:
        raw = raw.rstrip(b"\n").replace(b"\n", b" ")
    return raw or b" "


class _Renamer:
    """Replaces a value (second group) that occurred before in the same input."""

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
