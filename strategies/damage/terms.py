"""Protocol versions that nobody agreed on, and a handshake inside of an array.

Versions are dates in strings. Readers compare them as numbers, by prefix or by their order, and
some repeat in their answer whatever they were given.
"""

from __future__ import annotations

import json

from wirefence.strategies.damage.base import Operator, Scene, rewrite
from wirefence.strategies.damage.hosts import HOSTS
from wirefence.strategies.damage.spans import find, replace_value
from wirefence.strategies.records import VERSIONS, Version
from wirefence.strategies.source import Source

__all__ = ["OPERATORS"]

_STATELESS: Version = "2026-07-28"
_MEMBER = (b"params", b"_meta", b"io.modelcontextprotocol/protocolVersion")
_ORIGIN = "MCP 2026-07-28: UnsupportedProtocolVersionError"
_KINDS: tuple[tuple[str, str, tuple[bytes, ...]], ...] = (
    (
        "older",
        "the request names an older protocol version",
        tuple(b'"%b"' % version.encode() for version in VERSIONS if version != _STATELESS),
    ),
    (
        "later",
        "the request names a protocol version of the future",
        (b'"2026-07-29"', b'"2027-01-01"', b'"9999-12-31"', b'"2026-08-28"'),
    ),
    (
        "form",
        "the request names a protocol version in another form",
        (
            *(b'"2026-7-28"', b'"2026-07-28-draft"', b'"2026/07/28"', b'"20260728"', b'"v1"'),
            *(b'"2026-07-28\\u0000"', '"２０２６-07-28"'.encode(), b'"-2026-07-28"', b'"DRAFT"'),
        ),
    ),
)


def _unsupported(name: str, reason: str, versions: tuple[bytes, ...]) -> Operator:
    @rewrite(
        f"version-{name}",
        "structure",
        "reject",
        reason,
        _ORIGIN,
        host=HOSTS["meta-version"],
        versions=(_STATELESS,),
        deviations=("mcp-version:unsupported",),
    )
    def operator(source: Source, scene: Scene) -> bytes | None:
        member = find(scene.frame.raw, *_MEMBER)
        if member is None:
            return None
        return replace_value(scene.frame.raw, member, source.choice(versions))

    return operator


@rewrite(
    "version-action",
    "structure",
    "reject",
    "the protocol version holds the name of the action, which an error must not repeat",
    "servers that put what they were sent into the text or data of an error",
    host=HOSTS["meta-version"],
    versions=(_STATELESS,),
    deviations=("mcp-version:unsupported",),
)
def _action(source: Source, scene: Scene) -> bytes | None:
    member = find(scene.frame.raw, *_MEMBER)
    if member is None or not scene.frame.nonce:
        return None
    form = source.choice(("{}", "2026-07-{}", "2026-07-28-{}", "{}-2026-07-28", "2026-{}-07-28"))
    return replace_value(
        scene.frame.raw, member, json.dumps(form.format(scene.frame.nonce)).encode()
    )


_HANDSHAKE = tuple(version for version in VERSIONS if version != _STATELESS)


def _initialize(scene: Scene) -> bool:
    method = find(scene.frame.raw, b"method")
    return method is not None and method.value(scene.frame.raw) == b'"initialize"'


@rewrite(
    "version-initialize",
    "structure",
    "accept",
    "initialize offers a protocol version that the server does not speak",
    "MCP lifecycle, version negotiation: the server answers with one that it supports",
    versions=_HANDSHAKE,
    deviations=("none",),
)
def _offer(source: Source, scene: Scene) -> bytes | None:
    member = find(scene.frame.raw, b"params", b"protocolVersion")
    if member is None or not _initialize(scene):
        return None
    every = [b'""', *(version for _, _, versions in _KINDS for version in versions)]
    spoken = b'"%b"' % scene.version.encode(), member.value(scene.frame.raw)
    others = [version for version in every if version not in spoken]
    return replace_value(scene.frame.raw, member, source.choice(others))


@rewrite(
    "batch-handshake",
    "structure",
    "reject",
    "the first initialize of the session in an array",
    "MCP 2025-03-26, lifecycle: initialize MUST NOT be part of a batch",
    versions=("2025-03-26",),
    deviations=("rpc-batch:initialize",),
)
def _array(source: Source, scene: Scene) -> bytes | None:
    if not _initialize(scene):
        return None
    ping = b'{"jsonrpc":"2.0","id":"%b","method":"ping"}' % scene.hidden.encode()
    body = scene.body
    members = source.choice(((body,), (body, ping), (ping, body)))
    return b"[%b]\n" % b",".join(members)


OPERATORS: tuple[Operator, ...] = (
    *(_unsupported(*row) for row in _KINDS),
    _action,
    _offer,
    _array,
)
