"""The same trial again under new names, neither made nor judged anew.

The key insight: names are of one length and of one alphabet, and no rule of the judge looks into
them, so the judgement of a trial is that of its template with the names exchanged. That holds where
all names stand in the bytes as they are: what an encoding hides would keep the old one, and so
would a name that the damage cut short. Such a trial is no template.

What was seen of a copy is judged in the same way: where it equals, but for the names, what was seen
of the template before, so do the charges. Most copies are never looked into, so a copy is but bytes
to be sent and ids to be waited for until somebody does.
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
from wirefence.fuzz.gate.server.verdicts import Charge, judge_trial
from wirefence.fuzz.gate.trials.messages import TOKEN, stem_of
from wirefence.oracles.records import Call, FrameVerdict, Judgement
from wirefence.strategies.records import Frame

__all__ = ["CachedJudge", "Templates", "TrialCopy", "is_template", "rename_template", "template_of"]

_MOST = 2_048
_STEP = 1_021
"""Coprime to most numbers of templates: neighbours change from round to round."""
_MOST_KNOWN = 65_536
_HIDING = frozenset(
    {
        *("encoding", "truncation", "split-line"),
        *(f"damaged-{place}-handshake" for place in ("before", "within", "after")),
    }
)
"""Damage, by family or name, that may hide a name, or leave a part of one."""


def is_template(prepared: PreparedTrial) -> bool:
    """Whether a trial can be sent again under other names that are simply put in their place."""
    trial = prepared.trial
    if (
        not trial.warm
        or {trial.family, trial.name} & _HIDING
        or must_be_sent_alone(prepared)
        or not ends_in_sentinel(prepared)
        or foreign_ids(prepared)
    ):
        return False
    data, stem = trial.case.data, stem_of(trial.number)
    return all(match.group().startswith(stem) for match in TOKEN.finditer(data))


def rename_template(prepared: PreparedTrial, number: int) -> PreparedTrial:
    """A template under the names of ``number``, as if it had been made and judged with them."""
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
    return PreparedTrial(again, Judgement(judged, whole.closed_at, whole.tail), owed)


class TrialCopy(PreparedTrial):
    """A template under other names, spliced only where it is looked into."""

    __slots__ = ("payload", "template")
    template: PreparedTrial
    payload: TrialPayload

    def __init__(self, template: PreparedTrial, payload: TrialPayload) -> None:
        object.__setattr__(self, "template", template)
        object.__setattr__(self, "payload", payload)

    def __getattr__(self, name: str) -> object:
        """Called where a slot is empty: fill those of the base."""
        if name not in PreparedTrial.__slots__:
            raise AttributeError(name)
        whole = rename_template(self.template, self.payload.number)
        for each in PreparedTrial.__slots__:
            object.__setattr__(self, each, getattr(whole, each))
        return getattr(whole, name)


def template_of(prepared: PreparedTrial) -> PreparedTrial:
    """A trial that is the same but for its names: the template of a copy, which it need not be
    spliced for. The template's ``origin`` is set too, so that it counts as a copy.
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
    """A JSON value, or a tuple of such, with the names exchanged."""
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, dict):
        return {_rename_value(k, old, new): _rename_value(v, old, new) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_rename_value(each, old, new) for each in value)
    return value


@dataclass(slots=True)
class Templates:
    """Trials that were sent, to be sent again among other neighbours while a new one is made."""

    numbers: Iterator[int]
    copies: int = 0
    _kept: list[TrialCopy] = field(default_factory=list)
    _next: int = 0

    def add_template(self, prepared: PreparedTrial) -> None:
        """Keep a trial if it can be copied; the oldest makes room."""
        if is_template(prepared):
            trial = prepared.trial
            again = replace(prepared, trial=replace(trial, origin=trial.origin or trial.number))
            kept = TrialCopy(again, TrialPayload.of(prepared, trial.case.version))
            if len(self._kept) < _MOST:
                self._kept.append(kept)
            else:
                self._kept[trial.number % _MOST] = kept

    def make_copy(self) -> TrialCopy | None:
        """One of them under names that nothing has used; ``None`` where there is none."""
        if not self._kept:
            return None
        self._next += _STEP
        self.copies += 1
        kept = self._kept[self._next % len(self._kept)]
        return TrialCopy(kept.template, kept.payload.rename_to(next(self.numbers)))


@dataclass(slots=True)
class CachedJudge:
    """The judge of one server, who remembers by template and by what was seen."""

    facts: Facts
    base: Observation | None = None
    _known: dict[object, list[Charge]] = field(default_factory=dict)

    def judge_trial(self, prepared: PreparedTrial, seen: Observation) -> list[Charge]:
        """Every rule that was broken; the bytes of a charge may bear an earlier name."""
        key = _make_key(prepared, seen)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
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
    ended = seen.tail.replace(stem, b""), seen.complete, seen.alive, seen.ending, seen.status
    trial = template_of(prepared).trial
    return trial.origin or trial.number, lines, effects, ended
