"""A fault that was fixed is news when it comes back, and nothing that is on file for it is lost."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click
import pytest

from tests.crashes.conftest import Git, Wirefence, filed
from wirefence.fuzz.cli import cli
from wirefence.fuzz.commands.options import read_known_signatures
from wirefence.fuzz.coverage.explore import FuzzRequest
from wirefence.fuzz.coverage.run_target import _make_sink
from wirefence.fuzz.coverage.target_settings import TargetSettings
from wirefence.fuzz.crashes.commit import commit_reproducers, list_waiting
from wirefence.fuzz.crashes.selection import select_findings
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.store.metadata import Status, make_metadata
from wirefence.fuzz.store.scan import Entry, scan_folder
from wirefence.fuzz.store.store import Store, case_from_bytes
from wirefence.oracles.records import Finding, make_finding

CRASHES, FINDINGS = Path("crashes"), Path(".wirefence/findings")


def put(folder: Path, data: bytes, status: Status = "open", kind: str = "kind") -> Entry:
    found = make_finding("reply", "reply-code", "planted:x", kind, "said")
    case = case_from_bytes(data)
    metadata = make_metadata(found, case, versions={}, status=status)
    return Entry(Store(folder).write_reproducer(metadata, data), metadata, case)


def of_ujson(folder: Path, data: bytes, status: Status = "open") -> Entry:
    entry = filed(folder, data, "parser:ujson", "nan")
    metadata = replace(entry.metadata, status=status)
    return Entry(Store(folder).write_reproducer(metadata, data), metadata, entry.case)


def statuses(folder: Path) -> dict[bytes, str]:
    shelf = scan_folder(folder)
    assert shelf.problems == ()
    return {entry.case.data: entry.metadata.status for entry in shelf.entries}


@pytest.fixture
def merged(here: Path, git: Git) -> Callable[[], None]:
    """Commit what lies in the working folder."""

    def run() -> None:
        git("add", "--all")
        git("commit", "-q", "-m", "marked")

    return run


# What is known to those who look for faults.


@pytest.mark.parametrize(("status", "known"), [("open", 1), ("upstream", 1), ("fixed", 0)])
def test_only_faults_that_stand_are_no_news_to_a_search(here, monkeypatch, status, known):
    entry = put(CRASHES, b"1\n", status)
    expected = {entry.metadata.signature} if known else set()
    assert read_known_signatures(here / "out") == expected
    monkeypatch.setattr("wirefence.fuzz.coverage.run_target._CRASHES", CRASHES)
    assert _make_sink(TargetSettings()).known == expected


def test_campaigns_and_fuzz_runs_are_told_of_faults_that_stand_alone(here, monkeypatch):
    put(CRASHES, b"1\n", "fixed", "mended")
    stands = put(CRASHES, b"2\n", "open", "stands")
    known = []

    def campaign(*_: object, **given: object) -> None:
        known.append(given["known"])
        raise KeyboardInterrupt

    def fuzz(request: FuzzRequest) -> None:
        campaign(known=request.known)

    monkeypatch.setattr("wirefence.fuzz.commands.campaign.run_campaign", campaign)
    monkeypatch.setattr("wirefence.fuzz.commands.fuzz._run_fuzzing", fuzz)
    monkeypatch.setattr("wirefence.fuzz.commands.fuzz.require_extra", lambda *_: None)
    for words in (["campaign", "--target", "json"], ["fuzz", "fuzz_gateway"]):
        with pytest.raises(click.exceptions.Abort):
            cli.main(words, standalone_mode=False)
    assert known == [{stands.metadata.signature}] * 2


def test_a_finding_that_is_the_fixed_reproducer_does_not_hide_what_comes_back(here, capsys):
    put(CRASHES, b"1\n", "fixed")
    past = put(FINDINGS, b"1\n")
    beside = put(FINDINGS, b"1\n", kind="of another signature")
    read_known_signatures(FINDINGS)
    assert not past.path.exists()
    assert beside.path.exists()
    assert capsys.readouterr().err.startswith(f"deleted {FINDINGS / past.path.parent.name}")
    back = put(FINDINGS, b"2\n")
    read_known_signatures(FINDINGS)
    assert back.path.exists()
    put(CRASHES, b"2\n")
    read_known_signatures(FINDINGS)
    assert back.path.exists()


def test_a_search_that_keeps_its_findings_among_reproducers_takes_none_away(here):
    entry = put(CRASHES, b"1\n", "fixed")
    read_known_signatures(CRASHES)
    read_known_signatures(CRASHES / "reply")
    assert entry.path.exists()


# What is filed.


def test_a_returning_fault_is_committed_and_the_fixed_bytes_stay_and_are_replayed(
    here, git: Git, wirefence: Wirefence, merged
):
    old = of_ujson(CRASHES, b"[NaN]", "fixed")
    merged()
    of_ujson(FINDINGS, b"NaN")
    assert wirefence("crashes", "commit").code == 0
    assert statuses(CRASHES) == {b"[NaN]": "fixed", b"NaN": "open"}
    assert "came back after it was fixed" in git("log", "-1", "--format=%b")
    assert git("status", "--porcelain") == ""
    assert len({entry.id for entry in scan_folder(CRASHES).entries} | {old.id}) == 2
    said = wirefence("replay").out
    assert said.count("STILL FAILING") == 2
    assert re.search(r"it must show nothing: wirefence crashes mark [0-9a-f]{12} open", said)
    again = wirefence("crashes", "commit")
    assert (again.code, "is known already" in again.out) == (1, True)


def test_the_bytes_of_a_fixed_reproducer_are_told_to_be_marked_instead(
    here, git: Git, wirefence: Wirefence, merged
):
    old = of_ujson(CRASHES, b"NaN", "fixed")
    merged()
    of_ujson(FINDINGS, b"NaN")
    ran = wirefence("crashes", "commit")
    assert ran.code == 1
    assert f"wirefence crashes mark {old.id} open" in ran.out
    assert wirefence("crashes", "mark", old.id, "open").code == 0
    assert statuses(CRASHES) == {b"NaN": "open"}


def test_a_fixed_fault_is_filed_by_hand_again_by_other_bytes_only(here, wirefence: Wirefence):
    of_ujson(CRASHES, b"[NaN]", "fixed")
    for name, data, code in (("same", b"[NaN]", 1), ("other", b"NaN", 0), ("again", b"[0,NaN]", 1)):
        (here / name).write_bytes(data)
        words = ("crashes", "add", name, "--target", "parser:ujson", "--as-it-is")
        assert wirefence(*words).code == code
    assert statuses(CRASHES) == {b"[NaN]": "fixed", b"NaN": "open"}


def test_another_effect_of_a_fixed_fault_is_no_finding_of_a_known_one():
    def entry(oracle: str, rule: str, data: bytes, status: Status) -> Entry:
        target = "planted:takes-byte-order-mark"
        found = make_finding(oracle, rule, target, "utf8-bom:bom", "said")
        case = case_from_bytes(data)
        return Entry(
            Path(f"{rule}.frame"), make_metadata(found, case, versions={}, status=status), case
        )

    acts = entry("non-action", "act-rejected", b"\xef\xbb\xbf1\n", "fixed")
    loses = entry("session", "session-resync", b"\xef\xbb\xbf2\n", "open")

    def show(_: Entry) -> list[Finding]:
        return [loses.metadata.to_finding()]

    assert select_findings([loses], [acts], show) == ([loses], [])
    standing = replace(acts.metadata, status="open")
    taken, refused = select_findings([loses], [Entry(acts.path, standing, acts.case)], show)
    assert taken == []
    assert "shows the same fault as" in refused[0].why


def test_without_the_mark_being_committed_git_refuses_and_nothing_is_lost(
    here, git: Git, wirefence: Wirefence, merged
):
    old = of_ujson(CRASHES, b"[NaN]")
    merged()
    wirefence("crashes", "mark", old.id, "fixed")
    of_ujson(FINDINGS, b"NaN")
    with pytest.raises(UsageError, match="git merge failed"):
        wirefence("crashes", "commit")
    assert statuses(CRASHES) == {b"[NaN]": "fixed"}


def test_a_branch_that_does_not_know_of_the_mark_keeps_the_fixed_bytes_too(here, git: Git, merged):
    old = of_ujson(CRASHES, b"[NaN]")
    merged()
    git("branch", "nightly")
    of_ujson(CRASHES, b"[NaN]", "fixed")
    merged()
    assert list_waiting(CRASHES, "nightly") == []
    back = of_ujson(FINDINGS, b"NaN")
    commit_reproducers([back], CRASHES, branch="nightly")
    assert [each.case.data for each in list_waiting(CRASHES, "nightly")] == [b"NaN"]
    assert statuses(CRASHES) == {b"[NaN]": "fixed"}
    git("checkout", "-q", "nightly")
    assert statuses(CRASHES) == {b"[NaN]": "fixed", b"NaN": "open"}
    assert old.path.read_bytes() == b"NaN"


def test_both_are_marked_by_their_ids(here, wirefence: Wirefence):
    put(CRASHES, b"1\n", "fixed")
    put(CRASHES, b"2\n")
    (first,) = (each for each in scan_folder(CRASHES).entries if each.case.data == b"1\n")
    (second,) = (each for each in scan_folder(CRASHES).entries if each.case.data == b"2\n")
    with pytest.raises(UsageError, match=f"already stored as {second.id}"):
        wirefence("crashes", "mark", first.id, "open")
    wirefence("crashes", "mark", first.id, "fixed")
    wirefence("crashes", "mark", second.id, "fixed")
    assert statuses(CRASHES) == {b"1\n": "fixed", b"2\n": "fixed"}
    said = wirefence("crashes", "mark", first.id, "open").out
    assert statuses(CRASHES) == {b"1\n": "open", b"2\n": "fixed"}
    assert said == f"{second.id}  fixed -> open\n"  # the place of the signature


def test_a_fixed_reproducer_that_left_its_place_is_not_minimized_into_it(
    here, wirefence: Wirefence
):
    of_ujson(CRASHES, b"[0,NaN]", "fixed")
    of_ujson(CRASHES, b"[1,NaN]")
    (aside,) = (each for each in scan_folder(CRASHES).entries if each.metadata.status == "fixed")
    with pytest.raises(UsageError, match=f"{aside.id} is fixed"):
        wirefence("minimize", str(aside.path))
    assert statuses(CRASHES) == {b"[0,NaN]": "fixed", b"[1,NaN]": "open"}


def test_what_is_not_fixed_is_misplaced_beside_what_came_back(here):
    put(CRASHES, b"1\n", "fixed")
    put(CRASHES, b"2\n")
    (aside,) = (each for each in scan_folder(CRASHES).entries if each.metadata.status == "fixed")
    metadata = aside.path.with_suffix(".json")
    metadata.write_text(metadata.read_text().replace('"fixed"', '"open"'))
    (problem,) = scan_folder(CRASHES).problems
    assert "wrong place" in problem.what


# What is tidied.


@pytest.mark.parametrize(
    ("status", "data", "said"),
    [
        ("open", b"1\n", "is on file as"),
        ("open", b"2\n", "has other bytes than"),
        ("fixed", b"1\n", "which is fixed"),
        ("fixed", b"2\n", "has other bytes than"),
    ],
)
def test_prune_takes_a_finding_only_where_its_bytes_are_on_file_as_a_fault_that_stands(
    here, wirefence: Wirefence, status: Status, data: bytes, said: str
):
    put(CRASHES, data, status)
    loose = put(FINDINGS, b"1\n")
    ran = wirefence("crashes", "prune", "--write")
    assert (ran.code, loose.path.exists()) == (0, said != "is on file as")
    assert said in ran.out
