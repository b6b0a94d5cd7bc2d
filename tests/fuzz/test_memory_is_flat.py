"""A campaign goes on for hours: nothing is kept of a case, and a heavy one leaves no room taken."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from functools import _lru_cache_wrapper
from itertools import islice
from pathlib import Path

import pytest

from wirefence.fuzz.campaign.worker import _CaseRunner
from wirefence.fuzz.examination import examiner as examine
from wirefence.fuzz.examination.cases import generate_block
from wirefence.fuzz.examination.examiner import Examiner
from wirefence.fuzz.examination.plan import Plan, build_examiner
from wirefence.fuzz.processes import memory
from wirefence.fuzz.processes.memory import HEAVY, is_heavy
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.strategies.records import Case

PACKAGES = ("strategies", "targets", "oracles", "fuzz")
CASES = 96
MOST = 5.0
"""Blocks of memory for each case that counting may be wrong by; one kept trace has more."""


def cases() -> Iterator[Case]:
    """Cases of the grammar without end and without heavy ones, which come first in their block."""
    number = 0
    while True:
        number += 1
        yield from islice(generate_block(7, number), 1, None)


def blocks() -> int:
    """Blocks of memory in use, but for what is cached: that is bounded by the cache's size."""
    for each in gc.get_objects():
        if (
            isinstance(each, _lru_cache_wrapper)
            and each.__module__.partition(".")[0] == "wirefence"
        ):
            each.cache_clear()
    gc.collect()
    return sys.getallocatedblocks()


def kept(examiner: Examiner) -> float:
    """Blocks that stay behind for each case, once as many cases have warmed everything up."""
    source = enumerate(cases())
    counts = []
    for size in (CASES, 2 * CASES):
        for number, case in islice(source, size):
            examiner.examine_case(case, number)
        counts.append(blocks())
    return (counts[1] - counts[0]) / (2 * CASES)


@pytest.fixture
def examiner(monkeypatch: pytest.MonkeyPatch) -> Examiner:
    # What is remembered on purpose is bounded, and so is full before anything is counted.
    monkeypatch.setattr(examine, "_MAX_REMEMBERED", 8)
    return build_examiner(Plan(("orjson[strict]", "msgspec", "gateway")))


def test_nothing_is_kept_of_a_case(examiner: Examiner) -> None:
    assert kept(examiner) < MOST


def test_what_is_kept_of_each_case_is_seen(
    examiner: Examiner, monkeypatch: pytest.MonkeyPatch
) -> None:
    traces = []
    run = examine.run_case

    def keep_trace(*given):
        traces.append(run(*given))
        return traces[-1]

    monkeypatch.setattr(examine, "run_case", keep_trace)
    assert kept(examiner) > MOST


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_a_heavy_case_gives_its_memory_back(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"[%b0]\n" % (b'{"a":"%b"},' % (b"b" * 200) * 20_000)
    case = case_from_bytes(text)
    teller = _CaseRunner(
        build_examiner(Plan(("orjson[strict]", "json[strict]"))), None, None, told=1e18
    )
    left = []
    for relieve in (memory.release_memory, lambda: None):
        monkeypatch.setattr("wirefence.fuzz.campaign.worker.release_memory", relieve)
        memory.release_memory()
        before = resident()
        teller.run_case(case, 0)
        left.append(resident() - before)
    assert left[0] < 2 * len(text) < left[1]


@pytest.mark.parametrize(("size", "heavy"), [(HEAVY, False), (HEAVY + 1, True)])
def test_only_long_cases_are_heavy(size: int, heavy: bool) -> None:
    assert is_heavy(case_from_bytes(b"1" * (size - 1) + b"\n")) is heavy
