"""One process of a campaign: makes cases, examines them, tells the parent.

The key insight: which case is in flight is on disk before it runs, so that a death of the process,
which no ``except`` can see, still names its input.
"""

from __future__ import annotations

import mmap
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from fuzz.drivers import BLOCK, block
from fuzz.events import Tally
from fuzz.plan import Plan, build
from oracles.records import Finding
from strategies.records import Case

__all__ = ["Batch", "Share", "in_flight", "work"]

_PLACE = struct.Struct("<QQ")
_EVERY = 1.0


@dataclass(frozen=True, slots=True)
class Share:
    """A worker's part: the cases given, then blocks ``first, first + step, ...`` of the seed.

    ``skip`` cases of the first block are left out (a restart goes on behind a deadly case).
    ``limit`` bounds the number of blocks' cases over all workers, ``deadline`` is by
    ``time.monotonic``; either may be absent.
    """

    first: int
    step: int
    marker: Path
    skip: int = 0
    limit: int | None = None
    deadline: float | None = None
    given: tuple[Case, ...] = ()


@dataclass(frozen=True, slots=True)
class Batch:
    """What a worker tells: what it exercised since the last time, and what it found."""

    tally: Tally
    found: tuple[tuple[Finding, Case], ...]
    last: bool = False


def work(plan: Plan, share: Share, pipe: Connection) -> None:
    """Run a share and send batches; the last one is marked. Returns at limit or deadline."""
    examiner = build(plan)
    with share.marker.open("r+b") as stream:
        marker = mmap.mmap(stream.fileno(), _PLACE.size)
    found: list[tuple[Finding, Case]] = []
    reported: set[str] = set()
    told = time.monotonic()

    def tell(*, last: bool = False) -> None:
        pipe.send(Batch(examiner.tally, tuple(found), last))
        examiner.tally = Tally()
        found.clear()

    def run(case: Case, index: int) -> bool:
        nonlocal told
        for each in examiner.examine(case, index):
            if each.signature not in reported:
                reported.add(each.signature)
                found.append((each, case))
        now = time.monotonic()
        if found or now - told > _EVERY:
            tell()
            told = now
        return share.deadline is None or now < share.deadline

    _all(plan, share, marker, run)
    tell(last=True)


def _all(plan: Plan, share: Share, marker: mmap.mmap, run: Callable[[Case, int], bool]) -> None:
    for place, case in enumerate(share.given):
        _PLACE.pack_into(marker, 0, 0, place + 1)
        if not run(case, place):
            return
    number, skip = share.first, share.skip
    while share.limit is None or number * BLOCK < share.limit:
        for place, case in enumerate(block(plan.seed, number, plan.versions)):
            index = number * BLOCK + place
            if place < skip or (share.limit is not None and index >= share.limit):
                continue
            _PLACE.pack_into(marker, 0, number + 1, place)
            if not run(case, index):
                return
        number, skip = number + share.step, 0


def in_flight(plan: Plan, share: Share) -> tuple[Case, Share] | None:
    """After a worker's death: the case it died of and the share that goes on behind it."""
    number, place = _PLACE.unpack(share.marker.read_bytes()[: _PLACE.size])
    if number == 0:
        if place == 0:
            return None
        rest: Sequence[Case] = share.given[place:]
        return share.given[place - 1], _go_on(share, share.first, share.skip, tuple(rest))
    cases = list(block(plan.seed, number - 1, plan.versions))
    return cases[place], _go_on(share, number - 1, place + 1, ())


def _go_on(share: Share, first: int, skip: int, given: tuple[Case, ...]) -> Share:
    return Share(first, share.step, share.marker, skip, share.limit, share.deadline, given)
