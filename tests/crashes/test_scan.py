"""A reproducer on disk is whole and as it was filed, or it is named."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
import pytest

from tests.crashes.conftest import Wirefence
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.store.metadata import (
    Command,
    decode_metadata,
    encode_metadata,
    make_metadata,
    redact_command,
)
from wirefence.fuzz.store.redaction import HIDDEN
from wirefence.fuzz.store.scan import find_entries, scan_folder
from wirefence.fuzz.store.store import Store, case_from_bytes
from wirefence.fuzz.store.typed_records import as_content, decode_record
from wirefence.oracles.records import make_finding
from wirefence.targets.command.records import Launch

DATA = b'{"a":1}\n'


def put(folder: Path, kind: str = "kind", data: bytes = DATA, target: str = "planted:x") -> Path:
    found = make_finding("reply", "reply-code", target, kind, "said")
    return Store(folder).save_finding(found, case_from_bytes(data), versions={"x": "1"})


def edit(path: Path, **changes: object) -> None:
    content = json.loads(path.read_bytes())
    path.write_text(json.dumps({**content, **changes}))


def test_a_sound_pair_is_an_entry_and_no_problem(tmp_path):
    path = put(tmp_path)
    shelf = scan_folder(tmp_path)
    (entry,) = shelf.entries
    assert (entry.path, entry.case.data, shelf.problems) == (path, DATA, ())
    assert entry.id in path.name


PROBLEMS = {
    "an edited frame": (
        lambda p: p.write_bytes(b"2\n"),
        "does not match the hash in its metadata",
    ),
    "an orphan frame": (lambda p: p.with_suffix(".json").unlink(), "has no metadata"),
    "orphan metadata": (lambda p: p.unlink(), "has no bytes"),
    "unreadable metadata": (lambda p: p.with_suffix(".json").write_bytes(b"\xff{"), "not valid"),
    "a type": (lambda p: edit(p.with_suffix(".json"), size="9"), r"\$.size"),
    "a field": (lambda p: edit(p.with_suffix(".json"), colour=1), "colour"),
    "a status": (lambda p: edit(p.with_suffix(".json"), status="shut"), "shut"),
    "a version": (lambda p: edit(p.with_suffix(".json"), protocol="1999-01-01"), "1999-01-01"),
    "a signature": (lambda p: edit(p.with_suffix(".json"), signature="x|y"), "wrong place"),
    "another name": (lambda p: p.rename(p.with_name("x.frame")), "has no (metadata|bytes)"),
    "a leftover": (lambda p: p.with_name(".x.frame.1.part").touch(), "is an unfinished write"),
    "a stranger": (lambda p: p.with_name("notes.txt").touch(), "neither a .frame"),
    "deep metadata": (lambda p: p.with_suffix(".json").write_text("[" * 99_999), "not valid"),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_is_wrong_is_named(tmp_path, name, wirefence: Wirefence):
    put(tmp_path / "good", "other")
    folder = tmp_path / "good"
    harm, said = PROBLEMS[name]
    harm(put(folder))
    problems = scan_folder(folder).problems
    assert problems
    assert len(scan_folder(folder).entries) >= 1
    ran = wirefence("crashes", "list", "--folder", str(folder))
    assert ran.code == 1
    assert "PROBLEM" in ran.out
    with pytest.MonkeyPatch.context():
        import re  # noqa: PLC0415 - one use

        assert re.search(said, " ".join(each.what for each in problems))


def test_those_of_one_oracle_are_read_by_its_folder(tmp_path):
    path = put(tmp_path)
    shelf = scan_folder(path.parent)
    assert [entry.path for entry in shelf.entries] == [path]
    assert shelf.problems == ()


def test_the_same_bytes_for_the_same_target_under_two_names_are_a_duplicate(tmp_path):
    put(tmp_path, "one")
    put(tmp_path, "two")
    (found,) = scan_folder(tmp_path).problems
    assert "duplicate" in found.what
    assert len(scan_folder(tmp_path).entries) == 2
    assert scan_folder(tmp_path, findings=True).problems == ()


def test_companions_of_a_finding_are_no_strangers_and_go_with_it(tmp_path):
    path = put(tmp_path)
    path.with_suffix(".transcript").touch()
    assert scan_folder(tmp_path).problems == ()
    Store(tmp_path).delete_finding(path)
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == []


@pytest.mark.parametrize("suffix", [".transcript", ".stderr"])
def test_what_a_kill_left_of_a_finding_that_was_never_filed_goes(
    here, wirefence: Wirefence, suffix: str
):
    path = put(here / "crashes")
    alone = path.with_name("reply-x-0123.frame").with_suffix(suffix)
    for each in (alone, path.with_suffix(suffix)):
        each.touch()
    assert wirefence("crashes", "list").code == 1
    assert wirefence("crashes", "prune", "--write").code == 0
    assert [alone.exists(), path.with_suffix(suffix).exists()] == [False, True]


def test_a_transcript_stays_that_may_tell_of_lost_bytes(here, wirefence: Wirefence):
    path = put(here / "crashes")
    path.with_suffix(".transcript").touch()
    path.unlink()
    assert wirefence("crashes", "prune", "--write").code == 1
    assert path.with_suffix(".transcript").exists()


def test_replaced_bytes_are_described_at_every_moment(tmp_path, monkeypatch):
    path = put(tmp_path)
    replace = Path.replace
    steps = []

    def watched(self: Path, target: Path) -> Path:
        done = replace(self, target)
        steps.append((scan_folder(tmp_path).problems, scan_folder(tmp_path).entries[0].case.data))
        return done

    monkeypatch.setattr(Path, "replace", watched)
    metadata, _ = Store(tmp_path).read_finding(path)
    smaller = make_metadata(metadata.to_finding(), case_from_bytes(b"1\n"), versions={})
    Store(tmp_path).write_reproducer(smaller, b"1\n")
    assert [problems for problems, _ in steps] == [()] * 3
    assert [data for _, data in steps] == [DATA, b"1\n", b"1\n"]


def test_metadata_survives_being_written_and_read():
    found = make_finding("reply", "reply-code", "planted:\x1b[31m", "k", "é\u2028")
    said = make_metadata(
        found, case_from_bytes(DATA), versions={"a": "1"}, launch=Launch(("x", "-v"))
    )
    content = encode_metadata(said)
    assert decode_metadata(content) == said
    assert content.isascii()


@pytest.mark.parametrize(
    ("argv", "kept"),
    [
        (("srv", "--token", "s3cret"), ("srv", "--token", HIDDEN)),
        (("srv", "--api-key=s3cret"), ("srv", f"--api-key={HIDDEN}")),
        (("srv", "https://u:s3cret@h/p"), ("srv", f"https://{HIDDEN}@h/p")),
        (("srv", "PASSWORD=s3cret"), ("srv", f"PASSWORD={HIDDEN}")),
        (("srv", "--author", "me"), ("srv", "--author", "me")),
    ],
)
def test_secrets_of_a_command_are_not_kept(argv, kept):
    said = redact_command(Launch(argv, {"API_TOKEN": "s3cret", "HOME": "h", "GONE_SECRET": None}))
    assert said.argv == kept
    assert said.env == {"API_TOKEN": HIDDEN, "HOME": "h", "GONE_SECRET": None}
    if HIDDEN in " ".join(kept):
        with pytest.raises(ValueError, match="secret"):
            said.to_launch()
    else:
        assert said.to_launch().env == {"HOME": "h", "GONE_SECRET": None}


def test_a_command_comes_back_as_it_was():
    launch = Launch(("a", "b c"), {"X": "1"}, Path("d"))
    content = json.dumps(as_content(redact_command(launch))).encode()
    assert decode_record(content, Command).to_launch() == launch


def test_entries_are_picked_by_path_and_by_the_beginning_of_an_id(tmp_path):
    path = put(tmp_path)
    (entry,) = scan_folder(tmp_path).entries
    assert [e.path for e in find_entries([str(path), entry.id[:5]], [tmp_path])] == [path, path]
    for name in ("", "zzz", str(tmp_path / "none.frame")):
        with pytest.raises(UsageError):
            find_entries([name], [tmp_path])


def test_prune_takes_only_what_is_kept_elsewhere(here, wirefence: Wirefence):
    kept, loose = put(here / "crashes"), put(here / ".wirefence/findings")
    other = put(here / ".wirefence/findings", "other")
    part = kept.with_name(".x.json.1.part")
    part.touch()
    edited = put(here / "crashes", "edited")
    edited.write_bytes(b"5\n")
    assert "would delete" in wirefence("crashes", "prune").out
    assert loose.exists()
    ran = wirefence("crashes", "prune", "--write")
    assert ran.code == 1
    assert str(edited.name)[:20] in ran.out
    gone = [not each.exists() for each in (loose, part, other, kept, edited)]
    assert gone == [True, True, False, False, False]


def test_hostile_content_is_shown_escaped_and_cut(here, wirefence: Wirefence):
    data = b"\x1b]0;owned\x07<script>\xe2\x80\xae\n" + b"A" * 2_000_000
    found = make_finding(
        "reply", "reply-code", "planted:\x1b[31m" + "x" * 9_000, "k", "<b>|\x1b[5m"
    )
    path = Store(here / "crashes").save_finding(found, case_from_bytes(data), versions={})
    for words in (("show", str(path)), ("list",), ("list", "--format", "json")):
        said = wirefence("crashes", *words).out
        assert said.isascii()
        assert all(c.isprintable() or c == "\n" for c in said)
        assert len(said) < 25_000
    shown = wirefence("crashes", "show", str(path)).out
    assert "2,000,029 bytes" in shown or "bytes in all" in shown
    wirefence("crashes", "mark", str(path), "upstream")
    index = (here / "crashes/INDEX.md").read_text()
    assert "<b>" not in index.replace("\\<b\\>", "")
    assert "\x1b" not in index


def test_our_own_interpreter_is_kept_as_what_it_is_and_not_where():
    launch = Launch((sys.executable, "server.py"))
    assert redact_command(launch).argv == ("{python}", "server.py")
    assert redact_command(launch).to_launch() == launch


READERS = (
    ("crashes", "list", "--folder"),
    ("crashes", "show", "x", "--folder"),
    ("crashes", "mark", "x", "fixed", "--folder"),
    ("crashes", "prune", "--folder"),
    ("crashes", "prune", "--findings"),
    ("crashes", "commit", "--from"),
    ("minimize", "--all", "--from"),
)


@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_a_directory_that_is_named_is_there(here, wirefence: Wirefence, words):
    (here / "file").write_text("")
    for name in ("absent", "file"):
        with pytest.raises(click.UsageError, match=f"there is no directory '{name}'"):
            wirefence(*words, name)


def test_a_link_to_nowhere_is_no_empty_directory(here):
    (here / "crashes").symlink_to("crashes")
    with pytest.raises(UsageError, match="is not a directory"):
        scan_folder(here / "crashes")


@pytest.mark.parametrize("content", [b"\xff\xfe", b"x" * 10, None])
def test_a_page_that_is_no_index_is_written_anew_or_named(here, wirefence: Wirefence, content):
    entry = put(here / "crashes")
    page = here / "crashes/INDEX.md"
    if content is None:
        page.mkdir()
        with pytest.raises(UsageError, match=r"INDEX.md: Is a directory"):
            wirefence("crashes", "mark", str(entry), "upstream")
        assert wirefence("crashes", "prune", "--write").code == 0
        return
    page.write_bytes(content)
    assert "would write" in wirefence("crashes", "prune").out
    assert wirefence("crashes", "mark", str(entry), "upstream").code == 0
    assert "upstream" in page.read_text()


@pytest.mark.parametrize(
    "words", [("crashes", "list"), ("crashes", "prune"), ("minimize", "--all")]
)
def test_a_new_project_has_no_directories_yet(here, wirefence: Wirefence, words):
    assert wirefence(*words).code == 0
