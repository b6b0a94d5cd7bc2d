"""Whole sessions: the handshake, then calls, each naming its own action.

A session is first made good in every respect, ids and lifecycle included, and only
then handed to the damage. So whatever is rejected is rejected for the damage that was done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from wirefence.strategies.mcp import message_of
from wirefence.strategies.mcp_calls import call
from wirefence.strategies.mcp_kinds import kinds
from wirefence.strategies.mcp_message import Message, batch, request
from wirefence.strategies.mcp_values import dump, meta
from wirefence.strategies.records import VERSIONS, Case, Frame, Version
from wirefence.strategies.source import RandomSource, Source

__all__ = ["Damage", "frame", "handshake", "session"]

Damage = Callable[
    [Source, list[Frame], Version], tuple[list[Frame], tuple[int, ...], tuple[str, ...]]
]
"""Takes the frames of a good session; gives frames, cuts and the names of session-wide damage."""

Step = Literal["call", "list", "probe", "other", "notice", "batch"]

_STEPS: tuple[Step, ...] = ("call",) * 22 + ("list", "list", "probe", "other", "other", "notice")
_SERVED = ("initialize", "ping", "server/discover", "tools/list", "tools/call")
_INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
_TEMPLATES = 16


@dataclass(frozen=True, slots=True)
class _Ids:
    """Ids that never repeat in a session, typed: 1 and "1" are two ids."""

    style: Literal["number", "text", "both", "negative", "large"]

    def at(self, index: int) -> bytes:
        """The raw id of the request number ``index``, counted from 0."""
        if self.style == "number":
            return b"%d" % (index + 1)
        if self.style == "text":
            return b'"r-%d"' % index
        if self.style == "both":
            return (b'"%d"' if index & 1 else b"%d") % (index >> 1)
        if self.style == "negative":
            return b"%d" % (-1 - index)
        return b"%d" % (2**53 - 1 - index)


_IDS = (
    *(_Ids("number"), _Ids("number"), _Ids("number"), _Ids("text")),
    *(_Ids("both"), _Ids("negative"), _Ids("large")),
)


def _make_initialize_params(version: Version) -> tuple[bytes, ...]:
    """Params of ``initialize``, made once: no session depends on what a client can do."""
    kind = next(kind for kind in kinds(version, "client-to-server") if kind.method == "initialize")
    plain = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "wirefence", "version": "1"},
    }
    source = RandomSource(0)
    made = [dump(kind.build(source, version)) for _ in range(_TEMPLATES)]
    strange = dump(plain | {"protocolVersion": "1.0"})
    return (dump(plain), *made, strange)


_INITIALIZE = {
    version: _make_initialize_params(version) for version in VERSIONS if version < "2026-07-28"
}
_UNSERVED = {
    version: [
        kind for kind in kinds(version, "client-to-server", "request") if kind.method not in _SERVED
    ]
    for version in VERSIONS
}
_NOTICES = {
    version: [
        kind
        for kind in kinds(version, "client-to-server", "notification")
        if kind.name != "InitializedNotification"
    ]
    for version in VERSIONS
}


def handshake(source: Source, version: Version, ident: bytes = b"0") -> list[Frame]:
    """``initialize`` with the raw id ``ident``, and ``notifications/initialized``.

    Empty from 2026-07-28 on, where each request stands alone.
    """
    if version not in _INITIALIZE:
        return []
    params = source.choice(_INITIALIZE[version])
    return [
        request("InitializeRequest", ident, b"initialize", params).frame(),
        Frame(_INITIALIZED),
    ]


def frame(
    source: Source, version: Version = "2025-11-25", nonce: str = "a", ident: bytes = b"1"
) -> Frame:
    """One good frame for a session that is ready: mostly a ``tools/call`` that names ``nonce``.

    ``ident`` is a raw id, an integer token or a string.
    """
    # A batch needs a second id: whatever the first is, text with a suffix is not the same.
    return _good_frame(source, version, nonce, (ident, b'"%b.2"' % ident.strip(b'"')))


def _good_frame(source: Source, version: Version, nonce: str, ids: Sequence[bytes]) -> Frame:
    """A good frame; ``ids`` are two unused ids, the second for a frame that needs two."""
    step = source.choice(_STEPS)
    if step == "call":
        if version == "2025-03-26" and source.chance(1, 12):
            return _batch(source, version, nonce, ids)
        return call(source, version, nonce, ids[0]).frame(spaced=source.chance(1, 8))
    return _frame_without_action(source, version, step, ids[0]).frame()


def _frame_without_action(source: Source, version: Version, step: Step, ident: bytes) -> Message:
    """A frame that names no action: what is served, what is refused, what needs no answer."""
    if step == "list":
        return request(
            "ListToolsRequest", ident, b"tools/list", _params_without_arguments(source, version)
        )
    if step == "probe":
        old = version < "2026-07-28"
        kind, method = ("PingRequest", b"ping") if old else ("DiscoverRequest", b"server/discover")
        return request(kind, ident, method, _params_without_arguments(source, version))
    if step == "notice":
        return message_of(source, version, source.choice(_NOTICES[version]))
    return message_of(source, version, source.choice(_UNSERVED[version]), ident=ident)


def _params_without_arguments(source: Source, version: Version) -> bytes:
    """Params that hold nothing but ``_meta``; ``b""`` where they may be absent and are."""
    carried = meta(source, version)
    return b'{"_meta":%b}' % carried if carried else source.choice((b"", b"{}"))


def _batch(source: Source, version: Version, nonce: str, ids: Sequence[bytes]) -> Frame:
    """A call and something else, in one of 2025-03-26's batches."""
    acting = call(source, version, nonce, ids[0])
    members = [
        acting,
        _frame_without_action(source, version, source.choice(("probe", "list", "notice")), ids[1]),
    ]
    if source.chance(1, 2):
        members.reverse()
    return Frame(batch(members) + b"\n", acting.nonce)


def session(
    source: Source,
    version: Version = "2025-11-25",
    *,
    damage: Damage | None = None,
    prefix: str = "",
    always: bool = False,
) -> Case:
    """A whole session of a client: handshake and one to five frames.

    Every frame that acts names an action of its own, ``prefix`` and its number. Without ``damage``
    no frame is rejected under the strict profile, though some requests are refused. With it, seven
    of eight sessions are damaged, or ``always`` each. Raises whatever ``damage`` raises.
    """
    # Split before the frames: what damage chooses must not depend on how many frames there are.
    damaging = source.split()
    ids = source.choice(_IDS)
    frames = _opening(source.split(), version, ids)
    base = len(frames)
    for number in range(source.integer(1, 5)):
        pair = (ids.at(base + 2 * number), ids.at(base + 2 * number + 1))
        frames.append(_good_frame(source.split(), version, f"{prefix}{number}", pair))
    cuts: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    if damage is not None and (always or damaging.chance(7, 8)):
        frames, cuts, names = damage(damaging, frames, version)
    elif source.chance(1, 8):
        cuts = _cuts(source, sum([len(frame.raw) for frame in frames]))
    return Case(tuple(frames), cuts, version, "client-to-server", names)


def _opening(source: Source, version: Version, ids: _Ids) -> list[Frame]:
    frames = handshake(source, version, ids.at(0))
    if frames and source.chance(1, 16):
        ping = request(
            "PingRequest", ids.at(1), b"ping", _params_without_arguments(source, version)
        )
        # Ping alone may come before, and in the middle of, the handshake.
        frames.insert(source.integer(0, 1), ping.frame())
    return frames


def _cuts(source: Source, size: int) -> tuple[int, ...]:
    """A few places where the writer pauses, which must not change what the bytes mean."""
    places = {source.integer(1, size - 1) for _ in range(source.integer(1, 3))}
    return tuple(sorted(places))
