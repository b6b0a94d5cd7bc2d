"""Judge one line that a server wrote: may it send this to a client?

A client reads stdout with a parser of its own, so the line is judged from its raw
bytes, with the rules that hold for what comes in.
"""

from __future__ import annotations

from collections.abc import Set
from functools import lru_cache
from typing import Any

from wirefence.oracles.document import judge_document
from wirefence.oracles.message import is_token, kind_of, rpc_fault
from wirefence.oracles.protocol import find_params_fault, list_methods
from wirefence.oracles.protocol.traits import Trait, name_trait
from wirefence.oracles.records import ReplyVerdict
from wirefence.strategies.contract import Contract
from wirefence.strategies.records import VERSIONS, Direction, Version

__all__ = ["judge_reply"]

_SHORT = 1_024
_SERVER: Direction = "server-to-client"
_CONTRACTS = {version: Contract(version=version, profile="spec") for version in VERSIONS}


def judge_reply(line: bytes, version: Version) -> ReplyVerdict:
    """Judge a line without its LF as a server-to-client message of ``version``.

    Verdicts on equal lines are shared: they are to be read, not changed.
    """
    return (_remembered if len(line) <= _SHORT else _judge_line)(line, version)


def _judge_line(line: bytes, version: Version) -> ReplyVerdict:
    document = judge_document(line, profile="spec")
    if document.rule:
        return ReplyVerdict(document.rule)
    value = document.value
    if isinstance(value, list):
        return _judge_batch(value, version, document.minus_zeros)
    return _judge_message(value, version, minus_zero=0 in document.minus_zeros)


# Every run of a case gets the same answers, and most sessions do: ids begin anew in each of them.
_remembered = lru_cache(maxsize=4_096)(_judge_line)


def _judge_batch(values: list[Any], version: Version, minus_zeros: Set[int]) -> ReplyVerdict:
    members = tuple(
        _judge_message(value, version, minus_zero=place in minus_zeros)
        for place, value in enumerate(values)
    )
    bad = next((member for member in members if member.rule), ReplyVerdict(""))
    if version != "2025-03-26" or not members:
        bad = ReplyVerdict("rpc-batch")
    return ReplyVerdict(bad.rule, "batch", members=members, trait=bad.trait)


def _judge_message(value: object, version: Version, *, minus_zero: bool = False) -> ReplyVerdict:
    if not isinstance(value, dict):
        return ReplyVerdict("rpc-not-object")
    kind = kind_of(value)
    rule = rpc_fault(value, _CONTRACTS[version], minus_zero=minus_zero)
    if kind != "response":
        rule, trait = (rule, "") if rule else _find_mcp_fault(value, version)
        return ReplyVerdict(rule, kind, value=value, trait=trait)
    name = value.get("id")
    error = value.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return ReplyVerdict(
        rule,
        kind,
        name if is_token(name) else None,
        value,
        code if isinstance(code, int) else None,
        "result" in value,
    )


def _find_mcp_fault(value: dict[str, Any], version: Version) -> Trait:
    """Return the rule that a request or notification breaks, and how; both empty for none.

    What a response holds depends on its request: see :mod:`oracles.results`.
    """
    method, sort = value["method"], "request" if "id" in value else "notification"
    if method not in list_methods(version, sort, _SERVER):
        return "mcp-method", ""
    fault = find_params_fault(version, method, value.get("params"), _SERVER)
    return ("", "") if fault is None else name_trait("mcp-params", fault)
