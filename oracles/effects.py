"""Oracle *non-action*: nothing acts but what the judge accepted and the policy authorized."""

from __future__ import annotations

from collections.abc import Iterator

from wirefence.oracles.evidence import Act, Evidence, has_failed
from wirefence.oracles.records import Finding, FrameVerdict

__all__ = ["check_acts"]


def check_acts(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each effect that the session does not account for.

    Rules: ``act-rejected``, ``act-unauthorized``, ``act-after-close``, ``act-unfounded`` (whose
    effect it is), ``act-early`` (before the frame was complete), ``act-twice``, ``act-altered`` and
    ``act-missing`` (a call was answered with success and nothing ran).
    """
    for act in evidence.acts:
        if evidence.is_ambiguous(act.owner) or _is_state(evidence, act):
            continue
        effect, frame, why = _name_effect(evidence, act)
        yield evidence.make_finding("non-action", effect, frame, f"{act.text}{why}", act.raw)
    for owed in evidence.owed:
        if owed.lost:
            yield evidence.make_finding("non-action", "act-missing", owed.frame, owed.lost)


def _is_state(evidence: Evidence, act: Act) -> bool:
    """Whether a call is altered only after a rejected frame: the oracle *session* says so."""
    control = evidence.control
    if act.fault != "altered" or control is None or not evidence.list_rejected():
        return False
    return not any(each.fault == "altered" for each in control.acts)


def _name_effect(evidence: Evidence, act: Act) -> tuple[str, FrameVerdict | None, str]:
    """Return the effect, the frame or member of a batch that it is about, and what to say of it."""
    kind = f":{act.kind}" if act.kind else ""
    frame = act.owner
    if act.fault:
        # Of a batch, the call is a member in which nothing is wrong, whatever the others are.
        sound = act.fault != "unfounded" and frame is not None and frame.accepted
        return f"act-{act.fault}{kind}", None if sound else frame, ""
    if frame is None:
        return f"act-unfounded{kind}", None, ""
    if frame.rule == "life-closed":
        return "act-after-close", frame, " for a frame after the close"
    for each in (frame, *frame.members):  # of a batch, a member: the rest of it was granted
        if each.layer in ("identity", "authorization"):
            how = ":denied" if _was_denied(evidence, each) else ""
            return f"act-unauthorized{how}", each, f" for a frame that breaks {each.rule}"
    if frame.rule:
        return "act-rejected", frame, f" for a frame that breaks {frame.rule}"
    return "act-rejected", frame, " for text within an accepted frame"


def _was_denied(evidence: Evidence, frame: FrameVerdict) -> bool:
    """Whether a request was answered with an error, and acted all the same."""
    replies = [
        reply
        for owed in evidence.owed
        if owed.name in frame.ids and owed.frame.start == frame.start
        for reply in owed.replies
    ]
    return bool(replies) and not any(
        each.verdict.is_result and not has_failed(each.verdict) for each in replies
    )
