"""The objects inside MCP messages: capabilities, content blocks, tools, resources, tasks.

An optional member is where readers differ, so :func:`add_optional` decides for each alone;
members that a later version added are offered to that version and its successors only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from wirefence.strategies.records import Version
from wirefence.strategies.source import Source

__all__ = [
    "Json",
    "add_optional",
    "blocks",
    "client_capabilities",
    "elicitation",
    "implementation",
    "prompt",
    "resource",
    "resource_contents",
    "resource_template",
    "root",
    "sampling",
    "sampling_result",
    "server_capabilities",
    "task",
    "tool",
    "up_to_three",
    "uri",
    "word",
]

Json = dict[str, object]
"""A JSON object under construction, in member order."""

T = TypeVar("T")

_WORDS = (
    "a",
    "report",
    "two words",
    "é",
    "日本語",
    "😀",
    "",
    "line\nbreak",
    '"quoted"',
    "\u2028",
    "</a>",
)
_URIS = ("file:///srv/a.txt", "https://example.org/?q=1", "urn:x:1", "custom://h/%E2%82%AC")
_BASE64 = ("", "AA==", "aGVsbG8=", "/+8=")
_TIMES = ("2026-01-02T03:04:05Z", "2025-12-31T23:59:60Z")


def word(source: Source) -> str:
    """A short text that is not empty of traps."""
    return source.choice(_WORDS)


def uri(source: Source) -> str:
    """An absolute URI."""
    return source.choice(_URIS)


def up_to_three(source: Source, make: Callable[[], T]) -> list[T]:
    """None to three of what ``make`` makes."""
    return [make() for _ in range(source.integer(0, 3))]


def add_optional(source: Source, required: Json, /, **optional: Callable[[], object]) -> Json:
    """``required`` with each ``optional`` member added in one of three cases."""
    return required | {name: make() for name, make in optional.items() if source.chance(1, 3)}


def implementation(source: Source, version: Version) -> Json:
    """``Implementation``: who speaks."""
    found: Json = {"name": word(source), "version": source.choice(("1", "0.1.0", ""))}
    if version >= "2025-06-18":
        found = add_optional(source, found, title=lambda: word(source))
    if version >= "2025-11-25":
        found = add_optional(
            source,
            found,
            description=lambda: word(source),
            websiteUrl=lambda: uri(source),
            icons=lambda: up_to_three(source, lambda: _icon(source)),
        )
    return found


def _icon(source: Source) -> Json:
    return add_optional(
        source,
        {"src": uri(source)},
        mimeType=lambda: "image/png",
        sizes=lambda: ["48x48", "any"],
        theme=lambda: source.choice(("light", "dark")),
    )


def _changes(source: Source, *names: str) -> Json:
    return add_optional(source, {}, **{name: lambda: source.chance(1, 2) for name in names})


def client_capabilities(source: Source, version: Version) -> Json:
    """``ClientCapabilities`` as far as ``version`` knows them."""
    found = add_optional(
        source,
        {},
        roots=lambda: _changes(source, "listChanged") if version < "2026-07-28" else {},
        sampling=lambda: (
            add_optional(source, {}, tools=dict, context=dict) if version >= "2025-11-25" else {}
        ),
        experimental=lambda: {"x": {"y": word(source)}},
    )
    if version >= "2025-06-18":
        modes = {"form": dict, "url": dict} if version >= "2025-11-25" else {}
        found = add_optional(source, found, elicitation=lambda: add_optional(source, {}, **modes))
    if version == "2025-11-25":
        asked: Json = {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}}
        found = add_optional(
            source,
            found,
            tasks=lambda: add_optional(source, {}, list=dict, cancel=dict, requests=lambda: asked),
        )
    if version >= "2026-07-28":
        found = add_optional(source, found, extensions=lambda: {"org.example/x": {}})
    return found


def server_capabilities(source: Source, version: Version) -> Json:
    """``ServerCapabilities`` as far as ``version`` knows them."""
    found = add_optional(
        source,
        {"tools": _changes(source, "listChanged")},
        prompts=lambda: _changes(source, "listChanged"),
        resources=lambda: _changes(source, "listChanged", "subscribe"),
        logging=dict,
        experimental=lambda: {"x": {}},
    )
    if version >= "2025-03-26":
        found = add_optional(source, found, completions=dict)
    if version == "2025-11-25":
        found = add_optional(source, found, tasks=lambda: {"requests": {"tools": {"call": {}}}})
    return found


def _annotations(source: Source, version: Version) -> Json:
    found = add_optional(
        source,
        {},
        audience=lambda: up_to_three(source, lambda: source.choice(("user", "assistant"))),
        priority=lambda: source.choice((0, 1, 0.5, 1e-7)),
    )
    return (
        add_optional(source, found, lastModified=lambda: _TIMES[0])
        if version >= "2025-06-18"
        else found
    )


def _noted(source: Source, version: Version, required: Json) -> Json:
    found = add_optional(source, required, annotations=lambda: _annotations(source, version))
    return add_optional(source, found, _meta=lambda: {"x": 1}) if version >= "2025-06-18" else found


def _titled(source: Source, version: Version, required: Json) -> Json:
    found = add_optional(source, required, description=lambda: word(source))
    if version < "2025-06-18":
        return found
    return add_optional(source, found, title=lambda: word(source), _meta=lambda: {"x/y": None})


def resource_contents(source: Source) -> Json:
    """``TextResourceContents`` or ``BlobResourceContents``."""
    body: Json = {"text": word(source)}
    if source.chance(1, 3):
        body = {"blob": source.choice(_BASE64)}
    return add_optional(source, {"uri": uri(source), **body}, mimeType=lambda: "text/plain")


def resource(source: Source, version: Version) -> Json:
    """``Resource``: what ``resources/list`` lists."""
    found = _titled(source, version, {"name": word(source), "uri": uri(source)})
    if version >= "2025-11-25":
        found = add_optional(source, found, icons=lambda: [_icon(source)])
    return add_optional(
        source, found, mimeType=lambda: "text/plain", size=lambda: source.integer(0, 2**40)
    )


def resource_template(source: Source, version: Version) -> Json:
    """``ResourceTemplate``."""
    template = source.choice(("file:///{path}", "x:{+a,b}{?q*}"))
    return _titled(source, version, {"name": word(source), "uriTemplate": template})


def blocks(source: Source, version: Version) -> list[Json]:
    """Content blocks of tool results and prompts."""
    return up_to_three(source, lambda: block(source, version))


def block(source: Source, version: Version) -> Json:
    """One content block of a kind that ``version`` knows."""
    kinds = ["text", "image", "resource"]
    kinds += ["audio"] if version >= "2025-03-26" else []
    kinds += ["resource_link"] if version >= "2025-06-18" else []
    kind = source.choice(kinds)
    if kind == "resource_link":
        return {"type": kind, **resource(source, version)}
    if kind == "resource":
        return _noted(source, version, {"type": kind, "resource": resource_contents(source)})
    return _noted(source, version, _media(source, kind))


def _media(source: Source, kind: str) -> Json:
    if kind == "text":
        return {"type": kind, "text": word(source)}
    return {"type": kind, "data": source.choice(_BASE64), "mimeType": f"{kind}/x"}


def prompt(source: Source, version: Version) -> Json:
    """``Prompt``: what ``prompts/list`` lists."""
    found = _titled(source, version, {"name": word(source)})
    return add_optional(
        source,
        found,
        arguments=lambda: up_to_three(
            source, lambda: add_optional(source, {"name": word(source)}, required=lambda: True)
        ),
    )


def _schema(source: Source) -> Json:
    properties = {"action": {"type": "string"}, "n": {"type": "integer", "default": 0}}
    return add_optional(
        source, {"type": "object"}, properties=lambda: properties, required=lambda: ["action"]
    )


def tool(source: Source, version: Version) -> Json:
    """``Tool``: what ``tools/list`` lists."""
    found = add_optional(
        source,
        {"name": word(source), "inputSchema": _schema(source)},
        description=lambda: word(source),
    )
    if version >= "2025-03-26":
        hints = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
        found = add_optional(source, found, annotations=lambda: _changes(source, *hints))
    if version >= "2025-06-18":
        found = add_optional(
            source, found, title=lambda: word(source), outputSchema=lambda: _schema(source)
        )
    if version == "2025-11-25":
        found = add_optional(source, found, execution=lambda: {"taskSupport": "optional"})
    return found


def root(source: Source, version: Version) -> Json:
    """``Root``."""
    found = add_optional(source, {"uri": "file:///srv"}, name=lambda: word(source))
    return add_optional(source, found, _meta=dict) if version >= "2025-06-18" else found


def task(source: Source) -> Json:
    """``Task`` of 2025-11-25."""
    states = ("working", "input_required", "completed", "failed", "cancelled")
    return add_optional(
        source,
        {
            "taskId": word(source),
            "status": source.choice(states),
            "createdAt": source.choice(_TIMES),
            "lastUpdatedAt": source.choice(_TIMES),
            "ttl": source.choice((None, 0, 60_000)),
        },
        statusMessage=lambda: word(source),
        pollInterval=lambda: source.integer(0, 5_000),
    )


def _sampled(source: Source, version: Version) -> object:
    if version >= "2025-11-25" and source.chance(1, 3):
        use = {"type": "tool_use", "id": "u1", "name": "record", "input": {"a": 1}}
        back: Json = {"type": "tool_result", "toolUseId": "u1", "content": blocks(source, version)}
        back = add_optional(source, back, isError=lambda: True)
        return source.choice((use, back, [use, back], []))
    return _noted(source, version, _media(source, source.choice(("text", "image"))))


def sampling(source: Source, version: Version) -> Json:
    """Params of ``sampling/createMessage``."""
    messages = up_to_three(source, lambda: {"role": "user", "content": _sampled(source, version)})
    return add_optional(
        source,
        {"messages": messages, "maxTokens": source.integer(0, 4096)},
        systemPrompt=lambda: word(source),
        temperature=lambda: source.choice((0, 0.7, 1.0)),
        stopSequences=lambda: up_to_three(source, lambda: word(source)),
        includeContext=lambda: source.choice(("none", "thisServer", "allServers")),
        modelPreferences=lambda: {"hints": [{"name": word(source)}], "costPriority": 0.5},
        metadata=dict,
    )


def sampling_result(source: Source, version: Version) -> Json:
    """``CreateMessageResult``."""
    return add_optional(
        source,
        {"role": "assistant", "content": _sampled(source, version), "model": word(source)},
        stopReason=lambda: source.choice(("endTurn", "maxTokens", "other")),
    )


def elicitation(source: Source, version: Version) -> Json:
    """Params of ``elicitation/create``: a form, or from 2025-11-25 on an address to visit."""
    if version >= "2025-11-25" and source.chance(1, 2):
        found: Json = {"mode": "url", "message": word(source), "url": uri(source)}
        return found | ({"elicitationId": word(source)} if version == "2025-11-25" else {})
    properties: Json = {
        "name": {"type": "string", "format": "email", "minLength": 1},
        "age": {"type": "integer", "minimum": 0},
        "sure": {"type": "boolean", "default": False},
        "kind": {"type": "string", "enum": ["a", "b"]},
    }
    kept = {name: schema for name, schema in properties.items() if source.chance(1, 2)}
    return {"message": word(source), "requestedSchema": {"type": "object", "properties": kept}}
