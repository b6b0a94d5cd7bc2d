"""Well-formed JSON that two readers understand differently.

Duplicate and look-alike members carry an action of their own, so an effect tells which one won.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from wirefence.strategies.damage.base import Expect, Operator, Scene, hidden_call, rewrite
from wirefence.strategies.damage.batches import OPERATORS as BATCHES
from wirefence.strategies.damage.hosts import HOSTS
from wirefence.strategies.damage.spans import (
    find,
    insert_into,
    insert_member,
    remove_member,
    replace_value,
)
from wirefence.strategies.source import Source

__all__ = ["FENCES", "OPERATORS", "PATHS", "into_meta"]

_ARGUMENTS = (b"params", b"arguments")
PATHS: dict[str, tuple[bytes, ...]] = {
    "jsonrpc": (b"jsonrpc",),
    "id": (b"id",),
    "method": (b"method",),
    "params": (b"params",),
    "name": (b"params", b"name"),
    "arguments": _ARGUMENTS,
    "action": (*_ARGUMENTS, b"action"),
}


def _second_value(member: str, hidden: str) -> bytes:
    """Another value of the right type: what the losing reader would act on."""
    arguments = f'{{"action":"{hidden}"}}'
    rivals = {
        "jsonrpc": '"1.0"',
        "id": f'"{hidden}"',
        "method": '"ping"',
        "params": f'{{"name":"record","arguments":{arguments}}}',
        "name": '"admin_reset"',
        "arguments": arguments,
        "action": f'"{hidden}"',
    }
    return rivals[member].encode()


def _literal(name: bytes) -> bytes:
    return name


def _escaped(name: bytes) -> bytes:
    return b"\\u%04x" % name[0] + name[1:]


def _upper(name: bytes) -> bytes:
    return name.upper()


def _title(name: bytes) -> bytes:
    return name[:1].upper() + name[1:]


_LAST_WINS: dict[str, tuple[str, ...]] = {
    "jsonrpc": ("rpc-version:string",),
    "id": ("none",),
    "method": ("none", "mcp-kind:no-id", "mcp-method:unknown"),
    "params": (
        *("none", "mcp-params:capabilities-missing", "mcp-meta:missing"),
        *("mcp-params:requestId-missing", "mcp-params:progress-missing"),
    ),
    "name": ("none", "authz-denied:no-token"),
    "arguments": ("none", "tool-arguments:missing"),
    "action": ("none",),
}
"""What the profile that keeps the last of two members finds where the last one is the rival."""

_OTHER_CASE: dict[str, str] = {
    "name": "mcp-unknown-param:other-case",
    "arguments": "mcp-unknown-param:other-case",
    "action": "tool-unknown-argument:other-case",
}


def _name_rival(name: str, member: str, *, before: bool) -> tuple[str, ...]:
    """The deviations of a message with two members of a name."""
    if name == "case-variant":
        return (_OTHER_CASE.get(member, "rpc-unknown-member:other-case"), "none")
    trait = "dup-escaped" if name == "duplicate-escaped" else "duplicate-name"
    return (f"json-duplicate-name:{trait}", *(("none",) if before else _LAST_WINS[member]))


def _make_duplicate_operator(
    name: str, member: str, respell: Callable[[bytes], bytes], *, before: bool, origin: str
) -> Operator:
    place = "before" if before else "after"

    @rewrite(
        f"{name}-{member}-{place}",
        "structure",
        "profile",
        f"a second {member} ({name.replace('-', ' ')}) stands {place} the good one",
        origin,
        deviations=_name_rival(name, member, before=before),
    )
    def operator(source: Source, scene: Scene) -> bytes | None:
        del source
        path = PATHS[member]
        good = find(scene.frame.raw, *path)
        if good is None:
            return None
        text = b'"%s":%s' % (respell(path[-1]), _second_value(member, scene.hidden))
        return insert_member(scene.frame.raw, good, text, before=before)

    return operator


_WINS = "eager parsers keep the last, lazy ones find the first"
_FOLDS = "Go's encoding/json and other readers fold the case of names"
_RIVALS = tuple(
    _make_duplicate_operator(name, member, respell, before=before, origin=origin)
    for name, respell, origin in (
        ("duplicate", _literal, _WINS),
        ("duplicate-escaped", _escaped, "equal only after unescaping: filters on bytes miss it"),
        ("case-variant", _upper, _FOLDS),
    )
    for member in PATHS
    for before in (True, False)
)


_RENAMED: dict[str, tuple[str, ...]] = {
    "jsonrpc": ("rpc-version:absent",),
    "id": ("rpc-unknown-member:other-case", "mcp-kind:no-id"),
    "method": ("rpc-kind:no-kind",),
    "params": ("rpc-unknown-member:other-case", "none", "mcp-params:missing"),
    "name": ("mcp-params:name-missing",),
    "arguments": ("mcp-unknown-param:other-case", "tool-arguments:missing"),
    "action": ("tool-arguments:missing",),
}


def _renamed(member: str) -> Operator:
    # A message that needs no params may lose them and stay good under spec.
    expect: Expect = "profile" if member == "params" else "reject"

    @rewrite(
        f"case-{member}",
        "structure",
        expect,
        f"{member} in another case",
        _FOLDS,
        deviations=_RENAMED[member],
    )
    def operator(source: Source, scene: Scene) -> bytes | None:
        raw, path = scene.frame.raw, PATHS[member]
        good = find(raw, *path)
        if good is None or find(raw, b"method") is None:
            return None
        name = source.choice((_upper, _title))(path[-1])
        return raw[: good.name_at] + b'"' + name + b'"' + raw[good.name_at + len(path[-1]) + 2 :]

    return operator


_EXTRA_RULES = {0: "rpc-unknown-member", 1: "mcp-unknown-param", 2: "tool-unknown-argument"}
"""The rule that one more member breaks, by the depth of the object that it is put into."""


def _extra(name: str, holder: tuple[bytes, ...], member: str, reason: str, origin: str) -> Operator:
    deviations = (f"{_EXTRA_RULES[len(holder)]}:other", "none")

    @rewrite(name, "structure", "profile", reason, origin, deviations=deviations)
    def operator(source: Source, scene: Scene) -> bytes | None:
        del source
        value = member.replace("HIDDEN", scene.hidden).encode()
        if not holder:
            first = find(scene.frame.raw, b"jsonrpc")
            return None if first is None else insert_member(scene.frame.raw, first, value)
        place = find(scene.frame.raw, *holder)
        if place is None or place.value(scene.frame.raw)[:1] != b"{":
            return None
        if find(scene.frame.raw, *holder, value[1 : value.index(b'"', 1)]) is not None:
            return None  # a tool may declare an argument of this name
        return insert_into(scene.frame.raw, place, value)

    return operator


_MERGE = "readers that merge whatever they are given (Object.assign, **kwargs)"
_PROTO = "prototype pollution in JavaScript"
_PROTO_MEMBER = '"__proto__":{"action":"HIDDEN","operator":true}'
_EXTRAS = (
    _extra("unknown-member", (), '"extra":{"action":"HIDDEN"}', "a member nobody knows", _MERGE),
    _extra("unknown-param", (b"params",), '"action":"HIDDEN"', "a param nobody knows", _MERGE),
    _extra("unknown-argument", _ARGUMENTS, '"command":"id"', "an undeclared argument", _MERGE),
    _extra("unknown-operator", _ARGUMENTS, '"operator":true', "an argument that grants", _MERGE),
    _extra("task-param", (b"params",), '"task":{}', "the task of 2025-11-25", _MERGE),
    _extra("state-param", (b"params",), '"requestState":"s"', "a param of 2026-07-28", _MERGE),
    _extra("inputs-param", (b"params",), '"inputResponses":{}', "a param of 2026-07-28", _MERGE),
    _extra("proto-member", (), _PROTO_MEMBER, "__proto__ at the top level", _PROTO),
    _extra("proto-param", (b"params",), _PROTO_MEMBER, "__proto__ in params", _PROTO),
    _extra("proto-argument", _ARGUMENTS, _PROTO_MEMBER, "__proto__ in arguments", _PROTO),
    _extra(
        "constructor-argument",
        _ARGUMENTS,
        '"constructor":{"prototype":{"action":"HIDDEN"}}',
        "constructor.prototype in arguments",
        _PROTO,
    ),
)


def _hybrid(name: str, text: bytes) -> Operator:
    @rewrite(
        f"hybrid-{name}",
        "structure",
        "reject",
        f"a request that is also a response ({name})",
        "the official schemas of all five versions validate it",
        deviations=("rpc-kind:mixed",),
    )
    def operator(source: Source, scene: Scene) -> bytes | None:
        raw = scene.frame.raw
        method = find(raw, b"method")
        return (
            None if method is None else insert_member(raw, method, text, before=source.chance(1, 2))
        )

    return operator


_ERROR = b'"error":{"code":-32603,"message":"none"}'
_HYBRIDS = (
    _hybrid("result", b'"result":{}'),
    _hybrid("error", _ERROR),
    _hybrid("both", b'"result":{},' + _ERROR),
)


def into_meta(raw: bytes, text: bytes) -> bytes | None:
    """The frame with one more member in ``params._meta``, which is made where it is missing."""
    meta = find(raw, b"params", b"_meta")
    if meta is not None:
        return insert_into(raw, meta, text) if raw[meta.value_at] == ord("{") else None
    params = find(raw, b"params")
    if params is None or raw[params.value_at] != ord("{"):
        return None
    return insert_into(raw, params, b'"_meta":{' + text + b"}")


_SPLIT = "a line reader that splits here executes the hidden call"
FENCES: tuple[tuple[str, bytes, Expect, str], ...] = (
    ("plain", b"", "accept", "readers that look for calls at any depth"),
    ("cr", b"\r", "profile", _SPLIT + ": text mode, Node readline"),
    ("line-separator", "\u2028".encode(), "reject", _SPLIT + ": str.splitlines"),
    ("paragraph-separator", "\u2029".encode(), "reject", _SPLIT + ": str.splitlines"),
    ("next-line", "\u0085".encode(), "reject", _SPLIT + ": str.splitlines"),
    ("vertical-tab", b"\x0b", "reject", _SPLIT + ": str.splitlines"),
    ("form-feed", b"\x0c", "reject", _SPLIT + ": str.splitlines"),
    ("record-separator", b"\x1e", "reject", _SPLIT + ": RFC 7464 readers"),
)


_FENCE_DEVIATIONS: dict[str, tuple[str, ...]] = {
    "plain": ("none",),
    "cr": ("frame-cr:separator", "none"),
}


def _nested(name: str, fence: bytes, expect: Expect, origin: str) -> Operator:
    @rewrite(
        f"nested-{name}",
        "structure",
        expect,
        f"a complete call as a value in _meta, fenced by {name.replace('-', ' ')}",
        origin,
        deviations=_FENCE_DEVIATIONS.get(name, ("json-syntax:other-white-space",)),
    )
    def operator(source: Source, scene: Scene) -> bytes | None:
        del source
        call = hidden_call(scene.hidden, scene.version)
        return into_meta(scene.frame.raw, b'"example.com/nested":' + fence + call + fence)

    return operator


def _stringified(name: str, path: tuple[bytes, ...]) -> Operator:
    @rewrite(
        f"stringified-{name}",
        "structure",
        "reject",
        f"{name} is a string that holds the JSON text",
        "double encoding; models that write arguments as a string",
        deviations=("rpc-params:string",) if name == "params" else ("mcp-params:arguments-type",),
    )
    def operator(source: Source, scene: Scene) -> bytes | None:
        del source
        member = find(scene.frame.raw, *path)
        method = find(scene.frame.raw, b"method")
        if member is None or method is None:
            return None
        text = member.value(scene.frame.raw).decode(errors="replace")
        return replace_value(scene.frame.raw, member, json.dumps(text).encode())

    return operator


@rewrite(
    "version-unsupported",
    "structure",
    "reject",
    "the request names a protocol version that nobody speaks",
    "MCP 2026-07-28: UnsupportedProtocolVersionError",
    host=HOSTS["meta-version"],
    versions=("2026-07-28",),
    deviations=("mcp-version:unsupported",),
)
def _version(source: Source, scene: Scene) -> bytes | None:
    raw = scene.frame.raw
    member = find(raw, b"params", b"_meta", b"io.modelcontextprotocol/protocolVersion")
    if member is None:
        return None
    other = source.choice((b'"2020-01-01"', b'"2025-11-25"', b'"2026-07-28 "', b'""'))
    return replace_value(raw, member, other)


def _other_tool(name: str, trait: str, reason: str, change: Callable[[bytes], bytes]) -> Operator:
    @rewrite(
        f"tool-name-{name}",
        "structure",
        "reject",
        reason,
        "readers that trim names or compare them without case",
        deviations=(f"tool-unknown:{trait}",),
    )
    def operator(source: Source, scene: Scene) -> bytes | None:
        del source
        raw = scene.frame.raw
        method, tool = find(raw, b"method"), find(raw, b"params", b"name")
        if method is None or tool is None or method.value(raw) != b'"tools/call"':
            return None
        value = tool.value(raw)
        return replace_value(raw, tool, change(value)) if value[:1] == b'"' else None

    return operator


_OTHER_TOOLS = (
    _other_tool("space", "white-space", "a space behind a tool's name", lambda v: v[:-1] + b' "'),
    _other_tool("nul", "white-space", "NUL behind a tool's name", lambda v: v[:-1] + b'\\u0000"'),
    _other_tool("case", "other-case", "a tool's name in capitals", bytes.upper),
)


def _unnamed(name: str, what: str, *, methods: tuple[bytes, ...] = ()) -> Operator:
    @rewrite(
        name,
        "structure",
        "reject",
        f"{what} without its id, which makes a notification of it",
        "dispatchers by method alone: the call acts, and nobody is told",
        deviations=("mcp-kind:no-id",),
    )
    def operator(source: Source, scene: Scene) -> bytes | None:
        del source
        raw = scene.frame.raw
        ident, method = find(raw, b"id"), find(raw, b"method")
        if ident is None or method is None or (methods and method.value(raw) not in methods):
            return None
        return remove_member(raw, ident)

    return operator


OPERATORS: tuple[Operator, ...] = (
    *_RIVALS,
    _version,
    *(_renamed(member) for member in PATHS),
    *_EXTRAS,
    *_HYBRIDS,
    *(_nested(*row) for row in FENCES),
    _stringified("params", (b"params",)),
    _stringified("arguments", _ARGUMENTS),
    *_OTHER_TOOLS,
    *BATCHES,
    _unnamed("id-absent", "a request"),
    _unnamed("id-absent-call", "a call", methods=(b'"tools/call"',)),
)
