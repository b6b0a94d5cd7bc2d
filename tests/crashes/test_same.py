"""When two findings are the same fault."""

from __future__ import annotations

import pytest

from wirefence.fuzz.crashes.same import same
from wirefence.oracles.records import Finding


def divergence(rule: str, groups: str, names: str = "big-integer") -> Finding:
    """A finding of how all parsers split over a document."""
    signature = f"parsers|agreement|{rule}|{groups}: {names}"
    return Finding("agreement", rule, "parsers", signature, "")


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        # The group of a parser that is not installed here decides the rule as well.
        (("agree-escape", "escapes X=gone; value=orjson"), ("agree-value", "value=orjson")),
        (("agree-accept", "rejects=gone; value=orjson"), ("agree-value", "value=orjson")),
        (("agree-accept", "rejects=gone,orjson"), ("agree-accept", "rejects=orjson")),
        (("agree-value", "value=orjson", "a+b"), ("agree-value", "value=orjson", "a")),
    ],
)
def test_the_same_fault_is_known_without_parsers_that_are_absent(wanted, found):
    assert same(divergence(*wanted))(divergence(*found))


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (("agree-accept", "rejects=gone; value=orjson"), ("agree-accept", "rejects=orjson")),
        (("agree-accept", "rejects=orjson"), ("agree-value", "value=orjson")),
        (("agree-value", "value=orjson"), ("agree-value", "value=orjson,ujson")),
        (("agree-value", "value=orjson", "a"), ("agree-value", "value=orjson", "a+b")),
    ],
)
def test_another_split_of_the_parsers_is_another_fault(wanted, found):
    assert not same(divergence(*wanted))(divergence(*found))
