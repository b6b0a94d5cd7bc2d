"""Quality: what campaigns find in a planted gateway is one fault and one file, and two are two."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest

from tests.crashes import symptoms
from tests.crashes.conftest import HANDSHAKE
from tests.crashes.fault_counts import (
    PAGE,
    SEVERAL,
    UNSEEN,
    list_faults,
    list_files,
    render_page,
)
from tests.crashes.symptoms import Subject, cases, restore_finding
from wirefence.fuzz.crashes.selection import select_findings
from wirefence.fuzz.store.metadata import make_metadata
from wirefence.fuzz.store.scan import Entry
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.oracles.faults import group_findings, name_faults
from wirefence.oracles.records import Finding, make_finding
from wirefence.targets.planted import BY_NAME, HEALTHY, PLANTED
from wirefence.targets.planted.records import Planted

NEAR = """\
takes-nan takes-trailing-commas
takes-nan takes-control-characters
takes-control-characters takes-byte-order-mark
takes-cr-lf takes-byte-order-mark
takes-cr-lf strips-unicode-space
takes-nan strips-unicode-space
first-duplicate-wins takes-nan
takes-float-id takes-boolean-id
takes-float-id takes-null-id-for-notification
ignores-version-member ignores-unknown-members
acts-on-hybrids ignores-version-member
overflows-to-infinity dies-on-huge-integer
dies-on-deep-nesting dies-on-huge-integer
dies-on-lone-surrogate decodes-with-replacement
acts-before-initialize takes-reused-id
takes-second-initialize takes-reused-id
acts-on-unterminated-line takes-second-initialize
acts-on-unterminated-line first-duplicate-wins
acts-on-unterminated-line takes-boolean-id
acts-on-unterminated-line ignores-unknown-members
evaluates-string-params folds-case-of-members
remembers-operator takes-wrong-token-for-none
takes-wrong-token-for-none retries-as-operator
acts-twice takes-nan
runs-self-test takes-nan
prints-banner takes-nan
prints-banner pretty-prints-replies
writes-nan prints-banner
logs-json-to-stdout prints-banner
logs-json-to-stdout writes-nan
forgets-line-feed prints-banner
skips-bad-lines leaks-frame-in-error
skips-bad-lines takes-nan
uses-one-error-code takes-cr-lf
leaks-frame-in-error takes-float-id
is-silent-on-refusal takes-boolean-id
ignores-version-member keeps-half-request
ignores-version-member keeps-handshake-of-rejected
ignores-version-member remembers-id-of-rejected
keeps-half-request keeps-handshake-of-rejected
keeps-handshake-of-rejected keeps-permission
skips-bad-lines answers-rejected-with-result
swallows-next-frame uses-one-error-code
uses-one-error-code answers-rejected-with-result
"""
"""Pairs of faults that one gateway can have at once, most of them near each other."""

HIDDEN = """\
keeps-permission remembers-operator
retries-as-operator remembers-operator
swallows-next-frame remembers-id-of-rejected
loses-split-frames acts-after-close
"""
"""Pairs of which the first hides the second: it breaks the same rules wherever that does."""


TOGETHER = {
    # Only the second alone alters arguments of sound calls.
    "merges-unknown-arguments coerces-arguments": [
        "takes|tool-arguments:type",
        "takes|tool-unknown-argument",
    ],
    # Each gives wrong codes; those of both are one fault.
    "skips-bad-lines uses-one-error-code": [
        "act-after-close|any rejected frame",
        "reply-code|any rejected frame",
    ],
    # The few cases of the one alone give it other names.
    "keeps-half-request keeps-permission": [
        "session-state|any rejected frame",
        "takes|authz-denied",
    ],
    "remembers-id-of-rejected keeps-permission": [
        "session-resync|any rejected frame",
        "takes|authz-denied",
    ],
    "remembers-id-of-rejected uses-one-error-code": [
        "reply-code|any rejected frame",
        "session-resync|mcp-kind",
        "session-resync|rpc-method",
    ],
    # What the one swallows the other answers, under the id of a sound request and emptily.
    "swallows-next-frame answers-rejected-with-result": [
        "malformed-result|mcp-result:resultType",
        "reply-id|none",
        "reply-to-rejected|any rejected frame",
    ],
}
"""Pairs of faults that are two files, of which one has another name than alone."""

SINGLE = [each.name for each in PLANTED if each.name not in SEVERAL]


@pytest.mark.parametrize("fault", [each for each in SINGLE if each not in UNSEEN])
def test_what_a_campaign_finds_in_a_planted_gateway_is_one_fault(fault):
    assert len(list_faults(fault)) == 1, list_faults(fault)


@pytest.mark.parametrize("fault", [each for each in SINGLE if cases(each)])
def test_what_one_fault_shows_is_one_file(fault):
    assert Subject(BY_NAME[fault]).entries(cases(fault)), "the pinned cases show it"
    assert len(list_files(fault)) == 1, list_files(fault)


@pytest.mark.parametrize("fault", SEVERAL)
def test_every_exception_is_one_and_has_a_reason(fault):
    assert SEVERAL[fault]
    assert max(len(list_faults(fault)), len(list_files(fault))) > 1


@pytest.mark.parametrize("fault", UNSEEN)
def test_what_the_pinned_campaign_does_not_find_has_a_reason(fault):
    assert UNSEEN[fault]
    assert list_faults(fault) == ()


def test_the_page_has_the_figures_of_the_tables():
    page = PAGE.read_text(encoding="utf-8")
    assert page == render_page(page), "python -m tests.crashes.fault_counts writes it"


def files_of_both(pair: str) -> list[str]:
    one, other = (BY_NAME[name] for name in pair.split())
    assert one.version == other.version
    policy = one.policy if one.policy == other.policy else "continue"
    both = type("Both", (one.factory, other.factory), {})
    planted: Planted = replace(one, name="both", factory=both, policy=policy)
    return Subject(planted).files([*cases(one.name), *cases(other.name)])


@pytest.mark.parametrize("pair", NEAR.splitlines())
def test_two_faults_of_one_gateway_are_two_files_each_with_the_name_of_its_fault(pair):
    assert sorted(files_of_both(pair)) == sorted(
        name for each in pair.split() for name in list_files(each)
    )


@pytest.mark.parametrize("pair", TOGETHER)
def test_two_faults_that_meet_in_one_reply_are_two_files(pair):
    assert sorted(files_of_both(pair)) == TOGETHER[pair]


@pytest.mark.parametrize("pair", HIDDEN.splitlines())
def test_a_fault_that_hides_another_stands_alone_until_it_is_mended(pair):
    assert files_of_both(pair) == list(list_files(pair.split()[0]))


def test_the_tables_have_every_fault_and_what_is_added_to_them():
    assert {each.name for each in PLANTED} == set(symptoms.rows()) == set(symptoms.campaigns())
    for fault, rows in symptoms.ADDED.items():
        assert all(row in symptoms.rows()[fault] for row in rows)


def test_the_tables_can_be_made_anew(tmp_path, monkeypatch):
    for name in ("TABLE", "CAMPAIGNS"):
        copy = tmp_path / name
        copy.write_text(getattr(symptoms, name).read_text())
        monkeypatch.setattr(symptoms, name, copy)
    made = symptoms.make_rows("prints-banner", 20)
    monkeypatch.setattr(symptoms, "make_rows", lambda _: made)
    symptoms.main(["prints-banner"])
    assert json.loads(symptoms.TABLE.read_text()) == {
        **symptoms.rows(),
        "prints-banner": made[1],
    }
    assert made[0] == symptoms.campaigns()["prints-banner"]
    assert len(made[1]) == len(symptoms.rows()["prints-banner"])


# What is one fault, and what is not.


def names_of(*signatures: str) -> list[str]:
    """The names of faults of a target that shows so many effects and deviations."""
    findings = [restore_finding(f"x|{each}") for each in signatures]
    return [each.name.partition("|")[2] for each in group_findings(findings)]


def test_twelve_independent_leniencies_are_twelve_faults():
    some = (
        *("json-syntax:nan", "json-syntax:trailing-comma", "json-duplicate-name:duplicate-name"),
        *("rpc-id:minus-zero", "rpc-id:boolean", "rpc-id:fraction", "rpc-version:absent"),
        *("frame-cr:white-space", "frame-cr:separator", "rpc-kind:mixed", "utf8-bom:bom"),
        "tool-unknown:white-space",
    )
    effects = ("act-rejected", "reply-to-rejected")
    assert len(names_of(*(f"{e}|{d}" for e in effects for d in some))) == 12


def test_what_is_done_with_a_leniency_belongs_to_it():
    assert names_of(
        "act-rejected|json-syntax:nan",
        "act-after-close|json-syntax:nan",
        "reply-code|json-syntax:nan",
        "reply-to-rejected:late|json-syntax:nan",
    ) == ["takes|json-syntax:non-finite"]


def test_what_follows_many_rules_follows_any_rejected_frame():
    rules = ("json-syntax:nan", "rpc-id:boolean", "frame-cr:line-end", "rpc-kind:mixed")
    for effect in ("reply-code", "act-after-close", "session-resync"):
        assert names_of(*(f"{effect}|{each}" for each in rules)) == [f"{effect}|any rejected frame"]
    more = ("rpc-method:number", "rpc-params:null")
    assert names_of(*(f"reply-to-rejected|{each}" for each in (*rules, *more))) == [
        "reply-to-rejected|any rejected frame"
    ]


def test_what_shows_where_nothing_is_wrong_is_not_due_to_a_deviation():
    assert names_of("reply-missing:ping|none", "reply-missing|mcp-method:unknown") == [
        "reply-missing:ping|none"
    ]
    assert names_of("reply-twice|none", "reply-twice|mcp-method:unknown") == ["reply-twice|none"]
    assert names_of("act-rejected|none", "act-rejected|rpc-id:boolean") == [
        "takes|none",
        "takes|rpc-id:boolean",
    ]


def test_two_rules_are_two_faults_and_two_effects_of_one_rule_are_one():
    assert names_of("reply-code|rpc-id:null", "reply-code|mcp-meta:type") == [
        "reply-code|mcp-meta",
        "reply-code|rpc-id",
    ]
    assert names_of("session-state|rpc-version:absent", "reply-missing|rpc-version:absent") == [
        "session-state|rpc-version"
    ]


def test_a_reply_under_another_id_is_missing_here_and_too_many_there():
    assert names_of(
        "reply-id:unknown|none",
        "reply-missing:ping|none",
        "reply-twice|none",
        "reply-code:refused|none",
        "reply-code:result|tool-unknown:other",
    ) == ["reply-id|none"]
    assert names_of("reply-twice|none", "reply-leak:token|none", "reply-leak:traceback|none") == [
        "reply-twice|none",
        "reply-leak|none",
    ]


def test_what_is_lost_after_rejected_frames_is_one_fault_refused_requests_included():
    rules = ("json-syntax:nan", "rpc-id:boolean", "frame-cr:line-end")
    after = (f"{effect}|{each}" for effect in ("session-resync", "session-state") for each in rules)
    assert names_of(
        *after, "reply-code:refused|rpc-kind:mixed", "reply-missing|tool-unknown:other"
    ) == ["session-resync|any rejected frame"]


def test_a_reply_that_repeats_what_was_taken_belongs_to_it():
    assert names_of("act-rejected|rpc-id:boolean", "out-not-message:rpc-id|none") == [
        "takes|rpc-id:boolean"
    ]
    assert names_of("out-not-message:rpc-id|none") == ["out-not-message:rpc-id|none"]


def test_a_wider_leniency_brings_others_along():
    assert names_of("act-rejected|json-syntax:trailing", "act-rejected|json-syntax:nul") == [
        "takes|json-syntax:trailing"
    ]
    assert names_of("act-rejected|json-syntax:nul") == ["takes|json-syntax:nul"]
    assert names_of("act-early|none", "act-rejected|frame-unterminated:whole") == [
        "takes|frame-unterminated:whole"
    ]


def test_a_crash_is_its_own_fault_whatever_was_sent():
    assert names_of("live-crash|exit 1: ValueError", "act-rejected|json-syntax:nan") == [
        "takes|json-syntax:non-finite",
        "live-crash|exit 1: ValueError",
    ]


def test_findings_of_two_targets_are_two_faults():
    findings = [make_finding("non-action", "act-rejected", t, "rpc-id:null", "") for t in "xy"]
    assert set(name_faults(findings).values()) == {"x|takes|rpc-id:null", "y|takes|rpc-id:null"}


def entry(found: Finding, raw: bytes) -> Entry:
    case = case_from_bytes(raw)
    return Entry(Path(f"x-{len(raw)}.frame"), make_metadata(found, case, versions={}), case)


def select(entries: Collection[Entry], *, each: bool = False) -> tuple[list[Entry], list[str]]:
    taken, refused = select_findings(
        entries, [], lambda entry: [entry.metadata.to_finding()], each=each
    )
    return taken, [refusal.why for refusal in refused]


def test_the_gravest_finding_stands_for_a_fault_and_among_equals_the_simplest():
    acts = entry(restore_finding("x|act-rejected|json-syntax:nan"), b"longer\n")
    answers = entry(restore_finding("x|reply-to-rejected|json-syntax:nan"), b"1\n")
    taken, why = select([answers, acts])
    assert taken == [acts]
    assert "shows the same fault as" in why[0]
    long, short = (
        entry(restore_finding(f"x|reply-code|{d}"), raw)
        for d, raw in (("rpc-id:null", b"longer\n"), ("rpc-id:boolean", b"1\n"))
    )
    assert select([long, short])[0] == [short]


def test_every_signature_is_taken_if_asked_for():
    some = [
        entry(restore_finding(f"x|{effect}|json-syntax:nan"), b"1" * at + b"\n")
        for at, effect in enumerate(("act-rejected", "reply-to-rejected"), 1)
    ]
    assert select(some, each=True) == (some, [])


def test_a_lenient_reading_is_named_by_what_was_read():
    for fault, deviation in (
        ("splits-at-bare-cr", "frame-cr:separator"),
        ("takes-cr-lf", "frame-cr:line-end"),
    ):
        found = Subject(BY_NAME[fault]).entries(cases(fault))
        assert deviation in {each.metadata.to_finding().deviation for each in found}


SHARED = (
    b'{"jsonrpc":"2.0","id":-1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    b'"capabilities":{},"clientInfo":{"name":"","version":""}}}\n'
    b'{"jsonrpc":"2.0","id":-2,"method":"ping"}\n'
    b'{"jsonrpc":"2.0","id":-2,"method":"tools/call","params":{"name":"record",'
    b'"arguments":{"action":"early"}}}\n'
)
"""A good request, and one with its id that comes too early."""


@pytest.mark.parametrize(
    ("fault", "rules"),
    [
        ("healthy", set()),
        ("writes-nan", {"out-not-json"}),
        ("answers-twice", {"reply-twice"}),
        ("runs-self-test", {"act-unfounded"}),
    ],
)
def test_an_id_that_two_frames_have_accuses_nobody_of_more(fault, rules):
    """The error for the early call is no answer to the ping, nor its result one for the call."""
    examiner = Subject({**BY_NAME, HEALTHY.name: HEALTHY}[fault]).examiner
    assert {each.rule for each in examiner.examine_case(case_from_bytes(SHARED))} == rules


def test_a_refused_request_that_is_lost_after_a_rejected_frame_is_lost_with_it():
    refused = b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"none"}}\n'
    ping = b'{"jsonrpc":"2.0","id":6,"method":"ping"}\n'
    case = case_from_bytes(HANDSHAKE + b"nonsense\n" + refused + ping)
    found = Subject(BY_NAME["swallows-next-frame"]).examiner.examine_case(case)
    assert {each.oracle for each in found} == {"session"}
    assert {each.deviation.partition(":")[0] for each in found} == {"json-syntax"}
