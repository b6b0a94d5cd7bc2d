"""Messages of the other kind: what must be asked only told, and what must be told asked.

A dispatcher that looks at the method alone takes both. Every method has an operator of its own: one
that is missing from a table of methods shows only where nothing else is wrong.
"""

from __future__ import annotations

import json

from wirefence.strategies.damage.base import Operator, Scene, rewrite
from wirefence.strategies.damage.hosts import HOSTS, host_of
from wirefence.strategies.damage.spans import find, insert_member, remove_member, replace_value
from wirefence.strategies.mcp_kinds import KINDS, Kind
from wirefence.strategies.records import VERSIONS, Version
from wirefence.strategies.source import Source

__all__ = ["OPERATORS"]

_SENT = [kind for kind in KINDS if kind.method and "client-to-server" in kind.senders]
_BY_METHOD = "dispatchers by method alone"
_OLD = "tables of methods that are not those of the version that was agreed on"


def _versions_of(kind: Kind) -> tuple[Version, ...]:
    return tuple(version for version in VERSIONS if kind.since <= version <= kind.until)


def _spell_method(kind: Kind) -> str:
    return kind.method.removeprefix("notifications/").replace("/", "-").replace("_", "-").lower()


def _unname(kind: Kind) -> Operator:
    """Make the operator that takes the id from requests of one method."""
    wanted = b'"%b"' % kind.method.encode()

    @rewrite(
        f"unnamed-{_spell_method(kind)}",
        "structure",
        "reject",
        f"{kind.method} without its id, which makes a notification of it",
        _BY_METHOD,
        host=host_of(kind),
        versions=_versions_of(kind),
        deviations=("mcp-kind:no-id",),
    )
    def operator(source: Source, scene: Scene) -> bytes | None:
        del source
        raw = scene.frame.raw
        ident, method = find(raw, b"id"), find(raw, b"method")
        if ident is None or method is None or method.value(raw) != wanted:
            return None
        return remove_member(raw, ident)

    return operator


def _name(kind: Kind) -> Operator:
    """Make the operator that gives an id to notifications of one method."""
    wanted = b'"%b"' % kind.method.encode()

    @rewrite(
        f"named-{_spell_method(kind)}",
        "structure",
        "reject",
        f"{kind.method} with an id, which makes a request of it",
        _BY_METHOD,
        host=host_of(kind),
        versions=_versions_of(kind),
        deviations=("mcp-kind:id",),
    )
    def operator(source: Source, scene: Scene) -> bytes | None:
        raw = scene.frame.raw
        method = find(raw, b"method")
        if method is None or method.value(raw) != wanted or find(raw, b"id") is not None:
            return None
        text = json.dumps(scene.hidden).encode()
        return insert_member(raw, method, b'"id":' + text, before=source.chance(1, 2))

    return operator


def _methods(sort: str, version: Version) -> set[bytes]:
    """The methods of a sort, of all versions and directions, that clients of one may not send."""
    mine = {kind.method for kind in _SENT if version in _versions_of(kind)}
    return {kind.method.encode() for kind in KINDS if kind.sort == sort and kind.method not in mine}


_REQUESTS = {version: sorted(_methods("request", version)) for version in VERSIONS}
_NOTICES = {version: sorted(_methods("notification", version)) for version in VERSIONS}
_STRANGE_PARAMS = (
    *(b"{}", b'{"progressToken":null,"progress":"half"}', b'{"requestId":null,"reason":1}'),
    b'{"taskId":1,"status":null}',
)


@rewrite(
    "foreign-request",
    "structure",
    "reject",
    "the method of a request is one of another version, or of the server",
    _OLD,
    deviations=("mcp-method:unknown", "life-not-initialized:request", "life-not-ready:request"),
)
def _foreign_request(source: Source, scene: Scene) -> bytes | None:
    raw = scene.frame.raw
    ident, method = find(raw, b"id"), find(raw, b"method")
    if ident is None or method is None:
        return None
    other = source.choice(_REQUESTS[scene.version])
    return replace_value(raw, method, b'"%b"' % other)


def _is_notice(raw: bytes) -> bool:
    """Whether a frame is a notification that no handshake waits for."""
    method = find(raw, b"method")
    if method is None or find(raw, b"id") is not None:
        return False
    return method.value(raw) not in (b'"notifications/initialized"', b'"initialize"')


@rewrite(
    "foreign-notification",
    "structure",
    "accept",
    "a notification of another version, or of the server, whose params mean nothing here",
    _OLD,
    host=HOSTS["request-id"],
    deviations=("none",),
)
def _foreign_notice(source: Source, scene: Scene) -> bytes | None:
    if not _is_notice(scene.frame.raw):
        return None
    method = source.choice(_NOTICES[scene.version])
    return _write_notice(method, source.choice(_STRANGE_PARAMS))


@rewrite(
    "foreign-progress",
    "structure",
    "accept",
    "notifications/progress in the version whose clients send none, with params of other types",
    _OLD,
    host=HOSTS["request-id"],
    versions=("2026-07-28",),
    deviations=("none",),
)
def _foreign_progress(source: Source, scene: Scene) -> bytes | None:
    del source
    if not _is_notice(scene.frame.raw):
        return None
    return _write_notice(b"notifications/progress", _STRANGE_PARAMS[1])


def _write_notice(method: bytes, params: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","method":"%b","params":%b}\n' % (method, params)


OPERATORS: tuple[Operator, ...] = (
    *(_unname(kind) for kind in _SENT if kind.sort == "request" and kind.method != "tools/call"),
    *(_name(kind) for kind in _SENT if kind.sort == "notification"),
    _foreign_request,
    _foreign_notice,
    _foreign_progress,
)
"""A call without its id is in ``strategies.damage.structure``."""
