"""Build the evidence of a session from the trace of a gateway that ran in this process.

Every frame asks for an action of its own name, so an effect alone says which frame caused it. A
reply is matched by id and type of id; that to a rejected frame, by how the id is spelled.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace

from wirefence.oracles.arguments import same_arguments
from wirefence.oracles.document import spell_integer
from wirefence.oracles.evidence import (
    Act,
    Answer,
    Evidence,
    Owed,
    Reply,
    TypedId,
    has_failed,
    has_id,
    has_succeeded,
    is_owed,
    is_rejected,
    sort_replies,
)
from wirefence.oracles.liveness import (
    HELD_PER_BYTE,
    HELD_SLACK,
    MEMORY_PER_BYTE,
    MEMORY_SLACK,
)
from wirefence.oracles.records import Call, FrameVerdict, Judgement
from wirefence.oracles.transcript import lines_of
from wirefence.oracles.transcript_judge import judge_reply
from wirefence.oracles.value_text import describe_value
from wirefence.strategies.contract import Contract
from wirefence.strategies.records import Case
from wirefence.targets.records import Effect, Trace

__all__ = ["holds_name", "read_trace"]

_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/]))')
_ALTERED = "the arguments or the tool are not those of the call"
_Answers = Mapping[TypedId, list[Reply]]
_Granted = dict[tuple[str, str], list[tuple[FrameVerdict, Call]]]


def read_trace(
    case: Case,
    judgement: Judgement,
    trace: Trace,
    contract: Contract,
    control: Evidence | None = None,
) -> Evidence:
    """Return the evidence of a session that ``trace`` recorded and ``judgement`` judged.

    ``control`` is that of the same session without its rejected frames.
    """
    lines = lines_of(trace.stdout)
    said = tuple(judge_reply(line, case.version) for line in lines)
    data, frames = case.data, judgement.frames
    granted = _list_granted(judgement)
    answers, nameless = sort_replies(said, lines)
    done, acts = _sort_effects(data, frames, granted, trace.effects, answers)
    acts = [_find_coerced(act, frames, answers) for act in acts]
    strict = contract.profile == "strict"
    return Evidence(
        target=trace.target,
        data=data,
        contract=contract,
        frames=frames,
        exact=True,
        owed=tuple(_list_owed(frames, answers, trace)),
        strays=tuple(_list_strays(data, frames, answers)),
        nameless=tuple(nameless),
        done=tuple(done),
        acts=tuple(acts),
        lines=tuple(lines),
        said=said,
        tail=trace.stdout[trace.stdout.rfind(b"\n") + 1 :],
        ending=trace.ending,
        status=trace.error,
        seconds=trace.seconds,
        secrets=(contract.token,),
        names=tuple(frame.nonce for frame in case.frames if frame.nonce),
        peak_bytes=trace.peak_bytes,
        memory_bound=MEMORY_SLACK + MEMORY_PER_BYTE * len(data),
        held_bytes=trace.held_bytes,
        held_bound=HELD_SLACK + HELD_PER_BYTE * contract.max_frame if strict else None,
        control=control,
    )


def _list_granted(judgement: Judgement) -> _Granted:
    """The accepted calls by tool and action, in order: input of others may name an action again."""
    granted: _Granted = {}
    for frame in judgement.frames:
        for call in frame.calls:
            action = call.arguments.get("action")
            if isinstance(action, str):
                granted.setdefault((call.tool, action), []).append((frame, call))
    return granted


def _sort_effects(
    data: bytes,
    frames: Sequence[FrameVerdict],
    granted: _Granted,
    effects: Sequence[Effect],
    answers: _Answers,
) -> tuple[list[Call], list[Act]]:
    """Return the effects of granted and refused calls, and those that must not be."""
    counts: Counter[tuple[str, str]] = Counter()
    done: list[Call] = []
    acts: list[Act] = []
    for effect in effects:
        key = (effect.tool, effect.action)
        calls = granted.get(key)
        text = f"{effect.tool} ran as {effect.action!r}"
        call = Call(effect.tool, dict(effect.arguments))
        if calls is None:
            act = _find_owner(data, frames, granted, effect, answers)
            acts.append(act)
            if act.owner is not None and not is_rejected(act.owner):
                done.append(call)
            continue
        frame, wanted = calls[min(counts[key], len(calls) - 1)]
        counts[key] += 1
        if counts[key] > len(calls):
            acts.append(Act(frame, f"{text} again", "twice"))
            continue
        done.append(call)
        if effect.fed < frame.end:
            acts.append(Act(frame, f"{text} before its frame was complete", "early"))
        elif not same_arguments(wanted.arguments, effect.arguments):
            acts.append(Act(frame, f"{text}: {_ALTERED}", "altered"))
    return done, acts


def _find_owner(
    data: bytes,
    frames: Sequence[FrameVerdict],
    granted: _Granted,
    effect: Effect,
    answers: _Answers,
) -> Act:
    """Return the act of an effect that no granted call accounts for."""
    action = effect.action
    text = f"{effect.tool} ran as {action!r}"
    frame = next((calls[0][0] for (_, name), calls in granted.items() if name == action), None)
    if action and frame is not None:
        return Act(frame, f"{text}: {_ALTERED}", "altered")
    owner = _find_origin(data, frames, action, answers)
    if owner is None:
        why = "an action name that was never sent" if action else "without an action name"
        return Act(None, f"{text}, {why}", "unfounded")
    return Act(owner, text)


def _find_coerced(act: Act, frames: Sequence[FrameVerdict], answers: _Answers) -> Act:
    """Give an effect without a frame to the one refused call that was answered with success.

    Its action name may be another value made into a string. So short a name stands in the text of
    accepted frames by chance.
    """
    if act.fault not in ("", "unfounded") or (act.owner is not None and act.owner.rule):
        return act
    good = {(type(name), name) for each in frames if not each.rule for name in each.ids}
    served = [
        each
        for each in frames
        if each.rule
        and each.method == "tools/call"
        and any(
            reply.verdict.is_result and not has_failed(reply.verdict)
            for name in each.ids
            for reply in answers.get((type(name), name), ())
            if (type(name), name) not in good
        )
    ]
    return replace(act, owner=served[0], fault="") if len(served) == 1 else act


def _find_origin(
    data: bytes, frames: Iterable[FrameVerdict], action: str, answers: _Answers
) -> FrameVerdict | None:
    """The last frame that gives an action its name; else the first that holds the name at all.

    Of several, one that was answered with a result comes first. The last, because an earlier one
    may be what made it possible, and hold the name by chance.
    """
    spelled = json.dumps(action, ensure_ascii=False).encode("utf-8", "surrogatepass")
    member = re.compile(rb'(?i:"action")\s*:\s*%b' % re.escape(spelled))
    holding = [f for f in frames if action and holds_name(data[f.start : f.end], action)]
    naming = [f for f in holding or frames if member.search(data, f.start, f.end)]
    if len(naming) > 1:
        served = {key[1] for key, got in answers.items() if any(r.verdict.is_result for r in got)}
        naming = [each for each in naming if _is_served(data, each, served)] or naming
    return naming[-1] if naming else holding[0] if holding else None


def _is_served(data: bytes, frame: FrameVerdict, served: Set[str | int]) -> bool:
    """Whether a frame that is refused or rejected holds an id that was answered with a result."""
    if frame.ids:
        return not served.isdisjoint(frame.ids)
    raw = data[frame.start : frame.end]
    return any(
        isinstance(n, str) and b'"id":"%b"' % n.encode("utf-8", "replace") in raw for n in served
    )


def holds_name(line: bytes, action: str) -> bool:
    """Whether a frame, good or bad, holds an action's name, as it is or escaped."""
    if action.encode("utf-8", "surrogatepass") in line:
        return True
    text = line.decode("utf-8", "replace")
    return action in text or ("\\" in text and action in _undo_escapes(text))


def _undo_escapes(text: str) -> str:
    """Text with its escapes undone wherever they stand: a broken frame has no strings."""
    units = _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else match[2], text)
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _list_owed(frames: Sequence[FrameVerdict], answers: _Answers, trace: Trace) -> Iterable[Owed]:
    """Yield each request that is owed a reply, with the replies that it got."""
    ran = {effect.action for effect in trace.effects}
    for frame in frames:
        if not is_owed(frame):
            continue
        for request in frame.members or (frame,):
            for name in request.ids:
                got = answers.get((type(name), name), [])
                shared = _find_rejected(frames, name)
                lost = ""
                if got and _promises_effect(request, got, ran):
                    lost = "answered with success, but nothing ran"
                yield Owed(
                    request,
                    name,
                    tuple(got),
                    shared,
                    len(got) > 1 and _has_twin(frames, answers, name),
                    lost,
                )


def _promises_effect(request: FrameVerdict, got: Sequence[Reply], ran: set[str]) -> bool:
    """Whether a call was answered with success and its action did not run."""
    missing = any(call.arguments.get("action") not in ran for call in request.calls)
    return missing and all(has_succeeded(each.verdict) for each in got)


def _find_rejected(frames: Iterable[FrameVerdict], name: str | int) -> FrameVerdict | None:
    """The rejected frame that used an id as well: its error may then carry the same id."""
    return next((f for f in frames if is_rejected(f) and has_id(f, (type(name), name))), None)


def _has_twin(frames: Iterable[FrameVerdict], answers: _Answers, name: str | int) -> bool:
    """Whether one of several replies may be that of a request with the same id of another type."""
    owed = (other for frame in frames if is_owed(frame) for other in frame.ids)
    return any(
        type(other) is not type(name)
        and _spell_id(other) == _spell_id(name)
        and (type(other), other) not in answers
        for other in owed
    )


def _list_strays(
    data: bytes, frames: Sequence[FrameVerdict], answers: _Answers
) -> Iterable[Answer]:
    """Yield the replies whose id no request has which is owed one."""
    owed = {(type(i), i) for f in frames if is_owed(f) for i in f.ids}
    for key, got in answers.items():
        if key not in owed:
            owners = _find_owners(data, frames, key[1])
            yield Answer(describe_value(key[1]), tuple(got), tuple(owners))


def _find_owners(
    data: bytes, frames: Sequence[FrameVerdict], name: str | int
) -> list[FrameVerdict]:
    """The rejected frames that hold an id: by what the judge read, else by how it is spelled.

    A number anywhere in a frame is no id: frames that are rejected are full of numbers. Frames
    after the close come first: the judge reads no id of theirs.
    """
    found = [frame for frame in frames if has_id(frame, (type(name), name))]
    late = [frame for frame in frames if frame.rule == "life-closed"]
    if found and not late:
        return found
    text = json.dumps(name, ensure_ascii=False) if isinstance(name, str) else spell_integer(name)
    spelled = re.escape(text.encode("utf-8", "surrogatepass"))
    member = re.compile(rb'"id"\s*:\s*%b(?![0-9.eE])' % spelled, re.IGNORECASE)
    others = late if found else late + [f for f in frames if f.rule and f not in late]
    return [each for each in others if member.search(data, each.start, each.end)] + found


def _spell_id(name: str | int) -> str:
    return name if isinstance(name, str) else spell_integer(name)
