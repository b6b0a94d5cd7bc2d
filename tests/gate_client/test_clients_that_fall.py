"""Each attack has a client that falls for it and is found, and the strict one falls for none."""

from __future__ import annotations

import pytest

from tests.gate_client.falls import BY_NAME, rules
from wirefence.fuzz.gate.client.attacks import ATTACKS
from wirefence.fuzz.gate.client.records import ClientPlace

ASSOCIATION = [
    ("any-id", "wrong-id"),
    ("any-id", "error-wrong-id"),
    ("any-id", "stale-id"),
    ("any-id,sleepy", "second-answer"),
    ("any-id,shape", "error-null-id"),
    ("any-id,shape", "error-storm"),
    ("loose-id", "id-other-type"),
    ("loose-id", "id-padded"),
    ("stores,sleepy", "early-answer"),
]
ACCEPTS = [
    ("repair", "log-before"),
    ("repair", "log-after"),
    ("repair", "glued"),
    ("gathers", "spread"),
    ("nan", "nan"),
    ("relaxed", "comment"),
    ("relaxed", "trailing-comma"),
    ("closes", "unclosed"),
    ("strip", "unicode-space"),
    ("strip", "form-feed"),
    ("repair", "line-separator"),
    ("repair", "cr-after-log"),
    ("splits", "cr-after-log"),
    ("strip", "nul-after"),
    ("repair", "event-stream"),
    ("strip", "byte-order-mark"),
    ("replace", "bad-utf8"),
    ("guesses", "utf16"),
    ("splits", "hidden-between-cr"),
    ("shape", "no-jsonrpc"),
    ("shape", "wrong-jsonrpc"),
    ("shape", "result-and-error"),
    ("shape", "method-and-result"),
    ("unpacks", "batch"),
    ("any-id,shape", "id-null"),
    ("any-id,shape", "id-array"),
    ("any-id,shape", "id-object"),
    ("loose-id,shape", "id-fraction"),
    ("loose-id,shape", "id-exponent"),
    ("any-id,shape", "id-absent"),
    ("eager", "text-behind-a-pause"),
    ("unterminated", "no-line-end"),
    ("unterminated,closes", "truncated"),
    ("duplicates", "duplicate-id"),
    ("any-id,duplicates", "duplicate-id-last"),
    ("duplicates", "duplicate-result"),
    ("duplicates", "lone-surrogate"),
    ("shape", "unknown-member"),
    ("trusts", "content-object"),
    ("trusts", "content-untyped"),
    ("trusts", "content-other-type"),
    ("trusts", "text-array"),
    ("trusts", "error-flag-string"),
    ("trusts", "structured-array"),
]
ROWS = [
    *((faults, name, "call", "client-association") for faults, name in ASSOCIATION),
    *((faults, name, "call", "client-accepts") for faults, name in ACCEPTS),
    # Only 0 and 1 have a boolean that is equal to them, and 1 is the id of the handshake.
    ("loose-id,shape", "id-boolean", "handshake", "client-accepts"),
    ("eager,brittle", "pieces", "call", "client-deaf"),
    ("any-kind,shape", "id-of-a-request", "call", "client-deaf"),
]
PLAYED = [
    (attack.name, place)
    for attack in ATTACKS
    for place in attack.places
    if (attack.name, place) != ("id-boolean", "call")
]


@pytest.mark.parametrize(("faults", "name", "place", "rule"), ROWS)
def test_a_client_that_falls_for_an_attack_is_found(faults, name, place, rule):
    # The answer that it left behind may then be taken for that to its next call.
    assert rules(faults, name, place)[0] == f"c|{rule}|{name}"


@pytest.mark.parametrize(("name", "place"), PLAYED)
def test_a_strict_client_falls_for_none(name: str, place: ClientPlace):
    assert rules("none", name, place) == []


def test_each_attack_that_must_fail_has_a_client_that_falls_for_it():
    """What is ignored is noise without an answer: a client can only die of it."""
    fallen = {name for _, name, _, _ in ROWS}
    assert fallen == {attack.name for attack in ATTACKS if attack.expected != "ignore"}


@pytest.mark.parametrize(("faults", "name", "place"), [row[:3] for row in ROWS])
def test_what_the_specifications_leave_open_counts_in_the_strict_profile_only(faults, name, place):
    told = rules(faults, name, place)
    assert rules(faults, name, place, "spec") == ([] if BY_NAME[name].strict else told)


@pytest.mark.parametrize("faults", ["duplicates", "loose-id", "shape,replace"])
def test_a_fault_that_an_attack_is_not_made_for_is_no_finding(faults):
    assert rules(faults, "duplicate-id-last") == []
