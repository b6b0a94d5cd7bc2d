"""What comes first: the classic inputs in a run, the gravest findings in a report."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import count
from pathlib import Path

from wirefence.fuzz.gate.records import Flaw, Trial
from wirefence.fuzz.gate.report.severity import sort_by_severity, summarize_counts
from wirefence.fuzz.gate.report.text import _skipped_lines
from wirefence.fuzz.gate.run import BUDGET_SECONDS, count_spares
from wirefence.fuzz.gate.server.fresh import FreshServers, prepare_trial
from wirefence.fuzz.gate.server.pipelined import PipelinedServer
from wirefence.fuzz.gate.trials.bad_inputs import VERSION_VALUES
from wirefence.fuzz.gate.trials.schedule import make_warm_trials, plan_trials
from wirefence.fuzz.gate.trials.skipped import OpenTrials, explain_gap
from wirefence.fuzz.gate.trials.startup_variants import VARIANTS, StartupVariant
from wirefence.oracles.records import make_finding
from wirefence.strategies.records import Case, Frame


def test_the_classic_inputs_come_before_the_vocabulary(bench):
    made = plan_trials(bench().maker, "quick", count(1), Path("absent"))
    classic = [*made.classic.warm, *made.classic.cold]
    places = {(t.name, t.place) for t in classic if not isinstance(t, StartupVariant)}
    ugly = {name for name, _ in places if name.startswith("ugly-")}
    assert len(ugly) == 5
    assert {(name, place) for name in ugly for place in ("before", "within", "after")} <= places
    assert {"danger-nan", "danger-id-true", "gate-no-id"} <= {name for name, _ in places}
    assert {t.family for t in classic if not isinstance(t, StartupVariant)} == {
        "ugly",
        "dangerous",
        "gates",
        "versions",
    }


def test_a_quick_look_needs_few_starts_for_all_that_is_known_to_go_wrong(bench):
    made = plan_trials(bench().maker, "quick", count(1), Path("absent"))
    cold = made.classic.cold
    families = [item.family if isinstance(item, Trial) else "startup" for item in cold]
    first = families.count("ugly")
    assert set(families[:first]) == {"ugly"}
    assert set(families[first : first + 3]) == {"gates", "versions", "startup"}
    namings = [item for item in cold if isinstance(item, Trial) and item.family == "versions"]
    tried = {part.name for item in namings for part in item.parts or (item,)}
    assert tried == {f"version-{name}" for name, _ in VERSION_VALUES}
    causes = [item for item in cold if isinstance(item, StartupVariant)]
    assert {part for item in causes for part in item.parts or (item,)} == set(VARIANTS)
    # One start in 0.45 s, as with eight at a time of a server that takes 3.6 s: 21 s are theirs.
    assert len(cold) * 0.45 < 0.7 * BUDGET_SECONDS["quick"]


def test_longer_budgets_try_each_alone(bench):
    cold = plan_trials(bench().maker, "release", count(1), Path("absent")).classic.cold
    assert not [item for item in cold if item.parts]
    assert {item for item in cold if isinstance(item, StartupVariant)} == set(VARIANTS)


def test_a_server_that_closes_gets_the_classic_inputs_first_too(bench):
    made = plan_trials(bench("Closes", policy="close").maker, "quick", count(1), Path("absent"))
    cold = made.classic.all_cold()
    assert len(cold) == len(made.classic)
    assert [item.family for item in cold[:15]] == ["ugly"] * 15
    assert not [item for item in cold if isinstance(item, Trial) and item.parts]


def test_starts_that_only_wait_wait_beside_each_other(bench, monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2, 3})
    facts = bench().facts
    starts = [(0.05, 0.05), (1.5, 0.05), (1.5, 1.5), (1.5, 0.75), (0.6, 0.0), (0.0, 0.0)]
    took = [replace(facts, startup=wall, startup_cpu=cpu) for wall, cpu in starts]
    assert [count_spares(each) for each in took] == [2, 8, 4, 8, 4, 2]


def test_nothing_found_is_no_pass_before_every_classic_input_was_sent(bench):
    todo, made = OpenTrials(), plan_trials(bench().maker, "quick", count(1), Path("absent"))
    every = [*made.classic.warm, *made.classic.cold]
    todo.add_planned([*every, *made.rest.warm])
    for item in every:
        assert explain_gap("budget", todo.list_names(), 30.0)
        todo.mark_done(item)
        if not any(name.startswith("ugly") for name in todo.list_names()):
            break
    assert explain_gap("budget", todo.list_names(), 30.0) == ""
    assert "structure after" in todo.list_names()
    left = sum(map(len, todo.list_names().values()))
    told = f"the run was interrupted after 3 s, with {left} trials not run"
    assert explain_gap("interrupted", todo.list_names(), 3.0) == told


def test_families_have_their_turns_after_that(bench):
    made = plan_trials(bench().maker, "quick", count(1), Path("absent"))
    families = [trial.family for trial in made.rest.warm]
    assert len(set(families[:8])) == 8


def test_what_pauses_has_one_turn_in_a_few_and_everything_else_has_each(bench):
    made = Counter(trial.name for trial in make_warm_trials(bench().maker, 1, count(1)))
    pausing = {"chunk-every-byte", "chunk-some-cuts", "chunk-one-cut"}
    assert {made[name] for name in pausing} == {1}
    assert made["id-true"] == made["concat-nothing"] == 4


def flaw(oracle: str, rule: str, kind: str = "k") -> Flaw:
    said = make_finding(oracle, rule, "srv", kind, "text")
    return Flaw(said, "t", "after", Case((Frame(b"x\n"),)), b"", "", "", "", "")


FLAWS = (
    flaw("reply", "reply-missing", "startup-verbose"),
    flaw("smoke", "smoke-lost"),
    flaw("transcript", "out-not-json"),
    flaw("reply", "reply-missing", "none"),
    flaw("session", "session-state", "json-syntax:nan"),
    flaw("non-action", "act-rejected", "rpc-id:null"),
)


def test_the_gravest_finding_comes_first_and_starts_come_last():
    assert sort_by_severity(FLAWS) == tuple(reversed(FLAWS))


def test_one_line_says_what_acted_and_what_became_unusable():
    some = (*FLAWS[1:3], FLAWS[-1], flaw("liveness", "live-crash", "SIGSEGV"))
    assert summarize_counts(some) == "4 faults: 1 acted, 1 unusable, 2 other"
    assert summarize_counts(replace(each, known=True) for each in FLAWS) == "nothing found"
    assert summarize_counts(()) == "nothing found"


def test_what_was_left_out_is_named():
    many = tuple("abcdefgh")
    assert list(_skipped_lines({"ugly before": ("x", "y"), "startup before": many})) == [
        "not run: 10 trials",
        "  startup, before: a, b, c, d, e, f and 2 more",
        "  ugly, before: x, y",
    ]
    assert list(_skipped_lines({})) == []


def test_a_fast_server_is_asked_once_although_windows_overlap(bench):
    made = bench()
    lab, warm = (
        FreshServers(made.launch, made.options),
        PipelinedServer(FreshServers(made.launch, made.options), made.facts),
    )
    alone: list[str] = []
    contract = made.facts.make_contract("strict")
    trials = [
        t for t in made.maker.make_damaged(made.numbers, times=2) if t.warm and not t.case.cuts
    ]
    small = [prepare_trial(t, contract) for t in trials if len(t.case.data) < 60_000]
    try:
        original = warm.send_alone
        warm.send_alone = lambda each, *more: (
            alone.append(each.trial.name),
            original(each, *more),
        )[1]
        seen = list(warm.screen_trials(small, lambda: False))
    finally:
        warm.close()
        lab.close()
    assert {prepared.trial.number for prepared, _ in seen} == {p.trial.number for p in small}
    assert alone == []


def test_classic_inputs_that_are_left_are_counted_in_the_singular_too():
    assert "1 of the classic inputs was sent: a" in explain_gap(
        "budget", {"ugly before": ("a",)}, 3.0
    )
    assert "inputs were sent: a" in explain_gap("budget", {"ugly before": ("a", "b")}, 3.0)
