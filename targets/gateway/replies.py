"""What the gateway says: one line for each answer.

Of everything in an answer only the id came from the peer. The rest is constant for
a contract, so it is encoded once and the id is set into it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache

from wirefence.strategies.contract import Contract, Tool
from wirefence.strategies.records import Version
from wirefence.targets.gateway.message import STATELESS
from wirefence.targets.gateway.rpc import Id
from wirefence.targets.gateway.tools import describe
from wirefence.targets.gateway.verdicts import RefusedError, RejectedError

__all__ = ["batch", "failure", "line", "success"]

_encode = json.JSONEncoder(separators=(",", ":")).encode
_PLAIN_BITS = 10_000  # str() of an int of more than 4,300 digits is an error of its own


def success(identifier: Id, method: str, contract: Contract) -> str:
    """The answer to a granted request of a served ``method``."""
    # To hash the tools costs more than all else here, and only their list depends on them.
    tools = contract.tools if method == "tools/list" else ()
    result = _result(method, contract.version, tools)
    return f'{{"jsonrpc":"2.0","id":{_id(identifier)},"result":{result}}}'


def failure(identifier: Id | None, error: RejectedError | RefusedError) -> str:
    """The answer to what was not granted; ``None`` is the id null."""
    body = _body(error.code, error.text)
    if isinstance(error, RefusedError) and error.data is not None:
        body = f'{body[:-1]},"data":{_encode(error.data)}}}'
    return f'{{"jsonrpc":"2.0","id":{_id(identifier)},"error":{body}}}'


def batch(replies: list[str]) -> str:
    """The one answer to a batch; nothing if it has no request."""
    return f"[{','.join(replies)}]" if replies else ""


def line(reply: str) -> bytes:
    """A reply as it goes onto the wire; nothing for no reply."""
    return reply.encode("ascii") + b"\n" if reply else b""


def _id(identifier: Id | None) -> str:
    if isinstance(identifier, int):
        return str(identifier if identifier.bit_length() <= _PLAIN_BITS else Decimal(identifier))
    return _encode(identifier)


@lru_cache(maxsize=64)
def _body(code: int, text: str) -> str:
    return _encode({"code": code, "message": text})


@lru_cache(maxsize=64)
def _result(method: str, version: Version, tools: tuple[Tool, ...]) -> str:
    result: dict[str, object] = {"resultType": "complete"} if version == STATELESS else {}
    if version == STATELESS and method in ("tools/list", "server/discover"):
        result |= {"ttlMs": 0, "cacheScope": "private"}
    return _encode(result | _RESULTS[method](version, tools))


def _initialize(version: Version, _tools: tuple[Tool, ...]) -> dict[str, object]:
    server = {"name": "wirefence-reference", "version": "1"}
    return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}


def _ping(_version: Version, _tools: tuple[Tool, ...]) -> dict[str, object]:
    return {}


def _discover(version: Version, _tools: tuple[Tool, ...]) -> dict[str, object]:
    return {"supportedVersions": [version], "capabilities": {"tools": {}}}


def _tools_list(_version: Version, tools: tuple[Tool, ...]) -> dict[str, object]:
    return {"tools": [describe(tool) for tool in tools]}


def _tools_call(_version: Version, _tools: tuple[Tool, ...]) -> dict[str, object]:
    return {"content": [{"type": "text", "text": "ok"}], "isError": False}


_RESULTS: dict[str, Callable[[Version, tuple[Tool, ...]], dict[str, object]]] = {
    "initialize": _initialize,
    "ping": _ping,
    "server/discover": _discover,
    "tools/list": _tools_list,
    "tools/call": _tools_call,
}
