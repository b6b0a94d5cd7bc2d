from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.gate_outputs.reports import FACTS, flaw, report
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.gate.report.baseline import UNREVIEWED, Baseline, Expected, Server, load, store

ONE, TWO = flaw(), flaw("act-twice")
ENTRY = Expected(
    ONE.finding.signature, "act-rejected", "acted", "by design", "2026-01-01", ("1.1",)
)
GONE = replace(ENTRY, signature="srv|non-action|act-early")


def test_an_expected_flaw_is_known_and_its_neighbour_is_new() -> None:
    made = Baseline((ENTRY,)).applied(report(ONE, TWO))
    assert [each.known for each in made.flaws] == [True, False]
    assert made.notes == ()


def test_an_entry_that_nothing_showed_is_named() -> None:
    made = Baseline((ENTRY, GONE)).applied(report(ONE))
    assert made.notes == (f"stale in the baseline, no longer seen: {GONE.signature}",)


def test_a_run_that_stopped_early_calls_nothing_stale() -> None:
    baseline = Baseline((ENTRY, GONE))
    stopped = report(ONE, reason="budget")
    assert baseline.compare(stopped).stale == ()
    assert baseline.updated(stopped).expected == (GONE, replace(ENTRY, releases=("1.1", "1.2")))


def test_an_update_keeps_notes_adds_releases_drops_stale_and_asks_for_review(
    tmp_path: Path,
) -> None:
    path = tmp_path / "baseline.json"
    store(path, Baseline((ENTRY, GONE)).updated(report(ONE, TWO), "2026-02-02"))
    first, second = load(path).expected
    assert first == replace(ENTRY, releases=("1.1", "1.2"))
    assert second == Expected(
        TWO.finding.signature, "act-twice", "acted", UNREVIEWED, "2026-02-02", ("1.2",)
    )
    assert load(path).compare(report(ONE, TWO)).unreviewed == (second,)
    assert [each.name for each in tmp_path.iterdir()] == ["baseline.json"]


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (None, "there is no baseline"),
        (b"\xff", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[]", "is no baseline"),
        (b'{"wirefence-baseline": 2, "expected": []}', "is no baseline"),
        (b'{"wirefence-baseline": 1, "expected": [{}]}', "is no baseline"),
        (b'{"wirefence-baseline": 1, "expected": [7]}', "is no baseline"),
        (b'{"wirefence-baseline": 1, "expected": {"a": 1}}', "is no baseline"),
        (b'{"wirefence-baseline": 1, "expected": [], "server": 7}', "is no baseline"),
        (b'{"wirefence-baseline": 1, "expected": [], "server": {"x": ""}}', "is no baseline"),
        (b'{"wirefence-baseline": 1, "expected": [], "server": {"budget": "x"}}', "is no baseline"),
        (b'{"wirefence-baseline": 1, "expected": [' + b"9" * 9_999 + b"]}", "is not JSON"),
        (b'{"wirefence-baseline": 1, "expected": [', "is not JSON"),
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
        load(path)


@pytest.mark.parametrize("whose", ["", ', "server": {}'])
def test_a_baseline_that_does_not_say_whose_it_is_is_taken(whose: str, tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text(f'{{"wirefence-baseline": 1, "expected": []{whose}}}')
    assert load(path) == Baseline()
    assert load(path).applied(report(ONE)).notes == ()


def test_many_entries_are_read_in_no_time(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    many = tuple(replace(ENTRY, signature=f"srv|reply|{number}") for number in range(20_000))
    store(path, Baseline(many))
    assert load(path).expected == many


@pytest.mark.parametrize(
    ("whose", "told"),
    [
        (Server("srv", "srv", "1.2"), ""),
        (Server("srv", "srv", ""), ""),
        (Server("other", "srv", "1.2"), "another server: other (srv), and this is srv"),
        (Server("srv", "thing", "1.2"), "another server: srv (thing), and this is srv"),
        (Server("srv", "srv", "1.1"), "last updated with release 1.1 of srv, and this is 1.2"),
    ],
)
def test_a_baseline_of_something_else_is_warned_of(whose: Server, told: str) -> None:
    warnings = whose.warnings(FACTS)
    assert len(warnings) == bool(told)
    assert told in " ".join(warnings)
    notes = Baseline((ENTRY,), whose).applied(report(ONE)).notes
    assert notes == tuple(f"warning: {each}" for each in warnings)


def test_a_baseline_of_another_server_is_not_updated() -> None:
    with pytest.raises(UsageError, match="another server"):
        Baseline((ENTRY,), Server("other")).updated(report(ONE))
    again = Baseline((ENTRY,), Server("srv", "srv", "1.1")).updated(report(ONE))
    assert again.server == Server("srv", "srv", "1.2", "quick")


def test_a_quick_run_calls_nothing_stale_that_a_longer_one_found(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    store(path, Baseline((GONE,)).updated(report(ONE, budget="release"), "2026-02-02"))
    baseline = load(path)
    assert baseline.server.budget == "release"
    assert [each.signature for each in baseline.expected] == [ONE.finding.signature]
    quick = report()
    told = f"in the baseline and not seen, but not all of it was tried: {ONE.finding.signature}"
    assert told in baseline.applied(quick).notes
    assert baseline.updated(quick).expected == baseline.expected
    assert baseline.updated(quick).server.budget == "release"
    assert baseline.updated(report(budget="nightly")).expected == ()


def test_names_that_are_no_utf_8_survive(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    odd = Baseline((replace(ENTRY, signature="s\udcff|reply|x"),), Server("s\udcff"))
    store(path, odd)
    assert load(path) == odd


def test_a_signature_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    store(path, Baseline((ENTRY, ENTRY)))
    with pytest.raises(UsageError, match="twice"):
        load(path)


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        store(tmp_path / "no" / "b.json", Baseline())


def test_the_file_is_stable_text(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    store(path, Baseline((ENTRY,)))
    assert json.loads(path.read_bytes())["expected"][0]["releases"] == ["1.1"]
    again = path.read_bytes()
    store(path, load(path))
    assert path.read_bytes() == again
