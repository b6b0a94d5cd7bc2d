"""Build the evidence of one trial from what a server process wrote and did.

Each reply and effect is matched to the frame that it came from, by id and by name. Effects without
a name are counted against a control session: nothing else tells whose they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from wirefence.fuzz.gate.records import Facts, Observation
from wirefence.fuzz.gate.server.fresh import PreparedTrial, spell_id
from wirefence.fuzz.gate.server.names_sent import find_names
from wirefence.fuzz.gate.server.reply_matching import ReplyMatcher
from wirefence.fuzz.gate.trials.messages import (
    COMMON_NUMBER,
    OUR_NUMBER,
    TOKEN,
    numbers_in,
    stem_of,
    strip_names,
    tokens_in,
)
from wirefence.oracles.crash_names import find_last_error
from wirefence.oracles.deviation_table import NONE
from wirefence.oracles.deviations import find_deviation
from wirefence.oracles.evidence import (
    Act,
    Answer,
    Evidence,
    Owed,
    Reply,
    TypedId,
    has_succeeded,
    is_owed,
    is_rejected,
    sort_replies,
)
from wirefence.oracles.liveness import MEMORY_PER_BYTE, MEMORY_SLACK
from wirefence.oracles.records import FrameVerdict, ReplyVerdict
from wirefence.oracles.transcript_judge import judge_reply
from wirefence.oracles.value_text import describe_value
from wirefence.strategies.contract import Contract
from wirefence.strategies.records import Version
from wirefence.targets.effects.counting import Kind, count_effects, count_surplus
from wirefence.targets.effects.records import Observed

__all__ = ["build_evidence", "find_trial_deviation", "list_unnamed", "list_unnamed_acts"]

_COMMON = stem_of(COMMON_NUMBER)
_OUR_OWN = b"/wirefence-"
"""Part of the paths that recorders write themselves, which other recorders may see."""

_Counts = Counter[tuple[bytes, str, str]]


def build_evidence(
    prepared: PreparedTrial,
    seen: Observation,
    facts: Facts,
    control: Observation | None = None,
) -> Evidence:
    """Return the evidence of a trial.

    ``control`` is the observation of the same session without its rejected frames. Without it,
    effects are counted only where they carry a name.
    """
    return _Builder(prepared, seen, facts, control).build()


def find_trial_deviation(prepared: PreparedTrial) -> str:
    """Return what is wrong with the first bad frame of a trial; ``none`` for a good session."""
    bad = [frame for frame in prepared.judgement.frames if frame.rule]
    first = next(filter(is_rejected, bad), bad[0] if bad else None)
    if first is None:
        return NONE
    return find_deviation(prepared.trial.case.data, first, prepared.contract)


class _Builder:
    """The replies of one observation by typed id, and the frames that they belong to."""

    def __init__(
        self,
        prepared: PreparedTrial,
        seen: Observation,
        facts: Facts,
        control: Observation | None,
    ) -> None:
        self.number, self.version = prepared.trial.number, prepared.trial.case.version
        self.data = prepared.trial.case.data
        self.frames = [f for f in prepared.judgement.frames if f.start >= seen.since]
        self.owed, self.contract = prepared.owed, prepared.contract
        self.seen, self.facts, self.control = seen, facts, control
        stem = stem_of(self.number)
        self.said = [_judge_named(line, stem, self.version) for line in seen.lines]
        self.matcher = ReplyMatcher(self.data, self.frames)
        self.done: _Counts = Counter()
        self.usual = _count_usual(control) if control else {}
        self.answers, self.nameless = sort_replies(self.said, seen.lines)

    def build(self) -> Evidence:
        seen, facts, control = self.seen, self.facts, self.control
        acts = [*self._list_strange_effects(), *self._list_repeated()]
        usual = control.peak_bytes if control else facts.peak_bytes
        return Evidence(
            target=facts.label,
            data=self.data,
            contract=self.contract,
            frames=tuple(self.frames),
            owed=tuple(self._list_owed()),
            strays=tuple(self._list_strays()),
            nameless=tuple(self.nameless),
            acts=tuple(acts),
            lines=seen.lines,
            said=tuple(self.said),
            tail=seen.tail,
            ending=seen.ending,
            served=seen.alive,
            status=seen.status,
            last_words=find_last_error(seen.stderr) if seen.stderr else "",
            seconds=seen.seconds,
            peak_bytes=seen.peak_bytes,
            memory_bound=usual + MEMORY_SLACK + MEMORY_PER_BYTE * len(self.data),
            results={
                strip_names(spell_id(key)): self._choose_reply(key, got)
                for key, got in self.answers.items()
                if key in self.owed
            },
            control=_read_control(control, self.version, facts.label, self.contract)
            if control
            else None,
        )

    def _list_owed(self) -> Iterator[Owed]:
        """Yield the requests that are owed a reply: frames, and the members of a batch."""
        for frame in self.frames:
            if not is_owed(frame):
                continue
            for request in frame.members or (frame,):
                for name in request.ids:
                    key = type(name), name
                    got = tuple(self.answers.get(key, ()))
                    acted = _is_probe(key) and any(has_succeeded(each.verdict) for each in got)
                    lost = self._find_missing(spell_id(key)[:-1]) if acted else ""
                    yield Owed(request, name, got, self.matcher.find_rejected(key), lost=lost)

    def _choose_reply(self, key: TypedId, got: Sequence[Reply]) -> Reply:
        """Return the reply to a good request: the first one, unless a rejected frame has the id.

        The error for that frame may come first; a result is the answer to the request then.
        """
        if self.matcher.find_rejected(key) is None:
            return got[0]
        return next((each for each in got if each.verdict.is_result), got[0])

    def _list_strays(self) -> Iterator[Answer]:
        """Yield replies with an id that no accepted request has."""
        for key, got in self.answers.items():
            if key in self.owed or OUR_NUMBER in numbers_in(spell_id(key)):
                continue
            results = any(each.verdict.is_result for each in got)
            owner = self.matcher.match_reply(key, by_elimination=results)
            yield Answer(describe_value(key[1]), tuple(got), (owner,) if owner else ())

    def _list_strange_effects(self) -> Iterator[Act]:
        """Yield effects with a name that no granted call has; count the others in ``done``."""
        if not self.seen.effects:
            return
        granted = self._list_granted_names()
        numbers = {self.number, *numbers_in(self.data)}
        for effect in self.seen.effects:
            for token in sorted(tokens_in(effect.detail) | _names_carried(effect.content)):
                if numbers.isdisjoint(numbers_in(token)):
                    continue  # of another session that wrote to the same place
                if token in granted:
                    self.done[token, effect.recorder, effect.kind] += 1
                elif not token.endswith(b"i"):
                    owner = self.matcher.find_owner(token)
                    text = f"{effect.kind} by {effect.recorder}"
                    yield Act(owner, text, raw=effect.detail)

    def _list_granted_names(self) -> set[bytes]:
        granted: set[bytes] = set()
        for frame in self.frames:
            raw = self.data[frame.start : frame.end]
            for call in frame.calls:
                granted |= find_names(call.arguments, raw)
        return granted

    def _list_repeated(self) -> list[Act]:
        """Return the calls that acted more often than the probe of the control session."""
        usual = self.usual
        return [
            Act(
                self.matcher.find_frame_with(token),
                f"{count} effects of one call, {usual[recorder, kind]} in a control session",
                "twice",
                kind,
                token,
            )
            for (token, recorder, kind), count in self.done.items()
            if token.endswith(b"p") and count >= 2 * usual.get((recorder, kind), count)
        ]

    def _find_missing(self, name: bytes) -> str:
        """Return which effect of a control session's probe one probe lacks; ``""`` for none."""
        missing = self.usual.keys() - {what[1:] for what in self.done if what[0] == name}
        if not missing:
            return ""
        recorder, kind = min(missing)
        return f"answered with success, but no {kind} was seen by {recorder}"


@lru_cache(maxsize=4)
def _count_usual(control: Observation) -> dict[tuple[str, str], int]:
    """Count the effects of the probe in the control session; of several, the most of one."""
    counts: _Counts = Counter()
    for effect in control.effects:
        for token in tokens_in(effect.detail) | _names_carried(effect.content):
            if token.endswith(b"p"):
                counts[token, effect.recorder, effect.kind] += 1
    usual: dict[tuple[str, str], int] = {}
    for (_, *what), count in counts.items():
        key = what[0], what[1]
        usual[key] = max(count, usual.get(key, 0))
    return usual


def _judge_named(line: bytes, stem: bytes, version: Version) -> ReplyVerdict:
    """Judge a line of stdout under common names: most replies are equal but for names.

    A name gives way to another one of equal length and of the same characters, so the verdict is
    the same but for the id; its ``value`` holds the common names.
    """
    return _rename_ids(judge_reply(line.replace(stem, _COMMON), version), stem.decode())


def _rename_ids(said: ReplyVerdict, stem: str) -> ReplyVerdict:
    if isinstance(said.id, str):
        return said._replace(id=said.id.replace(_COMMON.decode(), stem))
    if said.members:
        return said._replace(members=tuple(_rename_ids(each, stem) for each in said.members))
    return said


def _is_probe(key: TypedId) -> bool:
    return spell_id(key).endswith(b"pi")


@lru_cache(maxsize=4)
def _read_control(
    control: Observation, version: Version, label: str, contract: Contract
) -> Evidence:
    """Return what a control session showed, as far as it is compared with."""
    said = [judge_reply(line, version) for line in control.lines]
    answers, nameless = sort_replies(said, control.lines)
    return Evidence(
        target=label,
        data=b"",
        contract=contract,
        frames=(),
        nameless=tuple(nameless),
        results={strip_names(spell_id(key)): got[-1] for key, got in answers.items()},
    )


def list_unnamed_acts(
    seen: Observation, control: Observation, most: Counter[Kind], owner: FrameVerdict | None
) -> tuple[Act, ...]:
    """Return effects without a name that are more than in the control session.

    ``most`` is the highest count of each in good sessions. ``owner`` is the frame to which they
    are put down.
    """
    extra = count_surplus(
        count_effects(list_unnamed(seen)), count_effects(list_unnamed(control)) | most
    )
    return tuple(
        Act(
            owner,
            f"{count} more effects than in a control session: {kind} by {recorder}, {detail!r}",
            "unfounded",
            kind,
            detail,
        )
        for (recorder, kind, detail), count in sorted(extra.items())
    )


def list_unnamed(seen: Observation) -> list[Observed]:
    """Return effects without a name of ours that recorders did not cause themselves."""
    return [
        e for e in seen.effects if not tokens_in(e.detail + e.content) and _OUR_OWN not in e.detail
    ]


def _names_carried(content: bytes) -> set[bytes]:
    """Return the names in an effect's content, unless it is a log of the frame itself."""
    if b"jsonrpc" in content or b"tools/" in content:
        return set()
    return {match.group() for match in TOKEN.finditer(content)}
