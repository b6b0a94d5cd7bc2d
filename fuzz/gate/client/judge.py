"""Build the evidence of what a client did with a bad answer, and have it judged."""

from __future__ import annotations

import json
from collections.abc import Iterator

from wirefence.fuzz.gate.client.records import PlayedAttack
from wirefence.fuzz.gate.trials.messages import STATELESS
from wirefence.oracles.client import ClientEvidence, check_client
from wirefence.oracles.records import Finding
from wirefence.strategies.contract import Profile

__all__ = ["judge_client"]


def judge_client(played: PlayedAttack, label: str, profile: Profile = "strict") -> list[Finding]:
    """Return a finding for every rule that a client broke, each signature once."""
    if not played.exercised:
        return []
    attack, handshake = played.attack, played.place == "handshake"
    evidence = ClientEvidence(
        target=label,
        attack=attack.name,
        about=attack.about,
        rule=attack.rule,
        expected=attack.expected,
        lenient=attack.strict and profile == "spec",
        handshake=handshake,
        # Requests of the stateless version are independent and need no discovery first.
        opening=handshake and played.version != STATELESS,
        methods=tuple(_list_methods(played.after)),
        truth=played.truth,
        false=played.false,
        reports=played.reports,
        ending=played.ending,
        status=played.status,
        stderr=played.stderr,
        offending=played.offending,
    )
    return check_client(evidence)


def _list_methods(received: bytes) -> Iterator[str]:
    for line in received.split(b"\n"):
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(message, dict) and isinstance(message.get("method"), str):
            yield message["method"]
