"""Judge the observation of one trial: did rejected bytes act, and does the server still serve?

These are two separate verdicts. Each reply and effect is matched to the frame that it came from, by
id and by name; the judge's verdict on that frame decides. Other servers' behaviour has no
influence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wirefence.fuzz.gate.records import Facts, Observation
from wirefence.fuzz.gate.server.fresh import (
    PreparedTrial,
    TypedId,
    describe_id,
    is_owed,
    list_responses,
    spell_id,
)
from wirefence.fuzz.gate.server.reply_matching import ReplyMatcher
from wirefence.fuzz.gate.server.value_text import describe_value, find_names, read_arguments
from wirefence.fuzz.gate.trials.messages import (
    OUR_NUMBER,
    TOKEN,
    numbers_in,
    strip_names,
    tokens_in,
)
from wirefence.fuzz.text import last_words
from wirefence.oracles.liveness import MEMORY_PER_BYTE, MEMORY_SLACK
from wirefence.oracles.records import Finding, FrameVerdict, ReplyVerdict, make_finding
from wirefence.oracles.rules import BY_ID
from wirefence.oracles.transcript import check_transcript
from wirefence.oracles.transcript_judge import judge_reply
from wirefence.targets.effects.counting import Kind, count_effects, count_surplus
from wirefence.targets.effects.records import Observed
from wirefence.targets.records import Trace

__all__ = ["ACTING", "UNUSABLE", "Charge", "has_acted", "is_usable", "judge_trial", "list_unnamed"]

_REQUIRED_MEMBER = {"initialize": "protocolVersion", "tools/list": "tools", "tools/call": "content"}
"""Member that a result of each method must have: without it the reply answers another request."""
ACTING = ("act-rejected", "act-after-close", "act-twice", "reply-to-rejected", "act-unfounded")
"""Rules of findings which say that bytes were processed that must be rejected."""
_OUR_OWN = b"/wirefence-"
"""Part of the paths that recorders write themselves, which other recorders may see."""
UNUSABLE = ("session-resync", "live-crash", "live-hang", "reply-missing")
"""Rules of findings which say that a good request was not served."""


@dataclass(frozen=True, slots=True)
class Charge:
    """A finding and the first bytes that show it, raw."""

    finding: Finding
    offending: bytes = b""


def has_acted(charges: Sequence[Charge]) -> bool:
    """Whether anything was processed that must be rejected."""
    return any(charge.finding.rule in ACTING for charge in charges)


def is_usable(charges: Sequence[Charge]) -> bool:
    """Whether the good request after the bad frame was served."""
    return not any(charge.finding.rule in UNUSABLE for charge in charges)


def judge_trial(
    prepared: PreparedTrial,
    seen: Observation,
    facts: Facts,
    control: Observation | None = None,
    most: Counter[Kind] | None = None,
) -> list[Charge]:
    """Return a charge for every broken rule, each signature once.

    ``control`` is the observation of the same session without its rejected frames. Without it,
    state is not judged and effects are counted only where they carry a name. ``most`` is the
    highest count of each unnamed effect in good sessions.
    """
    judge = _TrialJudge(prepared, seen, facts, control)
    charges = [
        *judge.judge_replies(),
        *judge.judge_effects(),
        *judge.judge_stdout(),
        *judge.judge_liveness(),
        *(judge.judge_state() if control else ()),
    ]
    if control and seen.fresh and not has_acted(charges):
        charges += judge.judge_unnamed_effects(most or Counter())
    first: dict[str, Charge] = {}
    for charge in charges:
        first.setdefault(charge.finding.signature, charge)
    return list(first.values())


class _TrialJudge:
    """One judgement: the replies by typed id, and the frames that they belong to."""

    def __init__(
        self,
        prepared: PreparedTrial,
        seen: Observation,
        facts: Facts,
        control: Observation | None = None,
    ) -> None:
        self.case, self.number = prepared.trial.case, prepared.trial.number
        self.frames = [f for f in prepared.judgement.frames if f.start >= seen.since]
        self.owed = prepared.owed
        self.observed, self.facts, self.control = seen, facts, control
        self.verdicts = [judge_reply(line, self.case.version) for line in seen.lines]
        self.matcher = ReplyMatcher(self.case.data, self.frames)
        self.answers: dict[TypedId, list[tuple[ReplyVerdict, bytes]]] = {}
        self.without_id: list[tuple[ReplyVerdict, bytes]] = []
        for verdict, line in zip(self.verdicts, seen.lines, strict=True):
            for reply in list_responses(verdict):
                if reply.id is None:
                    self.without_id.append((reply, line))
                else:
                    self.answers.setdefault((type(reply.id), reply.id), []).append((reply, line))

    def make_charge(self, oracle: str, rule: str, kind: str, text: str, raw: bytes = b"") -> Charge:
        return Charge(make_finding(oracle, rule, self.facts.label, kind, text), raw)

    def is_waived(self, frame: FrameVerdict) -> bool:
        """Whether the tool's own schema is richer than the judge's, so its verdict is ignored."""
        return frame.rule in ("tool-arguments", "tool-unknown-argument") and not self.facts.declared

    def judge_replies(self) -> Iterator[Charge]:
        """Judge each owed reply, each reply that no request is owed, and replies with id null."""
        for request in self._list_owed():
            for name in request.ids:
                yield from self._judge_owed_reply(request, (type(name), name))
        for key, got in self.answers.items():
            if key not in self.owed and OUR_NUMBER not in numbers_in(spell_id(key)):
                yield from self._judge_stray_reply(key, got)
        rejected = sum(frame.reply == "optional-error" for frame in self.frames)
        if self.without_id and not rejected:
            text = "an error reply that answers no request"
            yield self.make_charge("reply", "reply-id", "null id", text, self.without_id[0][1])

    def _list_owed(self) -> Iterator[FrameVerdict]:
        """Yield the requests that are owed a reply: frames, and the members of a batch."""
        for frame in self.frames:
            if is_owed(frame):
                yield from frame.members or (frame,)

    def _judge_owed_reply(self, frame: FrameVerdict, key: TypedId) -> Iterator[Charge]:
        got = self.answers.get(key, [])
        shared = self.matcher.is_shared(key)
        if not got:
            yield from self._judge_missing_reply(frame)
        elif len(got) > 1 and not shared:
            text = f"{len(got)} replies to id {describe_id(key)}"
            yield self.make_charge("reply", "reply-twice", frame.method, text, got[1][1])
        elif len(got) > 1 and sum(reply.is_result for reply, _ in got) > 1:
            yield self._charge_processed(self.matcher.find_rejected(key), got[-1][1])
        for reply, line in got[:1]:
            yield from self._judge_reply(frame, reply, line)

    def _is_answered(self, frame: FrameVerdict) -> bool:
        """Whether no reply that is owed to a frame is missing."""
        return not is_owed(frame) or all((type(name), name) in self.answers for name in frame.ids)

    def _judge_missing_reply(self, frame: FrameVerdict) -> Iterator[Charge]:
        if not self.observed.alive or self.observed.ending != "open":
            return  # judge_liveness reports it
        rejected = [f for f in self.frames if f.reply == "optional-error" and f.start < frame.start]
        if rejected:
            text = f"no reply to {frame.method} after a frame that breaks {rejected[-1].rule}"
            yield self.make_charge("session", "session-resync", rejected[-1].rule, text)
        else:
            text = f"no reply to {frame.method} within {self.observed.seconds:.1f} s"
            yield self.make_charge("reply", "reply-missing", frame.method, text)

    def _judge_reply(
        self, frame: FrameVerdict, reply: ReplyVerdict, line: bytes
    ) -> Iterator[Charge]:
        if not reply.is_result:
            if frame.reply == "result" and frame.kind == "request" and self.control is None:
                text = f"error {describe_value(reply.code)} for a good {frame.method}"
                yield self.make_charge(
                    "reply", "reply-code", "error for a good request", text, line
                )
            return
        result = _get_result(reply)
        if frame.rule and frame.rule != "mcp-method" and not self.is_waived(frame):
            if not _tool_failed(result):
                yield self._charge_success(frame, line)
            return
        telltale = _REQUIRED_MEMBER.get(frame.method)
        if telltale and telltale not in result and not frame.rule:
            text = f"a {frame.method} result without {telltale}"
            yield self.make_charge("reply", "reply-id", "crossed", text, line)

    def _charge_success(self, frame: FrameVerdict, line: bytes) -> Charge:
        text = f"{frame.method} breaks {frame.rule}: expected an error, got a result"
        if frame.method == "tools/call":
            return self.make_charge("non-action", "act-rejected", frame.rule, text, line)
        return self.make_charge("reply", "reply-code", f"{frame.rule} result", text, line)

    def _judge_stray_reply(
        self, key: TypedId, got: list[tuple[ReplyVerdict, bytes]]
    ) -> Iterator[Charge]:
        """Judge replies with an id that no accepted request has."""
        results = [(reply, line) for reply, line in got if reply.is_result]
        owner = self.matcher.match_reply(key, by_elimination=bool(results))
        reply, line = results[0] if results else got[0]
        if owner is None:
            text = f"a reply to id {describe_id(key)}, which no request has"
            yield self.make_charge("reply", "reply-id", "unknown", text, line)
        elif results:
            yield self._charge_processed(owner, line, acting=_tool_succeeded(reply))
        elif owner.accepted or owner.reply != "optional-error":
            text = (
                f"an error for id {describe_id(key)}, which is only a part of an accepted message"
            )
            yield self.make_charge("reply", "reply-id", "hidden in an accepted frame", text, line)

    def _charge_processed(
        self, owner: FrameVerdict | None, line: bytes, *, acting: bool = True
    ) -> Charge:
        """Return the charge for a frame that must be rejected and got a result.

        This is the strongest evidence.
        """
        why = owner.rule if owner and owner.rule else "hidden in an accepted frame"
        calls = owner is None or owner.method in ("tools/call", "") or owner.accepted
        text = f"a result for {_describe_reason(why)}"
        if why == "life-closed":
            return self.make_charge("non-action", "act-after-close", "", text, line)
        if calls and acting:
            return self.make_charge("non-action", "act-rejected", why, text, line)
        return self.make_charge("reply", "reply-to-rejected", why, text, line)

    def judge_effects(self) -> Iterator[Charge]:
        """Judge effects that carry a name: each must belong to a granted call, once."""
        granted = self._list_granted_names()
        done: Counter[tuple[bytes, str, str]] = Counter()
        for effect in self.observed.effects:
            for token in sorted(tokens_in(effect.detail) | _names_carried(effect.content)):
                if self.number not in numbers_in(token):
                    continue  # of another session that wrote to the same place
                if token in granted:
                    done[token, effect.recorder, effect.kind] += 1
                elif not token.endswith(b"i"):
                    yield self._charge_effect(token, effect)
        yield from self._judge_effect_counts(done)

    def _list_granted_names(self) -> set[bytes]:
        granted: set[bytes] = set()
        for frame in self.frames:
            raw = self.case.data[frame.start : frame.end]
            for call in frame.calls:
                granted |= find_names(call.arguments, raw)
            if self.is_waived(frame):
                granted |= find_names(read_arguments(raw), raw)
        return granted

    def _charge_effect(self, token: bytes, effect: Observed) -> Charge:
        owner = self.matcher.find_frame_with(token)
        why = owner.rule if owner and owner.rule else "hidden in an accepted frame"
        text = f"{effect.kind} by {effect.recorder} for {_describe_reason(why)}"
        if why == "life-closed":
            return self.make_charge("non-action", "act-after-close", "", text, effect.detail)
        return self.make_charge("non-action", "act-rejected", why, text, effect.detail)

    def _judge_effect_counts(self, done: Counter[tuple[bytes, str, str]]) -> Iterator[Charge]:
        """Judge counts: a call must act exactly as often as the probe of the control session."""
        if self.control is None:
            return
        usual: Counter[tuple[str, str]] = Counter()
        for effect in self.control.effects:
            for token in tokens_in(effect.detail) | _names_carried(effect.content):
                if token.endswith(b"p"):
                    usual[effect.recorder, effect.kind] += 1
        for (token, recorder, kind), count in done.items():
            once = usual[recorder, kind]
            if token.endswith(b"p") and once and count > once:
                text = f"{count} effects of one call, {once} in a control session"
                yield self.make_charge("non-action", "act-twice", kind, text, token)
        missing = set(usual) - {what[1:] for what in done if what[0].endswith(b"p")}
        if missing and self._probe_succeeded():
            recorder, kind = min(missing)
            text = f"answered with success, but no {kind} was seen by {recorder}"
            yield self.make_charge("non-action", "act-missing", kind, text)

    def _probe_succeeded(self) -> bool:
        return any(
            spell_id(key).endswith(b"pi") and _tool_succeeded(reply)
            for key, got in self.answers.items()
            for reply, _ in got
        )

    def judge_unnamed_effects(self, most: Counter[Kind]) -> Iterator[Charge]:
        """Compare counts of effects without a name with those of good sessions."""
        assert self.control is not None
        extra = count_surplus(
            count_effects(list_unnamed(self.observed)),
            count_effects(list_unnamed(self.control)) | most,
        )
        for (recorder, kind, detail), count in sorted(extra.items()):
            text = (
                f"{count} more effects than in a control session: {kind} by {recorder}, {detail!r}"
            )
            yield self.make_charge("non-action", "act-unfounded", kind, text, detail)

    def judge_stdout(self) -> Iterator[Charge]:
        """Judge stdout: every byte must belong to a permitted message."""
        # Unknown methods are permitted: servers may extend the protocol.
        verdicts = [
            v if v.rule != "mcp-method" else ReplyVerdict("", v.kind) for v in self.verdicts
        ]
        whole = b"".join(line + b"\n" for line in self.observed.lines) + self.observed.tail
        for found in check_transcript(Trace(self.facts.label, whole, ()), verdicts):
            bad = next(
                (x for x, v in zip(self.observed.lines, verdicts, strict=True) if v.rule), b""
            )
            yield Charge(found, bad or self.observed.tail)
        leak = next((x for x in self.observed.lines if b"Traceback (most recent" in x), b"")
        if leak:
            yield self.make_charge(
                "reply", "reply-leak", "traceback", "a traceback is in a reply", leak
            )

    def judge_liveness(self) -> Iterator[Charge]:
        """Judge the server's death, hang and memory: no crash, no exit before the end of stdin."""
        ending = self.observed.ending
        rejected = [f.rule for f in self.frames if f.reply == "optional-error"]
        why = rejected[0] if rejected else ""
        closed = self.facts.policy == "close" and bool(rejected)
        if ending == "crashed" or (ending == "exited" and not closed):
            words = last_words(self.observed.stderr)
            text = f"the server died ({self.observed.status}) before its stdin ended{words}"
            kind = f"{self.observed.status} {why}".strip()
            yield self.make_charge("liveness", "live-crash", kind, text)
        elif ending == "hung" and not closed:
            asked = next(
                (f.method for f in self.frames if not self._is_answered(f)), "the last request"
            )
            text = f"no answer to {asked} within {self.observed.seconds:.1f} s"
            yield self.make_charge("liveness", "live-hang", why, text)
        usual = self.control.peak_bytes if self.control else self.facts.peak_bytes
        bound = usual + MEMORY_SLACK + MEMORY_PER_BYTE * len(self.case.data)
        if self.observed.peak_bytes > bound:
            peak, size = self.observed.peak_bytes, len(self.case.data)
            text = f"peak memory {peak:,} bytes for {size:,} bytes of input"
            yield self.make_charge("liveness", "live-memory", "", text)

    def judge_state(self) -> Iterator[Charge]:
        """Judge state: replies after a rejected frame must be as if that frame had never come."""
        assert self.control is not None
        usual = {
            strip_names(spell_id((str, reply.id))): (reply, line)
            for line in self.control.lines
            for reply in list_responses(judge_reply(line, self.case.version))
            if reply.id is not None
        }
        for key, got in self.answers.items():
            name = strip_names(spell_id(key))
            if key in self.owed and name in usual:
                reply, line = got[0]
                known, other = usual[name]
                if difference := _describe_difference(reply, known):
                    text = f"{difference}; without the rejected frame: {other!r}"
                    frame = self.matcher.find_request(key)
                    method = frame.method if frame else ""
                    yield self.make_charge("session", "session-state", method, text, line)


def list_unnamed(seen: Observation) -> list[Observed]:
    """Return effects without a name of ours that recorders did not cause themselves."""
    return [
        e for e in seen.effects if not tokens_in(e.detail + e.content) and _OUR_OWN not in e.detail
    ]


def _describe_reason(why: str) -> str:
    return f"a frame that breaks {why}" if why in BY_ID else f"text {why}"


def _describe_difference(reply: ReplyVerdict, control: ReplyVerdict) -> str:
    """Return how a reply differs from that of the control session; ``""`` where it does not."""
    if reply.is_result != control.is_result:
        return "a result" if reply.is_result else f"error {describe_value(reply.code)}"
    if not reply.is_result:
        return f"error {describe_value(reply.code)}" if reply.code != control.code else ""
    one, other = _get_result(reply), _get_result(control)
    if one.get("protocolVersion") != other.get("protocolVersion"):
        return f"version {describe_value(one.get('protocolVersion'))}"
    if _tool_failed(one) != _tool_failed(other):
        return "the tool failed" if _tool_failed(one) else "the tool succeeded"
    return "other members" if one.keys() != other.keys() else ""


def _get_result(reply: ReplyVerdict) -> dict[str, object]:
    value = reply.value if isinstance(reply.value, dict) else {}
    result = value.get("result")
    return result if isinstance(result, dict) else {}


def _tool_failed(result: dict[str, object]) -> bool:
    return result.get("isError") is True


def _tool_succeeded(reply: ReplyVerdict) -> bool:
    """Whether a result is that of a tool which did its work."""
    result = _get_result(reply)
    return "content" in result and not _tool_failed(result)


def _names_carried(content: bytes) -> set[bytes]:
    """Return the names in an effect's content, unless it is a log of the frame itself."""
    if b"jsonrpc" in content or b"tools/" in content:
        return set()
    return {match.group() for match in TOKEN.finditer(content)}
