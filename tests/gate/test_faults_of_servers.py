"""A report counts faults; a baseline accepts what was seen, and never a rule."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import pytest

from tests.gate.conftest import SERVER
from tests.gate_outputs.reports import flaw, report
from wirefence.fuzz.gate.records import Report
from wirefence.fuzz.gate.report.baseline import Baseline
from wirefence.fuzz.gate.report.faults import group_flaws
from wirefence.fuzz.gate.report.junit import format_junit
from wirefence.fuzz.gate.report.markdown import format_markdown
from wirefence.fuzz.gate.report.sarif import format_sarif
from wirefence.fuzz.gate.report.text import decide_verdict, format_json, format_table
from wirefence.fuzz.gate.run import run_gate
from wirefence.fuzz.gate.trials.schedule import Plan, Stage, plan_trials

TRIALS = {
    "trailing-comma": "comma-trailing",
    "nan": "danger-nan",
    "single-quotes": "quotes-single",
    "bom": "encoding-bom",
    "utf8": "encoding-bare-continuation",
    "minus-zero": "id-minus-zero",
    "fraction": "id-integral-fraction",
    "boolean": "id-true",
    "null": "id-null",
    "hybrid": "danger-hybrid",
    "padded-name": "danger-name-padded",
    "cr-line-end": "space-crlf",
    "plus": "number-plus",
    "cr-separator": "nested-cr",
}
"""Leniencies of ``lenient.py``, each with a trial that shows it."""
SYNTAX = (
    *("number-bare-dot", "number-dot-tail", "number-bare-exponent", "number-hexadecimal"),
    *("number-infinity", "number-leading-zero", "danger-nan", "number-minus-dot"),
    *("number-minus-leading-zero", "number-plus", "quotes-single", "comma-trailing"),
    "ugly-debug-line",
)
"""Trials of thirteen deviations that are all no JSON."""


def judged(bench, *leniencies: str, asked: tuple[str, ...] = tuple(TRIALS)) -> Report:
    """What a server with some leniencies does with the trials of these or others."""
    command = (sys.executable, "-S", str(SERVER.with_name("lenient.py")))
    made = bench(command=command, words=leniencies, patience=3.0)
    found = [each for kind in asked for each in made.find(made.trial(TRIALS[kind]))[1]]
    return report(*(replace(flaw(), finding=each) for each in found))


def accepted(told: Report) -> Baseline:
    return Baseline().update_from(told, "2026-01-01")


@pytest.mark.parametrize(
    ("before", "later"),
    [
        ("minus-zero", ("fraction", "boolean", "null")),
        ("cr-line-end", ("cr-separator",)),
        ("cr-separator", ("minus-zero",)),
    ],
)
def test_a_baseline_that_accepts_one_leniency_accepts_no_other(bench, before, later):
    asked = (before, *later)
    first = judged(bench, before, asked=asked)
    known = accepted(first)
    assert decide_verdict(known.mark_known(first)) == "pass"
    for other in later:
        told = known.mark_known(judged(bench, before, other, asked=asked))
        new = [each.title.finding for each in group_flaws(told.flaws, known=False)]
        assert [each.effect for each in new] == ["act-rejected"], other
        assert decide_verdict(told) == "findings"


def test_twelve_leniencies_are_twelve_faults_and_one_more_is_new(bench):
    twelve = tuple(TRIALS)[:12]
    told = judged(bench, *twelve)
    assert len(group_flaws(told.flaws)) == 12
    assert len(json.loads(format_json(told))["faults"]) == 12
    known = accepted(told)
    assert decide_verdict(known.mark_known(told)) == "pass"
    worse = known.mark_known(judged(bench, *twelve, "plus"))
    assert decide_verdict(worse) == "findings"
    [new] = group_flaws(worse.flaws, known=False)
    assert new.title.finding.deviation == "json-syntax:plus"


def test_a_strict_server_is_lenient_in_nothing(bench):
    assert judged(bench).flaws == ()


def test_one_crash_by_thirteen_deviations_is_one_fault_with_thirteen_lines(
    bench, tmp_path, monkeypatch
):
    def chosen(maker, budget, numbers, crashes) -> Plan:
        stage = plan_trials(maker, budget, numbers, crashes)
        every = [*stage.classic.warm, *stage.rest.warm]
        warm = {each.name: each for each in every if each.place == "after" and each.name in SYNTAX}
        return Plan(Stage(tuple(warm.values()), ()), Stage((), ()))

    monkeypatch.setattr("wirefence.fuzz.gate.run.plan_trials", chosen)
    made = bench("DiesOfSyntax")
    options = replace(made.options, policy="continue")
    out, nobody = tmp_path / "out", lambda _: None
    told = run_gate(made.launch, options, "quick", out, nobody, crashes=out, seconds=600.0)
    [fault] = group_flaws(told.flaws)
    assert fault.title.finding.deviation == "exit code 1: line N: no JSON"
    lines = list(fault.list_lines())
    assert {each.trial for each in lines} == set(SYNTAX)
    assert len({each.deviation for each in lines}) == len(lines) == 13
    forms = (format_table, format_markdown, format_json, format_sarif, format_junit)
    for form in forms:
        made_text = form(told)
        text = made_text.decode() if isinstance(made_text, bytes) else made_text
        assert all(each.deviation in text for each in lines), form
    assert format_table(told).count("also        sent ") == 13


def test_further_findings_of_a_fault_are_lines_below_its_title():
    acted, answered = flaw(kind="json-syntax:nan"), flaw("reply-to-rejected", "json-syntax:nan")
    lost = flaw("session-resync", "frame-cr:separator")
    told = report(lost, answered, acted)
    [fault, other] = group_flaws(told.flaws)
    assert [each.title for each in (fault, other)] == [lost, acted]
    assert [each.describe_line() for each in other.list_lines()] == [
        "reply-to-rejected json-syntax:nan (cr-frame)"
    ]
    text = format_table(told)
    assert "2. non-action act-rejected: acted" in text
    assert "also        reply-to-rejected json-syntax:nan (cr-frame)" in text
    assert "- also: `reply-to-rejected json-syntax:nan (cr-frame)`" in format_markdown(told)
