"""A campaign gives its shared place to whoever has lately found something."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from wirefence.fuzz.campaign.campaign import Budget, run_campaign
from wirefence.fuzz.coverage import driver_scheduler as guide
from wirefence.fuzz.coverage.driver_scheduler import (
    GRAMMAR,
    DriverScores,
    choose_fuzz_targets,
    make_scheduler,
)
from wirefence.fuzz.examination.events import Event, Finished, Progress
from wirefence.fuzz.examination.plan import DEFAULT_TARGETS, Plan
from wirefence.fuzz.store.store import Store

NAMES = (GRAMMAR, "fuzz_parsers", "fuzz_gateway")


def shares(fruit: DriverScores, slices: int = 2_000) -> Counter[str]:
    return Counter(fruit.choose_driver() for _ in range(slices))


def test_without_fruit_the_grammar_has_most_and_nobody_has_nothing() -> None:
    had = shares(DriverScores(NAMES, random.Random(1)))
    assert had[GRAMMAR] > had["fuzz_parsers"] > 0
    assert had["fuzz_gateway"] > 0


def test_who_finds_something_gets_more_and_loses_it_again() -> None:
    fruit = DriverScores(NAMES, random.Random(1))
    before = shares(fruit)["fuzz_gateway"]
    for _ in range(3):
        fruit.record_slice("fuzz_gateway", 2, 30)
    rich = shares(fruit)["fuzz_gateway"]
    for _ in range(12):
        fruit.record_slice("fuzz_gateway", 0, 0)
    assert rich > 2 * before
    assert abs(shares(fruit)["fuzz_gateway"] - before) < before


def test_inputs_alone_count_less_than_a_finding() -> None:
    found, fed = DriverScores(NAMES, random.Random(1)), DriverScores(NAMES, random.Random(1))
    found.record_slice("fuzz_parsers", 1, 0)
    fed.record_slice("fuzz_parsers", 0, 20)
    assert found.weigh_driver("fuzz_parsers") > fed.weigh_driver("fuzz_parsers") > 0.1


def test_each_target_of_a_plan_goes_to_the_stages_that_it_has() -> None:
    assert choose_fuzz_targets(("orjson",)) == {"fuzz_parsers": ("orjson",)}
    found = choose_fuzz_targets(DEFAULT_TARGETS)
    assert set(found) == {
        *("fuzz_parsers", "fuzz_gateway", "fuzz_session", "fuzz_judge", "fuzz_transcript"),
    }
    assert found["fuzz_parsers"] == ("parsers",)
    assert found["fuzz_gateway"] == ("gateway", "reference", "reference/spec")
    own = choose_fuzz_targets(("adapter:Adapter",))
    assert own == dict.fromkeys(("fuzz_gateway", "fuzz_session"), ("adapter:Adapter",))


@pytest.mark.parametrize("seconds", [None, 5.0])
def test_short_campaigns_and_counted_ones_have_no_guide(tmp_path: Path, seconds) -> None:
    assert make_scheduler(Plan(), seconds, tmp_path, frozenset(), lambda: 0) is None


def test_a_campaign_shares_its_only_place_and_tells_of_what_the_guide_finds(
    hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guide, "_MIN_SECONDS", 1.0)
    monkeypatch.setattr(guide, "SLICE", 1.0)
    monkeypatch.setattr(guide, "_BASE_WEIGHTS", {GRAMMAR: 0.1})
    events: list[Event] = []
    out = hostile / "out"

    def until_both_have_brought_something(event: Event) -> None:
        events.append(event)
        inputs = any((out / "corpus").glob("*/*"))
        if isinstance(event, Progress) and inputs and event.tally.cases and event.found:
            raise KeyboardInterrupt

    plan, budget = Plan(("planted:acts-twice",)), Budget(seconds=240.0, workers=1)
    run_campaign(plan, budget, out, until_both_have_brought_something)
    end = events[-1]
    assert isinstance(end, Finished)
    assert end.reason == "interrupted"
    assert end.tally.cases > 0
    assert sum(each.executions for each in end.explored) > 0
    assert "planted:acts-twice|act-twice|none" in Store(out).read_signatures()
