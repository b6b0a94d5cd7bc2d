"""Each planted fault of a server is found by the trial that is made for it, by its name."""

from __future__ import annotations

import pytest

from wirefence.fuzz.gate.server.fresh import prepare_trial
from wirefence.fuzz.gate.server.verdicts import judge_trial

JSON_ERROR = "exit code 1: json.decoder.JSONDecodeError: Expecting value: line N column N (char N)"
FAULTS = [
    ("SplitsAtCr", "nested-cr", "after", "act-rejected|frame-cr:separator"),
    ("ReplacesUtf8", "encoding-byte-ff", "after", "act-rejected|utf8-invalid:invalid-utf8"),
    ("TakesNan", "danger-nan", "after", "act-rejected|json-syntax:nan"),
    (
        "LastMethodWins",
        "duplicate-method-before",
        "after",
        "act-rejected|json-duplicate-name:duplicate-name",
    ),
    ("ActsOnTail", "truncate-newline-eof", "end", "act-rejected|frame-unterminated:whole"),
    ("TakesTwo", "ugly-two-objects", "after", "act-rejected|json-syntax:trailing"),
    ("Hybrids", "danger-hybrid", "after", "act-rejected|rpc-kind:mixed"),
    (
        "CallsEarly",
        "call-before-initialize",
        "after",
        "act-rejected|life-not-initialized:request",
    ),
    ("OpensForAnything", "gate-no-id", "before", "act-rejected|mcp-kind:no-id"),
    ("LocksVersion", "version-array", "before", "session-state|mcp-params:protocolVersion-type"),
    ("KeepsHalf", "truncate-line", "after", "live-hang|json-syntax:unclosed-string"),
    ("DiesOfBadJson", "ugly-debug-line", "after", f"live-crash|{JSON_ERROR}"),
    ("Prints", "good", "after", "out-not-json:text|none"),
    ("PrintsTracebacks", "ugly-debug-line", "after", "out-not-json:text|none"),
    ("WrongId", "good", "after", "reply-id:unknown|none"),
    ("AnswersTwice", "good", "after", "reply-twice|none"),
    ("ActsTwice", "ugly-debug-line", "after", "act-twice:write|none"),
    ("ActsNameless", "ugly-malformed-params", "after", "act-unfounded:write|rpc-params:array"),
    ("Closes", "ugly-debug-line", "after", "live-hang|json-syntax:foreign-text"),
]


@pytest.mark.parametrize(("fault", "trial", "place", "signature"), FAULTS)
def test_a_planted_fault_is_found_by_name(bench, fault, trial, place, signature):
    patience = 3.0 if fault in ("KeepsHalf", "WrongId", "Closes") else 20.0
    assert signature in bench(fault, patience=patience).shows(trial, place)


@pytest.mark.parametrize(("trial", "place"), sorted({(row[1], row[2]) for row in FAULTS}))
def test_a_healthy_server_shows_nothing(bench, trial, place):
    assert bench("Strict").shows(trial, place) == set()


def test_replies_in_another_order_between_notifications_are_nothing(bench):
    assert bench("Chatty").shows("good", "after") == set()


def test_what_a_server_died_of_is_told_in_its_own_words(bench):
    dying = bench("DiesOfBadJson")
    trial = dying.trial("ugly-debug-line")
    prepared = prepare_trial(trial, dying.facts.make_contract(dying.profile))
    seen, _ = dying.run(trial)
    (finding,) = judge_trial(prepared, seen, dying.facts)
    assert "(exit code 1) before its stdin ended: json.decoder.JSONDecodeError: " in finding.summary


def test_a_server_that_hangs_is_told_from_one_that_lost_a_reply(bench):
    hung = bench("HangsOnBadJson", patience=3.0).shows("ugly-debug-line")
    assert hung == {"live-hang|json-syntax:foreign-text"}


def test_a_server_that_documents_close_may_say_nothing_more(bench):
    closing = bench("Closes", policy="close")
    assert closing.shows("ugly-debug-line") == set()


def test_a_server_that_documents_close_must_not_go_on(bench):
    going = bench("Strict", policy="close")
    assert "act-after-close|json-syntax:foreign-text" in going.shows("ugly-debug-line")
