"""A server that is lost while a run lasts: what was found is told, and why there is not more."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from wirefence.fuzz import cli
from wirefence.fuzz.gate.records import FlawFound, Report, RunStarted
from wirefence.fuzz.gate.report.baseline import Baseline
from wirefence.fuzz.gate.report.junit import format_junit
from wirefence.fuzz.gate.report.markdown import format_markdown
from wirefence.fuzz.gate.report.sarif import format_sarif
from wirefence.fuzz.gate.report.text import decide_verdict, format_json, format_table
from wirefence.fuzz.gate.run import run_gate
from wirefence.fuzz.gate.server.fresh import FreshServers, prepare_trial
from wirefence.fuzz.gate.server.pipelined import PipelinedServer
from wirefence.fuzz.gate.triage import Triage
from wirefence.fuzz.gate.trials.skipped import explain_gap
from wirefence.targets.errors import TargetError

TOOL = ("--tool", "record", "--args", '{"action":"{nonce}"}', "--effects", "files")


class Sign:
    """The event that a living server has shown something."""


def script(made, path: Path) -> Path:
    """The server behind a program of its own, which can be taken away."""
    path.write_text(f"#!/bin/sh\nexec {shlex.join(made.launch.argv)}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def vanishing(bench, tmp_path):
    """A run whose server can't be started any more once an event of a kind has come."""

    def run(fault: str, kind: type) -> Report:
        made = bench(fault)
        program = script(made, tmp_path / "server")
        launch = replace(made.launch, argv=(str(program),))

        def listen(event: object) -> None:
            if isinstance(event, kind):
                program.unlink(missing_ok=True)

        options = replace(made.options, policy="continue")
        return run_gate(launch, options, "quick", tmp_path / "out", listen, seconds=600.0)

    return run


def test_what_was_found_before_the_server_was_lost_is_told(vanishing):
    report = vanishing("Prints", FlawFound)
    assert (report.reason, decide_verdict(report)) == ("lost", "findings")
    [flaw] = report.flaws
    assert flaw.finding.rule == "out-not-json"
    assert Path(flaw.path).exists()
    assert report.gap.startswith("the run ended after ")
    assert "trials not run: there is no command '" in report.gap
    assert "ugly-debug-line" in report.tally.skipped["ugly before"]
    for form in (
        format_table(report),
        format_json(report),
        format_junit(report).decode(),
        format_sarif(report),
    ):
        assert "there is no command" in form
        assert "out-not-json" in form
    assert "there is no command" in format_markdown(report)


def test_a_run_that_lost_its_server_and_found_nothing_is_no_pass(vanishing):
    report = vanishing("Strict", RunStarted)
    assert (report.reason, decide_verdict(report), report.flaws) == ("lost", "none", ())
    assert decide_verdict(Baseline().mark_known(report)) == "none"


def test_what_a_living_server_showed_before_it_was_lost_is_told(vanishing, monkeypatch):
    """Nothing is started ahead, and nothing can be once there is a first sign of a fault."""
    original = Triage.add_suspect

    def suspect(self: Triage, *sign) -> None:
        original(self, *sign)
        self.listener(Sign())

    monkeypatch.setattr("wirefence.fuzz.gate.run.count_spares", lambda _facts: 0)
    monkeypatch.setattr(Triage, "add_suspect", suspect)
    report = vanishing("PrintsTracebacks", Sign)
    assert report.reason == "lost"
    assert [each.finding.effect for each in report.flaws] == ["out-not-json:text"]
    assert "wirefence-reference|reply-leak:traceback|none" in report.tally.pending


def test_a_server_that_was_ruined_for_good_is_a_finding(bench, tmp_path, monkeypatch, capsys):
    """State on disk: after a bad frame no process serves anybody any more."""
    made = bench("RuinsItself")
    monkeypatch.chdir(tmp_path)
    words = (*TOOL, "--policy", "continue", "--watch", str(made.folder), "--seconds", "600",
             "--format", "json", "--junit", "j.xml", "--", *made.launch.argv)  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["wirefence", "gate", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    told = json.loads(capsys.readouterr().out)
    assert ended.value.code == 1
    assert (told["reason"], told["verdict"]) == ("lost", "findings")
    assert "a fresh server answered no initialize and ended (exit code 3), though" in told["gap"]
    [said] = [each["summary"] for each in told["findings"] if each["rule"] == "live-crash"]
    assert said.startswith("a good session is no longer served: the target ended (exit code 3)")
    assert said.endswith("before its stdin ended: the database is malformed")
    [note] = told["notes"]
    assert note.startswith("Sent to the last server that ended or stopped answering: ")
    assert "ugly-debug-line" in note
    assert b"incomplete" in Path("j.xml").read_bytes()
    assert not list(Path(".wirefence/gate").glob(".running*"))


def test_a_start_is_waited_for_no_longer_than_the_run_was_given(bench, tmp_path, monkeypatch):
    labs: list[FreshServers] = []

    class Kept(FreshServers):
        def __init__(self, *words) -> None:
            super().__init__(*words)
            labs.append(self)

    def stop(_event: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("wirefence.fuzz.gate.run.FreshServers", Kept)
    made = bench()
    for seconds, patience in ((3.0, 20.0), (600.0, 30.0)):
        run_gate(made.launch, made.options, "quick", tmp_path / "out", stop, seconds=seconds)
        assert labs.pop().start_patience == patience
    silent = bench(command=("sh", "-c", "cat >/dev/null"), patience=0.2)
    lab = FreshServers(silent.launch, silent.options)
    lab.start_patience = 0.25
    with pytest.raises(TargetError, match=r"no initialize within 0\.25 s, though"):
        PipelinedServer(lab, silent.facts).ensure_running()
    seen = lab.run_trial(
        prepare_trial(silent.trial("good"), silent.facts.make_contract("strict")), silent.facts
    )
    assert seen.seconds < made.options.start_patience / 2


def test_a_cause_that_holds_a_secret_is_told_without_it(bench, tmp_path):
    made = bench()
    program = script(made, tmp_path / "server")
    launch = replace(made.launch, argv=(str(program),), env={"MY_TOKEN": "server"})

    def listen(event: object) -> None:
        program.unlink(missing_ok=True)

    options = replace(made.options, policy="continue", label="s")
    report = run_gate(launch, options, "quick", tmp_path / "out", listen, seconds=600.0)
    assert report.reason == "lost"
    assert "/***'" in report.gap


def test_a_gap_says_why_a_run_could_not_go_on():
    told = "the run ended after 3 s, with 2 trials not run: there is no command 'x'"
    assert explain_gap("lost", {"ugly before": ("a", "b")}, 3.0, "there is no command 'x'") == told
