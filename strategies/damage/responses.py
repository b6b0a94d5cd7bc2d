"""Responses that are none: without an id, with one of another type, with the members of a request.

A server that sent no request may ignore a response, so it checks its form last, or never.
"""

from __future__ import annotations

from collections.abc import Callable

from wirefence.strategies.damage.base import Expect, Operator, Scene, rewrite
from wirefence.strategies.damage.hosts import HOSTS
from wirefence.strategies.damage.spans import (
    Member,
    find,
    insert_member,
    remove_member,
    replace_value,
)
from wirefence.strategies.records import VERSIONS, Version
from wirefence.strategies.source import Source

__all__ = ["OPERATORS"]

_Change = Callable[[Source, bytes, Member], bytes]

_PENDING = "pending-request tables that are searched before the message is checked"
_OTHER_IDS = (b"true", b"1.0", b"-0", b"[]", b"{}")


def _unname(_source: Source, raw: bytes, ident: Member) -> bytes:
    return remove_member(raw, ident)


def _null(_source: Source, raw: bytes, ident: Member) -> bytes:
    return replace_value(raw, ident, b"null")


def _confuse(source: Source, raw: bytes, ident: Member) -> bytes:
    return replace_value(raw, ident, source.choice(_OTHER_IDS))


def _ask(_source: Source, raw: bytes, ident: Member) -> bytes:
    return insert_member(raw, ident, b'"params":{}')


def _ask_wrongly(source: Source, raw: bytes, ident: Member) -> bytes:
    return insert_member(raw, ident, b'"params":' + source.choice((b"[]", b"null", b'""', b"1")))


def _answer_twice(source: Source, raw: bytes, ident: Member) -> bytes:
    """Add the other outcome, whichever the response has."""
    error = b'"error":{"code":-32603,"message":"none"}'
    other = error if find(raw, b"result") is not None else b'"result":{}'
    return insert_member(raw, ident, other, before=source.chance(1, 2))


_IDS = tuple(
    f"rpc-id:{kind}" for kind in ("boolean", "integral-fraction", "minus-zero", "array", "object")
)
_UNASKED = ("life-unsolicited-response:response", "none")
_PARAMS = ("rpc-unknown-member:params",)
_DEVIATIONS: dict[str, tuple[str, ...]] = {
    "result-unnamed": ("rpc-kind:no-id",),
    "error-unnamed": ("rpc-kind:no-id",),
    "error-unnamed-new": _UNASKED,
    "result-id-null": ("rpc-id:null",),
    "error-id-null": _UNASKED,
    **dict.fromkeys(("result-id-other", "error-id-other"), _IDS),
    **dict.fromkeys(("result-params", "error-params"), (*_PARAMS, "none")),
    **dict.fromkeys(
        ("result-params-confused", "error-params-confused"),
        (*_PARAMS, *(f"rpc-params:{kind}" for kind in ("null", "string", "array", "number"))),
    ),
    "result-and-error": ("rpc-kind:mixed",),
}
_ROWS: tuple[tuple[str, bytes, _Change, Expect, str], ...] = (
    ("result-unnamed", b"result", _unname, "reject", "a result without an id"),
    ("error-unnamed", b"error", _unname, "reject", "an error without an id"),
    ("error-unnamed-new", b"error", _unname, "profile", "an error without an id, as it may be"),
    ("result-id-null", b"result", _null, "reject", "a result for the id null"),
    ("error-id-null", b"error", _null, "profile", "an error for the id null"),
    ("result-id-other", b"result", _confuse, "reject", "the id of a result has another type"),
    ("error-id-other", b"error", _confuse, "reject", "the id of an error has another type"),
    ("result-params", b"result", _ask, "profile", "a result with params"),
    ("error-params", b"error", _ask, "profile", "an error with params"),
    ("result-params-confused", b"result", _ask_wrongly, "reject", "params of a result, no object"),
    ("error-params-confused", b"error", _ask_wrongly, "reject", "params of an error, no object"),
    ("result-and-error", b"result", _answer_twice, "reject", "a result that is an error too"),
)


_OPTIONAL: tuple[Version, ...] = ("2025-11-25", "2026-07-28")
"""Versions in which an error may have no id."""
_VERSIONS: dict[str, tuple[Version, ...]] = {
    "error-unnamed": tuple(version for version in VERSIONS if version not in _OPTIONAL),
    "error-unnamed-new": _OPTIONAL,
}


def _respond(name: str, outcome: bytes, change: _Change, expect: Expect, reason: str) -> Operator:
    @rewrite(
        name,
        "structure",
        expect,
        reason,
        _PENDING,
        host=HOSTS[outcome.decode()],
        versions=_VERSIONS.get(name, VERSIONS),
        deviations=_DEVIATIONS[name],
    )
    def operator(source: Source, scene: Scene) -> bytes | None:
        raw = scene.frame.raw
        ident = find(raw, b"id")
        if ident is None or find(raw, outcome) is None or find(raw, b"method") is not None:
            return None
        return change(source, raw, ident)

    return operator


OPERATORS: tuple[Operator, ...] = tuple(_respond(*row) for row in _ROWS)
