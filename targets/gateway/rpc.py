"""A JSON value to a JSON-RPC message.

Which kind a message is follows from which members are present, never from what
they hold; only then are the members looked at. So no value can turn a response into a request.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from wirefence.strategies.contract import Contract
from wirefence.targets.gateway.verdicts import RejectedError

__all__ = [
    "Id",
    "Message",
    "Notification",
    "Request",
    "Response",
    "is_integer",
    "is_number",
    "read_message",
    "reply_id",
]

Id = str | int

_MEMBERS = {"jsonrpc", "id", "method", "params", "result", "error"}
_ID_REQUIRED_ON_ERROR = {"2024-11-05", "2025-03-26", "2025-06-18"}


class Request(NamedTuple):
    """A call that must be answered. ``params`` is empty where there are none."""

    id: Id
    method: str
    params: dict[str, Any]


class Notification(NamedTuple):
    """A call that is never answered. ``bare``: it came without params."""

    method: str
    params: dict[str, Any]
    bare: bool = False


class Response(NamedTuple):
    """An answer; the gateway asks nothing, so what it says does not matter."""


Message = Request | Notification | Response


def read_message(value: object, contract: Contract) -> Message:
    """Return the message that ``value`` is.

    Raises:
        RejectedError: a rule of the layer rpc, other than rpc-batch.

    """
    if not isinstance(value, dict):
        raise RejectedError("rpc-not-object")
    if value.get("jsonrpc") != "2.0":
        raise RejectedError("rpc-version")
    _check_kind(value, contract)
    if contract.profile == "strict":
        _check_members(value)
    _check_id(value)
    return _read_call(value) if "method" in value else _read_response(value)


def reply_id(value: object) -> tuple[bool, Id | None]:
    """Whether the rejection of a document may be answered, and with which id.

    What looks like a notification or a response is not answered: answering those is how two
    peers come to talk in circles. ``None`` is the id null.
    """
    if not isinstance(value, dict):
        return True, None
    if "result" in value or "error" in value or ("method" in value and "id" not in value):
        return False, None
    given = value.get("id")
    return True, given if _is_id(given) else None


def is_integer(value: object) -> bool:
    """Whether a parsed value came from an integer token."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Whether a parsed value came from any number token."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_id(value: object) -> bool:
    return isinstance(value, str) or is_integer(value)


def _check_kind(value: dict[str, Any], contract: Contract) -> None:
    kinds = [name for name in ("method", "result", "error") if name in value]
    if len(kinds) != 1:
        raise RejectedError("rpc-kind")
    if kinds == ["method"] or "id" in value:
        return
    if kinds == ["result"] or contract.version in _ID_REQUIRED_ON_ERROR:
        raise RejectedError("rpc-kind")


def _check_members(value: dict[str, Any]) -> None:
    if not value.keys() <= _MEMBERS or ("params" in value and "method" not in value):
        raise RejectedError("rpc-unknown-member")


def _check_id(value: dict[str, Any]) -> None:
    if "id" not in value or _is_id(value["id"]):
        return
    if value["id"] is not None or "error" not in value:
        raise RejectedError("rpc-id")


def _read_call(value: dict[str, Any]) -> Message:
    method = value["method"]
    if not isinstance(method, str):
        raise RejectedError("rpc-method")
    params = value.get("params", {})
    if not isinstance(params, dict):
        raise RejectedError("rpc-params")
    if "id" in value:
        return Request(value["id"], method, params)
    return Notification(method, params, "params" not in value)


def _read_response(value: dict[str, Any]) -> Message:
    if "params" in value and not isinstance(value["params"], dict):
        raise RejectedError("rpc-params")
    if "result" in value:
        if not isinstance(value["result"], dict):
            raise RejectedError("rpc-result")
    elif not _is_error(value["error"]):
        raise RejectedError("rpc-result")
    return Response()


def _is_error(value: object) -> bool:
    return (
        isinstance(value, dict)
        and is_integer(value.get("code"))
        and isinstance(value.get("message"), str)
    )
