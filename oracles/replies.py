"""Oracle *reply*: who was answered, with what id, how often, and what leaked.

A reply is matched to its request by id and type of id, never by order, since an
honest server may answer out of order; what remains unmatched was said to nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wirefence.oracles.evidence import (
    Answer,
    Evidence,
    Owed,
    Reply,
    has_failed,
    has_succeeded,
    is_rejected,
    list_responses,
    member_of,
    result_of,
)
from wirefence.oracles.records import Finding, FrameVerdict
from wirefence.oracles.results import (
    check_error_data,
    check_result,
    find_missing_mark,
    is_broken_promise,
    may_be_unknown,
)
from wirefence.oracles.transcript_kinds import holds_message, list_offences
from wirefence.oracles.value_text import describe_value

__all__ = ["UNUSABLE", "check_replies"]

UNUSABLE = ("session-resync", "live-crash", "live-hang", "reply-missing")
"""Rules of findings which say that a good request was not served."""

_TRACEBACK = b"Traceback (most recent call last)"


def check_replies(evidence: Evidence) -> Iterator[Finding]:
    """Yield findings on the replies of a session.

    Rules: ``reply-id``, ``reply-code``, ``reply-twice``, ``reply-to-notification``,
    ``reply-to-rejected``, ``reply-missing``, ``session-resync`` (missing after a rejected frame),
    ``malformed-result``, ``reply-leak`` and ``smoke-capability``; ``act-rejected`` and
    ``act-after-close`` where only a reply shows that a call of another's server acted.
    """
    for owed in evidence.owed:
        yield from _check_owed(evidence, owed)
    for answer in evidence.strays:
        yield from _check_stray(evidence, answer)
    yield from _check_nameless(evidence)
    yield from _check_leaks(evidence)


def _check_owed(evidence: Evidence, owed: Owed) -> Iterator[Finding]:
    """Check the replies to a request that is owed one."""
    if not owed.replies or _answers_shared(evidence, owed):
        yield from _check_missing(evidence, owed)
        return
    several = len(owed.replies) > 1
    if several and owed.shared is None and not owed.twin:
        text = f"{len(owed.replies)} replies to id {describe_value(owed.name)}"
        raw = owed.replies[1].line
        yield evidence.make_finding("reply", "reply-twice", owed.frame, text, raw)
    elif several and owed.shared is not None and _are_both_processed(evidence, owed):
        yield _charge_processed(evidence, owed.shared, owed.replies[-1])
    # The error for a rejected frame may carry the same id and come first.
    tried = owed.replies if owed.shared is not None else owed.replies[:1]
    wrong = [list(_check_reply(evidence, owed.frame, each)) for each in tried]
    if all(wrong):
        yield from wrong[0]


def _answers_shared(evidence: Evidence, owed: Owed) -> bool:
    """Whether the one reply to a good request is the error for a rejected frame with its id."""
    if owed.shared is None or owed.frame.reply != "result" or not evidence.exact:
        return False
    return len(owed.replies) == 1 and not owed.replies[0].verdict.is_result


def _are_both_processed(evidence: Evidence, owed: Owed) -> bool:
    """Whether a rejected frame got a result as well as the good request with its id.

    Equal results say so only if nothing else is answered twice: a target may repeat itself.
    """
    results = [each.line for each in owed.replies if each.verdict.is_result]
    others = [each for each in evidence.owed if each.name != owed.name and each.replies]
    repeats = not others or any(len(each.replies) > 1 for each in others)
    return len(set(results)) > 1 or (len(results) > 1 and not repeats)


def _check_missing(evidence: Evidence, owed: Owed) -> Iterator[Finding]:
    frame = owed.frame
    if evidence.ending != "open" or not evidence.served or _may_be_unread(evidence):
        return  # another finding says so
    before = [each for each in evidence.list_rejected() if each.start < frame.start]
    if before and (not frame.rule or _is_answered_in_control(evidence, owed)):
        text = f"no reply to {frame.method} after a frame that breaks {before[-1].rule}"
        yield evidence.make_finding("session", "session-resync", before[-1], text)
    elif not (frame.rule and _is_lost_after(evidence, frame)):
        limit = "" if evidence.exact else f" within {evidence.seconds:.1f} s"
        text = f"no reply to {frame.method} at byte {frame.start}{limit}"
        # What a server does not answer says something of it. A deviation says as much.
        kind = "" if frame.rule else f":{frame.method}"
        yield evidence.make_finding("reply", f"reply-missing{kind}", frame, text)


def _is_answered_in_control(evidence: Evidence, owed: Owed) -> bool:
    """Whether the same request is answered in a session without the rejected frames."""
    known = evidence.control.owed if evidence.control else ()
    same = (each for each in known if (type(each.name), each.name) == (type(owed.name), owed.name))
    return any(each.replies for each in same)


def _may_be_unread(evidence: Evidence) -> bool:
    """Whether the missing reply may be there: badly written, or under the id of no request."""
    if any(not each.owners for each in evidence.strays):
        return True
    offences = list_offences(evidence.lines, evidence.said, evidence.tail)
    return any(holds_message(each.kind) for each in offences)


def _is_lost_after(evidence: Evidence, frame: FrameVerdict) -> bool:
    """Whether no good request behind a refused one was answered either."""
    if not any(each.start < frame.start for each in evidence.list_rejected()):
        return False
    good = [
        each for each in evidence.owed if not each.frame.rule and each.frame.start > frame.start
    ]
    return bool(good) and not any(each.replies for each in good)


def _check_reply(evidence: Evidence, frame: FrameVerdict, reply: Reply) -> Iterator[Finding]:
    """Check one reply to one request against what the judge expects of it."""
    verdict = reply.verdict
    if not verdict.is_result:
        yield from _check_error(evidence, frame, reply)
        yield from check_error_data(evidence, frame, reply)
    elif _is_refused(evidence, frame):
        if (frame.reply == "error" and evidence.exact) or not has_failed(verdict):
            yield _charge_success(evidence, frame, reply.line)
    elif not frame.rule and (mark := find_missing_mark(evidence, frame.method, result_of(verdict))):
        text = f"a {frame.method} result without {mark}"
        yield evidence.make_finding("reply", "reply-id:crossed", frame, text, reply.line)
    else:
        yield from check_result(evidence, frame, reply)


def _is_refused(evidence: Evidence, frame: FrameVerdict) -> bool:
    """Whether a result is no answer to a frame.

    Another's server may serve methods that the contract does not know.
    """
    return bool(frame.rule) and (evidence.exact or frame.rule != "mcp-method")


def _charge_success(evidence: Evidence, frame: FrameVerdict, line: bytes) -> Finding:
    text = f"{frame.method} breaks {frame.rule}: expected an error, got a result"
    acted = frame.method == "tools/call" and not evidence.exact
    oracle, effect = ("non-action", "act-rejected") if acted else ("reply", "reply-code:result")
    return evidence.make_finding(oracle, effect, frame, text, line)


def _check_error(evidence: Evidence, frame: FrameVerdict, reply: Reply) -> Iterator[Finding]:
    code, line = describe_value(reply.verdict.code), reply.line
    if is_broken_promise(evidence, frame, reply):
        text = f"{frame.method} is not served, though the server's capabilities promise it"
        yield evidence.make_finding("smoke", "smoke-capability", frame.method, text, line)
    elif may_be_unknown(evidence, frame, reply):
        return
    elif frame.reply == "result" and frame.kind == "request":
        # Beside a control session it is told from the difference to that.
        if evidence.exact or evidence.control is None:
            before = [each for each in evidence.list_rejected() if each.start < frame.start]
            text = f"error {code} for a good {frame.method}"
            about = before[-1] if before and evidence.exact else frame
            yield evidence.make_finding("reply", "reply-code:refused", about, text, line)
    elif evidence.exact and frame.code and reply.verdict.code != frame.code:
        text = f"wrong error code: expected {frame.code}, got {code}"
        yield evidence.make_finding("reply", "reply-code", frame, text, line)


def _check_stray(evidence: Evidence, answer: Answer) -> Iterator[Finding]:
    """Check replies with an id that no request has which is owed one."""
    owners = answer.owners
    if owners and evidence.is_ambiguous(owners[0]):
        return
    if any(is_rejected(each) and each.members for each in owners):
        return  # a batch with bad members under spec: each may be answered by itself
    results = [each for each in answer.replies if each.verdict.is_result]
    line = (results or answer.replies)[0].line
    if not owners:
        rejected = evidence.list_rejected()
        missing = any(not each.replies for each in evidence.owed)
        about = rejected[0] if rejected and not missing else None
        text = f"a reply to id {answer.name}, which no request has"
        yield evidence.make_finding("reply", "reply-id:unknown", about, text, line)
    elif results:
        yield _charge_processed(evidence, owners[0], results[0])
    elif evidence.exact:
        yield from _check_codes(evidence, answer)
    elif not is_rejected(owners[0]):
        text = f"an error for id {answer.name}, which is only a part of an accepted message"
        yield evidence.make_finding("reply", "reply-id:hidden", owners[0], text, line)


def _charge_processed(evidence: Evidence, owner: FrameVerdict, reply: Reply) -> Finding:
    """Return the finding for a frame that must be rejected and got a result."""
    what = f"a frame that breaks {owner.rule}" if owner.rule else "text within an accepted frame"
    text = f"a result for {what}"
    if evidence.exact:
        late = ":late" if owner.rule == "life-closed" else ""
        return evidence.make_finding("reply", f"reply-to-rejected{late}", owner, text, reply.line)
    if owner.rule == "life-closed":
        return evidence.make_finding("non-action", "act-after-close", owner, text, reply.line)
    calls = owner.method in ("tools/call", "") or owner.accepted
    if calls and has_succeeded(reply.verdict):
        return evidence.make_finding("non-action", "act-rejected", owner, text, reply.line)
    return evidence.make_finding("reply", "reply-to-rejected", owner, text, reply.line)


def _check_codes(evidence: Evidence, answer: Answer) -> Iterator[Finding]:
    late = [frame for frame in answer.owners if frame.rule == "life-closed"]
    bad = [frame for frame in answer.owners if frame not in late]
    if bad and not evidence.nameless and len(answer.replies) == 1:
        late = []  # the only answer to the rejected frame
    codes = {frame.code for frame in bad}
    wrong = [each for each in answer.replies if each.verdict.code not in codes]
    if not wrong:
        return
    owner, line = (late or bad)[0], wrong[0].line
    if late:
        text = "an answer after the close"
        yield evidence.make_finding("reply", "reply-to-rejected:late", owner, text, line)
    else:
        got = describe_value(wrong[0].verdict.code)
        text = f"wrong error code: expected {owner.code}, got {got}"
        yield evidence.make_finding("reply", "reply-code", owner, text, line)


def _check_nameless(evidence: Evidence) -> Iterator[Finding]:
    """Check error replies with a null id: at most one for each rejected frame, with its code."""
    rejected, nameless = evidence.list_rejected(), evidence.nameless
    if not nameless or any(each.members for each in rejected):
        return
    surplus = len(nameless) - len(rejected)
    usual = evidence.control is not None and bool(evidence.control.nameless)
    if not rejected or usual or (evidence.exact and surplus > 0):
        text, raw = "an error reply that answers no request", nameless[0].line
        effect, about = _name_nameless(evidence, surplus)
        yield evidence.make_finding("reply", effect, None if usual else about, text, raw)
    elif evidence.exact:
        codes = {frame.code for frame in rejected}
        for each in [each for each in nameless if each.verdict.code not in codes][:1]:
            text = f"wrong error code: got {describe_value(each.verdict.code)}"
            late = _find_late_answered(evidence)
            effect = "reply-to-rejected:late" if late else "reply-code"
            yield evidence.make_finding("reply", effect, late or rejected[0], text, each.line)


def _find_late_answered(evidence: Evidence) -> FrameVerdict | None:
    """Return a frame after the close, if the errors with a null id are too many for those before.

    A rejected frame that was answered under its own id needs no other error.
    """
    answered = {owner.start for answer in evidence.strays for owner in answer.owners}
    before = [each for each in evidence.list_rejected() if each.start not in answered]
    late = (each for each in evidence.frames if each.rule == "life-closed")
    return next(late, None) if len(evidence.nameless) > len(before) else None


def _name_nameless(evidence: Evidence, surplus: int) -> tuple[str, FrameVerdict | None]:
    """Return the effect of so many errors too many, and the frame that they are about."""
    late = next((each for each in evidence.frames if each.rule == "life-closed"), None)
    if late is not None:
        return "reply-to-rejected:late", late
    silent = [each for each in evidence.frames if each.kind == "notification" and each.accepted]
    usual = evidence.control is None or bool(evidence.control.nameless)
    if evidence.exact and surplus == len(silent) and usual:
        return "reply-to-notification", None
    rejected = evidence.list_rejected()
    return "reply-id:null", rejected[0] if rejected else None


def _check_leaks(evidence: Evidence) -> Iterator[Finding]:
    """Look for what no reply may hold: a secret, a traceback, the action name of any frame."""
    out = b"\n".join((*evidence.lines, evidence.tail))
    for secret in evidence.secrets:
        if (count := out.count(secret.encode())) > _count_echoes(evidence, secret, count):
            text = "the operator's token is on stdout"
            yield evidence.make_finding("reply", "reply-leak:token", None, text)
    if _TRACEBACK in out:
        leak = next(x for x in (*evidence.lines, evidence.tail) if _TRACEBACK in x)
        text = "a traceback is on stdout"
        yield evidence.make_finding("reply", "reply-leak:traceback", None, text, leak)
    if not evidence.names or b'"error"' not in out:
        return
    said = [each for verdict in evidence.said for each in list_responses(verdict)]
    errors = _join_strings([member_of(each, "error") for each in said])
    if any(name in errors for name in evidence.names):
        text = "an error reply repeats an action name"
        yield evidence.make_finding("reply", "reply-leak:action", None, text)


def _count_echoes(evidence: Evidence, secret: str, count: int) -> int:
    """Count how often a secret came back as an id: a client may name its request after it."""
    if not count:
        return 0
    said = [each for verdict in evidence.said for each in list_responses(verdict)]
    return sum(each.id.count(secret) for each in said if isinstance(each.id, str))


def _join_strings(values: Sequence[object]) -> str:
    """Every string in some values, names included; numbers may be too long for Python to spell."""
    waiting, found = list(values), list[str]()
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            found.append(each)
        elif isinstance(each, dict):
            waiting += [*each, *each.values()]
        elif isinstance(each, list):
            waiting += each
    return "\n".join(found)
