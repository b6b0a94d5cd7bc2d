"""Make an input smaller and simpler while it keeps what is interesting about it.

The key insight: every pass only proposes edits of the current bytes, in a fixed order, and the
first one that keeps is taken. So the result depends on the input and on ``keeps`` alone, several
candidates may be tried at once, and an interrupted reduction has a valid result at any moment.
Coarse passes come first: a JSON tree needs a few tries where single bytes need thousands.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice

from wirefence.fuzz.shrink.ordering import order
from wirefence.fuzz.shrink.passes import PASSES, Edit

__all__ = ["Reduced", "reduce"]

_SHORT = 64
"""Bytes of an input that is short enough to try everything again."""

Keeps = Callable[[bytes], bool]
KeepsMany = Callable[[Sequence[bytes]], Sequence[bool]]


@dataclass(frozen=True, slots=True)
class Reduced:
    """The simplest input that was found, and the number of inputs that were run for it.

    ``finished`` is false where limit or deadline came before the end of the search.
    """

    data: bytes
    executions: int
    finished: bool


class _SpentError(Exception):
    """The limit or the deadline has come."""


@dataclass(slots=True)
class _Search:
    """The current input, and what is known of others.

    In later rounds (``again``) an edit of a long input that came to nothing before is not tried on
    the same place again because something far away has changed: that would double the cost of
    every session for the sake of a byte now and then.
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

    def first(self, edits: Iterable[Edit]) -> int | None:
        """Take the first edit whose result is simpler and keeps; return its place among them."""
        fresh = self._fresh(edits)
        while batch := list(islice(fresh, self.width)):
            kept = self._run([each for _, each, _ in batch])
            for (place, each, near), good in zip(batch, kept, strict=True):
                if good:
                    self.data = each
                    self.better(each)
                    return place
                self._futile.add(near)
        return None

    def _fresh(self, edits: Iterable[Edit]) -> Iterator[tuple[int, bytes, object]]:
        bound, seen = order(self.data), set[bytes]()
        spare = self.again and len(self.data) > _SHORT
        for place, (each, near) in enumerate(edits):
            if spare and near in self._futile:
                continue
            digest = _digest(each)
            if digest in seen or digest in self._failed or order(each) >= bound:
                continue
            seen.add(digest)
            yield place, each, near

    def _run(self, batch: list[bytes]) -> Sequence[bool]:
        late = self.deadline is not None and time.monotonic() >= self.deadline
        if late or self.executions >= self.limit:
            raise _SpentError
        self.executions += len(batch)
        kept = self.keeps_many(batch)
        self._failed.update(_digest(b) for b, good in zip(batch, kept, strict=True) if not good)
        return kept


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def reduce(  # noqa: PLR0913 - the terms of one search, all optional
    data: bytes,
    keeps: Keeps,
    *,
    limit: int = 2000,
    deadline: float | None = None,
    better: Callable[[bytes], None] | None = None,
    keeps_many: KeepsMany | None = None,
    width: int = 1,
) -> Reduced:
    """Return the simplest form of ``data`` for which ``keeps`` still holds.

    The passes, again and again until none helps: lines, JSON tree, values, tokens, bytes. Simpler
    is shorter, then earlier in the order of bytes that puts digits and letters first. At most
    about ``limit`` inputs are run, none after ``deadline`` (by ``time.monotonic``). ``better`` is
    told each improvement. With ``keeps_many``, ``width`` candidates at a time are run by it in
    place of ``keeps``; the order in which they are taken, and so the result of a finished search,
    stays the same.

    Raises ValueError if ``keeps`` does not hold for ``data`` itself, and whatever ``keeps`` raises.
    """
    if not keeps(data):
        raise ValueError("the input does not show what is to be kept")
    many = keeps_many or (lambda batch: [keeps(each) for each in batch])
    search = _Search(data, many, max(1, width), limit, deadline, better or _ignore, 1)
    try:
        _settle(search)
    except _SpentError:
        return Reduced(search.data, search.executions, finished=False)
    return Reduced(search.data, search.executions, finished=True)


def _settle(search: _Search) -> None:
    """Run the passes in turn until all of them, one after another, leave the input alone."""
    idle = 0
    for turn, each in enumerate(cycle(PASSES)):
        search.again = turn >= len(PASSES)
        before = search.data
        each(search)
        idle = idle + 1 if search.data is before else 0
        if idle == len(PASSES):
            return


def _ignore(_data: bytes) -> None:
    """Nobody wants to hear of improvements."""
