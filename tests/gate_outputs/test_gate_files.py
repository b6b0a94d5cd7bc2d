"""What the gate is asked to write: each file whole or as it was, and one does not cost another."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import sys
import threading
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.gate_outputs.reports import flaw, report
from wirefence.fuzz import cli
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.gate.report.baseline import Baseline, BaselineServer, store_baseline
from wirefence.fuzz.store.atomic_write import can_write_atomically, write_atomically

FILES = ("--junit", "to/j.xml", "--sarif", "to/s.json", "--baseline", "b.json", "--update-baseline")


@pytest.fixture
def gate(tmp_path, monkeypatch, capsys):
    """A gate whose run does ``first`` and then has one finding; exit code and stdout."""
    monkeypatch.chdir(tmp_path)
    Path("to").mkdir()

    def call(*words: str, first=lambda: None) -> tuple[int, str]:
        def run(*_: object, **__: object):
            first()
            return report(flaw())

        monkeypatch.setattr("wirefence.fuzz.commands.gate.run_gate", run)
        monkeypatch.setattr(sys, "argv", ["wirefence", "gate", *words, "--", "srv"])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code, capsys.readouterr().out

    return call


def whole_reports() -> bool:
    suites = len(ET.parse("to/j.xml").getroot())
    return suites > 0 and bool(json.loads(Path("to/s.json").read_text()))


def test_all_is_written(gate):
    code, out = gate(*FILES)
    assert (code, "act-rejected" in out, whole_reports()) == (0, True, True)
    assert {path.name for path in Path("to").iterdir()} == {"j.xml", "s.json"}
    assert len(json.loads(Path("b.json").read_text())["expected"]) == 1


def test_the_baseline_of_another_server_costs_no_report(gate):
    store_baseline(Path("b.json"), Baseline((), BaselineServer("other")))
    before = Path("b.json").read_bytes()
    code, out = gate(*FILES)
    assert (code, "act-rejected" in out, whole_reports()) == (2, True, True)
    assert Path("b.json").read_bytes() == before


def test_a_baseline_that_cannot_be_written_costs_no_report(gate):
    Path("at").mkdir()
    words = tuple(word.replace("b.json", "at/b.json") for word in FILES)
    code, out = gate(*words, first=lambda: shutil.rmtree("at"))
    assert (code, "act-rejected" in out, whole_reports()) == (2, True, True)


def test_a_report_that_cannot_be_written_costs_no_other(gate):
    words = tuple(word.replace("to/j.xml", "at/j.xml") for word in FILES)
    Path("at").mkdir()
    code, out = gate(*words, first=lambda: shutil.rmtree("at"))
    assert (code, "act-rejected" in out) == (2, True)
    assert Path("to/s.json").exists()
    assert Path("b.json").exists()


def test_a_report_on_stdout_that_cannot_be_written_costs_no_file(gate, monkeypatch):
    def full(_text: str) -> None:
        raise UsageError("cannot write to stdout", "free it")

    monkeypatch.setattr("wirefence.fuzz.commands.gate.write_report", full)
    assert gate(*FILES)[0] == 2
    assert whole_reports()


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "j.xml"
    path.write_text("old")

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, b"new")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("j.xml", "old")]


def test_a_link_stays_one(tmp_path):
    (tmp_path / "link").symlink_to("file")
    for content in (b"one", b"two"):
        write_atomically(tmp_path / "link", content)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "file").read_bytes() == content


def test_what_is_no_file_is_written_to(tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_atomically(pipe, b"new")
    reader.join(60)
    assert (read, stat.S_ISFIFO(pipe.stat().st_mode)) == ([b"new"], True)
    with (tmp_path / "file").open("wb") as stream:
        write_atomically(Path(f"/dev/fd/{stream.fileno()}"), b"new")
        assert os.fstat(stream.fileno()).st_nlink == 1
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_file_in_a_folder_that_takes_none_is_refused_ahead(tmp_path, monkeypatch):
    path = tmp_path / "j.xml"
    assert can_write_atomically(path)
    assert can_write_atomically(Path("/dev/null"))
    monkeypatch.setattr(os, "access", lambda place, _mode: Path(place) != tmp_path)
    assert not can_write_atomically(path)
    path.touch()
    assert not can_write_atomically(path)
    assert can_write_atomically(Path("/dev/null"))
