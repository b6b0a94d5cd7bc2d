"""Judge the observation of one trial: did rejected bytes act, and does the server still serve?

Both verdicts come from the oracles, which judge the evidence that :mod:`.evidence` builds.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from wirefence.fuzz.gate.records import Facts, Observation
from wirefence.fuzz.gate.server.evidence import build_evidence, list_unnamed_acts
from wirefence.fuzz.gate.server.fresh import PreparedTrial
from wirefence.fuzz.gate.server.pipelined import PipelinedServer
from wirefence.oracles.effects import check_acts
from wirefence.oracles.records import Finding
from wirefence.oracles.replies import UNUSABLE
from wirefence.oracles.session_findings import judge_evidence
from wirefence.targets.effects.counting import Kind

__all__ = ["ACTING", "find_showing", "has_acted", "is_usable", "judge_trial"]

ACTING = (
    *("act-rejected", "act-unauthorized", "act-after-close", "act-twice"),
    *("reply-to-rejected", "act-unfounded"),
)
"""Rules of findings which say that bytes were processed that must be rejected."""


def has_acted(findings: Sequence[Finding]) -> bool:
    """Whether anything was processed that must be rejected."""
    return any(each.rule in ACTING for each in findings)


def is_usable(findings: Sequence[Finding]) -> bool:
    """Whether the good request after the bad frame was served."""
    return not any(each.rule in UNUSABLE for each in findings)


def judge_trial(
    prepared: PreparedTrial,
    seen: Observation,
    facts: Facts,
    control: Observation | None = None,
    most: Counter[Kind] | None = None,
) -> list[Finding]:
    """Return the findings of a trial, each signature once.

    ``control`` is the observation of the same session without its rejected frames. ``most`` is the
    highest count of each unnamed effect in good sessions.
    """
    evidence = build_evidence(prepared, seen, facts, control)
    found = judge_evidence(evidence)
    if control and seen.fresh and not has_acted(found):
        rejected = evidence.list_rejected()
        # Of several, a call is the likeliest to act.
        calls = [frame for frame in rejected if frame.method == "tools/call"]
        owner = next(iter(calls or rejected), None)
        acts = list_unnamed_acts(seen, control, most or Counter(), owner)
        found += check_acts(replace(evidence, acts=acts, owed=()))
    return list({each.signature: each for each in found}.values())


def find_showing(
    server: PipelinedServer,
    facts: Facts,
    forms: Iterable[PreparedTrial],
    signature: str,
    deadline: float,
) -> set[int]:
    """Return the numbers of the forms of one trial with which a running server shows a finding.

    The answer is a screen for shrinking and no verdict: a form that must be sent to a fresh process
    may show it there and not here. Nothing is sent after ``deadline`` (by ``time.monotonic``).
    """
    screened = server.screen_trials(forms, lambda: time.monotonic() > deadline, hasty=True)
    return {
        form.trial.number
        for form, seen in screened
        if any(each.signature == signature for each in judge_trial(form, seen, facts))
    }
