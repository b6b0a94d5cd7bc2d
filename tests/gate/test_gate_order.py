"""What comes first: the classic inputs in a run, the gravest findings in a report."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path

from fuzz.gate.causes import Cause
from fuzz.gate.gravity import gravest_first, summed
from fuzz.gate.lab import Lab, ready
from fuzz.gate.plan import plan
from fuzz.gate.records import Flaw
from fuzz.gate.report import _skipped
from fuzz.gate.warm import Warm
from oracles.records import finding
from strategies.records import Case, Frame


def test_the_classic_inputs_come_before_the_vocabulary(bench):
    made = plan(bench().maker, "quick", count(1), Path("absent"))
    classic = [*made.classic.warm, *made.classic.cold]
    places = {(t.name, t.place) for t in classic if not isinstance(t, Cause)}
    ugly = {name for name, _ in places if name.startswith("ugly-")}
    assert len(ugly) == 5
    assert {(name, place) for name in ugly for place in ("before", "within", "after")} <= places
    assert {"danger-nan", "danger-id-true", "gate-no-id"} <= {name for name, _ in places}
    assert any(isinstance(item, Cause) for item in classic)
    assert not {t.family for t in classic if not isinstance(t, Cause)} - {
        "ugly",
        "dangerous",
        "gates",
    }


def test_families_have_their_turns_after_that(bench):
    made = plan(bench().maker, "quick", count(1), Path("absent"))
    families = [trial.family for trial in made.rest.warm]
    assert len(set(families[:8])) == 8
    assert any(isinstance(item, Cause) for item in made.rest.cold[:6])


def flaw(oracle: str, rule: str, kind: str = "k") -> Flaw:
    said = finding(oracle, rule, "srv", kind, "text")
    return Flaw(said, "t", "after", Case((Frame(b"x\n"),)), b"", "", "", "", "")


FLAWS = (
    flaw("reply", "reply-missing", "startup-verbose"),
    flaw("smoke", "smoke-lost"),
    flaw("transcript", "out-not-json"),
    flaw("reply", "reply-missing"),
    flaw("session", "session-state"),
    flaw("non-action", "act-rejected"),
)


def test_the_gravest_finding_comes_first_and_starts_come_last():
    assert gravest_first(FLAWS) == tuple(reversed(FLAWS))


def test_one_line_says_what_acted_and_what_became_unusable():
    assert summed(FLAWS) == "6 findings: 1 acted, 1 unusable, 4 other"
    assert summed(replace(each, known=True) for each in FLAWS) == "nothing found"
    assert summed(()) == "nothing found"


def test_what_the_budget_left_out_is_one_line():
    assert list(_skipped({"ugly before": 2, "ugly within": 3, "startup before": 1})) == [
        "not run, the budget was spent: startup 1, ugly 5"
    ]
    assert list(_skipped({})) == []


def test_a_fast_server_is_asked_once_although_windows_overlap(bench):
    made = bench()
    lab, warm = Lab(made.launch, made.options), Warm(Lab(made.launch, made.options), made.facts)
    alone: list[str] = []
    contract = made.facts.contract("strict")
    trials = [t for t in made.maker.damage(made.numbers, times=2) if t.warm and not t.case.cuts]
    small = [ready(t, contract) for t in trials if len(t.case.data) < 60_000]
    try:
        original = warm.alone
        warm.alone = lambda each, *more: (alone.append(each.trial.name), original(each, *more))[1]
        seen = list(warm.screen(small, lambda: False))
    finally:
        warm.close()
        lab.close()
    assert {prepared.trial.number for prepared, _ in seen} == {p.trial.number for p in small}
    assert alone == []
