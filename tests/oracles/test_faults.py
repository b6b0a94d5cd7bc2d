"""Findings with one cause are one fault, and findings with several are several."""

from __future__ import annotations

from itertools import product

import pytest

from wirefence.oracles.crash_names import name_crash
from wirefence.oracles.deviation_table import DEVIATIONS, leniency_of
from wirefence.oracles.faults import ANY, TAKES, group_findings, name_faults, rank_finding
from wirefence.oracles.records import Finding, make_finding
from wirefence.oracles.rules import ORACLE_RULES

ORACLE_OF = {rule: oracle for oracle, rules in ORACLE_RULES.items() for rule in rules}
INDEPENDENT = (
    *("json-syntax:trailing-comma", "json-syntax:line-comment", "json-syntax:single-quotes"),
    *("json-duplicate-name:duplicate-name", "rpc-id:boolean", "rpc-id:null", "rpc-id:minus-zero"),
    *("rpc-version:absent", "frame-cr:white-space", "frame-cr:separator"),
    *("tool-unknown:other-case", "tool-arguments:choice"),
)


def find(effect: str, deviation: str, family: str = "t") -> Finding:
    oracle = ORACLE_OF[effect.partition(":")[0]]
    return make_finding(oracle, effect, f"{family}/variant", deviation, effect)


def names(*findings: Finding) -> list[str]:
    return [fault.name for fault in group_findings(findings)]


def test_the_deviations_of_this_page_exist() -> None:
    assert set(INDEPENDENT) <= set(DEVIATIONS)


def test_a_leniency_that_shows_in_several_effects_is_one_fault() -> None:
    effects = ("act-rejected", "reply-to-rejected", "session-state", "session-resync", "reply-code")
    comma = "json-syntax:trailing-comma"
    (fault,) = group_findings(find(effect, comma) for effect in effects)
    assert fault.name == f"t|takes|{comma}"
    assert [each.effect for each in fault.findings] == [
        *("act-rejected", "session-resync", "session-state", "reply-code", "reply-to-rejected"),
    ]


def test_deviations_of_one_leniency_are_one_fault() -> None:
    assert leniency_of("rpc-id:exponent") == leniency_of("rpc-id:fraction")
    same = [find("act-rejected", f"rpc-id:{name}") for name in ("exponent", "integral-fraction")]
    assert names(*same) == ["t|takes|rpc-id:fraction"]
    assert len(names(find("act-rejected", "rpc-id:boolean"), *same)) == 2


def test_who_takes_anything_against_a_rule_takes_what_comes_near() -> None:
    other, near = (find("act-rejected", f"tool-unknown:{name}") for name in ("other", "other-case"))
    assert names(other, near) == ["t|takes|tool-unknown"]
    assert names(near) == ["t|takes|tool-unknown:other-case"]


def test_independent_leniencies_are_as_many_faults() -> None:
    effects = ("act-rejected", "reply-to-rejected", "session-state")
    found = [find(effect, each) for effect, each in product(effects, INDEPENDENT)]
    assert len(INDEPENDENT) == len(set(names(*found))) == len(names(*found)) == 12


@pytest.mark.parametrize("effect", ["reply-code", "session-resync", "reply-code:refused"])
def test_an_effect_after_frames_of_many_rules_is_one_fault(effect: str) -> None:
    rule = effect.partition(":")[0]
    found = [find(effect, each) for each in ("rpc-id:null", "json-depth:depth", "rpc-kind:mixed")]
    assert names(*found) == [f"t|{rule}|{ANY}"]
    assert names(*found[:2]) == [f"t|{rule}|json-depth", f"t|{rule}|rpc-id"]
    more = [find(effect, f"rpc-id:{name}") for name in ("boolean", "array", "fraction")]
    assert names(found[0], *more) == [f"t|{rule}|rpc-id"]


def test_what_a_leniency_explains_makes_no_effect_follow_any_frame() -> None:
    lost = ("rpc-id:null", "json-depth:depth", "rpc-kind:mixed")
    found = [find("session-state", each) for each in lost]
    taken = [find("act-rejected", lost[0])]
    assert names(*taken, *found) == [
        *("t|takes|rpc-id:null", "t|session-state|json-depth", "t|session-state|rpc-kind"),
    ]


def test_a_session_that_goes_on_after_its_close_is_one_fault_and_no_leniency() -> None:
    found = [
        find(effect, each)
        for effect in ("act-after-close", "reply-to-rejected:late")
        for each in INDEPENDENT[:5]
    ]
    assert names(*found) == [f"t|act-after-close|{ANY}"]
    taken = find("act-rejected", INDEPENDENT[0])
    assert names(taken, find("act-after-close", INDEPENDENT[0])) == [f"t|takes|{INDEPENDENT[0]}"]


def test_a_crash_that_many_deviations_reach_is_one_fault_with_its_name() -> None:
    crash = name_crash("exit 1", "KeyError: 'id'")
    found = [find("live-crash", crash) for _ in range(13)]
    other = find("live-crash", name_crash("exit 1", "TypeError: no"))
    taken = [find("act-rejected", each) for each in INDEPENDENT[:3]]
    faults = group_findings([*found, *taken, other])
    assert [each.name for each in faults if "live-crash" in each.name] == [
        *("t|live-crash|exit 1: KeyError", "t|live-crash|exit 1: TypeError: no"),
    ]
    assert len(faults) == 5


def test_nothing_merges_across_families() -> None:
    for effect, deviation in (
        *(("act-rejected", each) for each in INDEPENDENT),
        *(("reply-code", each) for each in INDEPENDENT[:4]),
        *(("live-crash", "SIGSEGV"), ("out-not-json:text", "none"), ("reply-missing:ping", "none")),
    ):
        one, other = find(effect, deviation, "one"), find(effect, deviation, "other")
        assert [name.split("|")[0] for name in names(one, other)] == ["one", "other"]
    taken = find("act-rejected", "rpc-id:null", "one")
    assert names(taken, find("session-state", "rpc-id:null", "other")) == [
        *("one|takes|rpc-id:null", "other|session-state|rpc-id"),
    ]


def test_variants_of_one_family_have_one_fault() -> None:
    one, other = (
        make_finding("reply", "reply-twice", f"gateway/{name}/close", "none", "")
        for name in ("json", "orjson")
    )
    assert names(one, other) == ["gateway|reply-twice|none"]


def test_what_is_printed_is_a_fault_of_its_own_whatever_else_is_taken() -> None:
    kinds = [find(f"out-not-json:{kind}", "none") for kind in ("text", "non-finite-number")]
    lost = [find(f"reply-missing:{method}", "none") for method in ("ping", "tools/call")]
    assert len(names(*kinds, *lost, find("act-rejected", "rpc-id:null"))) == 5


def test_each_finding_has_a_name_and_each_signature_stands_once() -> None:
    effects = [f"{rule}" for rules in ORACLE_RULES.values() for rule in rules]
    found = [find(effect, each) for effect, each in product([*effects, *TAKES], INDEPENDENT)]
    named = name_faults(found)
    faults = group_findings([*found, *found])
    assert set(named) == {each.signature for each in found}
    listed = [each.signature for fault in faults for each in fault.findings]
    assert sorted(listed) == sorted(set(listed)) == sorted(named)


def test_the_gravest_come_first_whatever_the_order() -> None:
    found = [
        find("out-not-json:text", "none"),
        find("reply-twice", "none"),
        find("live-crash", "SIGSEGV"),
        find("session-state", "rpc-id:null"),
        find("act-rejected", "rpc-kind:mixed"),
    ]
    faults = group_findings(found)
    assert [each.findings[0].rule for each in faults] == [
        *("act-rejected", "session-state", "live-crash", "reply-twice", "out-not-json"),
    ]
    assert group_findings(reversed(found)) == faults
    assert sorted(found, key=rank_finding)[0].rule == "act-rejected"
