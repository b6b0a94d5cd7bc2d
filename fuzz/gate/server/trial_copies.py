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

from wirefence.fuzz.gate.records import Facts, Seen
from wirefence.fuzz.gate.server.fresh import Ready
from wirefence.fuzz.gate.server.sent_trial import Parcel, apart, fenced, foreign_ids
from wirefence.fuzz.gate.server.verdicts import Charge, judge
from wirefence.fuzz.gate.trials.messages import TOKEN, stem_of
from wirefence.oracles.records import Call, FrameVerdict, Judgement
from wirefence.strategies.records import Frame

__all__ = ["Copy", "Remembered", "Templates", "is_template", "like", "splice"]

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


def is_template(prepared: Ready) -> bool:
    """Whether a trial can be sent again under other names that are simply put in their place."""
    trial = prepared.trial
    if (
        not trial.warm
        or {trial.family, trial.name} & _HIDING
        or apart(prepared)
        or not fenced(prepared)
        or foreign_ids(prepared)
    ):
        return False
    data, stem = trial.case.data, stem_of(trial.number)
    return all(match.group().startswith(stem) for match in TOKEN.finditer(data))


def splice(prepared: Ready, number: int) -> Ready:
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
    judged = tuple(_renamed(frame, before, after) for frame in prepared.judgement.frames)
    owed = frozenset(
        (kind, name.replace(before, after) if isinstance(name, str) else name)
        for kind, name in prepared.owed
    )
    whole = prepared.judgement
    return Ready(again, Judgement(judged, whole.closed_at, whole.tail), owed)


class Copy(Ready):
    """A template under other names, spliced only where it is looked into."""

    __slots__ = ("parcel", "template")
    template: Ready
    parcel: Parcel

    def __init__(self, template: Ready, parcel: Parcel) -> None:
        object.__setattr__(self, "template", template)
        object.__setattr__(self, "parcel", parcel)

    def __getattr__(self, name: str) -> object:
        """Called where a slot is empty: fill those of the base."""
        if name not in Ready.__slots__:
            raise AttributeError(name)
        whole = splice(self.template, self.parcel.number)
        for each in Ready.__slots__:
            object.__setattr__(self, each, getattr(whole, each))
        return getattr(whole, name)


def like(prepared: Ready) -> Ready:
    """A trial that is the same but for its names: the template of a copy, which it need not be
    spliced for. The template's ``origin`` is set too, so that it counts as a copy.
    """
    return prepared.template if isinstance(prepared, Copy) else prepared


def _renamed(frame: FrameVerdict, old: str, new: str) -> FrameVerdict:
    if not (frame.ids or frame.calls or frame.members):
        return frame
    calls = tuple(
        Call(call.tool, _renamed_value(call.arguments, old, new), call.required)
        for call in frame.calls
    )
    return FrameVerdict(
        frame.start,
        frame.end,
        frame.rule,
        frame.layer,
        frame.kind,
        frame.method,
        _renamed_value(frame.ids, old, new),
        calls,
        frame.reply,
        frame.code,
        frame.closes,
        tuple(_renamed(member, old, new) for member in frame.members),
    )


def _renamed_value(value, old: str, new: str):  # type: ignore[no-untyped-def]
    """A JSON value, or a tuple of such, with the names exchanged."""
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, dict):
        return {_renamed_value(k, old, new): _renamed_value(v, old, new) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_renamed_value(each, old, new) for each in value)
    return value


@dataclass(slots=True)
class Templates:
    """Trials that were sent, to be sent again among other neighbours while a new one is made."""

    numbers: Iterator[int]
    copies: int = 0
    _kept: list[Copy] = field(default_factory=list)
    _next: int = 0

    def offer(self, prepared: Ready) -> None:
        """Keep a trial if it can be copied; the oldest makes room."""
        if is_template(prepared):
            trial = prepared.trial
            again = replace(prepared, trial=replace(trial, origin=trial.origin or trial.number))
            kept = Copy(again, Parcel.of(prepared, trial.case.version))
            if len(self._kept) < _MOST:
                self._kept.append(kept)
            else:
                self._kept[trial.number % _MOST] = kept

    def copy(self) -> Copy | None:
        """One of them under names that nothing has used; ``None`` where there is none."""
        if not self._kept:
            return None
        self._next += _STEP
        self.copies += 1
        kept = self._kept[self._next % len(self._kept)]
        return Copy(kept.template, kept.parcel.renamed(next(self.numbers)))


@dataclass(slots=True)
class Remembered:
    """The judge of one server, who remembers by template and by what was seen."""

    facts: Facts
    base: Seen | None = None
    _known: dict[object, list[Charge]] = field(default_factory=dict)

    def judge(self, prepared: Ready, seen: Seen) -> list[Charge]:
        """Every rule that was broken; the bytes of a charge may bear an earlier name."""
        key = _key(prepared, seen)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            known = self._known[key] = judge(prepared, seen, self.facts, self.base)
        return known


def _key(prepared: Ready, seen: Seen) -> object:
    stem = prepared.parcel.stem if isinstance(prepared, Copy) else stem_of(prepared.trial.number)
    effects = tuple(
        (e.recorder, e.kind, e.detail.replace(stem, b""), e.content.replace(stem, b""))
        for e in seen.effects
    )
    lines = b"\n".join(seen.lines).replace(stem, b"")
    ended = seen.tail.replace(stem, b""), seen.complete, seen.alive, seen.ending, seen.status
    trial = like(prepared).trial
    return trial.origin or trial.number, lines, effects, ended
