"""Each planted fault of a server is found by the trial that is made for it, by its name."""

from __future__ import annotations

import pytest

from wirefence.fuzz.gate.server.fresh import prepare_trial
from wirefence.fuzz.gate.server.verdicts import judge_trial

FAULTS = [
    ("SplitsAtCr", "nested-cr", "after", "non-action|act-rejected|frame-cr"),
    ("ReplacesUtf8", "encoding-byte-ff", "after", "non-action|act-rejected|utf8-invalid"),
    ("TakesNan", "danger-nan", "after", "non-action|act-rejected|json-syntax"),
    (
        "LastMethodWins",
        "duplicate-method-before",
        "after",
        "non-action|act-rejected|json-duplicate-name",
    ),
    ("ActsOnTail", "truncate-newline-eof", "end", "non-action|act-rejected|frame-unterminated"),
    ("TakesTwo", "ugly-two-objects", "after", "non-action|act-rejected|json-syntax"),
    ("Hybrids", "danger-hybrid", "after", "non-action|act-rejected|rpc-kind"),
    (
        "CallsEarly",
        "call-before-initialize",
        "after",
        "non-action|act-rejected|life-not-initialized",
    ),
    ("OpensForAnything", "gate-no-id", "before", "non-action|act-rejected|life-not-initialized"),
    ("LocksVersion", "version-array", "before", "session|session-state|initialize"),
    ("KeepsHalf", "truncate-line", "after", "liveness|live-hang|json-syntax"),
    ("DiesOfBadJson", "ugly-debug-line", "after", "liveness|live-crash|exit code 1 json-syntax"),
    ("Prints", "good", "after", "transcript|out-not-json|text"),
    ("PrintsTracebacks", "ugly-debug-line", "after", "transcript|out-not-json|text"),
    ("WrongId", "good", "after", "reply|reply-id|unknown"),
    ("AnswersTwice", "good", "after", "reply|reply-twice|ping"),
    ("ActsTwice", "ugly-debug-line", "after", "non-action|act-twice|write"),
    ("ActsNameless", "ugly-malformed-params", "after", "non-action|act-unfounded|write"),
    ("Closes", "ugly-debug-line", "after", "liveness|live-hang|json-syntax"),
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
    assert "; its last words on stderr: json.decoder.JSONDecodeError: " in finding.summary


def test_a_server_that_hangs_is_told_from_one_that_lost_a_reply(bench):
    hung = bench("HangsOnBadJson", patience=3.0).shows("ugly-debug-line")
    assert hung == {"liveness|live-hang|json-syntax"}


def test_a_server_that_documents_close_may_say_nothing_more(bench):
    closing = bench("Closes", policy="close")
    assert closing.shows("ugly-debug-line") == set()


def test_a_server_that_documents_close_must_not_go_on(bench):
    going = bench("Strict", policy="close")
    assert "non-action|act-after-close" in going.shows("ugly-debug-line")
