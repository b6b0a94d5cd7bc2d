"""What looked wrong is run again once, within the time that is there, and never lost."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace

import pytest

from wirefence.fuzz.gate.confirm import Confirmed, Examined
from wirefence.fuzz.gate.records import Flaw, Seen, Tally
from wirefence.fuzz.gate.server.fresh import Lab, Ready, ready
from wirefence.fuzz.gate.server.verdicts import Charge
from wirefence.fuzz.gate.triage import Pursuit
from wirefence.oracles.records import finding
from wirefence.targets.errors import TargetError

ACTS, HANGS = "s|non-action|act-rejected|json-syntax", "s|liveness|live-hang|json-syntax"


def charge(signature: str) -> Charge:
    label, oracle, rule, kind = signature.split("|")
    return Charge(finding(oracle, rule, label, kind, "text"))


@dataclass
class Fresh:
    """Fresh processes that show what they are told to."""

    shows: tuple[str, ...] = (ACTS,)
    asked: list[str] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    hurries: int = 0
    deadline: float = math.inf
    share: float = math.inf

    @property
    def lab(self) -> Fresh:
        return self

    def hurry(self) -> None:
        self.hurries += 1

    def confirm(self, prepared: Ready, signature: str) -> list[Confirmed]:
        self.asked.append(signature)
        self.shares.append(self.share)
        return [Confirmed(charge(each), prepared, Seen(())) for each in self.shows]


class Hurried(Fresh):
    """Fresh processes that had no time to answer."""

    def confirm(self, prepared: Ready, signature: str) -> list[Confirmed]:
        return [Confirmed(charge(signature), prepared, Seen((), hurried=True))]


class Disk:
    """Where findings go."""

    def file(self, found: Confirmed, trials: tuple[str, ...], _launch: object) -> Flaw:
        said, case = found.charge.finding, found.prepared.trial.case
        return Flaw(said, trials[0], "after", case, b"", "", "", "", "", trials)


@dataclass
class Time:
    up: bool = False

    def __call__(self) -> bool:
        return self.up


@pytest.fixture
def trials(bench) -> list[Ready]:
    made = bench()
    names = ("ugly-debug-line", "danger-nan", "ugly-two-objects")
    return [ready(made.trial(name), made.facts.contract("strict")) for name in names]


def pursuit(fresh: Fresh, *, late: bool = False) -> Pursuit:
    return Pursuit(fresh, Disk(), lambda _event: None, Tally(), Time(late))


def test_the_second_sign_of_a_fault_costs_no_process(trials):
    fresh = Fresh()
    made = pursuit(fresh)
    for each in trials:
        made.suspect(each, ACTS)
    made.pursue()
    made.suspect(trials[0], ACTS)
    made.follow(trials[1], ACTS)
    made.pursue()
    assert fresh.asked == [ACTS]
    assert set(made.flaws[ACTS].trials) == {each.trial.name for each in trials}


def test_the_gravest_is_run_again_first(trials):
    fresh = Fresh(shows=(ACTS, HANGS))
    made = pursuit(fresh)
    for signature in ("s|reply|reply-twice|ping", HANGS, ACTS):
        made.suspect(trials[0], signature)
    made.pursue()
    assert fresh.asked == [ACTS, "s|reply|reply-twice|ping"]


def test_each_fault_has_its_share_of_the_time_that_is_left(trials):
    fresh = Fresh(shows=(), deadline=time.monotonic() + 100.0)
    made = pursuit(fresh)
    for signature in (ACTS, HANGS):
        made.suspect(trials[0], signature)
    made.pursue()
    assert 0 < fresh.shares[0] <= 50.0 < fresh.shares[1] <= 100.0
    assert fresh.share == math.inf


def test_what_there_is_no_time_for_is_told_apart_from_what_was_not_seen_again(trials):
    fresh = Fresh(shows=())
    made = pursuit(fresh)
    made.suspect(trials[0], HANGS)
    made.pursue()
    made.late.up = True
    made.suspect(trials[0], ACTS)
    made.suspect(trials[1], ACTS)
    made.pursue()
    assert fresh.asked == [HANGS]
    assert (made.flaws, made.tally.unconfirmed, made.tally.pending) == ({}, {HANGS: 1}, {ACTS: 2})


class Gone(Fresh):
    """Fresh processes that can't be started any more once the first fault was shown."""

    def confirm(self, prepared: Ready, signature: str) -> list[Confirmed]:
        if self.asked:
            raise TargetError("there is no command 's'")
        return super().confirm(prepared, signature)


def test_what_could_not_be_run_again_before_the_end_is_told(trials):
    made = pursuit(Gone())
    for each in trials[:2]:
        made.suspect(each, HANGS)
    made.suspect(trials[0], ACTS)
    with pytest.raises(TargetError):
        made.pursue()
    made.give_up()
    assert (list(made.flaws), made.tally.pending) == ([ACTS], {HANGS: 2})


def test_what_a_fresh_process_has_shown_is_filed_though_the_time_is_up(trials):
    fresh = Fresh()
    made = pursuit(fresh, late=True)
    made.follow(trials[0], ACTS, Examined(trials[0], Seen(()), [charge(ACTS)]))
    assert (fresh.asked, list(made.flaws), made.tally.pending) == ([], [ACTS], {})


def test_a_reply_that_was_not_given_its_time_is_no_finding(trials):
    made = pursuit(Fresh(), late=True)
    hurried = Examined(trials[0], Seen((), hurried=True), [charge(HANGS), charge(ACTS)])
    made.follow(trials[0], HANGS, hurried)
    made.follow(trials[0], ACTS, hurried)
    assert (list(made.flaws), made.tally.pending) == ([ACTS], {HANGS: 1})


def test_what_a_fresh_process_had_no_time_to_show_is_told(trials):
    made = pursuit(Hurried())
    made.follow(trials[0], HANGS)
    assert (list(made.flaws), made.tally.pending, made.tally.unconfirmed) == ([], {HANGS: 1}, {})


def test_a_server_that_died_needs_no_time_to_show_it(bench):
    made = bench("DiesOfBadJson")
    lab = Lab(made.launch, made.options)
    lab.deadline = time.monotonic()
    bad = ready(made.trial("ugly-debug-line"), made.facts.contract("strict"))
    seen = lab.run(bad, made.facts)
    assert (seen.ending, seen.hurried) == ("exited", False)


def test_once_a_server_is_known_to_hang_its_trials_wait_less(bench, trials):
    fresh = Fresh(shows=(HANGS,))
    pursuit(fresh).follow(trials[0], HANGS)
    assert fresh.hurries == 1
    made = bench(patience=20.0)
    lab = Lab(made.launch, made.options)
    lab.hurry()
    assert lab.patience() == 20.0
    assert lab.patience(full=False) < 2.0


def test_patience_ends_with_the_time_but_never_at_once(bench):
    made = bench(patience=20.0)
    lab = Lab(made.launch, made.options)
    lab.deadline = time.monotonic() - 1
    assert 0 < lab.patience() < 2.0
    brief = Lab(made.launch, replace(made.options, patience=0.2))
    brief.deadline = lab.deadline
    assert brief.patience() == 0.2
