"""How all parsers split over a document, and when two such findings are the same fault."""

from __future__ import annotations

from wirefence.fuzz.crashes.divergences import divergences, find_divergences
from wirefence.fuzz.examination import examiner
from wirefence.fuzz.store.store import case_from_bytes

NAN = "parsers|agree-accept|nan"


def test_parsers_split_by_effect_and_the_summary_names_them():
    found = divergences(case_from_bytes(b"[NaN]\n{}"))
    assert [each.signature for each in found] == [NAN]
    assert "parsers differ over nan: accepts=json," in found[0].summary


def test_each_effect_on_a_document_is_a_fault_of_its_own():
    found = find_divergences(b'{"a":0,"a":1}')
    assert {each.finding.signature for each in found} >= {
        "parsers|agree-value|duplicate-name",
        "parsers|agree-accept:rejects|duplicate-name",
    }
    assert {(each.finding.signature, *effect) for each in found for effect in each.effects} >= {
        ("parsers|agree-value|duplicate-name", "value", "json[first-wins]"),
        ("parsers|agree-accept:rejects|duplicate-name", "rejects", "jiter[unique]"),
    }


def test_the_same_fault_is_found_without_parsers_that_are_absent(monkeypatch):
    """A reproducer is known where one of its parsers is not installed, whatever that one showed."""
    raw = b"18446744073709551616"
    every = {each.finding.signature for each in find_divergences(raw)}
    run = examiner.Examiner.run_parsers

    def without_simdjson(self, raw):
        return [pair for pair in run(self, raw) if not pair[0].name.startswith("simdjson")]

    monkeypatch.setattr(examiner.Examiner, "run_parsers", without_simdjson)
    fewer = {each.finding.signature for each in find_divergences(raw)}
    assert "parsers|agree-value|int>=2^64" in every & fewer
    assert fewer <= every
