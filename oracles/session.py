"""Judge a whole session of bytes by docs/contract.md: the reference model of every oracle.

The key insight: state changes only when a frame is accepted or refused, so a rejected frame is
judged on a state that is then thrown away, and a session under ``close`` simply ends at the first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from oracles.document import judge_document, spelled_minus_zero
from oracles.message import META_VERSION, kind_of, mcp_fault, rpc_fault, usable_id
from oracles.records import Call, FrameVerdict, Judgement, Kind
from oracles.rules import BY_ID
from oracles.tools import call_fault
from strategies.contract import Contract

__all__ = ["judge_session"]

_JSON_SPACE = b" \t\r"
_STATELESS = "2026-07-28"
_Reply = Literal["result", "error", "either", "none", "optional-error"]


@dataclass(frozen=True, slots=True)
class _State:
    """What accepted and refused frames left: ids are paired with their type, "1" is not 1."""

    initialized: bool = False
    ready: bool = False
    ids: frozenset[tuple[type, Any]] = frozenset()


@dataclass(frozen=True, slots=True)
class _Said:
    """One message, judged. ``refused`` tells a refusal from a rejection by the same field."""

    rule: str = ""
    kind: Kind = "none"
    method: str = ""
    ids: tuple[Any, ...] = ()
    calls: tuple[Call, ...] = ()

    @property
    def rejected(self) -> bool:
        return bool(self.rule) and BY_ID[self.rule].closes


def judge_session(data: bytes, contract: Contract) -> Judgement:
    """Say of every frame of ``data`` what it is, which rule it breaks and what it may cause."""
    state, frames = _State(), []
    start, closed_at = 0, None
    while (stop := data.find(b"\n", start)) >= 0:
        end = stop + 1
        if closed_at is None:
            verdict, state = _frame(data[start:stop], start, end, contract, state)
            closed_at = end if verdict.closes else None
        else:
            verdict = _closed(start, end)
        frames.append(verdict)
        start = end
    if start < len(data):
        frames.append(_tail(data, start, contract, open_=closed_at is None))
    return Judgement(tuple(frames), closed_at, start < len(data))


def _closed(start: int, end: int) -> FrameVerdict:
    return FrameVerdict(start, end, "life-closed", "lifecycle", "none")


def _tail(data: bytes, start: int, contract: Contract, *, open_: bool) -> FrameVerdict:
    """Judge the last bytes without LF: they never act, however complete they look."""
    end = len(data)
    if not open_:
        return _closed(start, end)
    long = contract.profile == "strict" and end - start > contract.max_frame
    rule = "frame-too-long" if long else "frame-unterminated"
    return _rejected(_Said(rule), start, end, contract)


def _rejected(said: _Said, start: int, end: int, contract: Contract) -> FrameVerdict:
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
        closes=contract.policy == "close",
    )


def _frame(
    raw: bytes, start: int, end: int, contract: Contract, state: _State
) -> tuple[FrameVerdict, _State]:
    rule = _framing(raw, contract)
    if rule:
        return _rejected(_Said(rule), start, end, contract), state
    document = judge_document(raw, profile=contract.profile, max_depth=contract.max_depth)
    if document.rule:
        return _rejected(_Said(document.rule), start, end, contract), state
    value = document.value
    if isinstance(value, list):
        return _batch(value, raw, start, end, contract, state)
    if not isinstance(value, dict):
        return _rejected(_Said("rpc-not-object"), start, end, contract), state
    said, after = _message(value, raw, contract, state, depth=1)
    if said.rejected:
        return _rejected(said, start, end, contract), state
    return _single(said, start, end), after


def _framing(raw: bytes, contract: Contract) -> str:
    strict = contract.profile == "strict"
    if strict and len(raw) > contract.max_frame:
        return "frame-too-long"
    if not raw.strip(_JSON_SPACE):
        return "frame-empty"
    return "frame-cr" if strict and b"\r" in raw else ""


def _single(said: _Said, start: int, end: int) -> FrameVerdict:
    rule = BY_ID.get(said.rule)
    reply: _Reply = "result" if said.kind == "request" else "none"
    if rule:
        reply = "either" if rule.layer == "tool" else "error"
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
    )


def _batch(  # noqa: PLR0913, PLR0917 - a frame's place and terms, as everywhere in this module
    members: list[Any], raw: bytes, start: int, end: int, contract: Contract, state: _State
) -> tuple[FrameVerdict, _State]:
    """Judge all members before any counts; strict rejects the batch for one bad member."""
    if contract.version != "2025-03-26" or not members or _initializes(members):
        return _rejected(_Said("rpc-batch", "batch"), start, end, contract), state
    judged, after = [], state
    for member in members:
        if isinstance(member, dict):
            said, after = _message(member, raw, contract, after, depth=2)
        else:
            said = _Said("rpc-not-object")
        judged.append(said)
    if any(said.rejected for said in judged):
        spec = contract.profile == "spec"
        calls = [replace(c, required=False) for s in judged if spec for c in _granted(s)]
        said = _Said("rpc-batch", "batch", calls=tuple(calls))
        return _rejected(said, start, end, contract), state
    return _whole_batch(judged, start, end), after


def _initializes(members: list[Any]) -> bool:
    return any(isinstance(m, dict) and m.get("method") == "initialize" for m in members)


def _granted(said: _Said) -> tuple[Call, ...]:
    return () if said.rule else said.calls


def _whole_batch(judged: list[_Said], start: int, end: int) -> FrameVerdict:
    ids = tuple(i for said in judged for i in said.ids)
    return FrameVerdict(
        start,
        end,
        "",
        "",
        "batch",
        ids=ids,
        calls=tuple(call for said in judged for call in _granted(said)),
        reply="either" if ids else "none",
        refusals=tuple((said.ids[0], said.rule) for said in judged if said.rule),
    )


def _message(
    message: dict[str, Any], raw: bytes, contract: Contract, state: _State, *, depth: int
) -> tuple[_Said, _State]:
    """Judge one message through all layers; the state is the next one if it isn't rejected."""
    kind = kind_of(message)
    ids = usable_id(message)
    value = message.get("method")
    method = value if isinstance(value, str) else ""
    zero = ids == (0,) and b"-0" in raw and spelled_minus_zero(raw, depth)
    rule = rpc_fault(message, contract, minus_zero=zero)
    if rule:
        return _Said(rule, kind, method, () if rule == "rpc-id" else ids), state
    rule = mcp_fault(message, contract) if method else ""
    if rule and rule != "mcp-method":
        return _Said(rule, kind, method, ids), state
    late = _lifecycle(message, kind, contract, state)
    if late:
        return _Said(late, kind, method, ids), state
    after = _after(method, ids, state)
    if rule or kind != "request":
        return _Said(rule, kind, method, ids), after
    rule, calls = _grant(message, contract)
    return _Said(rule, kind, method, ids, calls), after


def _lifecycle(message: dict[str, Any], kind: Kind, contract: Contract, state: _State) -> str:
    """The first lifecycle rule that a message breaks in this state, or ``""``."""
    strict = contract.profile == "strict"
    method = message.get("method", "")
    if contract.version != _STATELESS:
        rule = _handshake(method, kind, state, strict=strict)
        if rule:
            return rule
    if kind == "request" and (type(message["id"]), message["id"]) in state.ids:
        return "life-id-reuse"
    return "life-unsolicited-response" if strict and kind == "response" else ""


def _handshake(method: str, kind: Kind, state: _State, *, strict: bool) -> str:
    if not state.initialized:
        free = method in ("initialize", "ping") if kind == "request" else not strict
        return "" if free else "life-not-initialized"
    if method == "initialize":
        return "life-reinitialize"
    if strict and not state.ready and kind == "request" and method != "ping":
        return "life-not-ready"
    if strict and state.ready and method == "notifications/initialized":
        return "life-reinitialize"
    return ""


def _after(method: str, ids: tuple[Any, ...], state: _State) -> _State:
    if ids:
        used = state.ids | {(type(ids[0]), ids[0])}
        return _State(state.initialized or method == "initialize", state.ready, used)
    if method == "notifications/initialized" and state.initialized:
        return replace(state, ready=True)
    return state


def _grant(message: dict[str, Any], contract: Contract) -> tuple[str, tuple[Call, ...]]:
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
