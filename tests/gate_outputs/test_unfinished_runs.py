"""A run that was killed is named by the next one, with what it left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.gate.report.interrupted_runs import find_interrupted_runs, mark_running
from wirefence.fuzz.store.store import Store
from wirefence.oracles.records import make_finding
from wirefence.strategies.records import Case, Frame

KILLED = """
import os, signal, sys
from pathlib import Path
from wirefence.fuzz.gate.report.interrupted_runs import mark_running
with mark_running(Path(sys.argv[1]), "server --token ***"):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(out: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(out)], check=False)
    assert done.returncode == -9


def kept(out: Path) -> Path:
    found = make_finding("reply", "reply-twice", "s", "ping", "two")
    return Store(out).save_finding(found, Case((Frame(b"x\n"),)), versions={})


def test_a_run_that_was_killed_is_named_once_with_what_it_found(tmp_path: Path) -> None:
    earlier = kept(tmp_path / "out")
    os.utime(earlier, (1, 1))
    killed(tmp_path / "out")
    assert find_interrupted_runs(tmp_path / "out")[0].found == ()
    killed(tmp_path / "out")
    os.utime(earlier)
    with mark_running(tmp_path / "out", "other"):
        [run] = find_interrupted_runs(tmp_path / "out")
    assert run.found == (earlier,)
    assert run.describe_run().endswith(f"what it had found is kept: {earlier}")
    assert "server --token ***" in run.describe_run()
    assert find_interrupted_runs(tmp_path / "out") == []


def test_a_run_that_ended_or_goes_on_is_not_named(tmp_path: Path) -> None:
    with mark_running(tmp_path, "server"):
        assert find_interrupted_runs(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"{}", b"[", b"[" * 99_999, b'{"began":"x"}', b"\xff"])
def test_foreign_files_are_let_be(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / ".running-1"
    path.write_bytes(content)
    assert find_interrupted_runs(tmp_path) == []
    assert path.exists()


def test_a_number_that_is_used_again_is_not_the_run(tmp_path: Path) -> None:
    said = {"began": 1.0, "command": "s", "start": "another time"}
    (tmp_path / f".running-{os.getpid()}").write_text(json.dumps(said))
    assert len(find_interrupted_runs(tmp_path)) == 1


def test_a_folder_that_takes_nothing_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with (
        pytest.raises(UsageError, match="a file is in the way"),
        mark_running(tmp_path / "out", "s"),
    ):
        raise AssertionError
