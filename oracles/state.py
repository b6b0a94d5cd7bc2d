"""Oracle *session*: a rejected frame leaves no state.

What a session does after a rejected frame must equal what it does in a control
session that never saw the frame; no knowledge of the target's insides is needed to compare the two.
"""

from __future__ import annotations

from wirefence.oracles.effects import same_arguments
from wirefence.oracles.records import Finding, Judgement, make_finding
from wirefence.strategies.records import Case, Frame
from wirefence.targets.records import Effect, Trace

__all__ = ["check_state", "control_of"]


def control_of(case: Case, judgement: Judgement) -> Case | None:
    """The same session without the frames that the judge rejects.

    ``None`` where it would show nothing: no frame is rejected, or nothing follows the first one, or
    a rejected one may leave something (under ``spec`` the good members of a batch with bad ones).
    """
    frames = judgement.frames
    if any(frame.reply == "optional-error" and frame.calls for frame in frames):
        return None
    first = next((i for i, f in enumerate(frames) if f.reply == "optional-error"), len(frames))
    if not any(frame.accepted for frame in frames[first:]):
        return None
    data = case.data
    kept = tuple(
        Frame(data[frame.start : frame.end]) for frame in frames if frame.reply != "optional-error"
    )
    return Case(kept, version=case.version, direction=case.direction)


def check_state(trace: Trace, control: Trace) -> list[Finding]:
    """Return a finding if the effects of a session differ from those of its control session."""
    seen, expected = trace.effects, control.effects
    if len(seen) == len(expected) and all(map(_acted_alike, seen, expected)):
        return []
    summary = f"{len(seen)} effects, {len(expected)} without the rejected frames"
    return [make_finding("session", "session-state", trace.target, "", summary)]


def _acted_alike(one: Effect, other: Effect) -> bool:
    return one.tool == other.tool and same_arguments(one.arguments, other.arguments)
