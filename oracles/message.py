"""Judge one message: the rpc and message layers of docs/contract.md.

The kind of a message is decided by which members are *there*, never by their
values, and the id by its spelling, since readers differ on both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from wirefence.oracles.document import LongInteger, judge_document
from wirefence.oracles.protocol import find_params_fault, list_methods
from wirefence.oracles.protocol.traits import name_trait
from wirefence.oracles.records import Kind, Verdict
from wirefence.strategies.contract import Contract, Profile
from wirefence.strategies.records import Direction, Version

__all__ = [
    "META_VERSION",
    "find_mcp_fault",
    "judge_message",
    "kind_of",
    "mcp_fault",
    "named_id",
    "rpc_fault",
    "usable_id",
]

META_VERSION = "io.modelcontextprotocol/protocolVersion"
_CLIENT: Direction = "client-to-server"
_GATEWAY = frozenset({"initialize", "ping", "server/discover", "tools/call", "tools/list"})
"""Requests that a gateway of docs/contract.md answers, in the versions that have them."""
_MEMBERS = frozenset({"jsonrpc", "id", "method", "params", "result", "error"})
_CALL_PARAMS = frozenset({"name", "arguments", "_meta"})
_CALL_EXTRA = {
    "2025-11-25": frozenset({"task"}),
    "2026-07-28": frozenset({"inputResponses", "requestState"}),
}

Message = dict[str, Any]
Fault = tuple[str, str]
"""A rule that is broken, and how; both empty where none is."""
_SOUND: Fault = ("", "")


def kind_of(message: Message) -> Kind:
    """The kind of a message by the presence of its members."""
    if "method" in message:
        return "request" if "id" in message else "notification"
    return "response" if "result" in message or "error" in message else "none"


def is_integer(value: object) -> bool:
    """Whether a value was spelled as an integer: true and 1.0 were not."""
    return (isinstance(value, int) and not isinstance(value, bool)) or isinstance(
        value, LongInteger
    )


def is_number(value: object) -> bool:
    """Whether a value was spelled as a number."""
    return is_integer(value) or isinstance(value, float)


def is_token(value: object) -> bool:
    """Whether a value can name a request or a progress: a string or an integer."""
    return isinstance(value, str) or is_integer(value)


def usable_id(message: Message) -> tuple[Any, ...]:
    """The id of a request as a tuple of one, or an empty tuple where it can't name one."""
    return named_id(message) if "method" in message else ()


def named_id(message: Message) -> tuple[Any, ...]:
    """The id that an error for a message may carry, whatever the message is; else nothing."""
    value = message.get("id")
    return (value,) if is_token(value) else ()


def rpc_fault(  # noqa: PLR0911 - one return for each rule, in the contract's order
    message: Message, contract: Contract, *, minus_zero: bool
) -> str:
    """The first rule of the rpc layer that a message breaks, or ``""``.

    ``minus_zero`` says that the id is spelled ``-0``.
    """
    if message.get("jsonrpc") != "2.0":
        return "rpc-version"
    if _mixes_kinds(message, contract):
        return "rpc-kind"
    if contract.profile == "strict" and _has_unknown_member(message):
        return "rpc-unknown-member"
    if "id" in message and (minus_zero or not _id_fits(message)):
        return "rpc-id"
    if "method" in message and not isinstance(message["method"], str):
        return "rpc-method"
    if "params" in message and not isinstance(message["params"], dict):
        return "rpc-params"
    return "" if "method" in message else _response_fault(message)


def _mixes_kinds(message: Message, contract: Contract) -> bool:
    method, result, error = "method" in message, "result" in message, "error" in message
    if method + result + error != 1:
        return True
    if method or "id" in message:
        return False
    return result or contract.version < "2025-11-25"


def _has_unknown_member(message: Message) -> bool:
    if not message.keys() <= _MEMBERS:
        return True
    return "method" not in message and "params" in message


def _id_fits(message: Message) -> bool:
    value = message["id"]
    return is_token(value) or (value is None and "error" in message)


def _response_fault(message: Message) -> str:
    if "result" in message:
        return "" if isinstance(message["result"], dict) else "rpc-result"
    error = message["error"]
    fits = (
        isinstance(error, dict)
        and is_integer(error.get("code"))
        and isinstance(error.get("message"), str)
    )
    return "" if fits else "rpc-result"


def mcp_fault(message: Message, contract: Contract) -> str:
    """The first rule of the message layer that a request or notification breaks, or ``""``.

    ``mcp-method`` is a refusal that lifecycle rules precede; ``mcp-version`` is judged later.
    """
    return find_mcp_fault(message, contract)[0]


def find_mcp_fault(  # noqa: PLR0911 - one return for each rule, in the contract's order
    message: Message, contract: Contract
) -> Fault:
    """The rule of :func:`mcp_fault`, and how it is broken: both empty where it is not."""
    method, version = message["method"], contract.version
    if "id" in message:
        if method in list_methods(version, "notification", _CLIENT):
            return "mcp-kind", "id"
        known = list_methods(version, "request", _CLIENT)
        if method not in known or method not in (contract.served or _GATEWAY):
            return "mcp-method", "unknown"
    elif method in list_methods(version, "request", _CLIENT):
        return "mcp-kind", "no-id"
    elif method not in list_methods(version, "notification", _CLIENT):
        return _foreign_notification_fault(message)
    fault = find_params_fault(version, method, message.get("params"), _CLIENT)
    if fault is not None:
        return name_trait("mcp-params", fault)
    if method == "tools/call" and contract.profile == "strict":
        allowed = _CALL_PARAMS | _CALL_EXTRA.get(version, frozenset())
        if not message["params"].keys() <= allowed:
            return "mcp-unknown-param", ""
    return _SOUND


def _foreign_notification_fault(message: Message) -> Fault:
    """What the protocol demands of any notification, known or not."""
    meta = message.get("params", {}).get("_meta", {})
    return _SOUND if isinstance(meta, dict) else ("mcp-meta", "type")


def judge_message(
    raw: bytes,
    version: Version,
    direction: Direction = "client-to-server",
    profile: Profile = "strict",
) -> Verdict:
    """Judge one message of either direction by the layers utf8, json, rpc and message.

    Unlike a session's frame it is measured by the whole protocol, not by what a gateway serves:
    every method of the version's schema is known. A batch is no message; see ``judge_session``.
    """
    document = judge_document(raw, profile=profile)
    value = document.value
    if document.rule:
        return document
    if not isinstance(value, dict):
        return Verdict("rpc-batch" if isinstance(value, list) else "rpc-not-object")
    contract = Contract(version=version, profile=profile)
    rule = rpc_fault(value, contract, minus_zero=0 in document.minus_zeros)
    if not rule and "method" in value:
        rule = _method_fault(value, direction, version) or _params_fault(value, direction, contract)
    elif not rule and direction == "server-to-client" and version == "2026-07-28":
        typed = isinstance(value.get("result", {"resultType": ""}).get("resultType"), str)
        rule = "" if typed else "mcp-params"
    return Verdict(rule, value=value, duplicates=document.duplicates)


def _method_fault(message: Message, direction: Direction, version: Version) -> str:
    requests, notifications = (
        list_methods(version, sort, direction) for sort in ("request", "notification")
    )
    right, wrong = (requests, notifications) if "id" in message else (notifications, requests)
    if message["method"] in wrong:
        return "mcp-kind"
    return "" if message["method"] in right else "mcp-method"


def _params_fault(message: Message, direction: Direction, contract: Contract) -> str:
    """The rule that the params break; those of a call may break one of the house as well."""
    if direction == _CLIENT:
        served = list_methods(contract.version, "request", _CLIENT)
        return mcp_fault(message, replace(contract, served=served))
    params = message.get("params")
    fault = find_params_fault(contract.version, message["method"], params, direction)
    return name_trait("mcp-params", fault)[0] if fault else ""
