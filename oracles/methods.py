"""The methods of each protocol version, by direction and kind, and the shape of their params.

Source: the official schema of each version (ClientRequest, ClientNotification, ServerRequest,
ServerNotification and the definitions that they name).
"""

from __future__ import annotations

from wirefence.strategies.records import Version

__all__ = [
    "CLIENT_NOTIFICATIONS",
    "CLIENT_REQUESTS",
    "SERVED",
    "SERVER_NOTIFICATIONS",
    "SERVER_REQUESTS",
]

_Table = dict[Version, frozenset[str]]

_COMMON = frozenset(
    {
        "completion/complete",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "tools/call",
        "tools/list",
    }
)
_STATEFUL = _COMMON | {
    "initialize",
    "logging/setLevel",
    "ping",
    "resources/subscribe",
    "resources/unsubscribe",
}
_TASKS = frozenset({"tasks/cancel", "tasks/get", "tasks/list", "tasks/result"})

CLIENT_REQUESTS: _Table = {
    "2024-11-05": _STATEFUL,
    "2025-03-26": _STATEFUL,
    "2025-06-18": _STATEFUL,
    "2025-11-25": _STATEFUL | _TASKS,
    "2026-07-28": _COMMON | {"server/discover", "subscriptions/listen"},
}

_FROM_CLIENT = frozenset(
    {
        "notifications/cancelled",
        "notifications/initialized",
        "notifications/progress",
        "notifications/roots/list_changed",
    }
)

CLIENT_NOTIFICATIONS: _Table = {
    "2024-11-05": _FROM_CLIENT,
    "2025-03-26": _FROM_CLIENT,
    "2025-06-18": _FROM_CLIENT,
    "2025-11-25": _FROM_CLIENT | {"notifications/tasks/status"},
    "2026-07-28": frozenset({"notifications/cancelled"}),
}

_ASKED = frozenset({"ping", "roots/list", "sampling/createMessage"})

SERVER_REQUESTS: _Table = {
    "2024-11-05": _ASKED,
    "2025-03-26": _ASKED,
    "2025-06-18": _ASKED | {"elicitation/create"},
    "2025-11-25": _ASKED | _TASKS | {"elicitation/create"},
    "2026-07-28": frozenset(),
}

_FROM_SERVER = frozenset(
    {
        "notifications/cancelled",
        "notifications/message",
        "notifications/progress",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/tools/list_changed",
    }
)

SERVER_NOTIFICATIONS: _Table = {
    "2024-11-05": _FROM_SERVER,
    "2025-03-26": _FROM_SERVER,
    "2025-06-18": _FROM_SERVER,
    "2025-11-25": _FROM_SERVER
    | {"notifications/elicitation/complete", "notifications/tasks/status"},
    "2026-07-28": _FROM_SERVER | {"notifications/subscriptions/acknowledged"},
}

_TOOLS = frozenset({"tools/call", "tools/list"})
_OLD = _TOOLS | {"initialize", "ping"}

SERVED: _Table = {
    "2024-11-05": _OLD,
    "2025-03-26": _OLD,
    "2025-06-18": _OLD,
    "2025-11-25": _OLD,
    "2026-07-28": _TOOLS | {"server/discover"},
}
"""What a gateway of docs/contract.md answers; other requests are refused as unknown."""
