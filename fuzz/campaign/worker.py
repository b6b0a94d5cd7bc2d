"""One process of a campaign: makes cases, examines them, tells the parent.

The key insight: which case is in flight is on disk before it runs, so that a death of the process,
which no ``except`` can see, still names its input.
"""

from __future__ import annotations

import mmap
import pickle
import struct
import time
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path

from wirefence.fuzz.examination.cases import BLOCK, block
from wirefence.fuzz.examination.events import Tally
from wirefence.fuzz.examination.examiner import Examiner
from wirefence.fuzz.examination.plan import Plan, build
from wirefence.fuzz.processes.child import settle, telling
from wirefence.fuzz.processes.memory import is_heavy, relieve
from wirefence.oracles.records import Finding
from wirefence.strategies.records import Case

__all__ = ["UNBEGUN", "Batch", "Share", "give", "in_flight", "work"]

_PLACE = struct.Struct("<QQ")
_EVERY = 1.0
_NAP = 0.05

UNBEGUN = bytes(_PLACE.size)
"""The content of the marker of a worker that has not begun a case."""


@dataclass(frozen=True, slots=True)
class Share:
    """A worker's part: the cases given, then blocks ``first, first + step, ...`` of the seed.

    ``marker`` is the file that names the case in flight. ``skip`` cases of the first block are left
    out (a restart goes on behind a deadly case). ``limit`` bounds the number of blocks' cases over
    all workers, ``deadline`` is by ``time.monotonic``; either may be absent. ``given_at`` is the
    place of the first given case among those of all workers; the others follow ``step`` apart.
    ``deaths`` counts the cases just before this share that ended their process, one after another.
    """

    first: int
    step: int
    marker: Path
    skip: int = 0
    limit: int | None = None
    deadline: float | None = None
    given: tuple[Case, ...] = ()
    given_at: int = 0
    deaths: int = 0

    @property
    def rest(self) -> Path:
        """While this file exists the worker waits between two cases."""
        return self.marker.with_suffix(".rest")


@dataclass(frozen=True, slots=True)
class Batch:
    """What a worker tells: what it exercised since the last time, and what it found."""

    tally: Tally
    found: tuple[tuple[Finding, Case], ...]
    last: bool = False


@dataclass(slots=True)
class _Teller:
    """Examines cases and tells what it finds at once, what it counts now and then."""

    examiner: Examiner
    pipe: Connection
    deadline: float | None
    found: list[tuple[Finding, Case]] = field(default_factory=list)
    reported: set[str] = field(default_factory=set)
    told: float = field(default_factory=time.monotonic)

    def run(self, case: Case, index: int) -> bool:
        """Examine a case; return whether there is time for another one."""
        for each in self.examiner.examine(case, index):
            if each.signature not in self.reported:
                self.reported.add(each.signature)
                self.found.append((each, case))
        if is_heavy(case):
            relieve()
        now = time.monotonic()
        if self.found or now - self.told > _EVERY:
            self.tell()
            self.told = now
        return self.deadline is None or now < self.deadline

    def tell(self, *, last: bool = False) -> None:
        self.pipe.send(Batch(self.examiner.tally, tuple(self.found), last))
        self.examiner.tally = Tally()
        self.found.clear()


def give(plan: Plan, share: Share) -> Path:
    """Write what a worker is to do to a file for :func:`work`, and mark that it has not begun."""
    share.marker.write_bytes(UNBEGUN)
    share.rest.unlink(missing_ok=True)
    orders = share.marker.with_suffix(".orders")
    orders.write_bytes(pickle.dumps((plan, share)))
    return orders


def work(orders: Path, pipe: Connection) -> None:
    """Run a share and send batches; the last one is marked. Returns at limit or deadline.

    ``orders`` is of :func:`give`. Where it cannot go on it sends one ``fuzz.apart.Failed`` instead.
    """
    settle()
    with telling(pipe):
        plan, share = pickle.loads(orders.read_bytes())  # noqa: S301 - our own parent wrote it
        teller = _Teller(build(plan), pipe, share.deadline)
        with share.marker.open("r+b") as stream:
            marker = mmap.mmap(stream.fileno(), _PLACE.size)
        _all(plan, share, marker, teller)
        teller.tell(last=True)


def _all(plan: Plan, share: Share, marker: mmap.mmap, teller: _Teller) -> None:
    for place, case in enumerate(share.given):
        _rest(share)
        _PLACE.pack_into(marker, 0, 0, place + 1)
        teller.examiner.tally.given += 1
        if not teller.run(case, share.given_at + place * share.step):
            return
    number, skip = share.first, share.skip
    while share.limit is None or number * BLOCK < share.limit:
        for place, case in enumerate(block(plan.seed, number, plan.versions)):
            index = number * BLOCK + place
            if place < skip or (share.limit is not None and index >= share.limit):
                continue
            _rest(share)
            _PLACE.pack_into(marker, 0, number + 1, place)
            if not teller.run(case, index):
                return
        number, skip = number + share.step, 0


def _rest(share: Share) -> None:
    """Wait while the parent says so."""
    while share.rest.exists():
        time.sleep(_NAP)


def in_flight(plan: Plan, share: Share) -> tuple[Case, Share] | None:
    """After a worker's death: the case it died of and the share that goes on behind it."""
    number, place = _PLACE.unpack(share.marker.read_bytes())
    if number == 0 == place:
        return None
    if number == 0:
        behind = share.given_at + place * share.step
        deaths = _deaths(share, at_once=place == 1)
        rest = replace(share, given=share.given[place:], given_at=behind, deaths=deaths)
        return share.given[place - 1], rest
    cases = list(block(plan.seed, number - 1, plan.versions))
    at_once = not share.given and (number - 1, place) == (share.first, share.skip)
    deaths = _deaths(share, at_once=at_once)
    rest = replace(share, first=number - 1, skip=place + 1, given=(), deaths=deaths)
    return cases[place], rest


def _deaths(share: Share, *, at_once: bool) -> int:
    """Deaths in a row after one more, which came ``at_once`` or behind cases that went well."""
    return share.deaths + 1 if at_once else 1
