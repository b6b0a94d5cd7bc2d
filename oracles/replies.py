"""Oracle *reply*: who was answered, with what id, how often, and what leaked.

A reply is matched to its request by id and type of id, never by order, since an
honest server may answer out of order; what remains unmatched was said to nobody.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from wirefence.oracles.document import LongInteger, spell_integer
from wirefence.oracles.records import Finding, FrameVerdict, Judgement, ReplyVerdict, make_finding
from wirefence.oracles.spellings import name_broken_rule
from wirefence.strategies.contract import Contract
from wirefence.strategies.records import Case
from wirefence.targets.records import Trace

__all__ = ["check_replies"]

_TELLTALE: dict[str, str] = {
    "initialize": "protocolVersion",
    "server/discover": "supportedVersions",
    "tools/list": "tools",
    "tools/call": "content",
}
"""A member that the result of each method must have: how a crossed reply is seen."""

_Key = tuple[type, str | int]
_SHOWN = 40
"""Characters of a number: servers may answer with any."""


def check_replies(
    case: Case,
    judgement: Judgement,
    trace: Trace,
    said: Sequence[ReplyVerdict],
    contract: Contract,
) -> list[Finding]:
    """Return findings on the replies of ``trace``; ``said`` is its stdout, line by line, as judged.

    Rules: ``reply-id``, ``reply-code``, ``reply-twice``, ``reply-to-notification``,
    ``reply-to-rejected``, ``reply-missing``, ``session-resync`` (missing after a rejected frame),
    ``act-missing`` (a call was answered with success and nothing ran) and ``reply-leak``.
    """
    answers: dict[_Key, list[ReplyVerdict]] = defaultdict(list)
    nameless: list[ReplyVerdict] = []
    for reply in _list_responses(said):
        if reply.id is None:
            nameless.append(reply)
        else:
            answers[type(reply.id), reply.id].append(reply)
    found = [
        *_check_owed_replies(judgement, trace, answers),
        *_check_stray_replies(case.data, judgement, trace, answers),
        *_check_nameless_replies(judgement, trace, nameless),
        *_check_leaks(case, trace, _list_responses(said), contract),
    ]
    return list({each.signature: each for each in found}.values())


def _list_responses(said: Iterable[ReplyVerdict]) -> list[ReplyVerdict]:
    flat = [part for reply in said for part in (reply.members or (reply,))]
    return [reply for reply in flat if reply.kind == "response" and not reply.rule]


def _check_owed_replies(
    judgement: Judgement, trace: Trace, answers: dict[_Key, list[ReplyVerdict]]
) -> list[Finding]:
    """Check the answers to every request that is owed one."""
    found = []
    ran = {effect.action for effect in trace.effects}
    rejected_before = False
    for frame in judgement.frames:
        rejected_before |= _is_rejected(frame)
        if not _is_owed(frame):
            continue
        for request in frame.members or (frame,):
            for name in request.ids:
                got = answers.get((type(name), name), [])
                if not got and trace.ending == "open":
                    found.append(
                        _report_missing_reply(trace, frame, after_rejection=rejected_before)
                    )
                shared = len(got) > 1 and _is_id_reused(judgement, name)
                if len(got) > 1 and not shared and not _given_away(judgement, answers, name):
                    summary = f"id {_show_value(name)} has {len(got)} replies"
                    found.append(_make_finding(trace, "reply-twice", "", summary))
                found += _check_answers(trace, request, got if shared else got[:1], ran)
    return found


def _check_answers(
    trace: Trace, request: FrameVerdict, got: Sequence[ReplyVerdict], ran: set[str]
) -> list[Finding]:
    """What is wrong with the answer to a request, which may be any of several.

    The error for a rejected frame may carry the same id and come first.
    """
    wrong = [_check_answer(trace, request, each, ran) for each in got]
    return wrong[0] if wrong and all(wrong) else []


def _is_owed(frame: FrameVerdict) -> bool:
    return bool(frame.ids) and frame.reply in ("result", "error", "either")


def _is_loose(frame: FrameVerdict) -> bool:
    """Whether it is a batch whose members may be answered one by one, though it has bad ones."""
    return _is_rejected(frame) and bool(frame.members)


def _is_rejected(frame: FrameVerdict) -> bool:
    return frame.reply == "optional-error"


def _is_id_reused(judgement: Judgement, name: str | int) -> bool:
    """Whether a rejected frame used the id as well: its error may then carry the same id."""
    return any(
        _is_rejected(frame) and any(type(i) is type(name) and i == name for i in frame.ids)
        for frame in judgement.frames
    )


def _given_away(
    judgement: Judgement, answers: dict[_Key, list[ReplyVerdict]], name: str | int
) -> bool:
    """Whether one of several replies may be that of a request with the same id of another type."""
    owed = (other for frame in judgement.frames if _is_owed(frame) for other in frame.ids)
    return any(
        type(other) is not type(name)
        and _spell_id(other) == _spell_id(name)
        and (type(other), other) not in answers
        for other in owed
    )


def _report_missing_reply(trace: Trace, frame: FrameVerdict, *, after_rejection: bool) -> Finding:
    rule = "session-resync" if after_rejection else "reply-missing"
    kind = frame.method if not after_rejection else ""
    return _make_finding(trace, rule, kind, f"no reply to {frame.method} at byte {frame.start}")


def _check_answer(
    trace: Trace, frame: FrameVerdict, reply: ReplyVerdict, ran: set[str]
) -> list[Finding]:
    """Check one answer to one request against what the judge expects of it."""
    if not reply.is_result:
        return _check_error_answer(trace, frame, reply)
    result = _result_of(reply)
    failed = result.get("isError") is True
    if frame.reply == "error" or (frame.reply == "either" and not failed):
        return [
            _make_finding(
                trace, "reply-code", f"{frame.rule} result", "a result for a refused request"
            )
        ]
    telltale = _TELLTALE.get(frame.method)
    if telltale and telltale not in result:
        return [
            _make_finding(
                trace, "reply-id", "crossed", f"a {frame.method} result without {telltale}"
            )
        ]
    if not failed and any(_action_of(call.arguments) not in ran for call in frame.calls):
        summary = "answered with success, but nothing ran"
        return [make_finding("non-action", "act-missing", trace.target, "", summary)]
    return []


def _check_error_answer(trace: Trace, frame: FrameVerdict, reply: ReplyVerdict) -> list[Finding]:
    if frame.reply == "result":
        return [
            _make_finding(
                trace, "reply-code", "error for a good request", f"error {_show_code(reply)}"
            )
        ]
    if frame.code and reply.code != frame.code:
        kind = f"{frame.rule} {_show_code(reply)}"
        return [
            _make_finding(
                trace, "reply-code", kind, f"{_show_code(reply)} where {frame.code} is due"
            )
        ]
    return []


def _action_of(arguments: dict[str, object]) -> object:
    return arguments.get("action")


def _member_of(reply: ReplyVerdict, name: str) -> object:
    return reply.value.get(name) if isinstance(reply.value, dict) else None


def _result_of(reply: ReplyVerdict) -> dict[str, object]:
    result = _member_of(reply, "result")
    return result if isinstance(result, dict) else {}


def _check_stray_replies(
    data: bytes,
    judgement: Judgement,
    trace: Trace,
    answers: dict[_Key, list[ReplyVerdict]],
) -> list[Finding]:
    """Check answers whose id no accepted request has."""
    owed = {(type(i), i) for f in judgement.frames if _is_owed(f) for i in f.ids}
    found = []
    for key, got in answers.items():
        if key in owed:
            continue
        owners = _find_owners(data, judgement, key[1])
        if any(_is_loose(frame) for frame in owners):
            continue
        late = [frame for frame in owners if frame.rule == "life-closed"]
        codes = {frame.code for frame in owners if frame not in late}
        frame = owners[0] if owners else None
        if frame is None:
            found.append(
                _make_finding(trace, "reply-id", "unknown", f"a reply to id {_show_value(key[1])}")
            )
        elif any(reply.is_result for reply in got):
            summary = f"a result for a frame that breaks {frame.rule}"
            found.append(
                _make_finding(trace, "reply-to-rejected", _name_broken_rule(data, frame), summary)
            )
        elif not (wrong := [reply for reply in got if reply.code not in codes]):
            continue
        elif late:
            found.append(
                _make_finding(trace, "reply-to-rejected", "life-closed", "answered after the close")
            )
        else:
            kind = f"{_name_broken_rule(data, frame)} {_show_code(wrong[0])}"
            found.append(_make_finding(trace, "reply-code", kind, f"{frame.code} is due"))
    return found


def _name_broken_rule(data: bytes, frame: FrameVerdict) -> str:
    return name_broken_rule(frame.rule, data[frame.start : frame.end].removesuffix(b"\n"))


def _find_owners(data: bytes, judgement: Judgement, name: str | int) -> list[FrameVerdict]:
    """The rejected frames that hold an id: by what the judge read, else by how it is spelled.

    A number anywhere in a frame is no id: frames that are rejected are full of numbers.
    """
    found = [
        frame
        for frame in judgement.frames
        if any(type(i) is type(name) and i == name for i in frame.ids)
    ]
    if found:
        return found
    text = json.dumps(name, ensure_ascii=False) if isinstance(name, str) else spell_integer(name)
    spelled = re.escape(text.encode("utf-8", "surrogatepass"))
    member = re.compile(rb'"id"\s*:\s*%b(?![0-9.eE])' % spelled, re.IGNORECASE)
    rejected = (frame for frame in judgement.frames if not frame.accepted)
    return [frame for frame in rejected if member.search(data, frame.start, frame.end)]


def _spell_id(name: str | int) -> str:
    return name if isinstance(name, str) else spell_integer(name)


def _show_value(value: str | int | LongInteger) -> str:
    """An id or a code for people; Python refuses to write numbers of thousands of digits."""
    if isinstance(value, str):
        return repr(value)
    text = spell_integer(value)
    return text if len(text) <= _SHOWN else f"an integer of {len(text):,} characters"


def _show_code(reply: ReplyVerdict) -> str:
    return _show_value(reply.code or 0)


def _check_nameless_replies(
    judgement: Judgement, trace: Trace, nameless: Sequence[ReplyVerdict]
) -> list[Finding]:
    """Check error replies with a null id: at most one for each rejected frame, with its code."""
    rejected = [frame for frame in judgement.frames if _is_rejected(frame)]
    if any(map(_is_loose, rejected)):
        return []
    if len(nameless) > len(rejected):
        silent = any(frame.kind == "notification" for frame in judgement.frames)
        rule = "reply-to-notification" if silent else "reply-id"
        return [_make_finding(trace, rule, "null id", "an error reply with no frame to blame")]
    codes = {frame.code for frame in rejected}
    wrong = sorted({_show_code(reply) for reply in nameless if reply.code not in codes})
    rules = "+".join(sorted({frame.rule for frame in rejected}))
    return [_make_finding(trace, "reply-code", f"{rules} {code}", f"code {code}") for code in wrong]


def _check_leaks(
    case: Case, trace: Trace, said: Sequence[ReplyVerdict], contract: Contract
) -> list[Finding]:
    """Look for what no reply may hold: the token, a traceback, the action name of any frame."""
    out = trace.stdout
    found = []
    # A client may name its request after the token, and then hears that id again.
    ids = [reply.id for reply in said if isinstance(reply.id, str)]
    echoed = sum(each.count(contract.token) for each in ids)
    if out.count(contract.token.encode()) > echoed:
        found.append(
            _make_finding(trace, "reply-leak", "token", "the operator's token is on stdout")
        )
    if b"Traceback (most recent call last)" in out:
        found.append(_make_finding(trace, "reply-leak", "traceback", "a traceback is on stdout"))
    errors = "\n".join(_iterate_strings([_member_of(reply, "error") for reply in said]))
    if any(frame.nonce and frame.nonce in errors for frame in case.frames):
        found.append(
            _make_finding(trace, "reply-leak", "action", "an error reply repeats an action name")
        )
    return found


def _iterate_strings(value: object) -> Iterator[str]:
    """Every string in a value, names included; numbers may be too long for Python to spell."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            waiting += [*each, *each.values()]
        elif isinstance(each, list):
            waiting += each


def _make_finding(trace: Trace, rule: str, kind: str, summary: str) -> Finding:
    oracle = "session" if rule.startswith("session") else "reply"
    return make_finding(oracle, rule, trace.target, kind, summary)
