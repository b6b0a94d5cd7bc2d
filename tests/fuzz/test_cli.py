"""The command line as a hostile stranger meets it: one sentence, the right code, no traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from fuzz import cli
from fuzz.commands import campaign
from oracles import quirks

ROOT = Path(cli.__file__).resolve().parent.parent
TWICE = ("campaign", "--cases", "64", "--workers", "1", "--target", "planted:acts-twice")
FEW = ("campaign", "--cases", "2", "--workers", "1")
LONG = ("campaign", "--seconds", "600", "--workers", "2")

HANG = 180.0
"""Seconds after which a process is said to hang, on however busy a machine."""


def outside(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT}:{folder}", "TMPDIR": str(folder)}


@pytest.fixture
def started(hostile: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start the command line as a terminal would: a process of its own, and of its own group."""
    with ExitStack() as stack:

        def start(*words: str) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(
                [sys.executable, "-m", "fuzz", *words],
                cwd=hostile,
                env=outside(hostile),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            stack.callback(ended, stack.enter_context(process))
            return process

        yield start


def ended(process: subprocess.Popen[bytes]) -> None:
    """A test that failed leaves nothing running."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def children(parent: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, ppid = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(ppid) == parent and state != "Z":
            found.append(int(stat.parent.name))
    return found


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition) -> bool:
    until = time.monotonic() + HANG
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def test_findings_exit_1_and_a_second_run_says_nothing_new_and_exits_0(wirefence) -> None:
    first = wirefence(*TWICE)
    assert first.code == 1
    assert "FOUND non-action act-twice in planted:acts-twice" in first.out
    again = wirefence(*TWICE)
    assert (again.code, again.out.splitlines()[0][:15]) == (0, "Nothing new in ")


def test_a_finding_names_a_command_that_shows_it_again(wirefence) -> None:
    said = wirefence(*TWICE).out
    (line,) = [line for line in said.splitlines() if line.strip().startswith("wirefence explain")]
    shown = wirefence(*line.split()[1:])
    assert shown.code == 1
    assert "act-twice" in shown.out


def test_a_healthy_target_exits_0(wirefence) -> None:
    assert wirefence(*FEW, "--target", "planted:healthy").code == 0


def test_json_goes_to_stdout_alone_and_progress_to_stderr(wirefence) -> None:
    ran = wirefence(*TWICE, "--format", "json")
    report = json.loads(ran.out)
    assert report["new"] == len(report["found"]) == 1
    assert ran.err.startswith("seed 0, 1 targets, 1 workers")


def test_what_targets_print_stays_out_of_the_report(hostile, started) -> None:
    (hostile / "frame").write_bytes(b"{}\n")
    loud = ("--target", "hostile:prints", "--format", "json")
    campaign = started(*FEW, *loud)
    explain = started("explain", "frame", *loud)
    for process in (campaign, explain):
        out, err = process.communicate(timeout=HANG)
        assert isinstance(json.loads(out), dict)
        assert b"LOUD" in err


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("nope", "there is no target 'nope'"),
        ("", "there is no target ''"),
        ("planted:nope", "there is no planted fault 'nope'"),
        ("no.such.module:factory", "cannot import no.such.module"),
        ("failing:factory", "cannot import failing: ZeroDivisionError"),
        ("leaving:factory", "a target ended the process (9)"),
        ("hostile:absent", "module hostile has no absent"),
        ("hostile:number", "hostile:number is int, not a factory"),
    ],
)
def test_a_target_that_cannot_be_loaded_exits_2(wirefence, target: str, sentence: str) -> None:
    for words in (FEW, ("explain", "hostile.py")):
        ran = wirefence(*words, "--target", target)
        assert (ran.code, ran.out) == (2, "")
        assert sentence in ran.err
        if target != "failing:factory":  # what it printed stands before our sentence
            ran.complaint()


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("hostile:raises", "its factory failed: RuntimeError: no luck today"),
        ("hostile:ends", "a target's factory ended the process"),
        ("hostile:text", "feed returned str"),
    ],
)
def test_a_target_that_cannot_start_exits_2(wirefence, target: str, sentence: str) -> None:
    for words in (FEW, ("explain", "hostile.py")):
        ran = wirefence(*words, "--target", target)
        assert (ran.code, ran.out) == (2, "")
        assert sentence in ran.err.splitlines()[-1]
        assert "Traceback" not in ran.err


def test_a_factory_of_nonsense_is_a_crash_of_every_case(wirefence) -> None:
    ran = wirefence(*FEW, "--target", "hostile:nonsense")
    assert ran.code == 1
    assert "AttributeError ended the reader" in ran.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--seconds", "1", "--cases", "1"), "--seconds and --cases were both given"),
        (("--seconds", "nan"), "nan is no number of seconds"),
        (("--seconds", "-1"), "-1.0 is not in the range"),
        (("--cases", "0"), "0 is not in the range"),
        (("--workers", "0"), "0 is not in the range"),
        (("--patience", "0"), "0.0 is not in the range"),
        (("--seed", "x"), "'x' is no seed"),
        (("--corpus", "absent"), "there is no corpus at absent"),
        (("--out", "hostile.py"), "cannot write to hostile.py: a file is in the way"),
        (("--out", "hostile.py/sub"), "cannot write to hostile.py/sub: a file is in the way"),
        (("--out", "/proc/none"), "cannot write to /proc/none"),
        (("--format", "xml"), "'xml' is not one of"),
        (("--nonsense",), "No such option"),
    ],
)
def test_wrong_usage_of_a_campaign_exits_2(wirefence, words, sentence: str) -> None:
    ran = wirefence("campaign", "--target", "json", *words)
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.complaint()


@pytest.mark.parametrize(
    "metadata", [b"", b"[]", b"{}", b'{"signature": 5}', b"\xff", b"[" * 100_000]
)
def test_damaged_metadata_in_out_exits_2_rather_than_forget_a_finding(
    wirefence, hostile: Path, metadata: bytes
) -> None:
    (hostile / "out/agreement").mkdir(parents=True)
    (hostile / "out/agreement/x.json").write_bytes(metadata)
    ran = wirefence(*FEW, "--target", "json", "--out", "out")
    assert ran.code == 2
    assert "out/agreement/x.json is not readable" in ran.complaint()


def test_a_finding_that_cannot_be_written_exits_2(wirefence, hostile: Path) -> None:
    (hostile / "out").mkdir()
    (hostile / "out/non-action").touch()
    ran = wirefence(*TWICE, "--out", "out")
    assert ran.code == 2
    assert ran.err.splitlines()[-1].startswith("wirefence: cannot write to out/non-action/act-")
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("absent",), "cannot read absent: No such file"),
        ((".",), "cannot read .: Is a directory"),
        (("bad.frame",), "the metadata beside bad.frame is not readable"),
        (("hostile.py", "--protocol", "1999-01-01"), "'1999-01-01' is not one of"),
        ((), "Missing argument 'FILE'"),
    ],
)
def test_wrong_usage_of_explain_exits_2(wirefence, hostile, words, sentence: str) -> None:
    (hostile / "bad.frame").write_bytes(b"1\n")
    (hostile / "bad.json").write_bytes(b'{"protocol": "2025-11-25", "cuts": [1.5]}')
    ran = wirefence("explain", "--target", "json", *words)
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.complaint()


def test_explain_takes_stdin_empty_binary_or_closed(wirefence) -> None:
    words = ("explain", "-", "--target", "orjson")
    assert wirefence(*words, stdin=b"").code == 0
    binary = wirefence(*words, stdin=b"\xff\x00\x1b[31m\xe2\x80\xae\n")
    assert binary.code == 0
    assert binary.out.replace("\n", "").isprintable()
    assert r"\x1b[31m" in binary.out
    closed = wirefence(*words, stdin=None)
    assert (closed.code, closed.complaint()[:27]) == (2, "wirefence: stdin is closed;")


def test_explain_exits_1_where_a_parser_differs(wirefence) -> None:
    text = b'{"a":1,"a":2}\n'
    ran = wirefence("explain", "-", "--target", "json", "--format", "json", stdin=text + b"NaN\n")
    content = json.loads(ran.out)
    assert [row["parsers"][0]["differs"] != "" for row in content["documents"]] == [False, True]
    assert ran.code == bool(content["findings"])


def test_explain_survives_a_target_that_kills_the_process(wirefence) -> None:
    ran = wirefence("explain", "-", "--target", "hostile:kills", stdin=b'"POISON"\n')
    assert ran.code == 1
    assert "live-crash in process: the process died (SIGKILL)" in ran.out
    assert "The judge on the session:\n    1  rpc-" in ran.out


def test_explain_does_not_wait_for_ever(wirefence) -> None:
    words = ("explain", "-", "--target", "hostile:hangs", "--patience", "0.5")
    ran = wirefence(*words, stdin=b"POISON\n")
    assert ran.code == 1
    assert "live-hang in process: no end of the case within 0.5 s" in ran.out


def test_a_fault_of_our_own_exits_3_and_asks_for_a_report(wirefence, monkeypatch) -> None:
    def broken(*_words: object, **_options: object) -> None:
        raise LookupError("of ours")

    monkeypatch.setattr("fuzz.commands.explain.explain_apart", broken)
    ran = wirefence("explain", "-", "--target", "json")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.strip().endswith("wirefence: LookupError: of ours; please report this")


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"quirks": 5, "versions": {}}'])
def test_quirks_without_a_readable_file_exit_2(
    wirefence, hostile: Path, monkeypatch, content: str
) -> None:
    (hostile / "quirks.json").write_text(content)
    load = quirks.load
    monkeypatch.setattr("fuzz.commands.quirks.probe", lambda: None)
    monkeypatch.setattr(quirks, "load", lambda: load(hostile / "quirks.json"))
    ran = wirefence("quirks")
    assert ran.code == 2
    assert "run with --write" in ran.complaint()


def test_no_words_at_all_show_the_help(wirefence) -> None:
    ran = wirefence()
    assert (ran.code, ran.out) == (2, "")
    assert "\nCommands:\n" in ran.err


@pytest.mark.parametrize("option", ["--corpus", "--out"])
def test_an_empty_path_does_not_mean_the_working_folder(wirefence, option: str) -> None:
    ran = wirefence(*FEW, option, "")
    assert (ran.code, ran.out) == (2, "")
    assert "the path is empty" in ran.complaint()


def test_a_corpus_that_is_neither_file_nor_folder_exits_2(wirefence, hostile: Path) -> None:
    os.mkfifo(hostile / "fifo")
    assert "neither file nor folder" in wirefence(*FEW, "--corpus", "fifo").complaint()


@pytest.mark.parametrize("word", ["9" * 5000, "\x1b[31mred", "two\nlines", "\ud800"])
def test_a_complaint_is_one_short_line_whatever_was_given(wirefence, word: str) -> None:
    for option in ("--seed", "--target", "--cases"):
        complaint = wirefence(*FEW, option, word).complaint()
        assert complaint.isprintable()
        assert len(complaint) < 900
        assert ".;" not in complaint


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ctrl_c_and_its_like_end_a_campaign_with_its_report(
    hostile: Path, started, end: int
) -> None:
    process = started(*LONG, "--target", "planted:acts-twice")
    assert wait_for(lambda: list(hostile.glob(".wirefence/findings/*/*.json")))
    for worker in children(process.pid):  # it is the parent's affair alone
        os.kill(worker, signal.SIGINT)
    time.sleep(1)
    os.kill(process.pid, end)
    out, err = process.communicate(timeout=HANG)
    assert process.returncode == 1
    assert b"1 new findings" in out
    assert b"(interrupted)" in out
    assert b"Traceback" not in err
    assert not list(hostile.glob("wirefence-*"))  # TMPDIR is here


def test_killing_the_parent_leaves_whole_findings_and_no_orphans(hostile: Path, started) -> None:
    hung = ("--target", "planted:acts-twice", "--target", "hostile:hangs_always")
    process = started(*LONG, *hung)
    try:
        assert wait_for((hostile / "hanging").exists)
        workers = children(process.pid)
        assert len(workers) >= 2
    finally:
        process.kill()
    _, err = process.communicate(timeout=HANG)
    assert wait_for(lambda: not any(map(runs, workers)))
    assert b"Traceback" not in err
    for metadata in hostile.glob(".wirefence/findings/*/*.json"):
        size = json.loads(metadata.read_bytes())["size"]
        assert metadata.with_suffix(".frame").stat().st_size == size


def test_a_reader_that_goes_away_changes_no_exit_code(hostile: Path, started) -> None:
    (hostile / "frame").write_bytes(b"1\n" * 3 + b"x" * 100_000)
    process = started("explain", "frame", "--target", "planted:healthy")
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=HANG)
    assert (process.returncode, err) == (0, b"")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_change_no_exit_code(hostile: Path, closed: str) -> None:
    words = f"{sys.executable} -m fuzz {' '.join(FEW)} --target hostile:prints {closed}"
    ran = subprocess.run(
        words,
        shell=True,
        cwd=hostile,
        env=outside(hostile),
        capture_output=True,
        timeout=HANG,
        check=False,
    )
    assert ran.returncode == 0
    assert b"Traceback" not in ran.stdout + ran.stderr


def test_a_report_that_cannot_be_written_is_said(hostile: Path) -> None:
    (hostile / "frame").write_bytes(b"1\n")
    words = [sys.executable, "-m", "fuzz", "explain", "frame", "--target", "planted:healthy"]
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            words,
            cwd=hostile,
            env=outside(hostile),
            stdout=full,
            stderr=-1,
            timeout=HANG,
            check=False,
        )
    assert ran.returncode == 2
    assert ran.stderr.decode().startswith("wirefence: cannot write the report: No space left")


def test_other_library_versions_are_said_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("fuzz.commands.campaign.library_versions", lambda: {"orjson": "0.0.1"})
    campaign._warn_of_other_versions()
    said = capsys.readouterr()
    assert "orjson 0.0.1" in said.err
    assert "wirefence quirks" in said.err
    assert said.out == ""


def test_the_probed_versions_are_not_spoken_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "fuzz.commands.campaign.library_versions", lambda: dict(quirks.load().versions)
    )
    campaign._warn_of_other_versions()
    assert capsys.readouterr().err == ""
