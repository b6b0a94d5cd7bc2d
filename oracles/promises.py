"""Which requests a server promises to answer, by the capabilities that it declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wirefence.oracles.protocol import list_methods
from wirefence.strategies.records import Version

__all__ = ["list_promised"]

_NEEDS: Mapping[str, tuple[str, ...]] = {
    "completion/complete": ("completions",),
    "logging/setLevel": ("logging",),
    "prompts/get": ("prompts",),
    "prompts/list": ("prompts",),
    "resources/list": ("resources",),
    "resources/read": ("resources",),
    "resources/templates/list": ("resources",),
    "resources/subscribe": ("resources", "subscribe"),
    "resources/unsubscribe": ("resources", "subscribe"),
    "tasks/cancel": ("tasks", "cancel"),
    "tasks/get": ("tasks",),
    "tasks/list": ("tasks", "list"),
    "tasks/result": ("tasks",),
    "tools/call": ("tools",),
    "tools/list": ("tools",),
}
"""The capability of each method, and the member in it that says so. Source: MCP, capabilities."""


def list_promised(version: Version, capabilities: object) -> frozenset[str]:
    """Return the methods of requests that a server with these capabilities must know."""
    known = list_methods(version, "request", "client-to-server")
    return frozenset(each for each in known if _is_promised(_NEEDS.get(each, ()), capabilities))


def _is_promised(path: tuple[str, ...], capabilities: object) -> bool:
    value: Any = capabilities
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return False
        value = value[name]
    return bool(path) and (isinstance(value, dict) or value is True)
