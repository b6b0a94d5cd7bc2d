"""Files of its own that the command line finds torn, or not to be files: a sentence each."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from wirefence.fuzz.compare.inputs.corpus import read_reproducers
from wirefence.fuzz.errors import UsageError
from wirefence.oracles import quirks

FEW = ("campaign", "--cases", "2", "--workers", "1")
TORN = [
    *("", "{", "{}", "[]", "5", "[" * 99_999, '{"quirks": {}}', '{"versions": {}}'),
    *('{"quirks": 5, "versions": {}}', '{"quirks": {}, "versions": []}'),
    *('{"quirks": {"json": 5}, "versions": {}}', '{"quirks": {"json": [5]}, "versions": {}}'),
]


@pytest.mark.parametrize(
    ("words", "content"),
    [
        *((("quirks",), content) for content in TORN),
        ((*FEW, "--target", "parsers"), TORN[1]),
        (("explain", "-"), TORN[1]),
    ],
    ids=lambda given: str(given)[:30],
)
def test_without_a_readable_quirks_file_a_command_exits_2(
    wirefence, hostile: Path, monkeypatch, words: tuple[str, ...], content: str
) -> None:
    (hostile / "quirks.json").write_text(content)
    load = quirks.load_quirks
    monkeypatch.setattr("wirefence.fuzz.commands.quirks.probe_quirks", lambda: None)
    monkeypatch.setattr(quirks, "load_quirks", lambda: load(hostile / "quirks.json"))
    ran = wirefence(*words)
    assert ran.code == 2
    assert "run wirefence quirks --write" in ran.complaint()


def test_quirks_are_written_whole_or_not_at_all(wirefence, hostile: Path, monkeypatch) -> None:
    def ended(_: int) -> None:
        raise KeyboardInterrupt

    stored = hostile / "quirks.json"
    stored.write_text("as it was")
    monkeypatch.setattr("wirefence.fuzz.commands.quirks.probe_quirks", quirks.load_quirks)
    monkeypatch.setattr(quirks, "QUIRKS_FILE", stored)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", ended)
        assert wirefence("quirks", "--write").code == 2
    assert stored.read_text() == "as it was"
    assert wirefence("quirks", "--write").code == 0
    assert quirks.load_quirks(stored) == quirks.load_quirks()


def _file_of(path: Path, kind: str) -> None:
    """What no pair of a reproducer is made of, under its name."""
    path.unlink(missing_ok=True)
    {
        "fifo": lambda: os.mkfifo(path),
        "folder": path.mkdir,
        "loop": lambda: path.symlink_to(path.name),
    }[kind]()


READERS = [
    ("explain", "crashes/x/y.frame", "--target", "json"),
    *(("replay", name) for name in ("crashes", "crashes/x/y.frame")),
    ("minimize", "crashes/x/y.frame"),
    *(("crashes", *words) for words in (("list",), ("prune",), ("show", "crashes/x/y.frame"))),
    ("crashes", "add", "crashes/x/y.frame", "--target", "json"),
    (*FEW, "--target", "json"),
    (*FEW, "--target", "json", "--out", "crashes"),
    ("compare", "json", "simplejson", "--input", "31", "--corpus", "crashes/x/y.json"),
]


@pytest.mark.parametrize("kind", ["fifo", "folder"])
@pytest.mark.parametrize("suffix", [".frame", ".json"])
@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_what_is_no_file_under_the_name_of_one_is_not_waited_for(
    wirefence, hostile: Path, words: tuple[str, ...], suffix: str, kind: str
) -> None:
    folder = hostile / "crashes/x"
    folder.mkdir(parents=True)
    (folder / "y.frame").write_bytes(b"1\n")
    (folder / "y.json").write_bytes(b"{}")
    _file_of((folder / "y").with_suffix(suffix), kind)
    ran = wirefence(*words)
    assert ran.code in (0, 1, 2)
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("kind", ["fifo", "folder", "loop"])
def test_a_comparison_names_a_reproducer_that_is_no_file(hostile: Path, kind: str) -> None:
    (hostile / "crashes").mkdir()
    _file_of(hostile / "crashes/y.frame", kind)
    with pytest.raises(UsageError, match=r"cannot read .*y\.frame"):
        list(read_reproducers(hostile / "crashes"))


def test_the_metadata_is_named_where_that_cannot_be_read(wirefence, hostile: Path) -> None:
    (hostile / "y.frame").write_bytes(b"1\n")
    (hostile / "y.json").mkdir()
    assert "cannot read y.json: Is a directory" in wirefence("explain", "y.frame").complaint()
