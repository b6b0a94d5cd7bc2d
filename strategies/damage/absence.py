"""Members that are not there.

A missing member is not one of the value null. Readers give it a default, and some of their defaults
act.
"""

from __future__ import annotations

from wirefence.strategies.damage.base import Expect, Host, Operator, Scene, rewrite
from wirefence.strategies.damage.hosts import HOSTS
from wirefence.strategies.damage.spans import find, remove_member
from wirefence.strategies.records import VERSIONS, Version
from wirefence.strategies.source import Source

__all__ = ["OPERATORS"]

_ORIGIN = "readers that give a missing member a default (dict.get, zero values in Go)"
_PARAMS = b"params"
_META = (_PARAMS, b"_meta")
_PREFIX = b"io.modelcontextprotocol/"
_INFO = (*_META, _PREFIX + b"clientInfo")
_STATELESS: tuple[Version, ...] = ("2026-07-28",)
_HANDSHAKE = tuple(version for version in VERSIONS if version not in _STATELESS)
_TASKS: tuple[Version, ...] = ("2025-11-25",)
_WITHOUT_TASKS = tuple(version for version in VERSIONS if version not in _TASKS)

_ROWS: tuple[tuple[str, tuple[bytes, ...], Expect, str, tuple[Version, ...]], ...] = (
    ("jsonrpc", (b"jsonrpc",), "reject", "", VERSIONS),
    ("params", (_PARAMS,), "profile", "", VERSIONS),
    ("meta", _META, "profile", "", VERSIONS),
    ("name", (_PARAMS, b"name"), "reject", "call", VERSIONS),
    ("arguments", (_PARAMS, b"arguments"), "reject", "call", VERSIONS),
    ("protocol-version", (_PARAMS, b"protocolVersion"), "reject", "", _HANDSHAKE),
    ("capabilities", (_PARAMS, b"capabilities"), "reject", "", _HANDSHAKE),
    ("client-info", (_PARAMS, b"clientInfo"), "reject", "", _HANDSHAKE),
    ("client-name", (_PARAMS, b"clientInfo", b"name"), "reject", "", _HANDSHAKE),
    ("client-version", (_PARAMS, b"clientInfo", b"version"), "reject", "", _HANDSHAKE),
    ("meta-version", (*_META, _PREFIX + b"protocolVersion"), "reject", "call", _STATELESS),
    ("meta-capabilities", (*_META, _PREFIX + b"clientCapabilities"), "reject", "call", _STATELESS),
    ("meta-client-info", _INFO, "accept", "call", _STATELESS),
    ("meta-client-name", (*_INFO, b"name"), "reject", "call", _STATELESS),
    ("meta-client-version", (*_INFO, b"version"), "reject", "call", _STATELESS),
    ("request-id", (_PARAMS, b"requestId"), "reject", "request-id", _WITHOUT_TASKS),
    ("request-id-of-task", (_PARAMS, b"requestId"), "accept", "request-id", _TASKS),
    ("reason", (_PARAMS, b"reason"), "accept", "reason", VERSIONS),
    ("notification-token", (_PARAMS, b"progressToken"), "reject", "progress", _HANDSHAKE),
    ("progress", (_PARAMS, b"progress"), "reject", "progress", _HANDSHAKE),
    ("total", (_PARAMS, b"total"), "accept", "progress", _HANDSHAKE),
    ("error-code", (b"error", b"code"), "reject", "error", VERSIONS),
    ("error-message", (b"error", b"message"), "reject", "error", VERSIONS),
)
"""Name, path, verdict, the host that has the member (``""``: most sessions do), versions."""


_DEVIATIONS: dict[str, tuple[str, ...]] = {
    "jsonrpc": ("rpc-version:absent",),
    "params": (
        "none",
        "mcp-params:missing",
    ),
    "meta": ("none", "authz-denied:no-token", "mcp-meta:missing"),
    "name": ("mcp-params:name-missing",),
    "arguments": ("tool-arguments:missing",),
    "protocol-version": ("mcp-params:protocolVersion-missing",),
    "capabilities": ("mcp-params:capabilities-missing",),
    "client-info": ("mcp-params:clientInfo-missing",),
    "client-name": ("mcp-params:clientInfo-name-missing",),
    "client-version": ("mcp-params:clientInfo-version-missing",),
    "meta-version": ("mcp-meta:protocolVersion-missing",),
    "meta-capabilities": ("mcp-meta:clientCapabilities-missing",),
    "meta-client-info": ("none",),
    "meta-client-name": ("mcp-meta:clientInfo-name-missing",),
    "meta-client-version": ("mcp-meta:clientInfo-version-missing",),
    "request-id": ("mcp-params:requestId-missing",),
    "request-id-of-task": ("none",),
    "reason": ("none",),
    "notification-token": ("mcp-params:progressToken-missing",),
    "progress": ("mcp-params:progress-missing",),
    "total": ("none",),
    "error-code": ("rpc-result:code",),
    "error-message": ("rpc-result:message",),
}
"""What is wrong without the member, by its name."""


def _absent(
    name: str, path: tuple[bytes, ...], expect: Expect, host: str, versions: tuple[Version, ...]
) -> Operator:
    maker: Host | None = HOSTS[host] if host else None

    @rewrite(
        f"absent-{name}",
        "structure",
        expect,
        f"{'.'.join(part.decode() for part in path)} is missing",
        _ORIGIN,
        host=maker,
        versions=versions,
        deviations=_DEVIATIONS[name],
    )
    def operator(source: Source, scene: Scene) -> bytes | None:
        del source
        member = find(scene.frame.raw, *path)
        return None if member is None else remove_member(scene.frame.raw, member)

    return operator


OPERATORS: tuple[Operator, ...] = tuple(_absent(*row) for row in _ROWS)
