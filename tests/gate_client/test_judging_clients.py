"""The judge of clients on hand-made plays: each rule alone, and its healthy kin."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wirefence.fuzz.gate.client.judge import judge_client
from wirefence.fuzz.gate.client.records import ClientReport, PlayedAttack
from wirefence.fuzz.gate.client.run import select_attacks
from wirefence.strategies.contract import Profile

INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
CANCELLED = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n'
TRUTH = {"alpha": "T-m-1", "beta": "T-m-2"}
GOOD = PlayedAttack(
    select_attacks(["wrong-id"])[0],
    "call",
    sent=b"",
    received=b"",
    after=b"",
    offending=b"bad",
    truth=TRUTH,
    false="F-m",
    reports=(
        ClientReport("alpha", "é T-m-1", error=False),
        ClientReport("beta", "é T-m-2", error=False),
    ),
    exercised=True,
    ending="exited",
    status="exit code 0",
    stderr=b"",
    version="2025-11-25",
)


def rules(played: PlayedAttack, profile: Profile = "strict") -> list[str]:
    return [finding.rule for finding in judge_client(played, "c", profile)]


def attacked(name: str, **changes: object) -> PlayedAttack:
    return replace(GOOD, attack=select_attacks([name])[0], **changes)


def test_true_answers_under_their_actions_are_fine() -> None:
    assert rules(GOOD) == []


@pytest.mark.parametrize(
    "told",
    [
        (),
        (ClientReport("beta", "Connection closed", error=True),),
        (
            ClientReport("beta", "timed out", error=True),
            ClientReport("alpha", "é T-m-1", error=False),
        ),
        (ClientReport("other", "whatever", error=False),),
    ],
)
def test_a_client_that_fails_closed_is_fine(told: tuple[ClientReport, ...]) -> None:
    assert rules(replace(GOOD, reports=told)) == []


@pytest.mark.parametrize("error", [False, True])
def test_a_false_token_is_found_as_result_and_as_error(error: bool) -> None:
    told = (ClientReport("beta", "x F-m y", error=error),)
    assert rules(replace(GOOD, reports=told)) == ["client-association"]
    assert rules(attacked("nan", reports=told)) == ["client-accepts"]


def test_answers_under_each_other_s_actions_are_found() -> None:
    crossed = (
        ClientReport("alpha", "é T-m-2", error=False),
        ClientReport("beta", "é T-m-1", error=False),
    )
    assert rules(replace(GOOD, reports=crossed)) == ["client-association"]
    assert (
        rules(replace(GOOD, truth={"alpha": "T-m-1", "beta": "T-m-10"}, reports=GOOD.reports[:1]))
        == []
    )


def test_strict_attacks_count_in_the_strict_profile_only() -> None:
    played = attacked("duplicate-id", reports=(ClientReport("beta", "F-m", error=False),))
    assert rules(played) == ["client-accepts"]
    assert rules(played, "spec") == []


@pytest.mark.parametrize(
    ("after", "found"), [(INITIALIZED, 1), (CANCELLED, 0), (b"", 0), (b"x\n", 0)]
)
def test_going_on_after_a_bad_handshake_is_found(after: bytes, found: int) -> None:
    assert len(rules(replace(GOOD, place="handshake", after=after, reports=()))) == found
    assert rules(attacked("noise-log", place="handshake", after=after, reports=())) == []


def test_a_stateless_client_needs_no_discovery() -> None:
    played = replace(GOOD, place="handshake", after=INITIALIZED, reports=(), version="2026-07-28")
    assert rules(played) == []


def test_a_permitted_answer_that_is_not_taken_is_found_at_both_places() -> None:
    assert rules(attacked("pieces")) == []
    assert rules(attacked("pieces", reports=GOOD.reports[:1])) == ["client-deaf"]
    assert (
        rules(attacked("pieces", reports=())) == []
    )  # a client that tells nothing can't be judged
    assert rules(attacked("pieces", place="handshake", after=INITIALIZED)) == []
    assert rules(attacked("pieces", place="handshake", after=CANCELLED)) == ["client-deaf"]


@pytest.mark.parametrize(("ending", "rule"), [("crashed", "live-crash"), ("hung", "live-hang")])
def test_death_and_hang_count_whatever_was_told(ending: str, rule: str) -> None:
    assert rules(replace(GOOD, ending=ending)) == [rule]
    assert rules(attacked("pieces", ending=ending, reports=())) == [rule]


def test_what_never_came_to_the_attack_is_not_judged() -> None:
    assert rules(replace(GOOD, exercised=False, ending="crashed")) == []
