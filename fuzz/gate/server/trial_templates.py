"""Send a trial again under new names, without generating or judging it anew.

All names have the same length and alphabet, and no rule of the judge looks into them. So the
judgement of a copy is that of its template with the names replaced. This needs all names to stand
in the bytes as they are: an encoding would hide the old name, and a truncation would leave a part
of it. Such trials are no templates.

Observations are judged in the same way: one that equals an earlier one except for the names has the
same findings. A copy holds only bytes and ids until somebody reads its other fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from wirefence.fuzz.gate.records import Facts, Observation
from wirefence.fuzz.gate.server.fresh import PreparedTrial
from wirefence.fuzz.gate.server.trial_payload import (
    TrialPayload,
    ends_in_sentinel,
    foreign_ids,
    must_be_sent_alone,
)
from wirefence.fuzz.gate.server.verdicts import judge_trial
from wirefence.fuzz.gate.trials.messages import TOKEN, stem_of
from wirefence.oracles.crash_names import find_last_error
from wirefence.oracles.records import Call, Finding, FrameVerdict, Judgement
from wirefence.strategies.records import Frame

__all__ = ["CachedJudge", "Templates", "TrialCopy", "is_template", "rename_template", "template_of"]

_MOST_TEMPLATES = 2_048
"""Templates that are kept, to bound memory; newer ones replace older ones."""
_TEMPLATE_STEP = 1_021
"""Step through the templates; a prime, so that neighbours change in each round."""
_MOST_REMEMBERED = 65_536
"""Judged observations that are remembered; then all are forgotten, to bound memory."""
_HIDES_NAMES = frozenset(
    {
        *("encoding", "truncation", "split-line"),
        *(f"damaged-{place}-handshake" for place in ("before", "within", "after")),
    }
)
"""Damage, by family or name, that may hide a name or leave a part of one."""


def is_template(prepared: PreparedTrial) -> bool:
    """Whether a trial can be sent again with its names replaced."""
    trial = prepared.trial
    if (
        not trial.warm
        or {trial.family, trial.name} & _HIDES_NAMES
        or must_be_sent_alone(prepared)
        or not ends_in_sentinel(prepared)
        or foreign_ids(prepared)
    ):
        return False
    data, stem = trial.case.data, stem_of(trial.number)
    return all(match.group().startswith(stem) for match in TOKEN.finditer(data))


def rename_template(prepared: PreparedTrial, number: int) -> PreparedTrial:
    """Return a template under the names of ``number``, as if generated and judged with them."""
    trial = prepared.trial
    old, new = stem_of(trial.number), stem_of(number)
    before, after = old.decode(), new.decode()
    frames = tuple(
        Frame(frame.raw.replace(old, new), frame.nonce.replace(before, after), frame.damage)
        for frame in trial.case.frames
    )
    again = replace(
        trial,
        case=replace(trial.case, frames=frames),
        number=number,
        origin=trial.origin or trial.number,
    )
    judged = tuple(_rename_frame(frame, before, after) for frame in prepared.judgement.frames)
    owed = frozenset(
        (kind, name.replace(before, after) if isinstance(name, str) else name)
        for kind, name in prepared.owed
    )
    whole = prepared.judgement
    judgement = Judgement(judged, whole.closed_at, whole.tail)
    return PreparedTrial(again, judgement, owed, prepared.contract)


class TrialCopy(PreparedTrial):
    """A template under other names; its fields are filled in when they are first read."""

    __slots__ = ("payload", "template")
    template: PreparedTrial
    payload: TrialPayload

    def __init__(self, template: PreparedTrial, payload: TrialPayload) -> None:
        object.__setattr__(self, "template", template)
        object.__setattr__(self, "payload", payload)

    def __getattr__(self, name: str) -> object:
        """Fill in the fields of the base: called when a slot is empty."""
        if name not in PreparedTrial.__slots__:
            raise AttributeError(name)
        whole = rename_template(self.template, self.payload.number)
        for each in PreparedTrial.__slots__:
            object.__setattr__(self, each, getattr(whole, each))
        return getattr(whole, name)


def template_of(prepared: PreparedTrial) -> PreparedTrial:
    """Return the template of a copy, and any other trial as it is.

    The template's ``origin`` is set, so that it counts as a copy.
    """
    return prepared.template if isinstance(prepared, TrialCopy) else prepared


def _rename_frame(frame: FrameVerdict, old: str, new: str) -> FrameVerdict:
    if not (frame.ids or frame.calls or frame.members):
        return frame
    calls = tuple(
        Call(call.tool, _rename_value(call.arguments, old, new), call.required)
        for call in frame.calls
    )
    return FrameVerdict(
        frame.start,
        frame.end,
        frame.rule,
        frame.layer,
        frame.kind,
        frame.method,
        _rename_value(frame.ids, old, new),
        calls,
        frame.reply,
        frame.code,
        frame.closes,
        tuple(_rename_frame(member, old, new) for member in frame.members),
    )


def _rename_value(value, old: str, new: str):  # type: ignore[no-untyped-def]
    """Return a JSON value, or a tuple of such, with the names replaced."""
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, dict):
        return {_rename_value(k, old, new): _rename_value(v, old, new) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_rename_value(each, old, new) for each in value)
    return value


@dataclass(slots=True)
class Templates:
    """Sent trials that can be sent again beside other trials."""

    numbers: Iterator[int]
    copies: int = 0
    _kept: list[TrialCopy] = field(default_factory=list)
    _next: int = 0

    def add_template(self, prepared: PreparedTrial) -> None:
        """Keep a trial if it can be copied; replace an old one where there is no room."""
        if is_template(prepared):
            trial = prepared.trial
            again = replace(prepared, trial=replace(trial, origin=trial.origin or trial.number))
            kept = TrialCopy(again, TrialPayload.of(prepared, trial.case.version))
            if len(self._kept) < _MOST_TEMPLATES:
                self._kept.append(kept)
            else:
                self._kept[trial.number % _MOST_TEMPLATES] = kept

    def make_copy(self) -> TrialCopy | None:
        """Return a copy of a template under unused names; ``None`` where there is no template."""
        if not self._kept:
            return None
        self._next += _TEMPLATE_STEP
        self.copies += 1
        kept = self._kept[self._next % len(self._kept)]
        return TrialCopy(kept.template, kept.payload.rename_to(next(self.numbers)))


@dataclass(slots=True)
class CachedJudge:
    """Judges trials, and remembers findings by template and observation."""

    facts: Facts
    base: Observation | None = None
    _known: dict[object, list[Finding]] = field(default_factory=dict)

    def judge_trial(self, prepared: PreparedTrial, seen: Observation) -> list[Finding]:
        """Return the findings of a trial; their bytes may have an earlier name."""
        key = _make_key(prepared, seen)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            known = self._known[key] = judge_trial(prepared, seen, self.facts, self.base)
        return known


def _make_key(prepared: PreparedTrial, seen: Observation) -> object:
    stem = (
        prepared.payload.stem if isinstance(prepared, TrialCopy) else stem_of(prepared.trial.number)
    )
    effects = tuple(
        (e.recorder, e.kind, e.detail.replace(stem, b""), e.content.replace(stem, b""))
        for e in seen.effects
    )
    lines = b"\n".join(seen.lines).replace(stem, b"")
    words = find_last_error(seen.stderr) if seen.stderr else ""
    ended = seen.tail.replace(stem, b""), seen.complete, seen.alive, seen.ending, seen.status, words
    trial = template_of(prepared).trial
    return trial.origin or trial.number, lines, effects, ended
