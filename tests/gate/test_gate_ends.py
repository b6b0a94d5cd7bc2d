"""How a run ends: by its budget, by a signal, on a full disk."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from wirefence.fuzz import cli
from wirefence.fuzz.gate.confirm import Confirmed
from wirefence.fuzz.gate.records import Observation, Options
from wirefence.fuzz.gate.report.artifacts import ArtifactWriter
from wirefence.fuzz.gate.server.fresh import prepare_trial
from wirefence.fuzz.store.redaction import Redactor
from wirefence.fuzz.store.store import Store
from wirefence.oracles.records import make_finding
from wirefence.targets.command.records import Launch

ROOT = Path(__file__).resolve().parents[2]
MAIN = (
    "import signal; signal.signal(2, signal.default_int_handler); "
    "from wirefence.fuzz.cli import main; main()"
)
TOOL = ("--tool", "record", "--args", '{"action":"{nonce}"}', "--effects", "files")


def started(tmp_path: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, "gate", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_that_found_nothing_is_no_pass(bench, tmp_path, number):
    process = started(tmp_path, *TOOL, "--format", "json", "--", *bench().launch.argv)
    assert process.stderr is not None
    assert "trials planned" in process.stderr.readline()
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    told = json.loads(out)
    assert process.returncode == 2
    assert (told["reason"], told["verdict"]) == ("interrupted", "none")
    assert "wirefence: no verdict: the run was interrupted after" in err
    assert "trials not run" in err
    assert "ugly-two-objects" in told["skipped"]["ugly before"]
    assert list((tmp_path / ".wirefence" / "gate").iterdir()) == []


def test_an_interrupted_run_tells_what_it_found(bench, tmp_path):
    process = started(tmp_path, *TOOL, "--", *bench("Prints").launch.argv)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("FOUND"):
            break
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "NO PASS: the run was interrupted" in out
    [replay] = [line for line in out.splitlines() if line.strip().startswith("replay ")]
    words = shlex.split(replay)[1:]
    assert words[:2] == ["wirefence", "replay"]
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *words[1:]],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "STILL FAILING" in done.stdout


@pytest.mark.parametrize("name", ["transcript", "stderr"])
def test_a_finding_that_the_disk_does_not_take_is_still_one(bench, tmp_path, name):
    made = bench()
    trial = made.trial("good")
    prepared = prepare_trial(trial, made.facts.make_contract("strict"))
    said = make_finding("reply", "reply-twice", "s", "ping", "two replies")
    found = Confirmed(
        replace(said, offending=b"x"), prepared, Observation((b"x",), stderr=b"words")
    )
    store = Store(tmp_path / "out")
    filing = ArtifactWriter(store, made.launch, Options(), made.facts, Redactor())
    kept = filing.write_finding(found, ("good",))
    assert (filing.lost, Path(kept.path).exists()) == ([], True)
    beside = Path(getattr(kept, name))
    beside.unlink()
    beside.symlink_to("/dev/full")
    lost = filing.write_finding(found, ("good",))
    assert filing.lost == [f"not kept on disk: cannot write to {beside}: No space left on device"]
    assert (lost.finding, lost.path, lost.replay) == (kept.finding, "", "")


def test_what_a_finding_says_holds_no_secret(bench, tmp_path):
    made = bench()
    prepared = prepare_trial(made.trial("good"), made.facts.make_contract("strict"))
    said = make_finding("reply", "reply-twice", "s", "ping", 'after "sword\\"fish"')
    raw = b'sword"fish'
    found = Confirmed(replace(said, offending=raw), prepared, Observation((raw,), raw, stderr=raw))
    launch = Launch(("s",), {"X_TOKEN": raw.decode()})
    hide = Redactor.for_launch(launch, {})
    ArtifactWriter(Store(tmp_path), launch, Options(), made.facts, hide).write_finding(
        found, ("good",)
    )
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"fish" not in written
    assert written.count(b"***") >= 5


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("cat",), "sends its input back"),
        ((".",), "'.' is a folder"),
        (("",), "the command is empty"),
        (("sh", "-c", "exec <&-; sleep 99"), "closed its stdin"),
        (("sh", "-c", "yes 1>&2"), "last words on stderr: y"),
        (("sh", "-c", "yes"), "floods stdout"),
    ],
)
def test_a_command_that_is_no_server_is_told_in_a_sentence(
    tmp_path, monkeypatch, capsys, words, told
):
    monkeypatch.chdir(tmp_path)
    options = ("--start-patience", "2", "--effects", "http")
    monkeypatch.setattr(sys, "argv", ["wirefence", "gate", *options, "--", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (2, "")
    assert told in said.err
    assert len(said.err.strip().splitlines()) == 1
