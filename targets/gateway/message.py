"""What the Model Context Protocol demands of a single message, version by version.

The differences between versions are data. One table says which methods exist, one
which are served, one which members a call may have; the checks read them and are the same for all.
Sources: the schema of each protocol version; ``docs/contract.md`` for what is left open there.
"""

from __future__ import annotations

from typing import Any

from wirefence.strategies.contract import Contract
from wirefence.strategies.records import Version
from wirefence.targets.gateway.rpc import Message, Notification, Request
from wirefence.targets.gateway.shapes import fits_meta, fits_params
from wirefence.targets.gateway.verdicts import RefusedError, RejectedError

__all__ = ["STATELESS", "check_message", "check_version", "is_served"]

STATELESS: Version = "2026-07-28"
"""The version without a handshake: each request brings its own terms."""

_COMMON = {
    *("resources/list", "resources/templates/list", "resources/read", "prompts/list"),
    *("prompts/get", "tools/list", "tools/call", "completion/complete"),
}
_WITH_HANDSHAKE = _COMMON | {
    *("initialize", "ping", "resources/subscribe", "resources/unsubscribe", "logging/setLevel"),
}
_TASKS = {"tasks/get", "tasks/result", "tasks/cancel", "tasks/list"}
_NOTES = {
    *("notifications/cancelled", "notifications/initialized", "notifications/progress"),
    "notifications/roots/list_changed",
}
_REQUESTS: dict[Version, set[str]] = {
    "2024-11-05": _WITH_HANDSHAKE,
    "2025-03-26": _WITH_HANDSHAKE,
    "2025-06-18": _WITH_HANDSHAKE,
    "2025-11-25": _WITH_HANDSHAKE | _TASKS,
    "2026-07-28": _COMMON | {"server/discover", "subscriptions/listen"},
}
_NOTIFICATIONS: dict[Version, set[str]] = {
    "2024-11-05": _NOTES,
    "2025-03-26": _NOTES,
    "2025-06-18": _NOTES,
    "2025-11-25": _NOTES | {"notifications/tasks/status"},
    "2026-07-28": {"notifications/cancelled"},
}
_CALL_MEMBERS = {"name", "arguments", "_meta"}
_CALL_MEMBERS_ADDED: dict[Version, set[str]] = {
    "2025-11-25": {"task"},
    "2026-07-28": {"inputResponses", "requestState"},
}
_PREFIX = "io.modelcontextprotocol/"


def is_served(method: str, contract: Contract) -> bool:
    """Whether the gateway answers requests of ``method`` with more than -32601."""
    if method in ("initialize", "ping"):
        return contract.version != STATELESS
    if method == "server/discover":
        return contract.version == STATELESS
    return method in ("tools/list", "tools/call")


def check_message(message: Message, contract: Contract) -> None:
    """Apply the message rules that reject; a request that is not served passes unseen.

    Raises:
        RejectedError: mcp-kind, mcp-meta, mcp-params or mcp-unknown-param.

    """
    if isinstance(message, Notification):
        _check_notification(message, contract)
    elif isinstance(message, Request):
        _check_request(message, contract)


def check_version(request: Request, contract: Contract) -> None:
    """Refuse a request that speaks another version than the contract's (mcp-version).

    The schema demands the requested version in the answer. It goes back only if it looks like
    one, as anything else would be content of the frame.
    """
    if contract.version != STATELESS:
        return
    requested = request.params["_meta"][_PREFIX + "protocolVersion"]
    if requested == contract.version:
        return
    echoed = requested if _looks_like_version(requested) else ""
    raise RefusedError("mcp-version", {"supported": [contract.version], "requested": echoed})


def _check_request(request: Request, contract: Contract) -> None:
    if request.method in _NOTIFICATIONS[contract.version]:
        raise RejectedError("mcp-kind")
    if not is_served(request.method, contract):
        return
    version = contract.version
    if not fits_meta(request.params.get("_meta", {}), version, request=True):
        raise RejectedError("mcp-meta")
    if not fits_params(request.method, request.params, version):
        raise RejectedError("mcp-params")
    if request.method == "tools/call" and contract.profile == "strict":
        _check_call_members(request.params, contract)


def _check_notification(note: Notification, contract: Contract) -> None:
    if note.method in _REQUESTS[contract.version]:
        raise RejectedError("mcp-kind")
    version, known = contract.version, note.method in _NOTIFICATIONS[contract.version]
    meta = note.params.get("_meta", {})
    if not (fits_meta(meta, version, request=False) if known else isinstance(meta, dict)):
        raise RejectedError("mcp-meta")
    if known and not fits_params(note.method, None if note.bare else note.params, version):
        raise RejectedError("mcp-params")


def _check_call_members(params: dict[str, Any], contract: Contract) -> None:
    known = _CALL_MEMBERS | _CALL_MEMBERS_ADDED.get(contract.version, set())
    if not params.keys() <= known:
        raise RejectedError("mcp-unknown-param")


def _looks_like_version(text: str) -> bool:
    parts = text.split("-")
    digits = [len(part) for part in parts if part.isascii() and part.isdigit()]
    return digits == [4, 2, 2] and len(parts) == 3
