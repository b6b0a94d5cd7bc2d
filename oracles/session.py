"""Judge a whole session of bytes by docs/contract.md: the reference model of every oracle.

Only an accepted or refused message changes the state, so a rejected one needs no
undoing; only a batch, judged member by member, is rolled back to the mark set before it. And as
nothing acts once a session is closed, the policy ``close`` is that of ``continue``, cut short.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from wirefence.oracles.document import judge_document
from wirefence.oracles.message import (
    META_VERSION,
    is_integer,
    kind_of,
    mcp_fault,
    named_id,
    rpc_fault,
    usable_id,
)
from wirefence.oracles.records import Call, FrameVerdict, Judgement, Kind
from wirefence.oracles.rules import BY_ID
from wirefence.oracles.tools import call_fault
from wirefence.strategies.contract import Contract

__all__ = ["close_judgement", "judge_session"]

_JSON_SPACE = b" \t\r"
_STATELESS = "2026-07-28"
_Reply = Literal["result", "error", "either", "none", "optional-error"]


@dataclass(slots=True)
class _State:
    """What accepted and refused messages left: ids are paired with their type, "1" is not 1."""

    initialized: bool = False
    ready: bool = False
    ids: dict[tuple[type, Any], None] = field(default_factory=dict)

    def mark(self) -> tuple[bool, bool, int]:
        """A point to roll back to; ids are kept in order, so their number is enough."""
        return self.initialized, self.ready, len(self.ids)

    def roll_back(self, mark: tuple[bool, bool, int]) -> None:
        self.initialized, self.ready, known = mark
        while len(self.ids) > known:
            self.ids.popitem()

    def learn(self, method: str, ids: tuple[Any, ...]) -> None:
        """Take note of an accepted or refused message."""
        if ids:
            self.ids[type(ids[0]), ids[0]] = None
            self.initialized |= method == "initialize"
        elif method == "notifications/initialized":
            self.ready |= self.initialized

    def learn_verdict(self, frame: FrameVerdict) -> None:
        """Take note of a lone message by the verdict on it."""
        if frame.reply != "optional-error":
            self.learn(frame.method, frame.ids)


class _Said(NamedTuple):
    """One message, judged. ``refused`` tells a refusal from a rejection by the same field."""

    rule: str = ""
    kind: Kind = "none"
    method: str = ""
    ids: tuple[Any, ...] = ()
    calls: tuple[Call, ...] = ()
    members: tuple[_Said, ...] = ()

    @property
    def rejected(self) -> bool:
        return bool(self.rule) and BY_ID[self.rule].closes


def judge_session(data: bytes, contract: Contract, known: Sequence[FrameVerdict] = ()) -> Judgement:
    """Say of every frame of ``data`` what it is, which rule it breaks and what it may cause.

    ``known`` are the verdicts on its first frames, where a caller has them already.
    """
    state, frames = _State(), list(known)
    for frame in frames:
        state.learn_verdict(frame)
    start = frames[-1].end if frames else 0
    while (stop := data.find(b"\n", start)) >= 0:
        frames.append(_judge_frame(data[start:stop], start, stop + 1, contract, state))
        start = stop + 1
    if start < len(data):
        frames.append(_judge_tail(data, start, contract))
    judgement = Judgement(tuple(frames), None, start < len(data))
    return close_judgement(judgement) if contract.policy == "close" else judgement


def close_judgement(judgement: Judgement) -> Judgement:
    """The judgement of policy ``close``, given that of ``continue`` on the same session.

    Up to the first frame that closes it a session is the same under both.
    """
    frames = judgement.frames
    first = next((at for at, frame in enumerate(frames) if _closes_session(frame)), None)
    if first is None:
        return judgement
    last = frames[first]._replace(closes=True)
    rest = (_make_closed_verdict(frame.start, frame.end) for frame in frames[first + 1 :])
    return Judgement((*frames[:first], last, *rest), last.end, judgement.tail)


def _closes_session(frame: FrameVerdict) -> bool:
    # After a line without LF stdin has ended: there is nothing left to close.
    return frame.reply == "optional-error" and frame.rule != "frame-unterminated"


def _make_closed_verdict(start: int, end: int) -> FrameVerdict:
    return FrameVerdict(start, end, "life-closed", "lifecycle", "none")


def _judge_tail(data: bytes, start: int, contract: Contract) -> FrameVerdict:
    """Judge the last bytes without LF: they never act, however complete they look."""
    end = len(data)
    long = contract.profile == "strict" and end - start > contract.max_frame
    return _make_rejection(_Said("frame-too-long" if long else "frame-unterminated"), start, end)


def _make_rejection(said: _Said, start: int, end: int) -> FrameVerdict:
    rule = BY_ID[said.rule]
    return FrameVerdict(
        start,
        end,
        said.rule,
        rule.layer,
        said.kind,
        said.method,
        said.ids,
        said.calls,
        "optional-error",
        rule.code,
        members=_make_member_verdicts(said, start, end),
    )


def _make_member_verdicts(said: _Said, start: int, end: int) -> tuple[FrameVerdict, ...]:
    """The verdicts on the members of a batch, each at the place of the whole."""
    if not said.members:
        return ()
    return tuple(
        (_make_rejection if member.rejected else _make_answered)(member, start, end)
        for member in said.members
    )


def _judge_frame(
    raw: bytes, start: int, end: int, contract: Contract, state: _State
) -> FrameVerdict:
    rule = _framing_fault(raw, contract)
    if rule:
        return _make_rejection(_Said(rule), start, end)
    document = judge_document(raw, profile=contract.profile, max_depth=contract.max_depth)
    if document.rule:
        return _make_rejection(_Said(document.rule), start, end)
    value = document.value
    if isinstance(value, list):
        said = _judge_batch(value, document.minus_zeros, contract, state)
    elif isinstance(value, dict):
        said = _judge_message(value, contract, state, minus_zero=0 in document.minus_zeros)
    else:
        said = _Said("rpc-not-object")
    if said.rejected:
        return _make_rejection(said, start, end)
    return _make_answered(said, start, end)


def _framing_fault(raw: bytes, contract: Contract) -> str:
    strict = contract.profile == "strict"
    if strict and len(raw) > contract.max_frame:
        return "frame-too-long"
    if not raw.strip(_JSON_SPACE):
        return "frame-empty"
    return "frame-cr" if strict and b"\r" in raw else ""


def _make_answered(said: _Said, start: int, end: int) -> FrameVerdict:
    rule = BY_ID.get(said.rule)
    reply: _Reply = "result" if said.kind == "request" else "none"
    if not all(call.required for call in said.calls):
        reply = "either"
    if rule:
        reply = "either" if rule.layer == "tool" else "error"
    if said.kind == "batch" and said.ids:
        reply = "either"
    return FrameVerdict(
        start,
        end,
        said.rule,
        rule.layer if rule else "",
        said.kind,
        said.method,
        said.ids,
        said.calls,
        reply,
        rule.code if rule else 0,
        members=_make_member_verdicts(said, start, end),
    )


def _judge_batch(
    members: list[Any], minus_zeros: frozenset[int], contract: Contract, state: _State
) -> _Said:
    """Judge all members before any counts; strict rejects the batch for one bad member."""
    if contract.version != "2025-03-26" or not members or _holds_initialize(members):
        return _Said("rpc-batch", "batch")
    mark = state.mark()
    judged = [
        _judge_message(member, contract, state, minus_zero=position in minus_zeros)
        if isinstance(member, dict)
        else _Said("rpc-not-object")
        for position, member in enumerate(members)
    ]
    calls = tuple(call for said in judged for call in said.calls)
    if any(said.rejected for said in judged):
        state.roll_back(mark)
        return (
            _judge_loose_batch(judged, calls)
            if contract.profile == "spec"
            else _Said("rpc-batch", "batch")
        )
    ids = tuple(name for said in judged for name in said.ids)
    return _Said("", "batch", "", ids, calls, _keep_telling_members(judged))


def _judge_loose_batch(judged: list[_Said], calls: tuple[Call, ...]) -> _Said:
    """A batch with bad members under ``spec``: the others may be processed, or not."""
    ids = tuple(name for said in judged if not said.rejected for name in said.ids)
    optional = tuple(replace(call, required=False) for call in calls)
    return _Said("rpc-batch", "batch", "", ids, optional, _keep_telling_members(judged))


def _keep_telling_members(judged: list[_Said]) -> tuple[_Said, ...]:
    """The members of a batch that somebody is told of: requests, and what is bad."""
    return tuple(said for said in judged if said.ids or said.rule)


def _holds_initialize(members: list[Any]) -> bool:
    return any(isinstance(m, dict) and m.get("method") == "initialize" for m in members)


def _judge_message(
    message: dict[str, Any], contract: Contract, state: _State, *, minus_zero: bool
) -> _Said:
    """Judge one message through all layers; the state learns of it unless it is rejected."""
    kind, ids, value = kind_of(message), usable_id(message), message.get("method")
    method = value if isinstance(value, str) else ""
    zero = minus_zero and is_integer(message.get("id")) and message["id"] == 0
    if rule := rpc_fault(message, contract, minus_zero=zero):
        return _Said(rule, kind, method, () if rule == "rpc-id" else named_id(message))
    rule = mcp_fault(message, contract) if isinstance(value, str) else ""
    if rule and rule != "mcp-method":
        return _Said(rule, kind, method, ids)
    if late := _lifecycle_fault(message, kind, contract, state):
        return _Said(late, kind, method, ids)
    state.learn(method, ids)
    if rule or kind != "request":
        return _Said(rule, kind, method, ids)
    rule, calls = _grant_request(message, contract)
    return _Said(rule, kind, method, ids, calls)


def _lifecycle_fault(message: dict[str, Any], kind: Kind, contract: Contract, state: _State) -> str:
    """The first lifecycle rule that a message breaks in this state, or ``""``."""
    strict = contract.profile == "strict"
    method = message.get("method", "")
    if contract.version != _STATELESS:
        rule = _handshake_fault(method, kind, state, strict=strict)
        if rule:
            return rule
    if kind == "request" and (type(message["id"]), message["id"]) in state.ids:
        return "life-id-reuse"
    return "life-unsolicited-response" if strict and kind == "response" else ""


def _handshake_fault(method: str, kind: Kind, state: _State, *, strict: bool) -> str:
    if not state.initialized:
        free = method in ("initialize", "ping") if kind == "request" else not strict
        return "" if free else "life-not-initialized"
    if strict and not state.ready and kind == "request" and method != "ping":
        return "life-not-ready"
    if method == "initialize":
        return "life-reinitialize"
    if strict and state.ready and method == "notifications/initialized":
        return "life-reinitialize"
    return ""


def _grant_request(message: dict[str, Any], contract: Contract) -> tuple[str, tuple[Call, ...]]:
    """Whether a well-formed request is granted: the refusals, and the call it makes."""
    params = message.get("params", {})
    meta = params.get("_meta", {})
    if contract.version == _STATELESS and meta[META_VERSION] != _STATELESS:
        return "mcp-version", ()
    if message["method"] != "tools/call":
        return "", ()
    arguments = params.get("arguments", {})
    rule, call = call_fault(params["name"], arguments, meta, contract)
    return rule, (call,) if call else ()
