"""What looked wrong is run again once, within the time that is there, and never lost."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace

import pytest

from wirefence.fuzz.gate.confirm import Confirmed, Examined
from wirefence.fuzz.gate.records import Flaw, Observation, Tally
from wirefence.fuzz.gate.server.fresh import FreshServers, PreparedTrial, prepare_trial
from wirefence.fuzz.gate.triage import Triage, _order_by_fault
from wirefence.oracles.records import Finding, make_finding, rule_of
from wirefence.oracles.rules import ORACLE_OF
from wirefence.targets.errors import TargetError

ACTS, HANGS = "s|act-rejected|json-syntax:nan", "s|live-hang|json-syntax:nan"


def finding(signature: str) -> Finding:
    label, effect, deviation = signature.split("|")
    return make_finding(ORACLE_OF[rule_of(signature)], effect, label, deviation, "text")


SEEN = Observation(())


def examined(trial: PreparedTrial, *signatures: str) -> Examined:
    """What a fresh process showed."""
    return Examined(trial, Observation((), fresh=True), [finding(each) for each in signatures])


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
    def servers(self) -> Fresh:
        return self

    def shorten_patience(self) -> None:
        self.hurries += 1

    def confirm_with_history(self, *_: object) -> None:
        return None

    def confirm_in_fresh_process(self, prepared: PreparedTrial, signature: str) -> list[Confirmed]:
        self.asked.append(signature)
        self.shares.append(self.share)
        return [Confirmed(finding(each), prepared, Observation(())) for each in self.shows]


class Hurried(Fresh):
    """Fresh processes that had no time to answer."""

    def confirm_in_fresh_process(self, prepared: PreparedTrial, signature: str) -> list[Confirmed]:
        return [Confirmed(finding(signature), prepared, Observation((), hurried=True))]


class Disk:
    """Where findings go."""

    def write_finding(self, found: Confirmed, trials: tuple[str, ...], _launch: object) -> Flaw:
        said, case = found.finding, found.prepared.trial.case
        return Flaw(said, trials[0], "after", case, b"", "", "", "", "", trials)


@dataclass
class Time:
    up: bool = False

    def __call__(self) -> bool:
        return self.up


@pytest.fixture
def trials(bench) -> list[PreparedTrial]:
    made = bench()
    names = ("ugly-debug-line", "danger-nan", "ugly-two-objects")
    return [prepare_trial(made.trial(name), made.facts.make_contract("strict")) for name in names]


def triage(fresh: Fresh, *, late: bool = False) -> Triage:
    return Triage(fresh, Disk(), lambda _event: None, Tally(), Time(late))


def test_the_second_sign_of_a_fault_costs_no_process(trials):
    fresh = Fresh()
    made = triage(fresh)
    for each in trials:
        made.add_suspect(each, finding(ACTS), SEEN)
    made.confirm_suspects()
    made.add_suspect(trials[0], finding(ACTS), SEEN)
    made.confirm_sign(trials[1], finding(ACTS), examined(trials[1], ACTS))
    made.confirm_suspects()
    assert fresh.asked == [ACTS]
    assert set(made.flaws[ACTS].trials) == {each.trial.name for each in trials}


def test_the_gravest_is_run_again_first(trials):
    fresh = Fresh(shows=(ACTS, HANGS))
    made = triage(fresh)
    for signature in ("s|reply-twice|none", HANGS, ACTS):
        made.add_suspect(trials[0], finding(signature), SEEN)
    made.confirm_suspects()
    assert fresh.asked == [ACTS, "s|reply-twice|none"]


def test_each_fault_has_its_share_of_the_time_that_is_left(trials):
    fresh = Fresh(shows=(), deadline=time.monotonic() + 100.0)
    made = triage(fresh)
    for signature in (ACTS, HANGS):
        made.add_suspect(trials[0], finding(signature), SEEN)
    made.confirm_suspects()
    assert 0 < fresh.shares[0] <= 50.0 < fresh.shares[1] <= 100.0
    assert fresh.share == math.inf


def test_what_there_is_no_time_for_is_told_apart_from_what_was_not_seen_again(trials):
    fresh = Fresh(shows=())
    made = triage(fresh)
    made.add_suspect(trials[0], finding(HANGS), SEEN)
    made.confirm_suspects()
    made.is_time_spent.up = True
    made.add_suspect(trials[0], finding(ACTS), SEEN)
    made.add_suspect(trials[1], finding(ACTS), SEEN)
    made.confirm_suspects()
    assert fresh.asked == [HANGS]
    assert (made.flaws, made.tally.unconfirmed, made.tally.pending) == ({}, {HANGS: 1}, {ACTS: 2})


class Gone(Fresh):
    """Fresh processes that can't be started any more once the first fault was shown."""

    def confirm_in_fresh_process(self, prepared: PreparedTrial, signature: str) -> list[Confirmed]:
        if self.asked:
            raise TargetError("there is no command 's'")
        return super().confirm_in_fresh_process(prepared, signature)


def test_what_could_not_be_run_again_before_the_end_is_told(trials):
    made = triage(Gone())
    for each in trials[:2]:
        made.add_suspect(each, finding(HANGS), SEEN)
    made.add_suspect(trials[0], finding(ACTS), SEEN)
    with pytest.raises(TargetError):
        made.confirm_suspects()
    made.count_pending()
    assert (list(made.flaws), made.tally.pending) == ([ACTS], {HANGS: 2})


def test_what_a_fresh_process_has_shown_is_filed_though_the_time_is_up(trials):
    fresh = Fresh()
    made = triage(fresh, late=True)
    made.confirm_sign(trials[0], finding(ACTS), examined(trials[0], ACTS))
    assert (fresh.asked, list(made.flaws), made.tally.pending) == ([], [ACTS], {})


def test_a_reply_that_was_not_given_its_time_is_no_finding(trials):
    made = triage(Fresh(), late=True)
    hurried = Examined(trials[0], Observation((), hurried=True), [finding(HANGS), finding(ACTS)])
    made.confirm_sign(trials[0], finding(HANGS), hurried)
    made.confirm_sign(trials[0], finding(ACTS), hurried)
    assert (list(made.flaws), made.tally.pending) == ([ACTS], {HANGS: 1})


def test_what_a_fresh_process_had_no_time_to_show_is_told(trials):
    made = triage(Hurried())
    made.confirm_sign(trials[0], finding(HANGS), examined(trials[0], HANGS))
    assert (list(made.flaws), made.tally.pending, made.tally.unconfirmed) == ([], {HANGS: 1}, {})


def test_a_server_that_died_needs_no_time_to_show_it(bench):
    made = bench("DiesOfBadJson")
    lab = FreshServers(made.launch, made.options)
    lab.deadline = time.monotonic()
    bad = prepare_trial(made.trial("ugly-debug-line"), made.facts.make_contract("strict"))
    seen = lab.run_trial(bad, made.facts)
    assert (seen.ending, seen.hurried) == ("exited", False)


def test_once_a_server_is_known_to_hang_its_trials_wait_less(bench, trials):
    fresh = Fresh(shows=(HANGS,))
    triage(fresh).confirm_sign(trials[0], finding(HANGS), examined(trials[0], HANGS))
    assert fresh.hurries == 1
    made = bench(patience=20.0)
    lab = FreshServers(made.launch, made.options)
    lab.shorten_patience()
    assert lab.reply_patience() == 20.0
    assert lab.reply_patience(full=False) < 2.0


def test_patience_ends_with_the_time_but_never_at_once(bench):
    made = bench(patience=20.0)
    lab = FreshServers(made.launch, made.options)
    lab.deadline = time.monotonic() - 1
    assert 0 < lab.reply_patience() < 2.0
    brief = FreshServers(made.launch, replace(made.options, patience=0.2))
    brief.deadline = lab.deadline
    assert brief.reply_patience() == 0.2


def test_one_sign_of_each_fault_comes_before_the_second_of_any():
    signs = [
        ("act-rejected", "rpc-id:fraction"),
        ("act-rejected", "rpc-id:exponent"),
        ("act-rejected", "json-syntax:infinity"),
        ("reply-to-rejected", "json-syntax:nan"),
        ("live-crash", "exit code 1: KeyError"),
        ("reply-leak:traceback", "none"),
    ]
    found = [make_finding(ORACLE_OF[e.partition(":")[0]], e, "s", d, "") for e, d in signs]
    assert _order_by_fault(found) == [
        "s|act-rejected|rpc-id:fraction",
        "s|act-rejected|json-syntax:infinity",
        "s|live-crash|exit code 1: KeyError",
        "s|reply-leak:traceback|none",
        "s|act-rejected|rpc-id:exponent",
        "s|reply-to-rejected|json-syntax:nan",
    ]
