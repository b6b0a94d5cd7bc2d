"""Every kind of message that the five protocol versions define, as one table.

A kind is known by the name of its definition in the official schema, so that the
table can be checked against the schemas name by name, and each message against its definition.
Sources: ``schema.json`` of each protocol version.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from wirefence.strategies import mcp_content as content
from wirefence.strategies.mcp_content import Json, add_optional, up_to_three, uri, word
from wirefence.strategies.records import Direction, Version
from wirefence.strategies.source import Source

__all__ = ["KINDS", "Kind", "Sort", "kinds"]

Sort = Literal["request", "notification", "result", "error"]
Build = Callable[[Source, Version], Json]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of message.

    ``name`` is that of the schema's definition. ``method`` is empty for results and errors.
    ``senders`` says who may send it, ``since`` and ``until`` (both included) in which versions.
    ``build`` makes its params, result or error.
    """

    name: str
    sort: Sort
    method: str
    senders: tuple[Direction, ...]
    build: Build
    since: Version = "2024-11-05"
    until: Version = "2026-07-28"


_CLIENT: tuple[Direction, ...] = ("client-to-server",)
_SERVER: tuple[Direction, ...] = ("server-to-client",)
_BOTH = _CLIENT + _SERVER

Span = tuple[Version, Version]
_OLD: Span = ("2024-11-05", "2025-11-25")
_TASKS: Span = ("2025-11-25", "2025-11-25")
_FORMS: Span = ("2025-06-18", "2025-11-25")

_KEYS: tuple[str | int, ...] = (1, "1", 0, -1, 2**53 - 1, "", "a")


def _nothing(_source: Source, _version: Version) -> Json:
    return {}


def _page(source: Source, _version: Version) -> Json:
    return add_optional(source, {}, cursor=lambda: word(source))


def _uri(source: Source, _version: Version) -> Json:
    return {"uri": uri(source)}


def _task_id(source: Source, _version: Version) -> Json:
    return {"taskId": word(source)}


def _task(source: Source, _version: Version) -> Json:
    return content.task(source)


def _key(source: Source) -> str | int:
    return source.choice(_KEYS)


def _initialize(source: Source, version: Version) -> Json:
    return {
        "protocolVersion": version,
        "capabilities": content.client_capabilities(source, version),
        "clientInfo": content.implementation(source, version),
    }


def _initialized(source: Source, version: Version) -> Json:
    return add_optional(
        source,
        {
            "protocolVersion": version,
            "capabilities": content.server_capabilities(source, version),
            "serverInfo": content.implementation(source, version),
        },
        instructions=lambda: word(source),
    )


def _discovered(source: Source, version: Version) -> Json:
    return add_optional(
        source,
        {
            "supportedVersions": [version],
            "capabilities": content.server_capabilities(source, version),
        },
        instructions=lambda: word(source),
    )


def _arguments(source: Source) -> dict[str, str]:
    return {name: word(source) for name in ("a", "b", "é") if source.chance(1, 2)}


def _get_prompt(source: Source, _version: Version) -> Json:
    return add_optional(source, {"name": word(source)}, arguments=lambda: _arguments(source))


def _call(source: Source, version: Version) -> Json:
    arguments = {"action": word(source)}
    found = add_optional(
        source, {"name": source.choice(("record", "x"))}, arguments=lambda: arguments
    )
    if version == "2025-11-25":
        return add_optional(source, found, task=lambda: source.choice(({}, {"ttl": 60_000})))
    if version < "2026-07-28":
        return found
    return add_optional(
        source,
        found,
        inputResponses=lambda: {"ask": _respond(source, version)},
        requestState=lambda: word(source),
    )


def _respond(source: Source, version: Version) -> Json:
    """What a client answers to what a tool asked for."""
    return source.choice((_elicited, _roots, content.sampling_result))(source, version)


def _level(source: Source, _version: Version) -> Json:
    return {"level": source.choice(("debug", "info", "warning", "emergency"))}


def _complete(source: Source, version: Version) -> Json:
    prompt: Json = {"type": "ref/prompt", "name": word(source)}
    if version >= "2025-06-18":
        prompt = add_optional(source, prompt, title=lambda: word(source))
    reference = source.choice((prompt, {"type": "ref/resource", "uri": uri(source)}))
    found: Json = {"ref": reference, "argument": {"name": word(source), "value": word(source)}}
    if version < "2025-06-18":
        return found
    return add_optional(source, found, context=lambda: {"arguments": _arguments(source)})


def _filter(source: Source, _version: Version) -> Json:
    names = ("promptsListChanged", "toolsListChanged", "resourcesListChanged")
    wanted: Json = {name: True for name in names if source.chance(1, 2)}
    return {
        "notifications": add_optional(source, wanted, resourceSubscriptions=lambda: [uri(source)])
    }


def _cancelled(source: Source, version: Version) -> Json:
    # 2025-11-25 alone lets the id be absent: there a task is cancelled by another request.
    if version == "2025-11-25" and source.chance(1, 4):
        return {"reason": word(source)}
    found = add_optional(source, {"requestId": _key(source)}, reason=lambda: word(source))
    return (
        add_optional(source, found, _meta=lambda: _subscribed(source))
        if version == "2026-07-28"
        else found
    )


def _subscribed(source: Source) -> Json:
    return {"io.modelcontextprotocol/subscriptionId": _key(source)}


def _progress(source: Source, version: Version) -> Json:
    found = add_optional(
        source,
        {"progressToken": _key(source), "progress": source.choice((0, 1, 0.5, -1, 1e300))},
        total=lambda: source.choice((1, 100.0)),
    )
    return (
        add_optional(source, found, message=lambda: word(source))
        if version >= "2025-03-26"
        else found
    )


def _log(source: Source, version: Version) -> Json:
    data = source.choice((None, "text", 1, [1], {"a": {"b": None}}))
    return add_optional(
        source, _level(source, version) | {"data": data}, logger=lambda: word(source)
    )


def _elicited(source: Source, _version: Version) -> Json:
    action = source.choice(("accept", "decline", "cancel"))
    return add_optional(
        source, {"action": action}, content=lambda: {"name": "a", "age": 1, "sure": True}
    )


def _list_of(name: str, make: Callable[[Source, Version], Json]) -> Build:
    def build(source: Source, version: Version) -> Json:
        return add_optional(
            source,
            {name: up_to_three(source, lambda: make(source, version))},
            nextCursor=lambda: word(source),
        )

    return build


def _roots(source: Source, version: Version) -> Json:
    return {"roots": up_to_three(source, lambda: content.root(source, version))}


def _read(source: Source, _version: Version) -> Json:
    return {"contents": up_to_three(source, lambda: content.resource_contents(source))}


def _prompted(source: Source, version: Version) -> Json:
    messages = up_to_three(
        source, lambda: {"role": "assistant", "content": content.block(source, version)}
    )
    return add_optional(source, {"messages": messages}, description=lambda: word(source))


def _called(source: Source, version: Version) -> Json:
    found = add_optional(
        source, {"content": content.blocks(source, version)}, isError=lambda: source.chance(1, 2)
    )
    if version < "2025-06-18":
        return found
    return add_optional(source, found, structuredContent=lambda: {"a": [1, None, {"b": 0.5}]})


def _completed(source: Source, _version: Version) -> Json:
    values = up_to_three(source, lambda: word(source))
    return {
        "completion": add_optional(
            source, {"values": values}, total=lambda: 3, hasMore=lambda: False
        )
    }


def _ended(source: Source, _version: Version) -> Json:
    return {"_meta": _subscribed(source)}


def _input_required(source: Source, version: Version) -> Json:
    asked = source.choice(
        (
            {"method": "elicitation/create", "params": content.elicitation(source, version)},
            {"method": "sampling/createMessage", "params": content.sampling(source, version)},
            {"method": "roots/list"},
        )
    )
    found: Json = {"resultType": "input_required", "inputRequests": {"ask": asked}}
    return add_optional(source, found, requestState=lambda: word(source))


def _error(*codes: int, **data: object) -> Build:
    def build(source: Source, _version: Version) -> Json:
        found: Json = {"code": source.choice(codes), "message": word(source)}
        return (
            found | {"data": dict(data)} if data else add_optional(source, found, data=lambda: None)
        )

    return build


def _requests() -> list[Kind]:
    def kind(
        name: str, method: str, build: Build, *span: Version, by: tuple[Direction, ...] = _CLIENT
    ) -> Kind:
        return Kind(name + "Request", "request", method, by, build, *span)

    return [
        kind("Initialize", "initialize", _initialize, *_OLD),
        kind("Ping", "ping", _nothing, *_OLD, by=_BOTH),
        kind("ListTools", "tools/list", _page),
        kind("CallTool", "tools/call", _call),
        kind("ListResources", "resources/list", _page),
        kind("ListResourceTemplates", "resources/templates/list", _page),
        kind("ReadResource", "resources/read", _uri),
        kind("Subscribe", "resources/subscribe", _uri, *_OLD),
        kind("Unsubscribe", "resources/unsubscribe", _uri, *_OLD),
        kind("ListPrompts", "prompts/list", _page),
        kind("GetPrompt", "prompts/get", _get_prompt),
        kind("SetLevel", "logging/setLevel", _level, *_OLD),
        kind("Complete", "completion/complete", _complete),
        kind("GetTask", "tasks/get", _task_id, *_TASKS, by=_BOTH),
        kind("GetTaskPayload", "tasks/result", _task_id, *_TASKS, by=_BOTH),
        kind("CancelTask", "tasks/cancel", _task_id, *_TASKS, by=_BOTH),
        kind("ListTasks", "tasks/list", _page, *_TASKS, by=_BOTH),
        kind("Discover", "server/discover", _nothing, "2026-07-28"),
        kind("SubscriptionsListen", "subscriptions/listen", _filter, "2026-07-28"),
        kind("CreateMessage", "sampling/createMessage", content.sampling, *_OLD, by=_SERVER),
        kind("ListRoots", "roots/list", _nothing, *_OLD, by=_SERVER),
        kind("Elicit", "elicitation/create", content.elicitation, *_FORMS, by=_SERVER),
    ]


def _notifications() -> list[Kind]:
    def kind(name: str, tail: str, build: Build, by: tuple[Direction, ...], *span: Version) -> Kind:
        return Kind(
            name + "Notification", "notification", "notifications/" + tail, by, build, *span
        )

    return [
        kind("Initialized", "initialized", _nothing, _CLIENT, *_OLD),
        kind("Cancelled", "cancelled", _cancelled, _BOTH),
        kind("RootsListChanged", "roots/list_changed", _nothing, _CLIENT, *_OLD),
        kind("TaskStatus", "tasks/status", _task, _BOTH, *_TASKS),
        kind("ResourceListChanged", "resources/list_changed", _nothing, _SERVER),
        kind("ResourceUpdated", "resources/updated", _uri, _SERVER),
        kind("PromptListChanged", "prompts/list_changed", _nothing, _SERVER),
        kind("ToolListChanged", "tools/list_changed", _nothing, _SERVER),
        kind("LoggingMessage", "message", _log, _SERVER),
        kind(
            "SubscriptionsAcknowledged",
            "subscriptions/acknowledged",
            _filter,
            _SERVER,
            "2026-07-28",
        ),
        kind(
            "ElicitationComplete",
            "elicitation/complete",
            lambda s, _: {"elicitationId": word(s)},
            _SERVER,
            *_TASKS,
        ),
        *_progress_kinds(),
    ]


def _progress_kinds() -> list[Kind]:
    name, method = "ProgressNotification", "notifications/progress"
    return [
        Kind(name, "notification", method, _CLIENT, _progress, until="2025-11-25"),
        Kind(name, "notification", method, _SERVER, _progress),
    ]


def _results() -> list[Kind]:
    def kind(name: str, build: Build, by: tuple[Direction, ...], *span: Version) -> Kind:
        return Kind(name + "Result", "result", "", by, build, *span)

    return [
        kind("Empty", _nothing, _BOTH),
        kind("Initialize", _initialized, _SERVER, *_OLD),
        kind("Discover", _discovered, _SERVER, "2026-07-28"),
        kind("InputRequired", _input_required, _SERVER, "2026-07-28"),
        kind("ListTools", _list_of("tools", content.tool), _SERVER),
        kind("CallTool", _called, _SERVER),
        kind("ListResources", _list_of("resources", content.resource), _SERVER),
        kind(
            "ListResourceTemplates",
            _list_of("resourceTemplates", content.resource_template),
            _SERVER,
        ),
        kind("ReadResource", _read, _SERVER),
        kind("ListPrompts", _list_of("prompts", content.prompt), _SERVER),
        kind("GetPrompt", _prompted, _SERVER),
        kind("Complete", _completed, _SERVER),
        kind("SubscriptionsListen", _ended, _SERVER, "2026-07-28"),
        kind("GetTask", _task, _BOTH, *_TASKS),
        kind("CancelTask", _task, _BOTH, *_TASKS),
        kind("GetTaskPayload", _called, _BOTH, *_TASKS),
        kind("ListTasks", _list_of("tasks", _task), _BOTH, *_TASKS),
        kind("CreateTask", lambda s, v: {"task": _task(s, v)}, _BOTH, *_TASKS),
        kind("CreateMessage", content.sampling_result, _CLIENT, *_OLD),
        kind("ListRoots", _roots, _CLIENT, *_OLD),
        kind("Elicit", _elicited, _CLIENT, *_FORMS),
    ]


def _errors() -> list[Kind]:
    def kind(name: str, build: Build, by: tuple[Direction, ...], *span: Version) -> Kind:
        return Kind(name, "error", "", by, build, *span)

    plain = _error(-32700, -32600, -32601, -32602, -32603, -32000, 0, 2**31)
    unsupported = _error(-32022, supported=["2026-07-28"], requested="2020-01-01")
    visit = {"mode": "url", "elicitationId": "1", "message": "m", "url": "https://example.org/"}
    return [
        kind("JSONRPCError", plain, _BOTH, "2024-11-05", "2025-06-18"),
        kind("JSONRPCErrorResponse", plain, _BOTH, "2025-11-25"),
        kind(
            "URLElicitationRequiredError",
            _error(-32042, elicitations=[visit]),
            _SERVER,
            "2025-11-25",
            "2025-11-25",
        ),
        kind("HeaderMismatchError", _error(-32020), _SERVER, "2026-07-28"),
        kind("UnsupportedProtocolVersionError", unsupported, _SERVER, "2026-07-28"),
        kind(
            "MissingRequiredClientCapabilityError",
            _error(-32021, requiredCapabilities={}),
            _SERVER,
            "2026-07-28",
        ),
    ]


KINDS: tuple[Kind, ...] = (*_requests(), *_notifications(), *_results(), *_errors())


@lru_cache(maxsize=64)
def kinds(version: Version, direction: Direction, sort: Sort | None = None) -> tuple[Kind, ...]:
    """The kinds that ``version`` lets be sent in ``direction``, all or those of one ``sort``."""
    return tuple(
        kind
        for kind in KINDS
        if direction in kind.senders
        and kind.since <= version <= kind.until
        and sort in (None, kind.sort)
    )
