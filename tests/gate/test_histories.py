"""What shows only after other trials is confirmed by them; what nothing shows again is no pass."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from wirefence.fuzz import cli
from wirefence.fuzz.gate.records import Report, SentHistory
from wirefence.fuzz.gate.replay import examine_command
from wirefence.fuzz.gate.report.baseline import Baseline, ExpectedFinding
from wirefence.fuzz.gate.report.junit import format_junit
from wirefence.fuzz.gate.report.markdown import format_markdown
from wirefence.fuzz.gate.report.sarif import format_sarif
from wirefence.fuzz.gate.report.text import decide_verdict, format_json, format_table
from wirefence.fuzz.gate.run import _SHRINK_SECONDS, run_gate
from wirefence.fuzz.gate.server.fresh import prepare_trial
from wirefence.fuzz.gate.server.history import join_history
from wirefence.fuzz.gate.server.trial_payload import TrialPayload
from wirefence.fuzz.gate.trials.schedule import Plan, Stage, plan_trials
from wirefence.fuzz.store.store import read_case

NAMES = (
    *("danger-nan", "quotes-single", "comma-trailing", "id-true", "id-null", "number-plus"),
    *("number-bare-dot", "number-dot-tail", "encoding-bom", "unknown-member", "id-object"),
    *("number-leading-zero", "ugly-two-objects", "confuse-jsonrpc"),
)


@pytest.fixture
def few(monkeypatch) -> None:
    """A dozen trials that a strict server refuses one by one."""

    def some(maker, budget, numbers, crashes) -> Plan:
        plan = plan_trials(maker, budget, numbers, crashes)
        every = [*plan.classic.warm, *plan.rest.warm]
        warm = {each.name: each for each in every if each.place == "after" and each.name in NAMES}
        return Plan(Stage(tuple(warm.values()), ()), Stage((), ()))

    monkeypatch.setattr("wirefence.fuzz.gate.run.plan_trials", some)
    monkeypatch.setitem(_SHRINK_SECONDS, "quick", 60.0)  # a busy machine has the time as well


def run(made, out: Path) -> Report:
    options = replace(made.options, policy="continue", label="s")
    nobody = lambda _: None  # noqa: E731
    return run_gate(made.launch, options, "quick", out, nobody, crashes=out, seconds=600.0)


@pytest.mark.parametrize(
    ("fault", "signature", "calls"),
    [
        ("PrintsAtThirdCall", "s|out-not-json:text|none", 3),
        ("PrintsAtTenthCall", "s|out-not-json:text|none", 10),
        ("LosesEverySeventh", "s|act-missing|none", 7),
    ],
)
@pytest.mark.usefixtures("few")
def test_what_one_call_of_many_brings_about_is_found_and_replays(
    bench, tmp_path, fault, signature, calls
):
    made = bench(fault)
    told = run(made, tmp_path / "out")
    assert [flaw.finding.signature for flaw in told.flaws] == [signature]
    assert decide_verdict(told) == "findings"
    assert told.tally.signs == {}
    [flaw] = told.flaws
    case = read_case(Path(flaw.path))
    assert case.data.count(b'"tools/call"') <= 3 * calls
    for _ in range(2):
        again = examine_command(case, made.launch, made.options.as_settings(), target="s")
        assert signature in {each.signature for each in again}


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("fault", ["Strict", "Chatty", "Overwrites"])
def test_a_healthy_server_passes(bench, tmp_path, fault):
    told = run(bench(fault), tmp_path / "out")
    assert (decide_verdict(told), told.flaws, told.tally.signs) == ("pass", (), {})


@pytest.mark.usefixtures("few")
def test_a_sign_that_cannot_be_shown_again_is_no_pass_and_has_its_bytes_everywhere(bench, tmp_path):
    told = run(bench("TakesNanOnce"), tmp_path / "out")
    assert told.flaws == ()
    assert list(told.tally.signs) == ["s|act-rejected|json-syntax:nan"]
    assert decide_verdict(told) == "none"
    assert told.gap == "1 sign of a fault could not be shown again in a fresh process"
    assert json.loads(format_json(told))["signs"][0]["sent_hex"]
    [error] = ET.fromstring(format_junit(told)).iter("error")
    for text in (format_table(told), format_markdown(told), format_sarif(told), error.text or ""):
        assert "NaN" in text
        assert "s|act-rejected|json-syntax:nan" in text
    entry = ExpectedFinding(
        "s|act-rejected|json-syntax:nan", "act-rejected", "x", "y", "2026-01-01"
    )
    assert decide_verdict(Baseline((entry,)).mark_known(told)) == "pass"


@pytest.mark.usefixtures("few")
def test_a_run_that_leaves_signs_exits_with_2(bench, tmp_path, monkeypatch, capsys):
    made = bench("TakesNanOnce")
    monkeypatch.chdir(tmp_path)
    tool = ("--tool", "record", "--args", '{"action":"{nonce}"}', "--policy", "continue")
    watch = ("--effects", "files", "--watch", str(made.folder), "--seconds", "600")
    monkeypatch.setattr(sys, "argv", ["wirefence", "gate", *tool, *watch, "--", *made.launch.argv])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr()
    assert ended.value.code == 2
    assert "no verdict: 1 sign of a fault could not be shown again" in said.err
    assert "NaN" in said.out


def test_trials_of_one_session_keep_names_of_their_own(bench):
    made = bench()
    contract = made.facts.make_contract("strict")
    trials = [prepare_trial(made.trial("good"), contract) for _ in range(3)]
    history = SentHistory()
    for each in trials:
        payload = TrialPayload.of(each, "2025-11-25")
        history.add_part(payload.number, payload.data)
    joined = join_history(trials[-1], history.list_before(trials[-1].trial.number))
    assert all(frame.accepted for frame in joined.judgement.frames)
    assert len(joined.owed) == 1 + 3 * 2
    assert len({call.arguments["action"] for call in joined.judgement.calls()}) == 3


def test_of_a_long_history_the_last_trials_are_kept():
    history = SentHistory()
    for number in range(5_000):
        history.add_part(number, b"x" * 100)
    kept = history.list_before(4_999)
    assert [part.number for part in kept] == list(range(4_999 - len(kept), 4_999))
    assert len(kept) == 1_023
    history.add_part(5_000, b"x" * (1 << 20))
    assert history.list_before(0)[0].number == 5_000
