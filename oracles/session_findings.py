"""Every finding of one session: all rules about sessions, decided from its evidence."""

from __future__ import annotations

from wirefence.oracles.effects import check_acts
from wirefence.oracles.evidence import Evidence
from wirefence.oracles.liveness import check_liveness
from wirefence.oracles.records import Finding
from wirefence.oracles.replies import check_replies
from wirefence.oracles.state import check_state
from wirefence.oracles.transcript import check_transcript

__all__ = ["judge_evidence"]


def judge_evidence(evidence: Evidence) -> list[Finding]:
    """Return the findings of a session, each signature once, with the first bytes that show it."""
    found = [
        *check_acts(evidence),
        *check_replies(evidence),
        *check_transcript(evidence),
        *check_liveness(evidence),
        *check_state(evidence),
    ]
    return list({each.signature: each for each in reversed(found)}.values())[::-1]
