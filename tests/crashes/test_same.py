"""When two findings are the same fault."""

from __future__ import annotations

import pytest

from wirefence.fuzz.crashes.same import divergences, elsewhere, find_divergences, same
from wirefence.fuzz.examination import examiner
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.oracles.records import Finding


def agreement(signature: str, summary: str = "") -> Finding:
    """A finding of the oracle agreement."""
    target, label, _ = signature.split("|")
    return Finding("agreement", label.partition(":")[0], target, signature, summary)


def difference(traits: str) -> Finding:
    """A finding of two sides."""
    signature = f"json to orjson|compare|newly-rejected|accept -> x.E: {traits}"
    return Finding("compare", "newly-rejected", "json to orjson", signature, "")


NAN = "parsers|agree-accept|nan"


def test_the_parsers_that_differ_are_no_part_of_a_fault():
    assert same(agreement(NAN, "2 parsers differ"))(agreement(NAN, "1 parser differs"))


@pytest.mark.parametrize(
    "other",
    [
        "parsers|agree-accept|infinity",
        "parsers|agree-accept:rejects|nan",
        "parsers|agree-escape:E|nan",
        "parser:json|agree-accept|nan",
    ],
)
def test_another_target_effect_or_first_trait_is_another_fault(other):
    assert not same(agreement(NAN))(agreement(other))


def test_in_another_target_the_effect_and_the_first_trait_count():
    assert elsewhere(agreement(NAN))(agreement("parser:json|agree-accept|nan"))
    assert not elsewhere(agreement(NAN))(agreement("parser:json|agree-accept|bom"))


def test_a_difference_of_two_sides_may_lose_traits():
    assert same(difference("nan+syntax"))(difference("nan"))
    assert not same(difference("nan"))(difference("nan+syntax"))


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
