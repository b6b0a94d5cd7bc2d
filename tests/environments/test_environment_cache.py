"""Environments are whole or absent: two at once, killed, full disk, changed sources."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from wirefence.targets.environments import cache as module
from wirefence.targets.environments import prepare_side
from wirefence.targets.errors import TargetError

ONE = "def loads(raw): return 1\n"
TWO = "def loads(raw): return 2\n"
ROOT = Path(__file__).resolve().parents[2]
PREPARE = (
    "import sys; from wirefence.targets.environments import prepare_side; "
    + "from pathlib import Path; "
    + ("print(prepare_side(sys.argv[1], cache=Path(sys.argv[2])).label)")
)


def parts(cache: Path) -> list[Path]:
    return [path for path in cache.iterdir() if path.suffix == ".part"]


def kept(cache: Path) -> list[Path]:
    return [path for path in cache.iterdir() if path.suffix not in (".part", ".lock")]


def reads(side) -> bytes:
    with side.worker() as worker:
        return worker.outcomes([b"x"])[0].value


def test_a_wheel_is_installed_once_and_then_found(wheel, tmp_path):
    path, cache = wheel(ONE), tmp_path / "cache"
    side = prepare_side(str(path), cache=cache)
    before = {path: path.stat().st_mtime_ns for path in kept(cache)}
    assert side.label.startswith("planted-json 1.0 on CPython")
    assert reads(side) == b"i\x01\x00\x00\x00"
    assert prepare_side(str(path), cache=cache).program == side.program
    assert {path: path.stat().st_mtime_ns for path in kept(cache)} == before
    assert not parts(cache)


def test_another_content_under_the_same_name_is_another_environment(wheel, tmp_path):
    first = prepare_side(str(wheel(ONE)), cache=tmp_path / "cache")
    second = prepare_side(str(wheel(TWO)), cache=tmp_path / "cache")
    assert reads(first) == b"i\x01\x00\x00\x00"
    assert reads(second) == b"i\x02\x00\x00\x00"


def test_a_directory_is_built_anew_when_its_sources_change(project, tmp_path):
    cache = tmp_path / "cache"
    assert reads(prepare_side(str(project(ONE)), cache=cache)) == b"i\x01\x00\x00\x00"
    assert reads(prepare_side(str(project(TWO)), cache=cache)) == b"i\x02\x00\x00\x00"
    assert len(kept(cache)) == 2


def test_two_runs_at_once_build_it_once_and_both_work(wheel, tmp_path):
    path, cache = wheel(ONE), tmp_path / "cache"
    command = [sys.executable, "-c", PREPARE, str(path), str(cache)]
    runs = [
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    said = [run.communicate(timeout=200)[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0, 0]
    assert len(set(said)) == 1
    assert len(kept(cache)) == 1
    assert not parts(cache)


def test_a_killed_run_leaves_nothing_that_counts(wheel, tmp_path):
    path, cache = wheel(ONE), tmp_path / "cache"
    command = [sys.executable, "-c", PREPARE, str(path), str(cache)]
    run = subprocess.Popen(command, cwd=ROOT)
    end = time.monotonic() + 240
    while not (cache.is_dir() and parts(cache)) and time.monotonic() < end:
        time.sleep(0.01)
    run.send_signal(signal.SIGKILL)
    run.wait()
    assert kept(cache) == []
    assert reads(prepare_side(str(path), cache=cache)) == b"i\x01\x00\x00\x00"
    assert not parts(cache)


def test_nobody_builds_beside_an_installer_that_outlived_its_run(tmp_path):
    with module._lock_key(tmp_path, "key") as (_, held):
        orphan = subprocess.Popen(["sleep", "60"], pass_fds=(held,))
    with (tmp_path / "key.lock").open("rb") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    orphan.kill()
    orphan.wait()
    with module._lock_key(tmp_path, "key"):
        pass


def test_a_full_disk_is_told_and_leaves_the_cache_sound(wheel, tmp_path, monkeypatch):
    path, cache = wheel(ONE), tmp_path / "cache"

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(module, "_sync_tree", full)
        with pytest.raises(TargetError, match=r"the disk of .* is full; make room"):
            prepare_side(str(path), cache=cache)
    assert kept(cache) == parts(cache) == []
    assert reads(prepare_side(str(path), cache=cache)) == b"i\x01\x00\x00\x00"


def test_a_cache_that_cannot_be_written_is_told(wheel, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(TargetError, match="cannot be used: Not a directory"):
        prepare_side(str(wheel(ONE)), cache=tmp_path / "file" / "cache")


@pytest.mark.parametrize("harm", ["mark", "python"])
def test_an_environment_that_no_longer_runs_is_built_anew(wheel, tmp_path, harm):
    path, cache = wheel(ONE), tmp_path / "cache"
    prepare_side(str(path), cache=cache)
    (folder,) = kept(cache)
    if harm == "mark":
        (folder / "environment.json").write_text("{")
    else:
        (folder / "bin" / "python").unlink()
    assert reads(prepare_side(str(path), cache=cache)) == b"i\x01\x00\x00\x00"
    assert json.loads((folder / "environment.json").read_text())["library"] == "planted-json"


def test_the_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("WIREFENCE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert module.default_cache() == tmp_path / "wirefence" / "environments"
    monkeypatch.setenv("WIREFENCE_CACHE", str(tmp_path / "own"))
    assert module.default_cache() == tmp_path / "own"
