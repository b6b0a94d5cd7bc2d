"""Arrays of messages: known to one protocol version only, and easy to execute too early."""

from __future__ import annotations

from wirefence.strategies.damage.base import Expect, Operator, Scene, hidden_call, rewrite
from wirefence.strategies.damage.spans import find, replace_value
from wirefence.strategies.source import Source

__all__ = ["FORMS", "OPERATORS"]

_INITIALIZE = (
    b'{"jsonrpc":"2.0","id":"again","method":"initialize","params":{"protocolVersion":"2025-03-26",'
    b'"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}'
)

FORMS: tuple[tuple[str, bytes, Expect, str], ...] = (
    ("single", b"[GOOD]", "profile", "an array around the message"),
    ("pair", b"[GOOD,CALL]", "profile", "two calls in one array"),
    ("invalid-last", b"[GOOD,CALL,1]", "reject", "an invalid member after the calls"),
    ("invalid-first", b"[null,GOOD,CALL]", "reject", "an invalid member before the calls"),
    ("damaged-last", b'[GOOD,CALL,{"jsonrpc":"1.0"}]', "reject", "a member of another version"),
    ("same-id", b"[GOOD,SAME]", "profile", "two requests of one id"),
    ("nested", b"[[GOOD]]", "reject", "an array in an array"),
    ("initialize", b"[INIT,CALL]", "reject", "a handshake and a call in one array"),
    ("empty", b"[]", "reject", "an array of nothing"),
    ("unclosed", b"[GOOD,CALL", "reject", "an array without its end"),
    ("trailing-comma", b"[GOOD,CALL,]", "reject", "an array with a trailing comma"),
    ("object", b'{"0":GOOD,"1":CALL}', "reject", "an object with the places for names"),
)

_OLD = "rpc-batch:other-version"
_INIT, _BAD = "rpc-batch:initialize", "rpc-batch:bad-member"
_DEVIATIONS: dict[str, tuple[str, ...]] = {
    "single": (_OLD, _INIT, "none"),
    **dict.fromkeys(("pair", "same-id"), (_OLD, _INIT, _BAD, "none")),
    **dict.fromkeys(("invalid-last", "invalid-first", "damaged-last"), (_OLD, _INIT, _BAD)),
    "nested": (_OLD, _BAD),
    "initialize": (_OLD, _INIT),
    "empty": (_OLD, "rpc-batch:empty"),
    "unclosed": ("json-syntax:unclosed",),
    "trailing-comma": ("json-syntax:trailing-comma",),
    "object": ("rpc-version:absent",),
}
"""By the name of the form."""


def _copy_id(scene: Scene, call: bytes) -> bytes:
    good, other = find(scene.body, b"id"), find(call, b"id")
    if good is None or other is None:
        return call
    return replace_value(call, other, good.value(scene.body))


def _make_operator(name: str, form: bytes, expect: Expect, reason: str) -> Operator:
    @rewrite(
        f"batch-{name}",
        "structure",
        expect,
        reason,
        "JSON-RPC 2.0 section 6; MCP 2025-03-26 has batches, the others have none",
        deviations=_DEVIATIONS[name],
    )
    def operator(source: Source, scene: Scene) -> bytes | None:
        del source
        if not scene.body.lstrip(b" \t").startswith(b"{"):
            return None
        call = hidden_call(scene.hidden, scene.version)
        line = form.replace(b"INIT", _INITIALIZE).replace(b"CALL", call)
        if b"SAME" in form:
            line = line.replace(b"SAME", _copy_id(scene, call))
        return line.replace(b"GOOD", scene.body) + b"\n"

    return operator


OPERATORS: tuple[Operator, ...] = tuple(_make_operator(*row) for row in FORMS)
