"""Shrink an input: make it smaller and simpler while it keeps what it shows.

Each pass proposes edits of the current bytes in a fixed order, and the first that keeps the fault
is applied. So the result depends only on the input and on ``keeps``, several candidates can run at
once, and an interrupted reduction has a valid result. Coarse passes come first: a JSON tree needs a
few tries where single bytes need thousands.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice

from wirefence.fuzz.shrink.ordering import simplicity_key
from wirefence.fuzz.shrink.passes import PASSES, Edit

__all__ = ["ShrinkResult", "shrink_input"]

_SHORT = 64
"""Bytes of an input that is short enough to repeat all edits in each round."""

Keeps = Callable[[bytes], bool]
KeepsMany = Callable[[Sequence[bytes]], Sequence[bool]]


@dataclass(frozen=True, slots=True)
class ShrinkResult:
    """The simplest input found, and the number of inputs that were run.

    ``finished`` is false if limit or deadline ended the search.
    """

    data: bytes
    executions: int
    finished: bool


class _BudgetSpentError(Exception):
    """The limit or the deadline is reached."""


@dataclass(slots=True)
class _Search:
    """The current input, and which other inputs were tried.

    In later rounds (``again``), an edit of a long input that failed before is not repeated at the
    same place after a change elsewhere: that would double the cost for a byte now and then.
    """

    data: bytes
    keeps_many: KeepsMany
    width: int
    limit: int
    deadline: float | None
    better: Callable[[bytes], None]
    executions: int = 0
    again: bool = False
    _failed: set[bytes] = field(default_factory=set)
    _futile: set[object] = field(default_factory=set)

    def take_first_edit(self, edits: Iterable[Edit]) -> int | None:
        """Apply the first edit that is simpler and keeps the fault; return its index, else None."""
        fresh = self._skip_tried(edits)
        while batch := list(islice(fresh, self.width)):
            kept = self._run_batch([each for _, each, _ in batch])
            for (place, each, near), good in zip(batch, kept, strict=True):
                if good:
                    self.data = each
                    self.better(each)
                    return place
                self._futile.add(near)
        return None

    def _skip_tried(self, edits: Iterable[Edit]) -> Iterator[tuple[int, bytes, object]]:
        bound, seen = simplicity_key(self.data), set[bytes]()
        spare = self.again and len(self.data) > _SHORT
        for place, (each, near) in enumerate(edits):
            if spare and near in self._futile:
                continue
            digest = _hash_input(each)
            if digest in seen or digest in self._failed or simplicity_key(each) >= bound:
                continue
            seen.add(digest)
            yield place, each, near

    def _run_batch(self, batch: list[bytes]) -> Sequence[bool]:
        late = self.deadline is not None and time.monotonic() >= self.deadline
        if late or self.executions >= self.limit:
            raise _BudgetSpentError
        self.executions += len(batch)
        kept = self.keeps_many(batch)
        self._failed.update(_hash_input(b) for b, good in zip(batch, kept, strict=True) if not good)
        return kept


def _hash_input(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def shrink_input(  # noqa: PLR0913 - the options of one search
    data: bytes,
    keeps: Keeps,
    *,
    limit: int = 2000,
    deadline: float | None = None,
    better: Callable[[bytes], None] | None = None,
    keeps_many: KeepsMany | None = None,
    width: int = 1,
) -> ShrinkResult:
    """Return the simplest form of ``data`` for which ``keeps`` still holds.

    The passes repeat until none helps: lines, JSON tree, values, tokens, bytes. Simpler means
    shorter, then earlier in the order of :func:`simplicity_key`. At most about ``limit`` inputs are
    run, none after ``deadline`` (by ``time.monotonic``). ``better`` is called with each
    improvement. ``keeps_many`` replaces ``keeps`` for ``width`` candidates at a time; they are
    applied in the same order, so a finished search has the same result.

    Raises ValueError if ``keeps`` does not hold for ``data`` itself, and whatever ``keeps`` raises.
    """
    if not keeps(data):
        raise ValueError("the input does not show the fault that is to be kept")
    many = keeps_many or (lambda batch: [keeps(each) for each in batch])
    search = _Search(data, many, max(1, width), limit, deadline, better or _ignore_improvement, 1)
    try:
        _run_passes(search)
    except _BudgetSpentError:
        return ShrinkResult(search.data, search.executions, finished=False)
    return ShrinkResult(search.data, search.executions, finished=True)


def _run_passes(search: _Search) -> None:
    """Run the passes in turn until each of them has left the input unchanged."""
    idle = 0
    for turn, each in enumerate(cycle(PASSES)):
        search.again = turn >= len(PASSES)
        before = search.data
        each(search)
        idle = idle + 1 if search.data is before else 0
        if idle == len(PASSES):
            return


def _ignore_improvement(_data: bytes) -> None:
    """Ignore improvements."""
