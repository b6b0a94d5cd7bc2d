from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fuzz.errors import UsageError
from fuzz.gate.baseline import UNREVIEWED, Baseline, Expected, load, store
from tests.gate_outputs.reports import flaw, report

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
