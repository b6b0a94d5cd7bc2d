"""MCP messages of every kind, version and direction.

The kinds are a table (:mod:`strategies.mcp_kinds`); what a version demands of all
its requests or results (``_meta``, ``resultType``, cache hints) is added here, once.
"""

from __future__ import annotations

from wirefence.strategies.mcp_content import Json, word
from wirefence.strategies.mcp_kinds import Kind, Sort, kinds
from wirefence.strategies.mcp_message import Message, notification, reorder, request, response
from wirefence.strategies.mcp_values import dump, identifier, meta
from wirefence.strategies.records import Direction, Version
from wirefence.strategies.source import Source

__all__ = ["message", "message_of"]

_CACHEABLE = (
    *("DiscoverResult", "ListToolsResult", "ListResourcesResult", "ListResourceTemplatesResult"),
    *("ReadResourceResult", "ListPromptsResult"),
)


def message(
    source: Source,
    version: Version,
    direction: Direction = "client-to-server",
    *,
    sort: Sort | None = None,
    ident: bytes | None = None,
) -> Message:
    """A valid message of a kind that ``version`` lets be sent in ``direction``.

    ``sort`` limits the kinds; ``ident`` is the raw id of a request or response. Raises ValueError
    if there is no such kind: 2026-07-28 has no requests from server to client.
    """
    options = kinds(version, direction, sort)
    if not options:
        raise ValueError(f"{version} has no {sort} {direction}")
    return message_of(source, version, source.choice(options), ident=ident)


def message_of(
    source: Source, version: Version, kind: Kind, *, ident: bytes | None = None
) -> Message:
    """A valid message of ``kind``, which must exist in ``version``; its members in any order."""
    made = _ordered(source, version, kind, ident or identifier(source))
    return reorder(source, made) if source.chance(1, 8) else made


def _ordered(source: Source, version: Version, kind: Kind, ident: bytes) -> Message:
    built = kind.build(source, version)
    if kind.sort == "request":
        params = _with_meta(built, meta(source, version))
        return request(kind.name, ident, kind.method.encode(), params)
    if kind.sort == "notification":
        params = dump(built) if built or source.chance(1, 3) else b""
        return notification(kind.name, kind.method.encode(), params)
    if kind.sort == "error":
        absent = version >= "2025-11-25" and source.chance(1, 8)
        return response(kind.name, b"" if absent else ident, b"error", dump(built))
    return response(kind.name, ident, b"result", dump(_result(source, version, kind, built)))


def _with_meta(params: Json, carried: bytes) -> bytes:
    if not carried:
        return dump(params) if params else b""
    member = b'{"_meta":' + carried
    return member + b"," + dump(params)[1:] if params else member + b"}"


def _result(source: Source, version: Version, kind: Kind, built: Json) -> Json:
    if version >= "2026-07-28":
        built = {"resultType": "complete"} | built
        if kind.name in _CACHEABLE:
            scope = source.choice(("private", "public"))
            built |= {"ttlMs": source.choice((0, 1, 60_000)), "cacheScope": scope}
    elif source.chance(1, 6) and "_meta" not in built:
        built = built | {"_meta": {"x": word(source)}}
    return built
