"""Stored files of the first form are refused with the command that migrates them, and migrated."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from tests.crashes.conftest import CALL, HANDSHAKE, Wirefence
from wirefence.fuzz.compare.accept import read_accepted
from wirefence.fuzz.crashes.migrate import migrate_files
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.gate.report.baseline import load_baseline
from wirefence.fuzz.store.scan import scan_folder
from wirefence.fuzz.store.store import Store

BAD_ID = HANDSHAKE + (CALL % (1, 1)).replace(b'"id":1', b'"id":true')
COMMAND = "wirefence crashes migrate"


def store_old(folder: Path, signature: str, data: bytes, **more: object) -> Path:
    """Store a finding as the first form was written."""
    target, oracle, rule, _ = signature.split("|")
    content = {
        "oracle": oracle,
        "rule": rule,
        "signature": signature,
        "summary": "said",
        "target": target,
        "status": "open",
        "first_seen": "2026-11-30",
        "protocol": "2025-11-25",
        "damage": [],
        "cuts": [],
        "size": len(data),
        "original_size": len(data),
        "sha256": sha256(data).hexdigest(),
        "versions": {"s": "1"},
        **more,
    }
    path = folder / oracle / f"{rule}-{sha256(signature.encode()).hexdigest()[:12]}.frame"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.with_suffix(".json").write_text(json.dumps(content))
    return path


def list_signatures(folder: Path) -> list[str]:
    found = scan_folder(folder)
    assert found.problems == ()
    return [each.metadata.signature for each in found.entries]


def test_an_old_finding_is_refused_with_the_command_that_migrates_it(here: Path):
    path = store_old(here / "crashes", "planted:x|reply|reply-code|rpc-id", b"1\n")
    with pytest.raises(UsageError, match=COMMAND):
        Store(here / "crashes").read_finding(path)
    with pytest.raises(UsageError, match=COMMAND):
        Store(here / "crashes").read_signatures()
    (problem,) = scan_folder(here / "crashes").problems
    assert COMMAND in problem.what


def test_what_shows_again_has_the_signature_that_it_shows(here: Path, wirefence: Wirefence):
    old = "planted:takes-boolean-id|non-action|act-rejected|rpc-id true or false"
    path = store_old(here / "crashes", old, BAD_ID, note="kept")
    said = wirefence("crashes", "migrate", "crashes").out
    assert said.endswith("(run again)\n")
    assert list_signatures(here / "crashes") == [
        "planted:takes-boolean-id|act-rejected|rpc-id:boolean"
    ]
    (entry,) = scan_folder(here / "crashes").entries
    assert (entry.case.data, entry.metadata.note) == (BAD_ID, "kept")
    assert not path.exists()
    assert wirefence("replay").code == 0
    assert "has the new form" in wirefence("crashes", "migrate", "crashes").out


@pytest.mark.parametrize(
    ("signature", "data", "more", "new"),
    [
        (
            "planted:gone|reply|reply-code|rpc-id true or false",
            BAD_ID,
            {},
            "planted:gone|reply-code|rpc-id:boolean",
        ),
        (
            "srv|non-action|act-rejected|hidden in an accepted frame",
            HANDSHAKE,
            {"command": {"argv": ["no-such-command"], "env": {}, "cwd": None}},
            "srv|act-rejected|none",
        ),
        ("srv|liveness|live-crash|exit 1", b"1\n", {}, "srv|live-crash|exit 1"),
        ("c|client|client-accepts|some-attack", b"1\n", {}, "c|client-accepts|some-attack"),
        (
            "none to nothing|compare|newly-rejected|accept -> x.E: nan+syntax",
            b"[NaN]",
            {"sides": ["json"]},  # one side cannot be run
            "none to nothing|newly-rejected:accept -> x.E|nan",
        ),
        (
            "planted:takes-boolean-id|non-action|act-rejected|rpc-id true or false",
            BAD_ID,
            {"status": "fixed"},
            "planted:takes-boolean-id|act-rejected|rpc-id:boolean",
        ),
    ],
)
def test_what_does_not_show_is_mapped_by_its_bytes(here: Path, signature, data, more, new):
    store_old(here / "f", signature, data, **more)
    (said,) = migrate_files([here / "f"])
    assert said.endswith("(mapped by its bytes)")
    assert list_signatures(here / "f") == [new]


def test_two_old_signatures_of_one_new_one_become_one_file(here: Path, wirefence: Wirefence):
    store_old(here / "f", "planted:gone|reply|reply-code|rpc-id", BAD_ID)
    store_old(here / "f", "planted:gone|reply|reply-code|rpc-id true or false", BAD_ID + b"\n")
    wirefence("crashes", "migrate", "f")
    assert list_signatures(here / "f") == ["planted:gone|reply-code|rpc-id:boolean"]
    (entry,) = scan_folder(here / "f").entries
    assert entry.case.data == BAD_ID, "the simpler one stays"


def test_a_file_that_is_damaged_is_skipped_and_named(here: Path, wirefence: Wirefence):
    path = store_old(here / "f", "planted:gone|reply|reply-code|rpc-id", BAD_ID)
    path.write_bytes(b"other")
    assert "skipped" in wirefence("crashes", "migrate", "f").out
    assert path.read_bytes() == b"other"


def test_a_baseline_is_mapped_by_the_findings_beside_it(here: Path, wirefence: Wirefence):
    old = "planted:takes-boolean-id|non-action|act-rejected|rpc-id true or false"
    store_old(here / "f", old, BAD_ID)
    entry = {"signature": old, "rule": "act-rejected", "summary": "s", "note": "why"}
    entry["first_seen"] = "2026-11-30"
    other = {**entry, "signature": "srv|reply|reply-code|rpc-id"}
    path = here / "b.json"
    path.write_text(json.dumps({"wirefence-baseline": 1, "expected": [entry, other]}))
    with pytest.raises(UsageError, match=COMMAND):
        load_baseline(path)
    said = wirefence("crashes", "migrate", "f", "b.json").out
    assert "1 entries, 1 kept as unmapped" in said
    (mapped,) = load_baseline(path).expected
    assert mapped.signature == "planted:takes-boolean-id|act-rejected|rpc-id:boolean"
    assert mapped.note == "why"
    assert json.loads(path.read_text())["unmapped"] == [other]
    assert "has the new form" in wirefence("crashes", "migrate", "b.json").out


def test_accepted_differences_keep_their_classes(here: Path, wirefence: Wirefence):
    rows = [{"old": "a", "new": "b", "class": f"{name}: newly-rejected"} for name in ("nan", "q")]
    path = here / "accepted.json"
    path.write_text(json.dumps({"accepted": rows}))
    with pytest.raises(UsageError, match=COMMAND):
        read_accepted(path)
    wirefence("crashes", "migrate", "accepted.json")
    assert read_accepted(path) == {("a", "b", "nan: newly-rejected")}
    assert json.loads(path.read_text())["unmapped"] == rows[1:]


def test_other_files_are_refused(here: Path, wirefence: Wirefence):
    for content in ("{}", "x"):
        (here / "other").write_text(content)
        with pytest.raises(UsageError):
            wirefence("crashes", "migrate", "other")
