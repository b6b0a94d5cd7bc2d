"""Judge each kind of uneventful session once.

Most trials of one server end alike: the same verdicts on what was sent, and, but for names, the
same replies and effects. The bytes of a frame count only where a reply or an effect has to be
matched to them, and where a call asks for a task, which another kind of result answers. So a
session that is like one without any finding has none either.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from wirefence.fuzz.gate.records import Facts, Observation
from wirefence.fuzz.gate.server.evidence import build_evidence
from wirefence.fuzz.gate.server.fresh import PreparedTrial
from wirefence.fuzz.gate.trials.messages import stem_of
from wirefence.oracles.evidence import Evidence
from wirefence.oracles.records import Finding, FrameVerdict
from wirefence.oracles.session_findings import judge_evidence

__all__ = ["KnownSessions"]

_MOST = 4_096
"""Kinds that are kept, of about a kilobyte each."""


@dataclass(slots=True)
class KnownSessions:
    """The uneventful sessions of one server so far, compared with a ``control`` session."""

    facts: Facts
    control: Observation | None
    _known: set[Hashable] = field(default_factory=set)

    def judge_trial(self, prepared: PreparedTrial, seen: Observation) -> list[Finding]:
        """Return what ``judge_trial`` of :mod:`.verdicts` returns for a pipelined session."""
        kind = _describe_session(prepared, seen)
        if kind in self._known:
            return []
        evidence = build_evidence(prepared, seen, self.facts, self.control)
        found = judge_evidence(evidence)
        if kind is not None and not found and _is_clear(evidence) and len(self._known) < _MOST:
            self._known.add(kind)
        return found


def _is_clear(evidence: Evidence) -> bool:
    """Whether every reply belongs to a request by its id, and every effect to a granted call."""
    return not evidence.strays and not evidence.acts


def _describe_session(prepared: PreparedTrial, seen: Observation) -> Hashable:
    """Return all that decides the findings of a plain session, but names; else ``None``."""
    if seen.ending != "open" or seen.tail or seen.peak_bytes or not (seen.alive and seen.complete):
        return None
    stem = stem_of(prepared.trial.number)
    text = stem.decode()
    data = prepared.trial.case.data
    frames = [
        _describe_frame(frame, data, text)
        for frame in prepared.judgement.frames
        if frame.start >= seen.since
    ]
    if None in frames:
        return None
    effects = [
        (each.recorder, each.kind, each.detail.replace(stem, b""), each.content.replace(stem, b""))
        for each in seen.effects
    ]
    lines = [line.replace(stem, b"") for line in seen.lines]
    return prepared.trial.case.version, *frames, *lines, *effects


def _describe_frame(frame: FrameVerdict, data: bytes, text: str) -> Hashable:
    """Return the verdict on a frame without its place and the names; ``None`` for a batch."""
    if frame.members:
        return None
    ids = tuple(
        name.replace(text, "") if isinstance(name, str) else (type(name), name)
        for name in frame.ids
    )
    granted = tuple(
        str(each.arguments).replace(text, "") if each.arguments else each.tool
        for each in frame.calls
    )
    asks_for_task = data.find(b'"task"', frame.start, frame.end) >= 0
    return (
        frame.rule,
        frame.kind,
        frame.method,
        ids,
        granted,
        frame.reply,
        frame.code,
        asks_for_task,
    )
