"""Each libFuzzer target finds the planted faults of its stage, from an empty corpus.

Budgets are inputs, never seconds. ``python -m scripts.bench planted`` hunts for all, everywhere.
"""

from __future__ import annotations

from collections import Counter

import pytest

from scripts.bench.planted_stages import BUDGET, OUT_OF_REACH, Hunt, as_table, hunt, stages_of
from wirefence.fuzz.coverage.checks import NAMES, Name
from wirefence.targets.planted import BY_NAME, PLANTED

FEW = 400
"""Inputs: between a fiftieth and a hundredth of what a target runs in a minute."""

READERS = [fault.name for fault in PLANTED if "fuzz_parsers" in stages_of(fault)]
WRITERS = [fault.name for fault in PLANTED if "fuzz_transcript" in stages_of(fault)]


def test_every_fault_has_a_stage_and_every_stage_has_faults() -> None:
    stages = {fault.name: stages_of(fault) for fault in PLANTED}
    assert [name for name, found in stages.items() if not found] == [OUT_OF_REACH]
    faults = Counter(name for found in stages.values() for name in found)
    assert set(faults) == set(NAMES) == set(BUDGET)
    assert min(faults.values()) >= 4


@pytest.mark.parametrize("fault", READERS)
def test_fuzz_parsers_finds_every_wrong_reader(fault: str) -> None:
    assert set(hunt("fuzz_parsers", fault, 20_000).rules) & {
        *("agree-accept", "agree-value", "agree-escape"),
    }


@pytest.mark.parametrize("fault", WRITERS)
def test_fuzz_transcript_finds_every_wrong_writer(fault: str) -> None:
    rules = set(hunt("fuzz_transcript", fault, FEW).rules)
    assert rules
    assert rules <= set(BY_NAME[fault].breaks)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("fuzz_session", "loses-split-frames"),
        ("fuzz_session", "acts-after-close"),
        ("fuzz_session", "keeps-half-request"),
        ("fuzz_session", "keeps-handshake-of-rejected"),
        ("fuzz_judge", "remembers-operator"),
        ("fuzz_judge", "executes-before-authorization"),
    ],
)
def test_what_a_session_remembers_or_cuts_is_found(name: Name, fault: str) -> None:
    assert hunt(name, fault, BUDGET[name] // 2).rules


def test_most_faults_of_a_gateway_take_a_few_hundred_inputs() -> None:
    faults = [fault.name for fault in PLANTED if "fuzz_gateway" in stages_of(fault)]
    some = faults[::3]
    found = [each for each in some if hunt("fuzz_gateway", each, FEW).rules]
    assert len(found) >= 0.6 * len(some)


@pytest.mark.parametrize("name", NAMES)
def test_there_is_nothing_to_find_in_the_healthy_base(name: Name) -> None:
    assert hunt(name, "healthy", 60) == Hunt(name, "healthy", 60, ())


def test_a_missed_fault_shows_in_the_table() -> None:
    hunts = [Hunt("fuzz_judge", "one", 12, ("act-twice",)), Hunt("fuzz_session", "two", 900, ())]
    said = as_table(hunts)
    assert "NOT FOUND" in said.splitlines()[1]
    assert said.endswith("1 of 2 found")
