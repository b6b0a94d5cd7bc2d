"""Campaigns go on after deaths and hangs, and are functions of their seed."""

from __future__ import annotations

import multiprocessing
import struct
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from wirefence.fuzz.campaign.campaign import Budget, run_campaign
from wirefence.fuzz.campaign.report import as_table
from wirefence.fuzz.campaign.worker import UNBEGUN, Share, find_case_in_flight
from wirefence.fuzz.examination.cases import generate_block
from wirefence.fuzz.examination.events import Event, Finished, Found, Started
from wirefence.fuzz.examination.plan import Plan
from wirefence.fuzz.processes.child import wait_for_exit
from wirefence.fuzz.store.store import Store, case_from_bytes
from wirefence.strategies.records import VERSIONS
from wirefence.targets.errors import TargetError

POISON = case_from_bytes(b'{"POISON":1}\n')
GOOD = case_from_bytes(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')


def run(target: str, out: Path, budget: Budget, **options) -> list[Event]:
    events: list[Event] = []
    found = run_campaign(Plan((target,), seed=3), budget, out, events.append, **options)
    assert isinstance(events[0], Started)
    assert isinstance(events[-1], Finished)
    assert events[-1].found == found == len(signatures(events))
    return events


def signatures(events: list[Event]) -> list[str]:
    return [event.finding.signature for event in events if isinstance(event, Found)]


@pytest.mark.parametrize(
    ("target", "end", "deaths"),
    [
        ("hostile:kills", "SIGKILL", 2),
        ("hostile:exits", "exit 0", 1),
        ("hostile:interrupts", "exit 70", 1),
    ],
)
def test_a_death_of_the_process_is_a_saved_finding_and_the_campaign_goes_on(
    hostile: Path, target: str, end: str, deaths: int
) -> None:
    given = [GOOD, *[POISON] * deaths, GOOD]
    events = run(target, hostile / "out", Budget(cases=4), given=given)
    assert signatures(events) == [f"{target}|live-crash|{end}"]
    (path,) = (hostile / "out").glob("liveness/*.frame")
    assert path.read_bytes() == POISON.data
    # The count of a dead worker dies with it: what came behind the last death is what is left.
    assert events[-1].tally.cases == 5
    assert Store(hostile / "out").read_signatures() == set(signatures(events))


def test_a_target_that_takes_the_pipe_away_is_a_finding_too(hostile: Path) -> None:
    events = run("hostile:closes", hostile / "out", Budget(cases=2), given=[POISON, GOOD])
    assert any("live-crash" in signature for signature in signatures(events))


def test_system_exit_in_feed_is_a_finding_without_a_new_process(hostile: Path) -> None:
    events = run("hostile:leaves", hostile / "out", Budget(cases=2), given=[POISON, GOOD])
    assert signatures(events) == ["hostile:leaves|live-crash|exit"]
    assert events[-1].tally.cases == 4


def test_a_hang_is_ended_after_the_patience_and_the_campaign_goes_on(hostile: Path) -> None:
    budget = Budget(cases=2, patience=2.0)
    events = run("hostile:hangs", hostile / "out", budget, given=[POISON, GOOD])
    assert signatures(events) == ["hostile:hangs|live-hang:process|none"]
    assert events[-1].tally.cases == 3


def test_deaths_do_not_carry_a_campaign_beyond_its_time(hostile: Path) -> None:
    events = run("hostile:kills_always", hostile / "out", Budget(seconds=0.1))
    assert signatures(events) == ["hostile:kills_always|live-crash|exit 3"]


def test_a_target_that_dies_of_everything_is_given_up(
    hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wirefence.fuzz.campaign.campaign._MAX_DEATHS", 3)
    given = [GOOD] * 2
    events = run("hostile:kills_always", hostile / "out", Budget(cases=10_000), given=given)
    assert signatures(events) == ["hostile:kills_always|live-crash|exit 3"]
    assert events[-1].reason == "hopeless"
    assert "stopped early" in as_table(events[-1], [])


def test_a_target_that_always_hangs_is_given_up_sooner(
    hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wirefence.fuzz.campaign.campaign._MAX_DEATHS_WITH_HANG", 2)
    budget = Budget(cases=10_000, patience=1.0)
    events = run("hostile:hangs_always", hostile / "out", budget)
    assert signatures(events) == ["hostile:hangs_always|live-hang:process|none"]
    assert events[-1].reason == "hopeless"


def test_only_deaths_in_a_row_are_hopeless(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    share = Share(0, 2, marker, given=(POISON, POISON, GOOD, POISON))
    counts = []
    for number, place in ((0, 1), (0, 1), (0, 2), (1, 0), (1, 1), (1, 5), (3, 0)):
        marker.write_bytes(struct.pack("<QQ", number, place))
        share = find_case_in_flight(Plan(("planted:healthy",)), share)[1]
        counts.append(share.deaths)
    assert counts == [1, 2, 1, 2, 3, 1, 1]


def test_a_target_that_cannot_be_used_is_told_by_its_own_words(hostile: Path) -> None:
    with pytest.raises(TargetError, match="no luck today"):
        run("hostile:raises", hostile / "out", Budget(cases=2))


def test_equal_seeds_give_equal_findings_and_tallies_whatever_the_workers(tmp_path: Path) -> None:
    ends = []
    for name, workers in (("a", 1), ("b", 1), ("c", 2)):
        events = run("planted:acts-twice", tmp_path / name, Budget(cases=70, workers=workers))
        ends.append((set(signatures(events)), asdict(events[-1].tally)))
    assert ends[0] == ends[1] == ends[2]
    assert ends[0][0] == {"planted:acts-twice|act-twice|none"}
    assert ends[0][1]["cases"] == 70


def test_given_cases_meet_the_same_gateways_whatever_the_workers(tmp_path: Path) -> None:
    given = [GOOD] * 6
    plan = Plan(("planted:healthy", "planted:acts-twice"))
    tallies = []
    for workers in (1, 2):
        events: list[Event] = []
        budget = Budget(cases=1, workers=workers)
        run_campaign(plan, budget, tmp_path / str(workers), events.append, given=given)
        tallies.append(asdict(events[-1].tally))
    assert tallies[0] == tallies[1]


def test_known_signatures_are_not_found_again(tmp_path: Path) -> None:
    known = frozenset({"planted:acts-twice|act-twice|none"})
    assert not signatures(run("planted:acts-twice", tmp_path, Budget(cases=64), known=known))
    assert not list(tmp_path.iterdir())


def test_a_restart_goes_on_behind_the_given_case_that_was_deadly(tmp_path: Path) -> None:
    cases = [case_from_bytes(b"%d\n" % number) for number in range(5)]
    share = Share(1, 2, tmp_path / "marker", given=tuple(cases), given_at=1)
    share.marker.write_bytes(struct.pack("<QQ", 0, 2))
    victim = find_case_in_flight(Plan(), share)
    assert victim is not None
    assert victim[0] == cases[1]
    assert (victim[1].given, victim[1].given_at) == (tuple(cases[2:]), 5)
    share.marker.write_bytes(UNBEGUN)
    assert find_case_in_flight(Plan(), share) is None


def test_a_restart_goes_on_behind_the_generated_case_that_was_deadly(tmp_path: Path) -> None:
    share = Share(0, 2, tmp_path / "marker", given=(GOOD,))
    share.marker.write_bytes(struct.pack("<QQ", 3, 5))
    victim = find_case_in_flight(Plan(seed=9), share)
    assert victim is not None
    assert victim[0] == list(generate_block(9, 2, VERSIONS))[5]
    assert (victim[1].first, victim[1].skip, victim[1].given) == (2, 6, ())


def test_a_process_that_does_not_end_is_ended() -> None:
    process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    process.start()
    assert wait_for_exit(process, 0.1) == "SIGKILL"
    assert not process.is_alive()
