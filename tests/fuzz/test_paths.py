"""What a path leads to: nothing, a file or a folder; a refusal of the system is neither."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from wirefence.fuzz.paths import is_file, is_folder, path_exists

ASKED = (path_exists, is_file, is_folder)


def test_a_file_a_folder_and_another_kind_are_told_apart(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"")
    os.mkfifo(tmp_path / "fifo")
    assert [ask(tmp_path / "file") for ask in ASKED] == [True, True, False]
    assert [ask(tmp_path) for ask in ASKED] == [True, False, True]
    assert [ask(tmp_path / "fifo") for ask in ASKED] == [True, False, False]


@pytest.mark.parametrize("name", ["none", "none/below", "file/below", "loop", "a\0b"])
def test_a_path_may_lead_nowhere(tmp_path: Path, name: str):
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert [ask(tmp_path / name) for ask in ASKED] == [False, False, False]


@pytest.mark.parametrize("ask", ASKED)
def test_a_refused_path_does_not_lead_nowhere(ask):
    with pytest.raises(OSError, match="x") as refused:
        ask(Path("x" * 5_000))
    assert refused.value.errno == errno.ENAMETOOLONG


@pytest.mark.parametrize("ask", ASKED)
def test_a_folder_that_may_not_be_entered_does_not_lead_nowhere(ask, monkeypatch):
    def refuse(*_: object, **__: object):
        raise PermissionError(errno.EACCES, "Permission denied", "p")

    monkeypatch.setattr(os, "stat", refuse)
    with pytest.raises(PermissionError):
        ask(Path("p"))
