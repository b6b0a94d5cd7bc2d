"""The gate from end to end: a clean bill, findings that replay, launches that fail."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from wirefence.fuzz import cli
from wirefence.fuzz.gate.records import FlawFound, NominatedTool, Options, Progress
from wirefence.fuzz.gate.replay import examine_command
from wirefence.fuzz.gate.report.text import format_json, format_table
from wirefence.fuzz.gate.run import run_gate
from wirefence.fuzz.gate.trials.schedule import Plan, Stage, plan_trials
from wirefence.fuzz.store.store import read_case
from wirefence.targets.command.records import Launch

SECONDS = 600.0
REFERENCE = Path(__file__).parent / "servers" / "reference.py"


def ignore(_event: object) -> None:
    """Nobody listens."""


def until_it_acts(event: object) -> None:
    """Ends the run, as Ctrl-C would, once what was to be found is on disk."""
    if isinstance(event, FlawFound) and event.flaw.finding.rule == "act-rejected":
        raise KeyboardInterrupt


@pytest.fixture
def few(monkeypatch) -> None:
    """A few of the classic inputs, for what becomes of findings and not for what shows them."""

    def some(*words) -> Plan:
        classic = plan_trials(*words).classic
        return Plan(Stage(classic.warm[::15], classic.cold[::15]), Stage((), ()))

    monkeypatch.setattr("wirefence.fuzz.gate.run.plan_trials", some)


def run(bench, out: Path, **more):
    options = Options(**{"nominee": NominatedTool("record", '{"action":"{nonce}"}'), "label": "s",
                         "effects": ("files",), "watch": (bench.folder,), "patience": 20.0,
                         **more})  # fmt: skip
    return run_gate(bench.launch, options, "quick", out, ignore, seconds=SECONDS)


def test_a_strict_and_silent_server_gets_a_clean_bill(bench, tmp_path):
    report = run(bench(), tmp_path / "out")
    assert [flaw.finding.signature for flaw in report.flaws] == []
    assert report.reason == "done"
    assert report.facts.policy == "continue"
    families = {family for family, _ in report.tally.attempts}
    assert {
        "ugly",
        "dangerous",
        "gates",
        "versions",
        "lifecycle",
        "encoding",
        "structure",
    } <= families
    assert not report.tally.unconfirmed
    assert "nothing found" in format_table(report)


def test_a_fault_is_shrunk_filed_and_shown_again_by_its_files(bench, tmp_path):
    split = bench("SplitsAtCr")
    out = tmp_path / "out"
    report = run_gate(split.launch, split.options, "quick", out, until_it_acts, seconds=SECONDS)
    assert report.reason == "interrupted"
    flaw = next(f for f in report.flaws if f.finding.rule == "act-rejected")
    assert {"nested-cr", "concat-cr", "space-cr"} & set(flaw.trials)
    again = examine_command(
        read_case(Path(flaw.path)),
        split.launch,
        split.options.as_settings(),
        target=report.facts.label,
    )
    assert flaw.finding.signature in {found.signature for found in again}
    assert "\\r" in Path(flaw.transcript).read_text()
    assert flaw.replay == f"wirefence replay {flaw.path}"
    told = json.loads(format_json(report))
    assert told["new"] == len(report.flaws)
    assert told["findings"][0]["sent_hex"]


def test_a_server_that_serves_no_call_is_told_before_anything_else(bench, tmp_path):
    """Not at the end: each trial waits for such a server, and a crowd would wait many times."""

    def second(event: object) -> None:
        if isinstance(event, Progress) and event.trials > 1:
            raise KeyboardInterrupt

    hangs = bench("HangsOnCalls", patience=1.0)
    report = run_gate(
        hangs.launch, hangs.options, "quick", tmp_path / "out", second, seconds=SECONDS
    )
    first = report.flaws[0]
    assert first.trials[0] == "good"
    assert "no answer to tools/call within" in first.finding.summary
    assert not [flaw for flaw in report.flaws if flaw.finding.oracle == "smoke"]


CLIENT = """\
import sys, time
print('{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}', flush=True)
sys.stdin.read()
"""


class TestTheCommand:
    @pytest.fixture
    def wirefence(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)

        def call(*words: str):
            monkeypatch.setattr(sys, "argv", ["wirefence", "gate", *words])
            with pytest.raises(SystemExit) as ended:
                cli.main()
            said = capsys.readouterr()
            return ended.value.code, said.out, said.err

        return call

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            (["no-such-command-wf"], "there is no command 'no-such-command-wf'"),
            ([__file__], "may not be executed"),
            (
                [sys.executable, "-c", "raise SystemExit('no config')"],
                "exited at once (exit code 1)",
            ),
            ([sys.executable, "-c", "raise SystemExit('no config')"], "no config"),
            ([sys.executable, "-c", "print('hello')"], "after printing b'hello\\n' on stdout"),
            ([sys.executable, "-c", "import time; time.sleep(99)"], "did not read its stdin"),
            ([sys.executable, "-c", "import sys; sys.stdin.read()"], "printed nothing"),
            (
                [sys.executable, "-c", "import sys; print('up', flush=True); sys.stdin.read()"],
                "answered no initialize",
            ),
            (
                [sys.executable, "-c", "import os, time; os.close(1); time.sleep(99)"],
                "closed its stdout",
            ),
            ([sys.executable, "-c", CLIENT], "put --client before the command"),
        ],
    )
    def test_a_launch_that_fails_is_one_sentence_and_exit_2(self, wirefence, words, told):
        code, out, err = wirefence("--start-patience", "5", "--effects", "http", "--", *words)
        assert (code, out) == (2, "")
        assert told in err
        assert len(err.strip().splitlines()) == 1

    @pytest.mark.parametrize(
        ("given", "more"),
        [
            (("--seconds", "2", "--patience", "1"), "within 2 s"),
            (("--seconds", "2", "--patience", "1"), "give --seconds"),
            (("--seconds", "1", "--patience", "2"), "within 2 s"),
            (("--start-patience", "2"), "give --start-patience"),
        ],
    )
    def test_a_silent_server_takes_no_longer_than_the_run_was_given(self, wirefence, given, more):
        words = [sys.executable, "-c", "import sys; sys.stdin.read()"]
        code, _, err = wirefence(*given, "--effects", "http", "--", *words)
        assert code == 2
        assert more in err

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            ((), "no command was given"),
            (("--args", '{"x":1}', "--", "true"), "--args without --tool"),
            (("--tool", "x", "--args", "[]", "--", "true"), "no JSON object"),
            (("--tool", "x", "--args", "{", "--", "true"), "no JSON"),
            (("--env", "=x", "--", "true"), "names no variable"),
            (("--seconds", "nan", "--", "true"), "is not a number of seconds"),
            (("--update-baseline", "--", "true"), "needs a file"),
            (("--baseline", "absent.json", "--", "true"), "there is no baseline"),
        ],
    )
    def test_a_mistake_of_the_user_is_one_sentence_and_exit_2(self, wirefence, words, told):
        code, out, err = wirefence(*words)
        assert (code, out) == (2, "")
        assert told in err
        assert err.startswith("wirefence: ")

    def test_a_tool_that_is_not_there_is_told_with_those_that_are(self, wirefence, bench):
        code, _, err = wirefence("--tool", "recrod", "--", *bench().launch.argv)
        assert code == 2
        assert "no tool 'recrod'" in err
        assert "record" in err.replace("recrod", "")

    @pytest.mark.usefixtures("few")
    def test_secrets_are_in_nothing_that_is_written(self, wirefence, bench, tmp_path):
        words = ("--env", "API_TOKEN=tok-abcdef-123", "--seconds", "600", "--effects", "files")
        argv = (*bench("Prints").launch.argv, "--password", "hunter2-hunter2")
        code, out, err = wirefence(*words, "--junit", "j.xml", "--sarif", "s.json", "--", *argv)
        written = [p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()]
        everything = b"".join([*written, out.encode(), err.encode()])
        assert code == 1
        assert b"API_TOKEN" in everything
        assert b"tok-abcdef" not in everything
        assert b"hunter2" not in everything

    @pytest.mark.usefixtures("few")
    def test_a_baseline_makes_what_is_expected_pass(self, wirefence, bench):
        words = ("--seconds", "600", "--effects", "files", "--baseline", "b.json")
        argv = bench("Prints").launch.argv
        assert wirefence(*words, "--update-baseline", "--", *argv)[0] == 0
        code, out, _ = wirefence(*words, "--", *argv)
        assert code == 0
        assert "In the baseline:" in out
        assert "(expected)" in out
        assert "reproducer" not in out

    @pytest.mark.usefixtures("few")
    def test_a_server_that_hangs_does_not_hang_the_gate(self, wirefence, bench):
        began = time.monotonic()
        code, out, _ = wirefence(
            "--seconds", "20", "--patience", "1", "--policy", "continue", "--effects", "files",
            "--", *bench("HangsOnBadJson").launch.argv,
        )  # fmt: skip
        assert code == 1
        assert "live-hang" in out
        assert time.monotonic() - began < 240


class TestSmoke:
    @pytest.mark.parametrize(
        ("fault", "signature"),
        [
            ("LosesAtEnd", "s|smoke-lost|none"),
            ("Stays", "s|smoke-exit:stays|none"),
            ("EndsBadly", "s|smoke-exit:status|exit code 3"),
        ],
    )
    def test_the_end_of_stdin_is_a_test_of_its_own(self, bench, fault, signature):
        made = bench(fault, patience=3.0)
        found = examine_command(
            made.trial("good").case, made.launch, made.options.as_settings(), target="s"
        )
        assert signature in {each.signature for each in found}

    def test_a_healthy_server_ends_in_order(self, bench):
        made = bench()
        case = made.trial("good").case
        assert examine_command(case, made.launch, made.options.as_settings(), target="s") == []

    def test_an_expected_tool_that_is_missing_is_found(self, bench):
        made = bench()
        settings = {**made.options.as_settings(), "expect-tool": "record,delete"}
        found = examine_command(made.trial("good").case, made.launch, settings, target="s")
        assert [each.signature for each in found] == ["s|smoke-tool|delete"]


def test_options_survive_being_kept_beside_a_reproducer():
    options = Options(
        "spec", "close", "2025-06-18", NominatedTool("a", '{"x":"{nonce}"}'), ("a", "b"), ("http",),
        (Path("x"), Path("y z")), 2.5, 7.0, label="s",
    )  # fmt: skip
    assert Options.from_settings(options.as_settings(), label="s") == options
    assert Options.from_settings({}) == Options()


@pytest.mark.usefixtures("few")
def test_the_reference_gateway_gets_a_clean_bill_under_either_policy(tmp_path):
    # A server that closes is started for each trial, and this one starts faster.
    silent = (sys.executable, str(REFERENCE), "2025-11-25", "close", "strict")
    whole = (sys.executable, "-m", "wirefence.targets.gateway", "--policy", "continue")
    for policy, argv in (("close", silent), ("continue", whole)):
        launch = Launch(argv)
        options = Options(effects=("http",), patience=20.0)
        report = run_gate(launch, options, "quick", tmp_path / policy, ignore, seconds=SECONDS)
        assert report.facts.policy == policy
        assert [flaw.finding.signature for flaw in report.flaws] == []
