"""Good messages made for damage that few sessions have a place for.

A member that is rare in good sessions would be damaged rarely, and a rule about it
hardly ever be exercised; so whoever wants to damage it brings a message that has it.
"""

from __future__ import annotations

import json
from typing import Any

from wirefence.strategies.contract import Contract
from wirefence.strategies.damage.base import Host
from wirefence.strategies.mcp_kinds import Kind
from wirefence.strategies.records import Version
from wirefence.strategies.source import RandomSource

__all__ = ["CALL", "HOSTS", "host_of"]

_STATELESS = "2026-07-28"
_PREFIX = "io.modelcontextprotocol/"
_Params = dict[str, Any]


def _required_meta(version: Version) -> _Params:
    """The ``_meta`` that a request of this version must have."""
    if version != _STATELESS:
        return {}
    return {
        f"{_PREFIX}protocolVersion": version,
        f"{_PREFIX}clientCapabilities": {},
        f"{_PREFIX}clientInfo": {"name": "host", "version": "1"},
    }


def _encode_message(**members: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}, separators=(",", ":")).encode()


def _request(version: Version, name: str, method: str, params: _Params, meta: _Params) -> bytes:
    carried = _required_meta(version) | meta
    return _encode_message(
        id=name, method=method, params=params | ({"_meta": carried} if carried else {})
    )


def _call(version: Version, name: str) -> bytes:
    params = {"name": "record", "arguments": {"action": name, "count": 1, "note": "n"}}
    meta = {"progressToken": 1, "wirefence/token": Contract().token}
    return _request(version, name, "tools/call", params, meta)


def _list(version: Version, name: str) -> bytes:
    return _request(version, name, "tools/list", {"cursor": "c"}, {})


def _cancel(version: Version, name: str) -> bytes:
    del version
    return _encode_message(
        method="notifications/cancelled", params={"requestId": name, "reason": "late"}
    )


def _progress(version: Version, name: str) -> bytes | None:
    if version == _STATELESS:
        return None
    params = {"progressToken": name, "progress": 1, "total": 2}
    return _encode_message(method="notifications/progress", params=params)


def _result(version: Version, name: str) -> bytes:
    return _encode_message(
        id=name, result={"resultType": "complete"} if version == _STATELESS else {}
    )


def _error(version: Version, name: str) -> bytes:
    del version
    return _encode_message(id=name, error={"code": -32603, "message": "none"})


def _stateless(version: Version, name: str) -> bytes | None:
    return _call(version, name) if version == _STATELESS else None


def _unknown(version: Version, name: str) -> bytes:
    del version, name
    return _encode_message(method="example.com/note", params={"_meta": {}})


def _task(version: Version, name: str) -> bytes | None:
    if version != "2025-11-25":
        return None
    params = {"name": "record", "arguments": {"action": name}, "task": {}}
    return _request(version, name, "tools/call", params, {})


def host_of(kind: Kind) -> Host:
    """Return a host that makes a request or notification of one kind."""

    def host(version: Version, name: str) -> bytes | None:
        if not kind.since <= version <= kind.until:
            return None
        params = kind.build(RandomSource(0), version)
        if kind.sort == "notification":
            return _encode_message(method=kind.method, params=params)
        return _request(version, name, kind.method, params, {})

    return host


_CLIENT = ("meta-client-info", "meta-client-name", "meta-client-version")
HOSTS: dict[str, Host] = {
    **dict.fromkeys(("meta-version", "meta-capabilities", *_CLIENT), _stateless),
    **dict.fromkeys(("request-id", "reason"), _cancel),
    **dict.fromkeys(("notification-token", "progress", "total"), _progress),
    "unknown-meta": _unknown,
    "cursor": _list,
    "call": _call,
    "task": _task,
    "result": _result,
    **dict.fromkeys(("error", "error-code", "error-message"), _error),
}
"""By the name that confusion has for the member."""

CALL: Host = _call
"""A call with arguments and all that ``_meta`` may hold: the host of whatever names none."""
