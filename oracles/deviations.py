"""Name what is wrong with a frame: the rule that it breaks, and how.

The judge's verdict says which rule a frame breaks first. The trait is read off the bytes alone, so
a deviation never depends on what a target did with them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from wirefence.oracles.deviation_table import DEVIATIONS, NONE
from wirefence.oracles.document import judge_document
from wirefence.oracles.message import find_mcp_fault, is_integer
from wirefence.oracles.records import FrameVerdict
from wirefence.oracles.syntax_faults import name_syntax_fault
from wirefence.oracles.tools import fits_argument
from wirefence.oracles.traits import find_traits
from wirefence.strategies.contract import Contract, Tool

__all__ = ["find_deviation"]

_SPACE = b" \t\r\n"
_MEMBERS = ("jsonrpc", "id", "method", "params", "result", "error")
_PARAMS = ("name", "arguments", "_meta", "task", "inputResponses", "requestState")
_ID = re.compile(rb'"id"[ \t\r\n]*:[ \t\r\n]*(-?[0-9][0-9.eE+-]*)')
_TOKEN = "wirefence/token"  # noqa: S105 - the name of a member, not a secret
_NAME_OR_BRACKET = re.compile(
    rb'"((?:[^"\\]|\\.)*)"(?=[ \t\r\n]*:)|"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL
)
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)

_Message = dict[str, Any]
_Namer = Callable[[bytes, Any, Contract], str]


def find_deviation(data: bytes, frame: FrameVerdict, contract: Contract) -> str:
    """Return the deviation of a frame of a session's bytes; ``none`` where nothing is wrong.

    ``contract`` holds the terms by which ``frame`` was judged. A batch that is accepted has the
    deviation of its first member that is refused.
    """
    if frame.rule == "frame-too-long":
        ended = data.endswith(b"\n", frame.start, frame.end)
        return f"{frame.rule}:{'whole-line' if ended else 'no-line-feed'}"
    raw = data[frame.start : frame.end].removesuffix(b"\n")
    if not frame.rule:
        bad = next((each for each in frame.members if each.rule), None)
        return _name_deviation(bad.rule, raw, _find_member(raw, bad), contract) if bad else NONE
    return _name_deviation(frame.rule, raw, _find_member(raw, frame), contract)


def _name_deviation(rule: str, raw: bytes, message: Any, contract: Contract) -> str:
    namer = _NAMERS.get(rule)
    trait = namer(raw, message, contract) if namer else _name_document(rule, raw)
    return f"{rule}:{trait}"


def _find_member(raw: bytes, frame: FrameVerdict) -> Any:
    """Return the value of a frame; of a batch, the member that the verdict is about."""
    value = judge_document(raw, profile="spec").value
    if isinstance(value, list) and frame.kind != "batch":
        for each in value:
            if isinstance(each, dict) and (not frame.ids or each.get("id") == frame.ids[0]):
                return each
    return value


def _name_document(rule: str, raw: bytes) -> str:
    """Return the first trait by which a document breaks a rule of the layers utf8 and json."""
    if rule == "json-syntax":
        return name_syntax_fault(raw, judge_document(raw, profile="spec").at)
    if rule == "json-duplicate-name":
        return _name_duplicate(raw, judge_document(raw).at)
    traits = find_traits(raw)
    names = _TRAITS_OF[rule]
    return next((name for name in names if name in traits), names[-1])


def _name_duplicate(raw: bytes, at: int) -> str:
    """Return whether a name is spelled as it was before.

    ``at`` is the offset behind the opening quote of the name that an object has already.
    """
    names: list[set[bytes]] = []
    for match in _NAME_OR_BRACKET.finditer(raw, 0, at - 1):
        if match[1] is not None and names:
            names[-1].add(match[1])
        elif match[0] in (b"{", b"["):
            names.append(set())
        elif match[0] in (b"}", b"]"):
            names.pop()
    again = _NAME_OR_BRACKET.match(raw, at - 1)
    return "duplicate-name" if again and again[1] in names[-1] else "dup-escaped"


def _list_traits() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name in DEVIATIONS:
        rule, _, trait = name.partition(":")
        found[rule] = (*found.get(rule, ()), trait)
    return found


_TRAITS_OF = _list_traits()


def _name_type(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    for kind, name in ((str, "string"), (list, "array"), (dict, "object")):
        if isinstance(value, kind):
            return name
    return "number"


def _name_empty(raw: bytes, _message: object, _contract: Contract) -> str:
    return "white-space" if raw else "no-bytes"


def _name_cr(raw: bytes, _message: object, _contract: Contract) -> str:
    pieces = [piece for piece in raw.split(b"\r") if piece.strip(_SPACE)]
    if len(pieces) < 2:
        return "line-end" if raw.endswith(b"\r") else "white-space"
    if any(_is_object(piece) for piece in pieces):
        return "separator"
    inside = any(b"\r" in match[0] for match in _STRING.finditer(raw))
    return "in-string" if inside else "white-space"


def _is_object(piece: bytes) -> bool:
    bare = piece.strip(_SPACE)
    return bare.startswith(b"{") and judge_document(bare, profile="spec").accepted


def _name_unterminated(raw: bytes, _message: object, _contract: Contract) -> str:
    return "whole" if judge_document(raw, profile="spec").accepted else "part"


def _name_value(_raw: bytes, message: object, _contract: Contract) -> str:
    return _name_type(message)


def _name_batch(_raw: bytes, message: object, contract: Contract) -> str:
    if contract.version != "2025-03-26":
        return "other-version"
    if not isinstance(message, list) or not message:
        return "empty"
    methods = [each.get("method") for each in message if isinstance(each, dict)]
    return "initialize" if "initialize" in methods else "bad-member"


def _name_version(_raw: bytes, message: _Message, _contract: Contract) -> str:
    if "jsonrpc" not in message:
        return "absent"
    return "string" if isinstance(message["jsonrpc"], str) else "type"


def _name_kind(_raw: bytes, message: _Message, _contract: Contract) -> str:
    kinds = sum(name in message for name in ("method", "result", "error"))
    return ("no-kind", "no-id")[kinds] if kinds < 2 else "mixed"


def _name_unknown_member(_raw: bytes, message: _Message, _contract: Contract) -> str:
    unknown = message.keys() - set(_MEMBERS)
    if not unknown:
        return "params"
    return "other-case" if any(each.casefold() in _MEMBERS for each in unknown) else "other"


def _name_id(raw: bytes, message: _Message, _contract: Contract) -> str:
    value = message["id"]
    kind = _name_type(value)
    if kind != "number":
        return kind
    if is_integer(value):
        return "minus-zero"
    spelled = next((match[1] for match in _ID.finditer(raw)), b"")
    if b"e" in spelled or b"E" in spelled:
        return "exponent"
    return "integral-fraction" if value.is_integer() else "fraction"


def _name_method(_raw: bytes, message: _Message, _contract: Contract) -> str:
    return _name_type(message["method"])


def _name_params(_raw: bytes, message: _Message, _contract: Contract) -> str:
    return _name_type(message["params"])


def _name_result(_raw: bytes, message: _Message, _contract: Contract) -> str:
    if "result" in message:
        return "result"
    error = message["error"]
    if not isinstance(error, dict):
        return "error"
    return "message" if is_integer(error.get("code")) else "code"


def _name_mcp_kind(_raw: bytes, message: _Message, _contract: Contract) -> str:
    return "id" if "id" in message else "no-id"


def _name_mcp_fault(_raw: bytes, message: _Message, contract: Contract) -> str:
    return find_mcp_fault(message, contract)[1]


def _name_unknown_param(_raw: bytes, message: _Message, _contract: Contract) -> str:
    unknown = message["params"].keys() - set(_PARAMS)
    known = [each.casefold() for each in _PARAMS]
    return "other-case" if any(each.casefold() in known for each in unknown) else "other"


def _name_message(_raw: bytes, message: _Message, _contract: Contract) -> str:
    if "method" not in message:
        return "response"
    return "request" if "id" in message else "notification"


def _name_tool(_raw: bytes, message: _Message, contract: Contract) -> str:
    name = message["params"]["name"]
    known = [tool.name for tool in contract.tools]
    if name.strip() in known or name.rstrip("\0") in known:
        return "white-space"
    folded = [each.casefold() for each in known]
    return "other-case" if name.casefold() in folded else "other"


def _find_tool(message: _Message, contract: Contract) -> Tool:
    return next(each for each in contract.tools if each.name == message["params"]["name"])


def _name_argument(_raw: bytes, message: _Message, contract: Contract) -> str:
    given = message["params"].get("arguments", {})
    declared = _find_tool(message, contract).arguments
    wrong = next((each for each in declared if not fits_argument(each, given)), None)
    if wrong is None:
        return "schema"
    if wrong.name not in given:
        return "missing"
    value = given[wrong.name]
    if wrong.type == "string" and isinstance(value, str):
        return "choice"
    return "item" if wrong.type == "array" and isinstance(value, list) else _name_type(value)


def _name_unknown_argument(_raw: bytes, message: _Message, contract: Contract) -> str:
    known = {each.name for each in _find_tool(message, contract).arguments}
    unknown: Sequence[str] = [each for each in message["params"]["arguments"] if each not in known]
    return "other-case" if any(each.casefold() in known for each in unknown) else "other"


def _name_token(_raw: bytes, message: _Message, contract: Contract) -> str:
    token = message["params"]["_meta"][_TOKEN]
    if not isinstance(token, str):
        return "type"
    near = contract.token.casefold() in token.casefold() or (token and token in contract.token)
    return "near" if near else "other"


def _name_only(rule: str) -> _Namer:
    (trait,) = _TRAITS_OF[rule]
    return lambda _raw, _message, _contract: trait


_NAMERS: dict[str, _Namer] = {
    "frame-empty": _name_empty,
    "frame-cr": _name_cr,
    "frame-unterminated": _name_unterminated,
    "rpc-not-object": _name_value,
    "rpc-batch": _name_batch,
    "rpc-version": _name_version,
    "rpc-kind": _name_kind,
    "rpc-unknown-member": _name_unknown_member,
    "rpc-id": _name_id,
    "rpc-method": _name_method,
    "rpc-params": _name_params,
    "rpc-result": _name_result,
    "mcp-kind": _name_mcp_kind,
    "mcp-meta": _name_mcp_fault,
    "mcp-params": _name_mcp_fault,
    "mcp-unknown-param": _name_unknown_param,
    "life-not-initialized": _name_message,
    "life-not-ready": _name_message,
    "life-reinitialize": _name_message,
    "life-id-reuse": _name_message,
    "life-unsolicited-response": _name_message,
    "life-closed": _name_only("life-closed"),
    "mcp-method": _name_only("mcp-method"),
    "mcp-version": _name_only("mcp-version"),
    "tool-unknown": _name_tool,
    "tool-arguments": _name_argument,
    "tool-unknown-argument": _name_unknown_argument,
    "identity-unknown": _name_token,
    "authz-denied": _name_only("authz-denied"),
}
