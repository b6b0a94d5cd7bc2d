"""Oracle *session*: a rejected frame leaves no state.

What a session does after a rejected frame must equal what it does in a control
session that never saw the frame; no knowledge of the target's insides is needed to compare the two.
"""

from __future__ import annotations

from collections.abc import Iterator

from wirefence.oracles.arguments import same_arguments
from wirefence.oracles.evidence import Evidence, Reply, has_failed, is_rejected, result_of
from wirefence.oracles.records import Call, Finding, FrameVerdict, Judgement
from wirefence.oracles.value_text import describe_value
from wirefence.strategies.records import Case, Frame

__all__ = ["check_state", "control_of"]


def control_of(case: Case, judgement: Judgement) -> Case | None:
    """The same session without the frames that the judge rejects.

    ``None`` where it would show nothing: no frame is rejected, or nothing follows the first one, or
    a rejected one may leave something (under ``spec`` the good members of a batch with bad ones).
    """
    frames = judgement.frames
    if any(is_rejected(frame) and frame.calls for frame in frames):
        return None
    first = next((i for i, f in enumerate(frames) if is_rejected(f)), len(frames))
    if not any(frame.accepted for frame in frames[first:]):
        return None
    data = case.data
    kept = tuple(Frame(data[frame.start : frame.end]) for frame in frames if not is_rejected(frame))
    return Case(kept, version=case.version, direction=case.direction)


def check_state(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if a session differs from its control session.

    What the rejected frames did themselves is no difference of state: other rules say so.
    """
    control = evidence.control
    if control is None:
        return
    if difference := _compare_effects(evidence, control):
        about = next(iter(evidence.list_rejected()), None)
        yield evidence.make_finding("session", "session-state", about, difference)
    for name, reply in evidence.results.items():
        known = control.results.get(name)
        if known and (difference := _describe_difference(reply, known)):
            text = f"{difference}; without the rejected frame: {known.line!r}"
            about = _find_cause(evidence, reply)
            yield evidence.make_finding("session", "session-state", about, text, reply.line)
            return


def _find_cause(evidence: Evidence, reply: Reply) -> FrameVerdict | None:
    """Return the rejected frame that may have changed a reply.

    One that asked for the same, before the request: what is kept of an ``initialize`` shows in the
    next one. Else the last one before the request.
    """
    asked = next((x.frame for x in evidence.owed if any(y is reply for y in x.replies)), None)
    before = [x for x in evidence.list_rejected() if asked is None or x.start < asked.start]
    alike = (each for each in before if asked and each.method == asked.method)
    return next(alike, before[-1] if before else None)


def _compare_effects(evidence: Evidence, control: Evidence) -> str:
    """Return how the effects of good and refused calls differ; ``""`` where they are the same.

    A session that ended early is no news here.
    """
    seen, expected = evidence.done, control.done
    if not evidence.exact or evidence.ending != "open":
        return ""
    if len(seen) == len(expected) and all(map(_acted_alike, seen, expected)):
        return ""
    return f"{len(seen)} effects, {len(expected)} without the rejected frames"


def _acted_alike(one: object, other: object) -> bool:
    assert isinstance(one, Call)
    assert isinstance(other, Call)
    return one.tool == other.tool and same_arguments(one.arguments, other.arguments)


def _describe_difference(seen: Reply, known: Reply) -> str:
    """Return how a reply differs from that of the control session; ``""`` where it does not."""
    reply, control = seen.verdict, known.verdict
    if reply.is_result != control.is_result:
        return "a result" if reply.is_result else f"error {describe_value(reply.code)}"
    if not reply.is_result:
        return f"error {describe_value(reply.code)}" if reply.code != control.code else ""
    one, other = result_of(reply), result_of(control)
    if one.get("protocolVersion") != other.get("protocolVersion"):
        return f"version {describe_value(one.get('protocolVersion'))}"
    if has_failed(reply) != has_failed(control):
        return "the tool failed" if has_failed(reply) else "the tool succeeded"
    return "other members" if one.keys() != other.keys() else ""
