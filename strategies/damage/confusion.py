"""Members with a value of another JSON type, each member by each other type.

The official schemas take many of these for notifications, and lax validators coerce them; an id
is judged on its raw token, so every spelling of the list has an operator of its own.
"""

from __future__ import annotations

from wirefence.strategies.contract import DEFAULT_TOOLS
from wirefence.strategies.damage.base import Expect, Operator, Scene, rewrite
from wirefence.strategies.damage.hosts import HOSTS
from wirefence.strategies.damage.spans import (
    Member,
    find,
    insert_into,
    members,
    replace_value,
)
from wirefence.strategies.records import VERSIONS, Version
from wirefence.strategies.source import Source

__all__ = ["IDS", "MEMBERS", "OPERATORS", "TOKENS"]

TOKENS: dict[str, tuple[bytes, ...]] = {
    "null": (b"null",),
    "boolean": (b"true", b"false"),
    "integer": (b"0", b"1", b"-7"),
    "fraction": (b"1.5", b"-0.25", b"2e-1"),
    "string": (b'""', b'"1"', b'"true"', b'"{}"'),
    "array": (b"[]", b"[1]", b"[{}]"),
    "object": (b"{}", b'{"value":1}'),
}

IDS: tuple[tuple[str, bytes, Expect], ...] = (
    ("true", b"true", "reject"),
    ("false", b"false", "reject"),
    ("null", b"null", "reject"),
    ("integral-fraction", b"1.0", "reject"),
    ("fraction", b"1.5", "reject"),
    ("exponent", b"1e2", "reject"),
    ("minus-zero", b"-0", "reject"),
    ("empty-string", b'""', "accept"),
    ("array", b"[]", "reject"),
    ("object", b"{}", "reject"),
    ("above-2-53", b"9007199254740993", "profile"),
    ("2-70", b"1180591620717411303424", "profile"),
    ("5000-digits", b"7" * 5_000, "profile"),
)

_STRING = ("string",)
_OBJECT = ("object",)
_TEXT_OR_INTEGER = ("string", "integer")
_PARAMS = b"params"
_META = (_PARAMS, b"_meta")

MEMBERS: tuple[tuple[str, tuple[bytes, ...], tuple[str, ...]], ...] = (
    ("jsonrpc", (b"jsonrpc",), ()),
    ("method", (b"method",), _STRING),
    ("params", (_PARAMS,), _OBJECT),
    ("name", (_PARAMS, b"name"), _STRING),
    ("arguments", (_PARAMS, b"arguments"), _OBJECT),
    ("meta", _META, _OBJECT),
    ("progress-token", (*_META, b"progressToken"), _TEXT_OR_INTEGER),
    ("token", (*_META, b"wirefence/token"), ()),
    ("meta-version", (*_META, b"io.modelcontextprotocol/protocolVersion"), ()),
    ("meta-capabilities", (*_META, b"io.modelcontextprotocol/clientCapabilities"), _OBJECT),
    ("meta-client-info", (*_META, b"io.modelcontextprotocol/clientInfo"), ()),
    ("meta-client-name", (*_META, b"io.modelcontextprotocol/clientInfo", b"name"), _STRING),
    ("meta-client-version", (*_META, b"io.modelcontextprotocol/clientInfo", b"version"), _STRING),
    ("protocol-version", (_PARAMS, b"protocolVersion"), _STRING),
    ("capabilities", (_PARAMS, b"capabilities"), _OBJECT),
    ("client-info", (_PARAMS, b"clientInfo"), ()),
    ("client-name", (_PARAMS, b"clientInfo", b"name"), _STRING),
    ("client-version", (_PARAMS, b"clientInfo", b"version"), _STRING),
    ("request-id", (_PARAMS, b"requestId"), _TEXT_OR_INTEGER),
    ("reason", (_PARAMS, b"reason"), _STRING),
    ("cursor", (_PARAMS, b"cursor"), _STRING),
    ("notification-token", (_PARAMS, b"progressToken"), _TEXT_OR_INTEGER),
    ("progress", (_PARAMS, b"progress"), ("integer", "fraction")),
    ("total", (_PARAMS, b"total"), ("integer", "fraction")),
    ("result", (b"result",), _OBJECT),
    ("error", (b"error",), ()),
    ("error-code", (b"error", b"code"), ("integer",)),
    ("error-message", (b"error", b"message"), _STRING),
    ("task", (_PARAMS, b"task"), _OBJECT),
)

_TYPES = ("null", "boolean", "number", "string", "array", "object")
_MEMBER_DEVIATIONS: dict[str, tuple[str, ...]] = {
    "jsonrpc": ("rpc-version:type", "rpc-version:string"),
    "method": tuple(f"rpc-method:{kind}" for kind in _TYPES if kind != "string"),
    "params": tuple(f"rpc-params:{kind}" for kind in _TYPES if kind != "object"),
    "name": ("mcp-params:name-type",),
    "arguments": ("mcp-params:arguments-type",),
    "meta": ("mcp-meta:type",),
    "progress-token": ("mcp-meta:progressToken-type",),
    "token": ("identity-unknown:type", "identity-unknown:other"),
    "meta-version": ("mcp-meta:protocolVersion-type", "mcp-version:unsupported"),
    "meta-capabilities": ("mcp-meta:clientCapabilities-type",),
    "meta-client-info": ("mcp-meta:clientInfo-type", "mcp-meta:clientInfo-name-missing"),
    "protocol-version": ("mcp-params:protocolVersion-type",),
    "capabilities": ("mcp-params:capabilities-type",),
    "client-info": ("mcp-params:clientInfo-type", "mcp-params:clientInfo-name-missing"),
    "client-name": ("mcp-params:clientInfo-name-type",),
    "client-version": ("mcp-params:clientInfo-version-type",),
    "request-id": ("mcp-params:requestId-type",),
    "reason": ("mcp-params:reason-type",),
    "cursor": ("mcp-params:cursor-type",),
    "notification-token": ("mcp-params:progressToken-type",),
    "progress": ("mcp-params:progress-type",),
    "total": ("mcp-params:total-type",),
    "result": ("rpc-result:result",),
    "meta-client-name": ("mcp-meta:clientInfo-name-type",),
    "meta-client-version": ("mcp-meta:clientInfo-version-type",),
    "error-code": ("rpc-result:code",),
    "error-message": ("rpc-result:message",),
    "task": ("mcp-params:task-type",),
    "error": ("rpc-result:error", "rpc-result:code"),
}
"""By the name of the member."""

_ID_DEVIATIONS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("true", "false"), ("rpc-id:boolean",)),
    **{
        name: (f"rpc-id:{name}",)
        for name in ("null", "integral-fraction", "fraction", "exponent", "minus-zero")
    },
    "empty-string": ("none",),
    "array": ("rpc-id:array",),
    "object": ("rpc-id:object",),
    "above-2-53": ("json-integer-range:int>2^53", "none"),
    "2-70": ("json-integer-range:int>=10^20", "none"),
    "5000-digits": ("json-number-length:int-4301d", "none"),
}
"""By the name of the spelling."""

_ORIGIN = "coercing validators, duck-typed readers, schemas looser than the prose"
_STATELESS: tuple[Version, ...] = ("2026-07-28",)
_HANDSHAKE = tuple(version for version in VERSIONS if version not in _STATELESS)
_READ_IN: dict[str, tuple[Version, ...]] = {
    **dict.fromkeys(("meta-version", "meta-capabilities", "meta-client-info"), _STATELESS),
    **dict.fromkeys(("meta-client-name", "meta-client-version"), _STATELESS),
    **dict.fromkeys(("notification-token", "progress", "total"), _HANDSHAKE),
    "task": ("2025-11-25",),
}
"""Members that the contract reads in some versions only; in others anything may stand there."""


def _token_of_another_type(source: Source, right: tuple[str, ...]) -> bytes:
    kind = source.choice([kind for kind in TOKENS if kind not in right])
    return source.choice(TOKENS[kind])


def _make_member_operator(name: str, path: tuple[bytes, ...], right: tuple[str, ...]) -> Operator:
    @rewrite(
        f"confuse-{name}",
        "type-confusion",
        "reject",
        f"{'.'.join(part.decode() for part in path)} has another JSON type",
        _ORIGIN,
        host=HOSTS.get(name),
        versions=_READ_IN.get(name, VERSIONS),
        deviations=_MEMBER_DEVIATIONS.get(name, ()),
    )
    def operator(source: Source, scene: Scene) -> bytes | None:
        member = find(scene.frame.raw, *path)
        if member is None:
            return None
        return replace_value(scene.frame.raw, member, _token_of_another_type(source, right))

    return operator


def _make_id_operator(name: str, token: bytes, expect: Expect) -> Operator:
    @rewrite(
        f"id-{name}",
        "type-confusion",
        expect,
        f"the request id is spelled {token[:24]!r}",
        _ORIGIN,
        deviations=_ID_DEVIATIONS.get(name, ()),
    )
    def operator(source: Source, scene: Scene) -> bytes | None:
        del source
        member = find(scene.frame.raw, b"id")
        if member is None or find(scene.frame.raw, b"method") is None:
            return None
        return replace_value(scene.frame.raw, member, token)

    return operator


_RIGHT = {"number": ("integer", "fraction")}
_ARGUMENTS = {
    (b'"%b"' % tool.name.encode(), argument.name.encode()): _RIGHT.get(
        argument.type, (argument.type,)
    )
    for tool in DEFAULT_TOOLS
    for argument in tool.arguments
}
"""The right types, by the tool's name as it is spelled and the argument's name."""


def _tool_arguments(raw: bytes) -> list[tuple[Member, tuple[str, ...]]]:
    """The arguments that the called tool declares, each with its right types."""
    every = members(raw)
    tool = next((each.value(raw) for each in every if each.path == (_PARAMS, b"name")), b"")
    return [
        (member, _ARGUMENTS[tool, member.path[2]])
        for member in every
        if member.path[:2] == (_PARAMS, b"arguments")
        and len(member.path) == 3
        and (tool, member.path[2]) in _ARGUMENTS
    ]


@rewrite(
    "confuse-argument",
    "type-confusion",
    "reject",
    "an argument that the tool declares has another JSON type",
    _ORIGIN,
    deviations=tuple(f"tool-arguments:{kind}" for kind in _TYPES),
)
def _argument(source: Source, scene: Scene) -> bytes | None:
    places = _tool_arguments(scene.frame.raw)
    if not places:
        return None
    member, right = source.choice(places)
    return replace_value(scene.frame.raw, member, _token_of_another_type(source, right))


@rewrite(
    "confuse-required-argument",
    "type-confusion",
    "reject",
    "the action, which every tool requires, is no string",
    _ORIGIN,
    deviations=tuple(f"tool-arguments:{kind}" for kind in _TYPES if kind != "string"),
)
def _required(source: Source, scene: Scene) -> bytes | None:
    member = find(scene.frame.raw, _PARAMS, b"arguments", b"action")
    if member is None:
        return None
    return replace_value(scene.frame.raw, member, _token_of_another_type(source, _STRING))


@rewrite(
    "confuse-item",
    "type-confusion",
    "reject",
    "an item of an array, which must be a string, has another JSON type",
    _ORIGIN,
    deviations=("tool-arguments:item",),
)
def _item(source: Source, scene: Scene) -> bytes | None:
    raw = scene.frame.raw
    tool, arguments = find(raw, _PARAMS, b"name"), find(raw, _PARAMS, b"arguments")
    if tool is None or arguments is None or tool.value(raw) != b'"record"':
        return None
    items = b'["a",%b]' % _token_of_another_type(source, _STRING)
    tags = find(raw, _PARAMS, b"arguments", b"tags")
    if tags is not None:
        return replace_value(raw, tags, items)
    return insert_into(raw, arguments, b'"tags":' + items) if b"{" in arguments.value(raw) else None


@rewrite(
    "confuse-unknown-meta",
    "type-confusion",
    "reject",
    "params._meta of a notification that nobody knows has another JSON type",
    _ORIGIN,
    host=HOSTS["unknown-meta"],
    deviations=("mcp-meta:type",),
)
def _unknown(source: Source, scene: Scene) -> bytes | None:
    method, meta = find(scene.frame.raw, b"method"), find(scene.frame.raw, *_META)
    known = method is None or not method.value(scene.frame.raw).startswith(b'"example.com/')
    if known or meta is None or find(scene.frame.raw, b"id") is not None:
        return None
    return replace_value(scene.frame.raw, meta, _token_of_another_type(source, _OBJECT))


OPERATORS: tuple[Operator, ...] = (
    *(_make_member_operator(*row) for row in MEMBERS),
    *(_make_id_operator(*row) for row in IDS),
    _argument,
    _required,
    _item,
    _unknown,
)
