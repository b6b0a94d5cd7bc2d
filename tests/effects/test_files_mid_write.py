"""The recorder of files looks while servers write: nothing is told twice, nothing is missed."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from wirefence.targets.command.records import Launch
from wirefence.targets.effects import files
from wirefence.targets.effects.files import FileRecorder


@pytest.fixture
def recorder(tmp_path: Path) -> FileRecorder:
    made = FileRecorder([tmp_path])
    made.wrap(Launch(("true",)))
    return made


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recorder waits for a write that has begun, however slow the machine is."""
    monkeypatch.setattr(files, "_SETTLED", 60.0)


def touch(path: Path) -> None:
    """Change nothing but the time, to one that no write before had."""
    later = max(time.time_ns(), path.stat().st_mtime_ns + 1)
    os.utime(path, ns=(later, later))


def contents(recorder: FileRecorder) -> list[bytes]:
    return [each.content for each in recorder.take()]


@pytest.mark.usefixtures("patient")
def test_a_write_whose_time_shows_before_its_size_is_told_once(tmp_path: Path, recorder):
    acts = tmp_path / "acts"
    acts.write_bytes(b"one\n")
    assert contents(recorder) == [b"one\n"]
    touch(acts)  # what a look sees of a write that has only begun

    def end_of_write() -> None:
        with acts.open("ab") as file:
            file.write(b"two\n")

    writing = threading.Timer(0.01, end_of_write)
    writing.start()
    seen = contents(recorder)
    writing.join()
    assert [*seen, *contents(recorder)] == [b"two\n"]


def test_a_file_written_again_with_the_same_bytes_is_a_write(tmp_path: Path, recorder):
    state = tmp_path / "state"
    state.write_bytes(b"same")
    assert contents(recorder) == [b"same"]
    touch(state)
    assert contents(recorder) == [b"same"]
    assert contents(recorder) == []


def test_other_bytes_of_the_same_size_are_told_whole(tmp_path: Path, recorder):
    state = tmp_path / "state"
    state.write_bytes(b"old!")
    assert contents(recorder) == [b"old!"]
    state.write_bytes(b"new!")
    touch(state)
    assert contents(recorder) == [b"new!"]


@pytest.mark.usefixtures("patient")
def test_a_log_that_was_there_before_is_not_told_again(tmp_path: Path):
    log = tmp_path / "log"
    log.write_bytes(b"before\n")
    recorder = FileRecorder([tmp_path])
    recorder.wrap(Launch(("true",)))
    with log.open("ab") as file:
        file.write(b"one\n")
    assert contents(recorder) == [b"one\n"]
    touch(log)

    def end_of_write() -> None:
        with log.open("ab") as file:
            file.write(b"two\n")

    writing = threading.Timer(0.01, end_of_write)
    writing.start()
    seen = contents(recorder)
    writing.join()
    assert seen == [b"two\n"]


@pytest.mark.usefixtures("patient")
def test_a_file_that_is_made_and_then_filled_is_one_act(tmp_path: Path, recorder):
    made = tmp_path / "made"
    made.touch()
    writing = threading.Timer(0.01, lambda: made.write_bytes(b"acted"))
    writing.start()
    seen = contents(recorder)
    writing.join()
    assert [*seen, *contents(recorder)] == [b"acted"]


def test_a_file_that_stays_empty_is_an_act(tmp_path: Path, recorder):
    (tmp_path / "empty").touch()
    assert contents(recorder) == [b""]
    assert contents(recorder) == []
