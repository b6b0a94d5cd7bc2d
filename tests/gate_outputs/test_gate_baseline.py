from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.gate_outputs.reports import FACTS, flaw, report
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.gate.report.baseline import (
    UNREVIEWED,
    Baseline,
    BaselineServer,
    ExpectedFinding,
    load_baseline,
    store_baseline,
)

ONE, TWO = flaw(), flaw("act-twice")
ENTRY = ExpectedFinding(
    ONE.finding.signature, "act-rejected", "acted", "by design", "2026-01-01", ("1.1",)
)
GONE = replace(ENTRY, signature="srv|act-early")


def test_an_expected_flaw_is_known_and_its_neighbour_is_new() -> None:
    made = Baseline((ENTRY,)).mark_known(report(ONE, TWO))
    assert [each.known for each in made.flaws] == [True, False]
    assert made.notes == ()


def test_an_entry_that_nothing_showed_is_named() -> None:
    made = Baseline((ENTRY, GONE)).mark_known(report(ONE))
    assert made.notes == (f"stale in the baseline, no longer seen: {GONE.signature}",)


def test_a_run_that_stopped_early_calls_nothing_stale() -> None:
    baseline = Baseline((ENTRY, GONE))
    stopped = report(ONE, reason="budget")
    assert baseline.compare_report(stopped).stale == ()
    assert baseline.update_from(stopped).expected == (GONE, replace(ENTRY, releases=("1.1", "1.2")))


def test_an_update_keeps_notes_adds_releases_drops_stale_and_asks_for_review(
    tmp_path: Path,
) -> None:
    path = tmp_path / "baseline.json"
    store_baseline(path, Baseline((ENTRY, GONE)).update_from(report(ONE, TWO), "2026-02-02"))
    first, second = load_baseline(path).expected
    assert first == replace(ENTRY, releases=("1.1", "1.2"))
    assert second == ExpectedFinding(
        TWO.finding.signature, "act-twice", "acted", UNREVIEWED, "2026-02-02", ("1.2",)
    )
    assert load_baseline(path).compare_report(report(ONE, TWO)).unreviewed == (second,)
    assert [each.name for each in tmp_path.iterdir()] == ["baseline.json"]


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (None, "there is no baseline"),
        (b"\xff", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[]", "is no baseline"),
        (b'{"wirefence-baseline": 3, "expected": []}', "is no baseline"),
        (b'{"wirefence-baseline": 1, "expected": []}', "is of another form; rewrite it"),
        (b'{"wirefence-baseline": 2, "expected": [{}]}', "is no baseline"),
        (b'{"wirefence-baseline": 2, "expected": [7]}', "is no baseline"),
        (b'{"wirefence-baseline": 2, "expected": {"a": 1}}', "is no baseline"),
        (b'{"wirefence-baseline": 2, "expected": [], "server": 7}', "is no baseline"),
        (b'{"wirefence-baseline": 2, "expected": [], "server": {"x": ""}}', "is no baseline"),
        (b'{"wirefence-baseline": 2, "expected": [], "server": {"budget": "x"}}', "is no baseline"),
        (b'{"wirefence-baseline": 2, "expected": [' + b"9" * 9_999 + b"]}", "is not JSON"),
        (b'{"wirefence-baseline": 2, "expected": [', "is not JSON"),
        (b"", "is not JSON"),
        (b" " * (17 << 20), "has more than 16 MiB"),
    ],
)
def test_a_bad_baseline_is_refused_in_a_sentence(
    content: bytes | None, cause: str, tmp_path: Path
) -> None:
    path = tmp_path / "b.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=cause):
        load_baseline(path)


@pytest.mark.parametrize("whose", ["", ', "server": {}'])
def test_a_baseline_that_does_not_say_whose_it_is_is_taken(whose: str, tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text(f'{{"wirefence-baseline": 2, "expected": []{whose}}}')
    assert load_baseline(path) == Baseline()
    assert load_baseline(path).mark_known(report(ONE)).notes == ()


def test_many_entries_are_read_in_no_time(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    many = tuple(replace(ENTRY, signature=f"srv|{number}") for number in range(20_000))
    store_baseline(path, Baseline(many))
    assert load_baseline(path).expected == many


@pytest.mark.parametrize(
    ("whose", "told"),
    [
        (BaselineServer("srv", "srv", "1.2"), ""),
        (BaselineServer("srv", "srv", ""), ""),
        (BaselineServer("other", "srv", "1.2"), "another server: other (srv), and this is srv"),
        (BaselineServer("srv", "thing", "1.2"), "another server: srv (thing), and this is srv"),
        (
            BaselineServer("srv", "srv", "1.1"),
            "last updated with release 1.1 of srv, and this is 1.2",
        ),
    ],
)
def test_a_baseline_of_something_else_is_warned_of(whose: BaselineServer, told: str) -> None:
    warnings = whose.make_warnings(FACTS)
    assert len(warnings) == bool(told)
    assert told in " ".join(warnings)
    notes = Baseline((ENTRY,), whose).mark_known(report(ONE)).notes
    assert notes == tuple(f"warning: {each}" for each in warnings)


def test_a_baseline_of_another_server_is_not_updated() -> None:
    with pytest.raises(UsageError, match="another server"):
        Baseline((ENTRY,), BaselineServer("other")).update_from(report(ONE))
    again = Baseline((ENTRY,), BaselineServer("srv", "srv", "1.1")).update_from(report(ONE))
    assert again.server == BaselineServer("srv", "srv", "1.2", "quick")


def test_a_quick_run_calls_nothing_stale_that_a_longer_one_found(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    store_baseline(path, Baseline((GONE,)).update_from(report(ONE, budget="release"), "2026-02-02"))
    baseline = load_baseline(path)
    assert baseline.server.budget == "release"
    assert [each.signature for each in baseline.expected] == [ONE.finding.signature]
    quick = report()
    why = "in the baseline and not seen, but this run did not try everything"
    told = f"{why}: {ONE.finding.signature}"
    assert told in baseline.mark_known(quick).notes
    assert baseline.update_from(quick).expected == baseline.expected
    assert baseline.update_from(quick).server.budget == "release"
    assert baseline.update_from(report(budget="nightly")).expected == ()


def test_names_that_are_no_utf_8_survive(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    odd = Baseline((replace(ENTRY, signature="s\udcff|x"),), BaselineServer("s\udcff"))
    store_baseline(path, odd)
    assert load_baseline(path) == odd


def test_a_signature_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    store_baseline(path, Baseline((ENTRY, ENTRY)))
    with pytest.raises(UsageError, match="twice"):
        load_baseline(path)


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        store_baseline(tmp_path / "no" / "b.json", Baseline())


def test_the_file_is_stable_text(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    store_baseline(path, Baseline((ENTRY,)))
    assert json.loads(path.read_bytes())["expected"][0]["releases"] == ["1.1"]
    again = path.read_bytes()
    store_baseline(path, load_baseline(path))
    assert path.read_bytes() == again
