"""What a killed run left in the folder for temporary files goes with the next start."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from wirefence.targets import scratch
from wirefence.targets.scratch import Scratch

ROOT = Path(scratch.__file__).resolve().parent.parent
HOLDS = """
import sys
from wirefence.targets.scratch import Scratch
held = Scratch("held")
(held.path / "full").write_text("x")
print(held.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(scratch, "_swept", set())
    return tmp_path


@pytest.fixture
def holders(temporary: Path) -> Iterator[list[tuple[subprocess.Popen[bytes], Path]]]:
    """Two processes that hold a folder each."""
    started = []
    for _ in range(2):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDS], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        started.append((process, Path(process.stdout.readline().decode().strip())))
    yield started
    for process, _ in started:
        with process:
            process.kill()


def test_what_a_dead_owner_left_goes_and_what_a_living_one_holds_stays(holders) -> None:
    (dead, gone), (_, held) = holders
    dead.send_signal(signal.SIGKILL)
    dead.wait()
    assert gone.exists()
    with Scratch("own") as own:
        assert sorted(held.parent.iterdir()) == sorted([held, own.path])
        assert (held / "full").exists()
    assert list(held.parent.iterdir()) == [held]


def test_the_next_gate_removes_what_a_gate_that_was_killed_has_left(tmp_path: Path) -> None:
    def gate(patience: float) -> subprocess.Popen[bytes]:
        words = ("gate", "--start-patience", str(patience), "--", "sleep", "300")
        return subprocess.Popen(
            [sys.executable, "-m", "wirefence", *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    deadline = time.monotonic() + 120
    with gate(300) as killed:
        while not list(tmp_path.glob("wirefence-*/ssh-*")) and time.monotonic() < deadline:
            time.sleep(0.02)
        killed.kill()
    assert list(tmp_path.glob("wirefence-*/*"))
    with gate(0.1) as following:
        assert following.wait(120) == 2
    assert not list(tmp_path.glob("wirefence-*/*"))


def test_a_folder_is_ours_alone_and_goes_when_it_is_closed(temporary: Path) -> None:
    own = Scratch("own")
    home = temporary / f"wirefence-{os.geteuid()}"
    assert own.path.parent == home
    assert [stat.S_IMODE(each.stat().st_mode) for each in (home, own.path)] == [0o700, 0o700]
    own.close()
    own.close()
    assert list(home.iterdir()) == []


def test_nothing_is_swept_where_somebody_else_could_have_written(temporary: Path) -> None:
    home = temporary / f"wirefence-{os.geteuid()}"
    home.mkdir()
    (home / "theirs").mkdir()
    home.chmod(0o777)
    with Scratch("own") as own:
        assert own.path.parent == temporary
        assert own.path.name.startswith("wirefence-own-")
    assert [each.name for each in temporary.iterdir()] == [home.name]
    assert (home / "theirs").exists()


def test_a_link_in_the_place_of_the_folder_is_not_followed(temporary: Path) -> None:
    (temporary / "elsewhere" / "theirs").mkdir(parents=True)
    (temporary / f"wirefence-{os.geteuid()}").symlink_to(temporary / "elsewhere")
    with Scratch("own") as own:
        assert own.path.parent == temporary
    assert (temporary / "elsewhere" / "theirs").exists()


def test_a_folder_that_a_sweeper_took_before_its_lock_is_made_again(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, made = tempfile.mkdtemp, []

    def swept_at_once(**terms) -> str:
        made.append(make(**terms))
        if len(made) == 1:
            Path(made[0]).rmdir()
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", swept_at_once)
    with Scratch("own") as own:
        assert str(own.path) == made[1]
        assert own.path.is_dir()
