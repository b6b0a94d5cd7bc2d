"""The command line as a process of its own: signals, closed streams, nothing left behind."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

import wirefence

ROOT = Path(wirefence.__file__).resolve().parents[2]
FEW = ("campaign", "--cases", "2", "--workers", "1")
LONG = ("campaign", "--seconds", "600", "--workers", "2")
ENDLESS = ("campaign", "--cases", "100000000", "--workers", "1")
"""Without the coverage-guided drivers, which take long to start."""

FEWER = """
import sys
from wirefence.fuzz import cli

def fewer(context, name, find=cli.cli.get_command):
    command = find(context, name)
    if name == "campaign":
        sys.modules["wirefence.fuzz.commands.campaign"]._HYPOTHESIS_CASES = 1
    return command

cli.cli.get_command = fewer
cli.main()
"""
WIREFENCE = (sys.executable, "-c", FEWER)
"""The command line with one of Hypothesis's cases, of which a hundred take longer than the rest."""

HANG = 180.0
"""Seconds after which a process is said to hang, on however busy a machine."""


def outside(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{folder}", "TMPDIR": str(folder)}


@pytest.fixture
def started(hostile: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start the command line as a terminal would: a process of its own, and of its own group."""
    with ExitStack() as stack:

        def start(*words: str) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(
                [*WIREFENCE, *words],
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
    ("end", "words"),
    [(signal.SIGINT, LONG), (signal.SIGTERM, ENDLESS), (signal.SIGHUP, ENDLESS)],
)
def test_ctrl_c_and_its_like_end_a_campaign_with_its_report(
    hostile: Path, started, end: int, words: tuple[str, ...]
) -> None:
    process = started(*words, "--target", "planted:acts-twice")
    assert wait_for(lambda: list(hostile.glob(".wirefence/findings/*/*.json")))
    for worker in children(process.pid):  # it is the parent's affair alone
        os.kill(worker, signal.SIGINT)
    time.sleep(1)
    os.kill(process.pid, end)
    out, err = process.communicate(timeout=HANG)
    assert process.returncode == 1
    assert b"1 new finding of 1 fault" in out
    assert b"(interrupted)" in out
    assert b"Traceback" not in err
    assert not list(hostile.glob("wirefence-*/*"))  # TMPDIR is here


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


@pytest.mark.parametrize("words", [("--help",), ("explain", "frame", "--target", "json")])
def test_a_reader_that_goes_away_changes_no_exit_code(hostile: Path, started, words) -> None:
    (hostile / "frame").write_bytes(b"1\n" * 3 + b"x" * 100_000)
    process = started(*words)
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=HANG)
    assert (process.returncode, err) == (0, b"")


@pytest.mark.parametrize(
    "rest",
    [
        "--target hostile:prints <&- >&-",
        "--target hostile:prints 2>&-",
        "--target hostile:prints <&- >&- 2>&-",
        "--target planted:healthy 2>/dev/full",
    ],
)
def test_closed_and_full_streams_change_no_exit_code(hostile: Path, rest: str) -> None:
    words = f"{shlex.join((*WIREFENCE, *FEW))} {rest}"
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


@pytest.mark.parametrize(
    "words", [("--help",), ("explain", "frame", "--target", "planted:healthy"), ("crashes", "list")]
)
def test_what_cannot_be_written_is_said(hostile: Path, words: tuple[str, ...]) -> None:
    (hostile / "frame").write_bytes(b"1\n")
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "wirefence", *words],
            cwd=hostile,
            env=outside(hostile),
            stdout=full,
            stderr=-1,
            timeout=HANG,
            check=False,
        )
    assert ran.returncode == 2
    (line,) = ran.stderr.decode().splitlines()
    assert line.startswith("wirefence: cannot write the report: No space left")


def test_any_command_that_is_told_to_end_says_so(tmp_path: Path) -> None:
    """SIGTERM is what Ctrl-C is, whether a command has anything to report or not."""
    code = (
        "import os, signal, sys; from wirefence.fuzz import cli\n"
        "cli.cli.invoke = lambda _: os.kill(os.getpid(), signal.SIGTERM)\n"
        "sys.argv = ['wirefence', 'minimize']; cli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.lstrip().startswith("wirefence: interrupted; ")
