"""Good messages at the wrong time, and rejected ones that must leave nothing behind."""

from __future__ import annotations

import json

from wirefence.strategies.contract import Contract
from wirefence.strategies.damage.base import Damaged, Operator, Scene, hidden_call, reshape
from wirefence.strategies.damage.spans import find, replace_value
from wirefence.strategies.records import Frame
from wirefence.strategies.source import Source

__all__ = ["OPERATORS"]

_STATELESS = "2026-07-28"
_EARLY = "servers that dispatch before the handshake is over"
_LEFTOVER = "parsers and sessions that keep what they read before they failed"
_TWICE = "state that a second handshake resets"


def _insert(scene: Scene, at: int, *frames: Frame) -> Damaged:
    return Damaged((*scene.frames[:at], *frames, *scene.frames[at:]))


def _call(scene: Scene, name: str, tool: str = "record") -> Frame:
    call = hidden_call(scene.hidden, scene.version, tool)
    return Frame(call + b"\n", scene.hidden, (name,))


def _line(text: bytes, name: str) -> Frame:
    return Frame(text + b"\n", "", (name,))


def _method_at(scene: Scene, method: bytes) -> int | None:
    quoted = b'"%s"' % method
    return next((at for at, frame in enumerate(scene.frames) if quoted in frame.raw[:4_096]), None)


def _end_of_handshake(scene: Scene) -> int:
    """The index of the first frame after the handshake."""
    at = _method_at(scene, b"notifications/initialized")
    return 0 if at is None else at + 1


@reshape(
    "call-before-initialize",
    "lifecycle",
    "reject",
    "a call comes first",
    _EARLY,
    deviations=("life-not-initialized:request",),
)
def _call_first(source: Source, scene: Scene) -> Damaged | None:
    del source
    if scene.version == _STATELESS or _method_at(scene, b"initialize") is None:
        return None
    return _insert(scene, 0, _call(scene, "call-before-initialize"))


@reshape(
    "call-before-initialized",
    "lifecycle",
    "profile",
    "a call in the handshake",
    _EARLY,
    deviations=("life-not-ready:request", "none"),
)
def _call_within(source: Source, scene: Scene) -> Damaged | None:
    del source
    at = _method_at(scene, b"initialize")
    return None if at is None else _insert(scene, at + 1, _call(scene, "call-before-initialized"))


def _half_a_call(scene: Scene, source: Source, name: str) -> Frame:
    call = hidden_call(scene.hidden, scene.version)
    return _line(call[: source.integer(1, len(call) - 1)], name)


def _damaged(place: str, offset: int) -> Operator:
    name = f"damaged-{place}-handshake"

    @reshape(
        name,
        "lifecycle",
        "reject",
        f"half a call {place} the handshake",
        _LEFTOVER,
        deviations=("json-syntax:unclosed", "json-syntax:unclosed-string"),
    )
    def operator(source: Source, scene: Scene) -> Damaged | None:
        start = _method_at(scene, b"initialize")
        if start is None:
            return None
        at = _end_of_handshake(scene) if offset == 2 else start + offset
        return _insert(scene, at, _half_a_call(scene, source, name))

    return operator


@reshape(
    "initialize-twice",
    "lifecycle",
    "reject",
    "initialize comes again",
    _TWICE,
    deviations=("life-reinitialize:request",),
)
def _initialize(source: Source, scene: Scene) -> Damaged | None:
    at = _method_at(scene, b"initialize")
    if at is None:
        return None
    first = scene.frames[at].raw
    member = find(first, b"id")
    if member is None:
        return None
    again = replace_value(first, member, b'"%s"' % scene.hidden.encode())
    place = source.integer(_end_of_handshake(scene), len(scene.frames))
    return _insert(scene, max(place, at + 1), Frame(again, "", ("initialize-twice",)))


@reshape(
    "initialized-twice",
    "lifecycle",
    "profile",
    "initialized comes again",
    _TWICE,
    deviations=("life-reinitialize:notification", "none"),
)
def _initialized(source: Source, scene: Scene) -> Damaged | None:
    at = _method_at(scene, b"notifications/initialized")
    if at is None:
        return None
    again = Frame(scene.frames[at].raw, "", ("initialized-twice",))
    return _insert(scene, source.integer(at + 1, len(scene.frames)), again)


def _make_dropping_operator(name: str, method: bytes, reason: str, *deviations: str) -> Operator:
    named = ("none", "rpc-batch:bad-member", *deviations)

    @reshape(name, "lifecycle", "profile", reason, _EARLY, deviations=named)
    def operator(source: Source, scene: Scene) -> Damaged | None:
        del source
        at = _method_at(scene, method)
        if at is None or len(scene.frames) < 2:
            return None
        return Damaged((*scene.frames[:at], *scene.frames[at + 1 :]))

    return operator


@reshape(
    "id-in-flight",
    "lifecycle",
    "reject",
    "another call under the id of the request before it",
    "pending-request tables keyed by id",
    deviations=("life-id-reuse:request", "life-not-ready:request", "life-not-initialized:request"),
)
def _same_id(source: Source, scene: Scene) -> Damaged | None:
    del source
    member = find(scene.frame.raw, b"id")
    if member is None or find(scene.frame.raw, b"method") is None:
        return None
    call = hidden_call(scene.hidden, scene.version)
    other = find(call, b"id")
    assert other is not None
    raw = replace_value(call, other, member.value(scene.frame.raw)) + b"\n"
    return _insert(scene, scene.at + 1, Frame(raw, scene.hidden, ("id-in-flight",)))


def _cancel(token: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}' % token


@reshape(
    "cancel-unknown",
    "lifecycle",
    "accept",
    "an unknown request is cancelled",
    _LEFTOVER,
    deviations=("none",),
)
def _cancel_unknown(source: Source, scene: Scene) -> Damaged | None:
    at = source.integer(_end_of_handshake(scene), len(scene.frames))
    return _insert(scene, at, _line(_cancel(b'"never-sent"'), "cancel-unknown"))


@reshape(
    "cancel-early",
    "lifecycle",
    "accept",
    "a request is cancelled before it comes",
    _LEFTOVER,
    deviations=("none",),
)
def _cancel_early(source: Source, scene: Scene) -> Damaged | None:
    del source
    member = find(scene.frame.raw, b"id")
    if member is None or scene.at < _end_of_handshake(scene):
        return None
    return _insert(scene, scene.at, _line(_cancel(member.value(scene.frame.raw)), "cancel-early"))


@reshape(
    "call-after-shutdown",
    "lifecycle",
    "reject",
    "a shutdown request, exit, and a call",
    "habits of the Language Server Protocol, where shutdown ends a session",
    deviations=("mcp-method:unknown", "none"),
)
def _shutdown(source: Source, scene: Scene) -> Damaged | None:
    name = "call-after-shutdown"
    ending = b'{"jsonrpc":"2.0","id":"%s-end","method":"shutdown"}' % scene.hidden.encode()
    lines = (_line(ending, name), _line(b'{"jsonrpc":"2.0","method":"exit"}', name))
    at = source.integer(_end_of_handshake(scene), len(scene.frames))
    return _insert(scene, at, *lines, _call(scene, name))


@reshape(
    "call-after-end-mark",
    "lifecycle",
    "reject",
    "a line that looks like the end of input, then a call",
    "Ctrl-D and Ctrl-Z characters, NUL, the word quit",
    deviations=(
        "json-syntax:foreign-text",
        "json-syntax:control-character",
        "json-syntax:nul",
        "rpc-not-object:null",
        "none",
    ),
)
def _end_mark(source: Source, scene: Scene) -> Damaged | None:
    name = "call-after-end-mark"
    mark = source.choice((b"\x04", b"\x1a", b"\x00", b"quit", b"EOF", b"null"))
    at = source.integer(_end_of_handshake(scene), len(scene.frames))
    return _insert(scene, at, _line(mark, name), _call(scene, name))


def _with_token(call: bytes) -> bytes:
    token = b'"wirefence/token":%s' % json.dumps(Contract().token).encode()
    if b'"_meta":{' in call:
        return call.replace(b'"_meta":{', b'"_meta":{' + token + b",", 1)
    return call.replace(b'"params":{', b'"params":{"_meta":{' + token + b"},", 1)


@reshape(
    "permission-kept",
    "lifecycle",
    "reject",
    "a rejected frame brings the operator's token, an anonymous one calls the operator's tool",
    _LEFTOVER,
    deviations=(
        "authz-denied:no-token",
        "json-syntax:trailing",
        "json-syntax:nul",
        "utf8-invalid:invalid-utf8",
    ),
)
def _permission(source: Source, scene: Scene) -> Damaged | None:
    name = "permission-kept"
    call = hidden_call(scene.hidden, scene.version, "admin_reset", scene.hidden + "-token")
    bad = _with_token(call) + source.choice((b",", b"}", b"\x00", b" x", b"\xff"))
    at = source.integer(_end_of_handshake(scene), len(scene.frames))
    return _insert(scene, at, _line(bad, name), _call(scene, name, "admin_reset"))


@reshape(
    "half-request-kept",
    "lifecycle",
    "reject",
    "a rejected call with arguments, then a call without them",
    _LEFTOVER,
    deviations=(
        "tool-arguments:missing",
        "json-syntax:trailing",
        "json-syntax:nul",
        "utf8-invalid:invalid-utf8",
    ),
)
def _half(source: Source, scene: Scene) -> Damaged | None:
    name = "half-request-kept"
    call = hidden_call(scene.hidden, scene.version)
    bad = call + source.choice((b",", b"}", b"\x00", b" x", b"\xff"))
    empty = call.replace(b',"arguments":{"action":"%s"}' % scene.hidden.encode(), b"")
    at = source.integer(_end_of_handshake(scene), len(scene.frames))
    return _insert(scene, at, _line(bad, name), _line(empty, name))


@reshape(
    "response-unsolicited",
    "lifecycle",
    "profile",
    "a response to a request that was never sent",
    "pending-request tables that fail on a missing key",
    deviations=("life-unsolicited-response:response", "none"),
)
def _response(source: Source, scene: Scene) -> Damaged | None:
    text = source.choice((b'"result":{}', b'"error":{"code":-32603,"message":"none"}'))
    line = _line(b'{"jsonrpc":"2.0","id":"never-sent",%s}' % text, "response-unsolicited")
    return _insert(scene, source.integer(_end_of_handshake(scene), len(scene.frames)), line)


def _early(what: str, text: bytes) -> Operator:
    name = f"{what}-before-initialize"

    @reshape(
        name,
        "lifecycle",
        "profile",
        f"a {what} comes first",
        _EARLY,
        deviations=(f"life-not-initialized:{what}", "none"),
    )
    def operator(source: Source, scene: Scene) -> Damaged | None:
        del source
        if scene.version == _STATELESS or _method_at(scene, b"initialize") is None:
            return None
        return _insert(scene, 0, _line(text, name))

    return operator


@reshape(
    "id-of-rejected",
    "lifecycle",
    "reject",
    "a message that is rejected has the id of the good one behind it",
    "sessions that note an id before they know whether its message counts",
    deviations=("rpc-method:number", "mcp-kind:id"),
)
def _id_of_rejected(source: Source, scene: Scene) -> Damaged | None:
    raw = scene.frame.raw
    identity, method = find(raw, b"id"), find(raw, b"method")
    if identity is None or method is None:
        return None
    broken = source.choice(
        (
            replace_value(raw, method, b'"notifications/cancelled"'),
            replace_value(raw, method, b"1"),
        )
    )
    if scene.frame.nonce:
        mine, theirs = scene.hidden.encode(), scene.frame.nonce.encode()
        broken = broken.replace(b'"%s"' % theirs, b'"%s"' % mine)
    return _insert(scene, scene.at, _line(broken.rstrip(b"\n"), "id-of-rejected"))


OPERATORS: tuple[Operator, ...] = (
    _call_first,
    _call_within,
    _damaged("before", 0),
    _damaged("within", 1),
    _damaged("after", 2),
    _initialize,
    _initialized,
    _make_dropping_operator(
        "initialize-missing",
        b"initialize",
        "no handshake at all",
        "life-not-initialized:request",
        "life-not-initialized:notification",
    ),
    _make_dropping_operator(
        "initialized-missing",
        b"notifications/initialized",
        "half a handshake",
        "life-not-ready:request",
    ),
    _same_id,
    _cancel_unknown,
    _cancel_early,
    _shutdown,
    _end_mark,
    _permission,
    _half,
    _response,
    _id_of_rejected,
    _early("notification", _cancel(b'"never-sent"')),
    _early("response", b'{"jsonrpc":"2.0","id":"never-sent","result":{}}'),
)
