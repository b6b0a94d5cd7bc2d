"""One comparison, start to end: batches through all sides, differences into ledgers, a report out.

The key insight: almost every batch has equal digests on all sides, so a whole batch is compared as
one block of bytes, and all that costs more happens where blocks differ. Refusals have few digests;
a pair of them that was explained once is counted from then on without another look.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, cycle

from wirefence.fuzz.compare.class_table import Entry, Ledger
from wirefence.fuzz.compare.classes import needs_traits
from wirefence.fuzz.compare.deadly_inputs import Lethal
from wirefence.fuzz.compare.input_schedule import Batch, Origin, stream
from wirefence.fuzz.compare.records import Item
from wirefence.fuzz.compare.sides import DIGEST, Form, Lane, Team

__all__ = ["Budget", "Explorer", "Pair", "Tally"]

_DUE = ("reproducers", "traffic")
"""Stages that run whatever they cost."""
_DEAD = ord("*")
_SHRINK_SHARE, _POLISH_SHARE = 0.4, 0.1
_FLOOD, _THINNED = 120, 16
"""Of one batch, so many inputs that differ in one way are classed, then one of so many."""
_SAMPLED = 40
"""So many refused inputs of a batch of known divergences are compared in their messages."""


@dataclass(frozen=True, slots=True)
class Budget:
    """``seconds`` for reading and shrinking together; what must run runs beyond it."""

    seconds: float = 120.0
    lanes: int = 1


@dataclass(slots=True)
class Tally:
    """What was run: inputs by stage, comparisons (an input in a form), and the
    ``claims`` of finished shapes and names of finished ``families`` of known divergences.

    ``left_out`` inputs were not run: a side had died of their like often enough.
    """

    stages: dict[str, int] = field(default_factory=dict)
    comparisons: int = 0
    left_out: int = 0
    claims: list[str] = field(default_factory=list)
    families: list[str] = field(default_factory=list)
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def inputs(self) -> int:
        """Inputs of all stages; inputs that two stages share count twice."""
        return sum(self.stages.values())


@dataclass(slots=True)
class Pair:
    """Two sides, by their numbers, and what was found between them.

    ``sampled`` refusals had their messages compared; ``unlooked`` differing inputs came in floods
    of their like and were not put into a class.
    """

    old: int
    new: int
    ledger: Ledger
    sampled: int = 0
    unlooked: int = 0
    by_digest: dict[tuple[bytes, bytes, str], Entry] = field(default_factory=dict)


@dataclass(slots=True)
class Explorer:
    """Runs a stream of batches through a team. ``told`` hears of progress now and then."""

    team: Team
    budget: Budget
    told: Callable[[Tally, int], None] = lambda _tally, _classes: None
    tally: Tally = field(default_factory=Tally)
    end: float = math.inf
    lethal: Lethal = field(default_factory=Lethal)
    unfinished: set[str] = field(default_factory=set)
    pairs: list[Pair] = field(default_factory=list)

    def __post_init__(self) -> None:
        numbers = range(len(self.team.sides))
        every = list(combinations(numbers, 2))
        spare = self.budget.seconds * _SHRINK_SHARE / len(every)
        self.pairs = [
            Pair(a, b, Ledger(self.team.pair(a, b), spare, self.team.renew)) for a, b in every
        ]

    def run(self, origin: Origin) -> None:
        """Explore until the budget is spent; an interrupt ends it and keeps what was found."""
        start = time.monotonic()
        try:
            self.end = start + self.budget.seconds * (1 - _POLISH_SHARE)
            self._explore(stream(origin))
            for pair in self.pairs:
                rest = max(3.0, start + self.budget.seconds - time.monotonic())
                pair.ledger.polish(rest / len(self.pairs))
        except KeyboardInterrupt:
            self.tally.interrupted = True
            self.team.renew()  # an answer may be half read
        self.tally.seconds = time.monotonic() - start

    def only(self, inputs: Sequence[bytes]) -> None:
        """Compare these inputs and nothing else, as they are; they count as the user's."""
        for pair in self.pairs:
            pair.ledger.spare = 0.0
        self._explore(iter([Batch("traffic", inputs)]))

    def _explore(self, every: Iterable[Batch]) -> None:
        """Keep each lane at work: its answer is read when its turn comes again."""
        under_way: dict[int, tuple[Batch, Form]] = {}
        turns = cycle(range(len(self.team.lanes)))
        for batch in self._careful(every):
            for form in self.team.forms:
                at = next(turns)
                self._collect(at, under_way)
                self.team.lanes[at].begin(batch.inputs, form)
                under_way[at] = batch, form
        for _ in self.team.lanes:
            self._collect(next(turns), under_way)

    def _careful(self, every: Iterable[Batch]) -> Iterator[Batch]:
        """Batches until the time is up, without what kills a side again and again.

        A shape of which inputs are left out is never claimed.
        """
        for batch in every:
            if self._late(batch):
                return
            self.told(self.tally, sum(len(pair.ledger.entries) for pair in self.pairs))
            spared = batch.inputs if batch.stage in _DUE else self.lethal.spared(batch.inputs)
            if len(spared) < len(batch.inputs):
                self.tally.left_out += len(batch.inputs) - len(spared)
                self.unfinished.add(batch.claim)
            pieces = list(self.lethal.pieces(spared))
            for piece in pieces:
                if self._late(batch):
                    return
                yield replace(batch, inputs=piece, last=batch.last and piece is pieces[-1])

    def _late(self, batch: Batch) -> bool:
        return batch.stage not in _DUE and time.monotonic() >= self.end

    def _deadly(self, batch: Batch, blocks: Sequence[bytes]) -> None:
        """Learn which inputs killed a side."""
        for block in blocks:
            if b"*" in block[::DIGEST]:
                places = range(len(batch.inputs))
                self.lethal.learn(batch.inputs[at] for at in places if block[at * DIGEST] == _DEAD)

    def _collect(self, at: int, under_way: dict[int, tuple[Batch, Form]]) -> None:
        if at not in under_way:
            return
        batch, form = under_way.pop(at)
        lane: Lane = self.team.lanes[at]
        blocks = lane.blocks()
        self._deadly(batch, blocks)
        self._compare(batch, form, blocks)
        self.tally.comparisons += len(batch.inputs)
        if form is self.team.forms[-1]:
            stages = self.tally.stages
            stages[batch.stage] = stages.get(batch.stage, 0) + len(batch.inputs)
            if batch.last and batch.claim not in self.unfinished:
                whole = self.tally.claims if batch.stage == "exhaustive" else self.tally.families
                whole.append(batch.claim)

    def _compare(self, batch: Batch, form: Form, blocks: Sequence[bytes]) -> None:
        for pair in self.pairs:
            old, new = blocks[pair.old], blocks[pair.new]
            if old != new:
                self._differing(pair, batch, form, old, new)
            if batch.stage != "exhaustive":
                self._messages(pair, batch, form, old, new)

    def _differing(self, pair: Pair, batch: Batch, form: Form, old: bytes, new: bytes) -> None:
        traffic = batch.stage == "traffic"
        unknown: list[tuple[bytes, bytes, bytes]] = []
        kinds: Counter[tuple[bytes, bytes]] = Counter()
        for raw, a, b in _each_difference(batch.inputs, old, new):
            entry = pair.by_digest.get((a, b, form.name))
            if entry is not None and len(raw) >= len(entry.item.raw):
                pair.ledger.count(entry, Item(raw, form.name), traffic=traffic)
                continue
            kinds[a[:1], b[:1]] += 1
            if traffic or kinds[a[:1], b[:1]] <= _FLOOD or not kinds[a[:1], b[:1]] % _THINNED:
                unknown.append((raw, a, b))
            else:
                pair.unlooked += 1
        seen = pair.ledger.look([raw for raw, _, _ in unknown], form.name)
        for (raw, a, b), (one, other) in zip(unknown, seen, strict=True):
            entry = pair.ledger.note(Item(raw, form.name), one, other, traffic=traffic)
            if entry is not None and not needs_traits(entry.effect) and _refused(a) and _refused(b):
                pair.by_digest[a, b, form.name] = entry

    def _messages(self, pair: Pair, batch: Batch, form: Form, old: bytes, new: bytes) -> None:
        """Compare the messages of a sample of inputs that both sides refuse alike."""
        alike = [
            raw
            for at, raw in enumerate(batch.inputs)
            if _refused(mine := old[at * DIGEST : at * DIGEST + DIGEST])
            and mine == new[at * DIGEST : at * DIGEST + DIGEST]
        ]
        sample = alike[:: max(1, len(alike) // _SAMPLED)][:_SAMPLED]
        pair.sampled += len(sample)
        for raw, (one, other) in zip(sample, pair.ledger.look(sample, form.name), strict=True):
            if one != other:
                pair.ledger.note(Item(raw, form.name), one, other)


def _refused(digest: bytes) -> bool:
    return digest[:1] in (b"-", b"!")


def _each_difference(
    inputs: Sequence[bytes], old: bytes, new: bytes
) -> Iterator[tuple[bytes, bytes, bytes]]:
    for at, raw in enumerate(inputs):
        start = at * DIGEST
        a, b = old[start : start + DIGEST], new[start : start + DIGEST]
        if a != b:
            yield raw, a, b
