"""Set-up with real processes: its log, its signals, its lock, and pip without a package."""

from __future__ import annotations

import fcntl
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts import bootstrap
from scripts.bootstrap import Step

ROOT = Path(__file__).resolve().parents[2]

UNTIL_THE_TEST_ENDS = "touch started; while [ -e started ]; do sleep 0.05; done"
"""A step that does not end by itself, and that a failed test leaves no process of."""


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[bootstrap.Environment]:
    """A copy of what set-up reads, with an empty environment."""
    for name in bootstrap.SOURCES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / ".venv").mkdir()
    yield bootstrap.Environment(tmp_path)
    (tmp_path / "started").unlink(missing_ok=True)


@pytest.fixture
def lock(tmp_path: Path):
    with (tmp_path / "lock").open("w") as file:
        yield file.fileno()


def shell(text: str, *, replaces_folder: bool = False) -> Step:
    return Step("do it", ["sh", "-c", text], replaces_folder)


def test_each_step_adds_its_command_and_output_to_the_log(environment, lock):
    bootstrap.run_step(shell("echo first; echo error >&2"), environment.log, lock)
    result = bootstrap.run_step(shell("echo second; exit 3"), environment.log, lock)
    assert (result.code, result.lines) == (3, ["second"])
    log = environment.log.read_text(encoding="utf-8")
    assert log.splitlines() == [
        "$ sh -c 'echo first; echo error >&2'",
        "first",
        "error",
        "$ sh -c 'echo second; exit 3'",
        "second",
    ]


def test_the_log_outlives_a_step_that_empties_the_folder(environment, lock):
    environment.log.write_text("from an earlier set-up\n")
    step = shell(f"rm -r '{environment.folder}'; mkdir '{environment.folder}'; echo emptied")
    step = Step(step.purpose, step.command, replaces_folder=True)
    assert bootstrap.run_step(step, environment.log, lock).lines == ["emptied"]
    assert environment.log.read_text(encoding="utf-8").endswith("\nemptied\n")


def test_a_step_receives_the_signals_that_end_it(environment, lock):
    code = "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    step = Step("do it", [sys.executable, "-c", code])
    assert bootstrap.run_step(step, environment.log, lock).lines == ["set()"]


def test_a_program_that_cannot_start_is_named(environment, lock):
    step = Step("do it", ["no-such-program"])
    with pytest.raises(bootstrap.SetupError, match="cannot start no-such-program"):
        bootstrap.run_step(step, environment.log, lock)


def test_a_package_that_the_index_lacks_is_left_out_by_the_real_pip(environment, lock, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    pins = "atheris==0.0.1\npysimdjson==0.0.1; python_version < '3'\n"
    (environment.root / "requirements-optional.txt").write_text(pins)
    add = [sys.executable, "-I", "-m", "pip", "install", "--no-input", "--target"]
    add.append(str(environment.root / "target"))
    codes = []

    def run(step):
        result = bootstrap.run_step(step, environment.log, lock)
        codes.append(result.code)
        return result

    bootstrap.install_optional(environment, add, run)
    assert codes == [1, 0]
    assert bootstrap.absent_packages(environment) == ["atheris", "pysimdjson"]


def start_set_up(
    environment: bootstrap.Environment, step: str, grace: float = 600.0
) -> subprocess.Popen[str]:
    """Run set-up in a process of its own, with one shell command for every step."""
    code = (
        "from scripts import bootstrap\n"
        f"bootstrap.base_python = lambda: {str(environment.root / 'python')!r}\n"
        f"bootstrap.GRACE_SECONDS = {grace}\n"
        "raise SystemExit(bootstrap.main())"
    )
    stub = environment.root / "python"
    stub.write_text(f"#!/bin/sh\n{step}\n")
    stub.chmod(0o755)
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=environment.root, stderr=subprocess.PIPE, text=True
    )


def wait_for(path: Path) -> None:
    while not path.exists():
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_set_up_after_its_step_cleaned_up(environment, number):
    step = f"trap 'touch cleaned; exit' INT; {UNTIL_THE_TEST_ENDS}"
    process = start_set_up(environment, step)
    wait_for(environment.root / "started")
    process.send_signal(number)
    _, said = process.communicate()
    assert process.returncode == 2
    assert said.splitlines()[1:] == ["Set-up was interrupted; the next call starts over."]
    assert (environment.root / "cleaned").exists()


def test_a_step_that_ignores_the_interruption_is_killed(environment):
    process = start_set_up(environment, f"trap '' INT; {UNTIL_THE_TEST_ENDS}", grace=0.1)
    wait_for(environment.root / "started")
    process.send_signal(signal.SIGINT)
    process.communicate()
    with (environment.root / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the step held it too: this hangs while the step runs


def test_a_signal_that_is_ignored_at_the_start_stays_ignored(environment):
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = start_set_up(environment, f"{UNTIL_THE_TEST_ENDS}; exit 7")
    finally:
        signal.signal(signal.SIGHUP, previous)
    wait_for(environment.root / "started")
    process.send_signal(signal.SIGHUP)
    (environment.root / "started").unlink()
    _, said = process.communicate()
    assert "failed (exit 7)" in said


def test_the_next_set_up_waits_for_the_step_of_one_that_was_killed(environment):
    root = environment.root
    killed = start_set_up(environment, UNTIL_THE_TEST_ENDS)
    wait_for(root / "started")
    killed.kill()
    killed.communicate()
    following = start_set_up(environment, "exit 7")
    assert following.stderr is not None
    assert following.stderr.readline() == "Another set-up runs here; this one waits for its end.\n"
    (root / "started").unlink()
    _, said = following.communicate()
    assert 'the step "make an empty environment" failed (exit 7)' in said


def test_a_failed_step_ends_in_a_sentence_and_says_where_the_log_is(environment):
    environment.folder.rmdir()
    process = start_set_up(environment, "echo it broke; exit 7")
    _, said = process.communicate()
    assert process.returncode == 3
    assert said.splitlines()[1:] == [
        'Set-up failed: the step "make an empty environment" failed (exit 7).',
        "  it broke",
        "The whole log is .venv/setup.log.",
        "CONTRIBUTING.md says what set-up needs; the next call starts over.",
    ]
    assert environment.log.read_text(encoding="utf-8").endswith("\nit broke\n")


def test_a_folder_that_cannot_be_written_ends_in_a_sentence(environment):
    (environment.root / ".venv.lock").mkdir()
    with pytest.raises(bootstrap.SetupError, match="cannot write to") as caught:
        bootstrap.ensure(environment)
    assert caught.value.code == 2
