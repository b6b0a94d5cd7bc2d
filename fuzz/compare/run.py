"""Run a comparison: send batches to all sides, and add differences to the class tables.

Almost every batch has equal digests on all sides. So a whole batch is compared as one block of
bytes, and details are read only if blocks differ. Rejections have few digests; a pair of them that
was explained once is only counted afterwards.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, cycle

from wirefence.fuzz.compare.class_table import ClassEntry, ClassTable
from wirefence.fuzz.compare.classes import needs_traits
from wirefence.fuzz.compare.inputs.deadly_inputs import DeadlyInputs
from wirefence.fuzz.compare.inputs.input_schedule import Batch, Origin, generate_batches
from wirefence.fuzz.compare.records import Item
from wirefence.fuzz.compare.sides import DIGEST, Form, Lane, Team

__all__ = ["Budget", "Comparison", "Pair", "Tally"]

_DUE = ("reproducers", "traffic")
"""Stages that run regardless of the budget."""
_DEAD = ord("*")
"""First byte of a digest if the side died."""
_SHRINK_SHARE, _POLISH_SHARE = 0.4, 0.1
_FLOOD, _THINNED = 120, 16
"""Of one batch, so many inputs that differ in one way are classed, then one of so many."""
_SAMPLED = 40
"""Rejected inputs of a batch whose messages are compared."""


@dataclass(frozen=True, slots=True)
class Budget:
    """``seconds`` for running and shrinking; stages that must run may exceed it."""

    seconds: float = 120.0
    lanes: int = 1


@dataclass(slots=True)
class Tally:
    """Counts of a comparison: inputs by stage, comparisons (an input in a form), and the ``claims``
    of finished shapes and names of finished ``families`` of known divergences.

    ``left_out`` inputs were skipped: similar ones had killed a side often enough.
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
        """Inputs of all stages; an input in two stages counts twice."""
        return sum(self.stages.values())


@dataclass(slots=True)
class Pair:
    """Two sides, by number, and the differences between them.

    The messages of ``sampled`` rejections were compared. ``unlooked`` differing inputs were too
    many of one kind, and were put into no class.
    """

    old: int
    new: int
    ledger: ClassTable
    sampled: int = 0
    unlooked: int = 0
    by_digest: dict[tuple[bytes, bytes, str], ClassEntry] = field(default_factory=dict)


@dataclass(slots=True)
class Comparison:
    """Runs batches through a team; calls ``told`` with progress now and then."""

    team: Team
    budget: Budget
    told: Callable[[Tally, int], None] = lambda _tally, _classes: None
    tally: Tally = field(default_factory=Tally)
    end: float = math.inf
    lethal: DeadlyInputs = field(default_factory=DeadlyInputs)
    unfinished: set[str] = field(default_factory=set)
    pairs: list[Pair] = field(default_factory=list)

    def __post_init__(self) -> None:
        numbers = range(len(self.team.sides))
        every = list(combinations(numbers, 2))
        spare = self.budget.seconds * _SHRINK_SHARE / len(every)
        self.pairs = [
            Pair(a, b, ClassTable(self.team.make_look(a, b), spare, self.team.restart_lookers))
            for a, b in every
        ]

    def run(self, origin: Origin) -> None:
        """Run until the budget is spent; an interrupt ends it and keeps the results."""
        start = time.monotonic()
        try:
            self.end = start + self.budget.seconds * (1 - _POLISH_SHARE)
            self._run_batches(generate_batches(origin))
            for pair in self.pairs:
                rest = max(3.0, start + self.budget.seconds - time.monotonic())
                pair.ledger.shrink_rest(rest / len(self.pairs))
        except KeyboardInterrupt:
            self.tally.interrupted = True
            self.team.restart_lookers()  # an answer may be incomplete
        self.tally.seconds = time.monotonic() - start

    def run_inputs(self, inputs: Sequence[bytes]) -> None:
        """Compare only these inputs, unchanged; they count as the user's."""
        for pair in self.pairs:
            pair.ledger.spare = 0.0
        self._run_batches(iter([Batch("traffic", inputs)]))

    def _run_batches(self, every: Iterable[Batch]) -> None:
        """Keep each lane busy: read its result when its turn comes again."""
        under_way: dict[int, tuple[Batch, Form]] = {}
        turns = cycle(range(len(self.team.lanes)))
        for batch in self._limit_batches(every):
            for form in self.team.forms:
                at = next(turns)
                self._collect_batch(at, under_way)
                self.team.lanes[at].send_batch(batch.inputs, form)
                under_way[at] = batch, form
        for _ in self.team.lanes:
            self._collect_batch(next(turns), under_way)

    def _limit_batches(self, every: Iterable[Batch]) -> Iterator[Batch]:
        """Yield batches until the time is over, without inputs that kill a side again and again.

        A shape with skipped inputs is never claimed.
        """
        for batch in every:
            if self._is_late(batch):
                return
            self.told(self.tally, sum(len(pair.ledger.entries) for pair in self.pairs))
            spared = batch.inputs if batch.stage in _DUE else self.lethal.skip_deadly(batch.inputs)
            if len(spared) < len(batch.inputs):
                self.tally.left_out += len(batch.inputs) - len(spared)
                self.unfinished.add(batch.claim)
            pieces = list(self.lethal.split_inputs(spared))
            for piece in pieces:
                if self._is_late(batch):
                    return
                yield replace(batch, inputs=piece, last=batch.last and piece is pieces[-1])

    def _is_late(self, batch: Batch) -> bool:
        return batch.stage not in _DUE and time.monotonic() >= self.end

    def _add_deadly(self, batch: Batch, blocks: Sequence[bytes]) -> None:
        """Record which inputs killed a side."""
        for block in blocks:
            if b"*" in block[::DIGEST]:
                places = range(len(batch.inputs))
                self.lethal.add_dead(
                    batch.inputs[at] for at in places if block[at * DIGEST] == _DEAD
                )

    def _collect_batch(self, at: int, under_way: dict[int, tuple[Batch, Form]]) -> None:
        if at not in under_way:
            return
        batch, form = under_way.pop(at)
        lane: Lane = self.team.lanes[at]
        blocks = lane.read_digests()
        self._add_deadly(batch, blocks)
        self._compare_blocks(batch, form, blocks)
        self.tally.comparisons += len(batch.inputs)
        if form is self.team.forms[-1]:
            stages = self.tally.stages
            stages[batch.stage] = stages.get(batch.stage, 0) + len(batch.inputs)
            if batch.last and batch.claim not in self.unfinished:
                whole = self.tally.claims if batch.stage == "exhaustive" else self.tally.families
                whole.append(batch.claim)

    def _compare_blocks(self, batch: Batch, form: Form, blocks: Sequence[bytes]) -> None:
        for pair in self.pairs:
            old, new = blocks[pair.old], blocks[pair.new]
            if old != new:
                self._add_differences(pair, batch, form, old, new)
            if batch.stage != "exhaustive":
                self._compare_messages(pair, batch, form, old, new)

    def _add_differences(
        self, pair: Pair, batch: Batch, form: Form, old: bytes, new: bytes
    ) -> None:
        traffic = batch.stage == "traffic"
        unknown: list[tuple[bytes, bytes, bytes]] = []
        kinds: Counter[tuple[bytes, bytes]] = Counter()
        for raw, a, b in _list_differences(batch.inputs, old, new):
            entry = pair.by_digest.get((a, b, form.name))
            if entry is not None and len(raw) >= len(entry.item.raw):
                pair.ledger.count_input(entry, Item(raw, form.name), traffic=traffic)
                continue
            kinds[a[:1], b[:1]] += 1
            if traffic or kinds[a[:1], b[:1]] <= _FLOOD or not kinds[a[:1], b[:1]] % _THINNED:
                unknown.append((raw, a, b))
            else:
                pair.unlooked += 1
        seen = pair.ledger.look([raw for raw, _, _ in unknown], form.name)
        for (raw, a, b), (one, other) in zip(unknown, seen, strict=True):
            entry = pair.ledger.add_difference(Item(raw, form.name), one, other, traffic=traffic)
            if (
                entry is not None
                and not needs_traits(entry.effect)
                and _is_refused(a)
                and _is_refused(b)
            ):
                pair.by_digest[a, b, form.name] = entry

    def _compare_messages(
        self, pair: Pair, batch: Batch, form: Form, old: bytes, new: bytes
    ) -> None:
        """Compare the messages for a sample of inputs that both sides reject with one error."""
        alike = [
            raw
            for at, raw in enumerate(batch.inputs)
            if _is_refused(mine := old[at * DIGEST : at * DIGEST + DIGEST])
            and mine == new[at * DIGEST : at * DIGEST + DIGEST]
        ]
        sample = alike[:: max(1, len(alike) // _SAMPLED)][:_SAMPLED]
        pair.sampled += len(sample)
        for raw, (one, other) in zip(sample, pair.ledger.look(sample, form.name), strict=True):
            if one != other:
                pair.ledger.add_difference(Item(raw, form.name), one, other)


def _is_refused(digest: bytes) -> bool:
    return digest[:1] in (b"-", b"!")


def _list_differences(
    inputs: Sequence[bytes], old: bytes, new: bytes
) -> Iterator[tuple[bytes, bytes, bytes]]:
    for at, raw in enumerate(inputs):
        start = at * DIGEST
        a, b = old[start : start + DIGEST], new[start : start + DIGEST]
        if a != b:
            yield raw, a, b
