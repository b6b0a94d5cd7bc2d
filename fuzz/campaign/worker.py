"""One worker process of a campaign: generates cases, examines them, sends findings to the parent.

The case in flight is recorded in a file before it runs. So a death of the process, which no
``except`` can catch, still names its input.
"""

from __future__ import annotations

import mmap
import pickle
import struct
import time
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path

from wirefence.fuzz.examination.cases import BLOCK, generate_block
from wirefence.fuzz.examination.events import Tally
from wirefence.fuzz.examination.examiner import Examiner
from wirefence.fuzz.examination.plan import Plan, build_examiner
from wirefence.fuzz.processes.child import prepare_child, send_failures
from wirefence.fuzz.processes.memory import is_heavy, release_memory
from wirefence.oracles.records import Finding
from wirefence.strategies.records import Case

__all__ = ["UNBEGUN", "Batch", "Share", "find_case_in_flight", "run_worker", "write_orders"]

_PLACE = struct.Struct("<QQ")
"""The marker's content: block number plus one (0: a given case), and place of the case in it."""
_BATCH_INTERVAL = 1.0
"""Seconds between two batches without findings; findings are sent at once."""
_PAUSE_CHECK = 0.05
"""Seconds between two checks whether a pause is over."""

UNBEGUN = bytes(_PLACE.size)
"""Content of the marker of a worker that has not started a case."""


@dataclass(frozen=True, slots=True)
class Share:
    """A worker's part: the given cases, then blocks ``first, first + step, ...`` of the seed.

    ``marker`` is the file that names the case in flight. ``skip`` cases of the first block are
    skipped (a restart continues after a deadly case). ``limit`` bounds the number of generated
    cases over all workers, ``deadline`` is by ``time.monotonic``; either may be absent.
    ``given_at`` is the index of the first given case among those of all workers; the others follow
    ``step`` apart. ``deaths`` counts the cases just before this share that killed their process, in
    a row.
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
    def pause_file(self) -> Path:
        """While this file exists, the worker waits between two cases."""
        return self.marker.with_suffix(".rest")


@dataclass(frozen=True, slots=True)
class Batch:
    """A message of a worker: what it exercised and found since the last one."""

    tally: Tally
    found: tuple[tuple[Finding, Case], ...]
    last: bool = False


@dataclass(slots=True)
class _CaseRunner:
    """Examines cases and sends batches: at once with findings, else at intervals."""

    examiner: Examiner
    pipe: Connection
    deadline: float | None
    found: list[tuple[Finding, Case]] = field(default_factory=list)
    reported: set[str] = field(default_factory=set)
    told: float = field(default_factory=time.monotonic)

    def run_case(self, case: Case, index: int) -> bool:
        """Examine a case; return whether there is time for another one."""
        for each in self.examiner.examine_case(case, index):
            if each.signature not in self.reported:
                self.reported.add(each.signature)
                self.found.append((each, case))
        if is_heavy(case):
            release_memory()
        now = time.monotonic()
        if self.found or now - self.told > _BATCH_INTERVAL:
            self.send_batch()
            self.told = now
        return self.deadline is None or now < self.deadline

    def send_batch(self, *, last: bool = False) -> None:
        self.pipe.send(Batch(self.examiner.tally, tuple(self.found), last))
        self.examiner.tally = Tally()
        self.found.clear()


def write_orders(plan: Plan, share: Share) -> Path:
    """Write plan and share to a file for :func:`run_worker`, and reset the marker; return the
    file.
    """
    share.marker.write_bytes(UNBEGUN)
    share.pause_file.unlink(missing_ok=True)
    orders = share.marker.with_suffix(".orders")
    orders.write_bytes(pickle.dumps((plan, share)))
    return orders


def run_worker(orders: Path, pipe: Connection) -> None:
    """Run a share and send batches; the last one is marked. Returns at limit or deadline.

    ``orders`` is the file of :func:`write_orders`. If it cannot go on it sends one ``ChildFailed``
    instead.
    """
    prepare_child()
    with send_failures(pipe):
        plan, share = pickle.loads(orders.read_bytes())  # noqa: S301 - our own parent wrote it
        teller = _CaseRunner(build_examiner(plan), pipe, share.deadline)
        with share.marker.open("r+b") as stream:
            marker = mmap.mmap(stream.fileno(), _PLACE.size)
        _run_share(plan, share, marker, teller)
        teller.send_batch(last=True)


def _run_share(plan: Plan, share: Share, marker: mmap.mmap, teller: _CaseRunner) -> None:
    for place, case in enumerate(share.given):
        _wait_while_paused(share)
        _PLACE.pack_into(marker, 0, 0, place + 1)
        teller.examiner.tally.given += 1
        if not teller.run_case(case, share.given_at + place * share.step):
            return
    number, skip = share.first, share.skip
    while share.limit is None or number * BLOCK < share.limit:
        for place, case in enumerate(generate_block(plan.seed, number, plan.versions)):
            index = number * BLOCK + place
            if place < skip or (share.limit is not None and index >= share.limit):
                continue
            _wait_while_paused(share)
            _PLACE.pack_into(marker, 0, number + 1, place)
            if not teller.run_case(case, index):
                return
        number, skip = number + share.step, 0


def _wait_while_paused(share: Share) -> None:
    """Wait while the parent has paused this worker."""
    while share.pause_file.exists():
        time.sleep(_PAUSE_CHECK)


def find_case_in_flight(plan: Plan, share: Share) -> tuple[Case, Share] | None:
    """After a worker's death, return the case in flight and the share that continues after it.

    Returns ``None`` if no case had started.
    """
    number, place = _PLACE.unpack(share.marker.read_bytes())
    if number == 0 == place:
        return None
    if number == 0:
        behind = share.given_at + place * share.step
        deaths = _count_deaths(share, at_once=place == 1)
        rest = replace(share, given=share.given[place:], given_at=behind, deaths=deaths)
        return share.given[place - 1], rest
    cases = list(generate_block(plan.seed, number - 1, plan.versions))
    at_once = not share.given and (number - 1, place) == (share.first, share.skip)
    deaths = _count_deaths(share, at_once=at_once)
    rest = replace(share, first=number - 1, skip=place + 1, given=(), deaths=deaths)
    return cases[place], rest


def _count_deaths(share: Share, *, at_once: bool) -> int:
    """Return deaths in a row after one more; ``at_once`` if no case in between went well."""
    return share.deaths + 1 if at_once else 1
