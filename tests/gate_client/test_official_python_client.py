"""The official Python SDK's client, as the example drives it: real, and written by others."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from wirefence.fuzz.gate.client.attacks import GOOD
from wirefence.fuzz.gate.client.judge import judge_client
from wirefence.fuzz.gate.client.run import select_attacks
from wirefence.fuzz.gate.client.session import ClientTerms, play_attack
from wirefence.targets.command.records import Launch

pytest.importorskip("mcp")
SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "gate-client" / "python_sdk_client.py"
LAUNCH = Launch((sys.executable, str(SCRIPT)))
TERMS = ClientTerms(start_patience=60.0, patience=30.0)


def test_it_gets_through_a_good_session_and_reports_each_action() -> None:
    played = play_attack(LAUNCH, GOOD, "handshake", TERMS)
    assert [(told.action, told.error) for told in played.reports] == [
        ("alpha", False),
        ("beta", False),
        ("gamma", False),
    ]
    assert played.ending == "exited"


def test_it_ignores_an_answer_with_an_id_that_was_never_used() -> None:
    played = play_attack(LAUNCH, select_attacks(["wrong-id"])[0], "call", TERMS)
    assert played.exercised
    assert judge_client(played, "sdk") == []


def test_it_takes_the_text_of_an_id_for_the_number() -> None:
    played = play_attack(LAUNCH, select_attacks(["id-other-type"])[0], "call", TERMS)
    [finding] = judge_client(played, "sdk")
    assert finding.signature == "sdk|client-association|id-other-type"
