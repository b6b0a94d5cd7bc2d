"""Members and methods of the protocol as tables: what a served message must hold, by version.

What the params of each hold is read by :mod:`wirefence.targets.gateway.shapes`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from wirefence.strategies.contract import Argument
from wirefence.strategies.records import Version

__all__ = [
    "NOTIFICATIONS",
    "PROTOCOL",
    "REQUESTS",
    "SERVED",
    "TOKEN",
    "has_argument_type",
    "is_integer",
]

TOKEN = "wirefence/token"  # noqa: S105 - the name of a member, not a secret
PROTOCOL = "io.modelcontextprotocol/protocolVersion"

_OLD = frozenset(
    [
        "initialize",
        "ping",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "prompts/list",
        "prompts/get",
        "tools/list",
        "tools/call",
        "logging/setLevel",
        "completion/complete",
    ]
)
_STATELESS = frozenset(
    [
        "server/discover",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "subscriptions/listen",
        "prompts/list",
        "prompts/get",
        "tools/list",
        "tools/call",
        "completion/complete",
    ]
)
_TASKS = frozenset({"tasks/get", "tasks/result", "tasks/cancel", "tasks/list"})
_TOLD = frozenset(
    [
        "notifications/cancelled",
        "notifications/initialized",
        "notifications/progress",
        "notifications/roots/list_changed",
    ]
)

REQUESTS: dict[Version, frozenset[str]] = {
    "2024-11-05": _OLD,
    "2025-03-26": _OLD,
    "2025-06-18": _OLD,
    "2025-11-25": _OLD | _TASKS,
    "2026-07-28": _STATELESS,
}
"""Request methods of a client (``ClientRequest`` of each version's schema)."""

NOTIFICATIONS: dict[Version, frozenset[str]] = {
    "2024-11-05": _TOLD,
    "2025-03-26": _TOLD,
    "2025-06-18": _TOLD,
    "2025-11-25": _TOLD | {"notifications/tasks/status"},
    "2026-07-28": frozenset({"notifications/cancelled"}),
}
"""Notification methods of a client (``ClientNotification`` of each version's schema)."""

_HANDSHAKE = frozenset({"initialize", "ping", "tools/list", "tools/call"})

SERVED: dict[Version, frozenset[str]] = {
    "2024-11-05": _HANDSHAKE,
    "2025-03-26": _HANDSHAKE,
    "2025-06-18": _HANDSHAKE,
    "2025-11-25": _HANDSHAKE,
    "2026-07-28": frozenset({"server/discover", "tools/list", "tools/call"}),
}

Test = Callable[[Any], bool]


def is_integer(value: object) -> bool:
    """Whether ``value`` was spelled as an integer token; Python counts booleans as integers."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Whether ``value`` was spelled as any number token."""
    return isinstance(value, float) or is_integer(value)


def is_text(value: object) -> bool:
    """Whether ``value`` is a string."""
    return isinstance(value, str)


def is_object(value: object) -> bool:
    """Whether ``value`` is a JSON object."""
    return isinstance(value, dict)


_ARGUMENT: Mapping[str, Test] = {
    "string": is_text,
    "integer": is_integer,
    "number": is_number,
    "boolean": lambda value: isinstance(value, bool),
    "object": is_object,
    "array": lambda value: isinstance(value, list) and all(map(is_text, value)),
}


def has_argument_type(argument: Argument, value: object) -> bool:
    """Whether ``value`` has the type of ``argument`` and is one of its choices, if it has any."""
    chosen = not argument.choices or value in argument.choices
    return _ARGUMENT[argument.type](value) and chosen
