"""A finding on disk is whole or absent, and gives back the case it was made of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.store.store import Store, case_from_bytes, read_case
from wirefence.oracles.records import Finding, make_finding
from wirefence.strategies.records import Case, Frame

CASE = Case((Frame(b'{"a":\n', damage=("lf-raw",)), Frame(b"1}\xff\x00")), (3, 6), "2025-03-26")


def fault(kind: str = "kind") -> Finding:
    return make_finding("agreement", "agree-value", "parser:x\x1b/../..", kind, "said \x1b[31m")


def test_a_saved_case_is_read_back_with_its_version_and_cuts(tmp_path: Path) -> None:
    back = read_case(Store(tmp_path).save_finding(fault(), CASE, versions={"x": "1"}))
    assert (back.data, back.cuts, back.version) == (CASE.data, CASE.cuts, CASE.version)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "full")])
def test_what_is_cut_short_leaves_no_part(tmp_path: Path, monkeypatch, error) -> None:
    def cut(_descriptor: int) -> None:
        raise error

    monkeypatch.setattr("os.fsync", cut)
    with pytest.raises((KeyboardInterrupt, UsageError)):
        Store(tmp_path).save_finding(fault(), CASE, versions={})
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_metadata_holds_what_a_reader_needs(tmp_path: Path) -> None:
    path = Store(tmp_path).save_finding(fault(), CASE, versions={"x": "1"})
    content = json.loads(path.with_suffix(".json").read_bytes())
    assert content["signature"] == fault().signature
    assert content["size"] == len(CASE.data) == path.stat().st_size
    assert (content["damage"], content["versions"]) == (["lf-raw"], {"x": "1"})


def test_equal_signatures_share_a_file_and_others_do_not(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first = store.save_finding(fault(), CASE, versions={})
    assert store.save_finding(fault(), CASE, versions={}) == first
    assert store.save_finding(fault("other"), CASE, versions={}) != first
    assert store.read_signatures() == {fault().signature, fault("other").signature}


def test_hostile_names_stay_inside_the_folder(tmp_path: Path) -> None:
    path = Store(tmp_path / "in").save_finding(fault(), CASE, versions={})
    assert path.parent == tmp_path / "in/agreement"
    assert path.name.isprintable()


def test_a_finding_cut_short_before_its_metadata_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace

    def die(self: Path, target: Path) -> Path:
        if target.suffix == ".json":
            raise KeyboardInterrupt
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", die)
    with pytest.raises(KeyboardInterrupt):
        Store(tmp_path).save_finding(fault(), CASE, versions={})
    assert Store(tmp_path).read_signatures() == set()
    (frame,) = tmp_path.glob("agreement/*.frame")
    assert frame.read_bytes() == CASE.data


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "agreement").touch()
    with pytest.raises(UsageError, match=r"cannot write to .*agreement"):
        Store(tmp_path).save_finding(fault(), CASE, versions={})


@pytest.mark.parametrize("below", ["file", "file/folder"])
def test_a_file_in_the_way_of_the_folder_is_named(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="a file is in the way"):
        Store(tmp_path / below).check_writable()


@pytest.mark.parametrize(
    "metadata",
    [
        "",
        "5",
        "{}",
        '{"protocol": 5, "cuts": []}',
        '{"protocol": "2025-11-25", "cuts": 5}',
        '{"protocol": "2025-11-25", "cuts": ["1"]}',
        '{"protocol": "2025-11-25", "cuts": [true]}',
        "[" * 100_000,
    ],
)
def test_damaged_metadata_is_a_sentence(tmp_path: Path, metadata: str) -> None:
    (tmp_path / "x.frame").write_bytes(b"1\n")
    (tmp_path / "x.json").write_text(metadata)
    with pytest.raises(UsageError, match=r"the metadata beside .* is not valid"):
        read_case(tmp_path / "x.frame")


def test_an_unknown_version_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.frame").write_bytes(b"1\n")
    (tmp_path / "x.json").write_text('{"protocol": "1999-01-01", "cuts": []}')
    with pytest.raises(UsageError, match="'1999-01-01' is not an MCP version"):
        read_case(tmp_path / "x.frame")


@pytest.mark.parametrize("data", [b"", b"\n", b"a", b"a\n", b"a\n\nb", b"\xff\x00\r\n"])
def test_any_bytes_become_frames_that_join_to_them(data: bytes) -> None:
    case = case_from_bytes(data)
    assert case.data == data
    assert all(frame.raw.count(b"\n") <= 1 for frame in case.frames)


def test_cuts_outside_the_bytes_are_left_out() -> None:
    assert case_from_bytes(b"abc", cuts=[9, 2, 3, 2, 0, -1, 1]).cuts == (1, 2)
