"""Builds are whole or absent, are shared by runs at once, and survive killed builders."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.native.processes import ROOT
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.native.cache import Cache, default_root

IDENTITY = {"library": "x", "flags": "-O1"}
BUILDER = """
import os, sys, time
from pathlib import Path
from wirefence.fuzz.native.cache import Cache
def make(folder):
    (folder / "half").write_text("half")
    with open(sys.argv[2], "a") as log:
        log.write("built\\n")
    {then}
    (folder / "rest").write_text("rest")
print(Cache(Path(sys.argv[1])).entry("x", {identity!r}, make))
"""


def builder(root: Path, log: Path, then: str = "time.sleep(0.3)") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", BUILDER.format(then=then, identity=IDENTITY), str(root), str(log)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


def fill(folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "module.so").write_bytes(b"code")


def never(folder: Path) -> None:
    pytest.fail(f"{folder} is built again")


def test_a_build_is_made_once_for_one_identity(tmp_path):
    cache = Cache(tmp_path / "deep" / "root")
    entry = cache.entry("x", IDENTITY, fill)
    assert (entry / "inner" / "module.so").read_bytes() == b"code"
    assert cache.entry("x", dict(reversed(IDENTITY.items())), never) == entry


@pytest.mark.parametrize("change", [{"flags": "-O2"}, {"library": "y"}, {"more": ""}])
def test_any_change_of_identity_is_another_build(tmp_path, change):
    cache = Cache(tmp_path)
    assert cache.entry("x", IDENTITY, fill) != cache.entry("x", IDENTITY | change, fill)


def test_runs_at_once_share_one_build(tmp_path):
    log = tmp_path / "log"
    runs = [builder(tmp_path / "root", log) for _ in range(4)]
    entries = {run.communicate(timeout=60)[0] for run in runs}
    assert [run.returncode for run in runs] == [0] * 4
    assert len(entries) == 1
    assert log.read_text() == "built\n"


def test_a_killed_builder_leaves_nothing_that_is_taken_for_a_build(tmp_path):
    root = tmp_path / "root"
    killed = builder(root, tmp_path / "log", "os.kill(os.getpid(), 9)")
    killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert list(root.glob(".x-*.part"))
    entry = Cache(root).entry("x", IDENTITY, fill)
    assert not (entry / "half").exists()
    assert (entry / "inner" / "module.so").exists()
    assert not list(root.glob(".x-*.part"))


def test_a_build_that_fails_leaves_nothing(tmp_path):
    def fail(folder: Path) -> None:
        fill(folder)
        raise UsageError("no compiler", "get one")

    with pytest.raises(UsageError, match="no compiler"):
        Cache(tmp_path).entry("x", IDENTITY, fail)
    assert [path.suffix for path in tmp_path.iterdir()] == [".lock"]


@pytest.mark.parametrize("damage", ["changed", "gone", "manifest", "no manifest", "empty manifest"])
def test_a_damaged_build_is_made_again(tmp_path, damage):
    cache = Cache(tmp_path)
    entry = cache.entry("x", IDENTITY, fill)
    module, manifest = entry / "inner" / "module.so", entry / "build.json"
    {
        "changed": lambda: module.write_bytes(b"cod"),
        "gone": module.unlink,
        "manifest": lambda: manifest.write_bytes(manifest.read_bytes()[:-9]),
        "no manifest": manifest.unlink,
        "empty manifest": lambda: manifest.write_text("[]"),
    }[damage]()
    assert cache.entry("x", IDENTITY, fill) == entry
    assert module.read_bytes() == b"code"


def test_what_python_adds_to_a_build_does_not_damage_it(tmp_path):
    cache = Cache(tmp_path)
    (cache.entry("x", IDENTITY, fill) / "__pycache__").mkdir()
    cache.entry("x", IDENTITY, never)


def test_a_root_that_cannot_be_written_is_one_sentence(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(UsageError, match=r"cannot keep builds in .*; set XDG_CACHE_HOME"):
        Cache(blocked / "root").entry("x", IDENTITY, fill)


def test_the_root_follows_the_xdg_variable_unless_it_is_relative(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_root() == tmp_path / "wirefence" / "native"
    monkeypatch.setenv("XDG_CACHE_HOME", "somewhere")
    assert default_root() == Path.home() / ".cache" / "wirefence" / "native"
