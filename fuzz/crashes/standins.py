"""Frames to be rejected, or requests to be refused, that stand in for another such frame.

The key insight: whether a fault is about one frame, about every rejected frame, or about a piece of
one that was kept, is told by what still shows with frames in its place that have in common nothing
else, each rejected for another reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from wirefence.fuzz.crashes.causes import request
from wirefence.fuzz.shrink.pauses import move_pauses, pause_after_every_byte
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.oracles.records import FrameVerdict
from wirefence.oracles.session import judge_session
from wirefence.strategies.contract import Contract
from wirefence.strategies.records import Case, Version

__all__ = [
    "CALL",
    "KINDS",
    "OWN_ID",
    "UNAUTHORIZED",
    "UNREADABLE",
    "instead",
    "like",
    "pieces",
    "spelled",
    "unbatched",
    "without_calls",
]

UNREADABLE = (b"x", b"\xff", b'{"a":0,"a":0}')
KINDS = (
    UNREADABLE,
    (
        b'{"jsonrpc":"2.0","id":%b,"method":0}',
        b'{"id":%b,"method":"a"}',
        b'{"jsonrpc":"2.0","id":%b,"method":"a","x":0}',
        b'{"jsonrpc":"2.0","id":%b,"method":"a","params":0}',
    ),
    (
        b'{"jsonrpc":"2.0","id":%b,"method":"a"}',
        b'{"jsonrpc":"2.0","id":%b,"method":"tools/call","params":{"name":"a"}}',
    ),
)
"""No JSON of the contract; no message of it; requests that are refused."""

UNAUTHORIZED = (
    b'{"jsonrpc":"2.0","id":%b,"method":"tools/call","params":{"name":"admin_reset",'
    b'"arguments":{"action":"zz9"}}}',
    b'{"jsonrpc":"2.0","id":%b,"method":"tools/call","params":{"name":"record",'
    b'"arguments":{"action":"zz9"},"_meta":{"wirefence/token":0}}}',
)
CALL = (
    b'{"jsonrpc":"2.0","id":%b,"method":"tools/call","params":{"name":"record",'
    b'"arguments":{"action":"zz9"}}}'
)
"""A good request."""

_WHOLE = (*KINDS[-1], *UNAUTHORIZED, CALL)
"""Messages as they should be: where each request says who asks, these do so."""

_KEPT = {
    "id": KINDS[1],
    "method": (
        b'{"method":%b}',
        b'{"jsonrpc":"2.0","method":%b,"x":0}',
        b'{"jsonrpc":"2.0","method":%b,"result":0}',
    ),
    "arguments": (
        b'{"params":{"arguments":%b}}',
        b'{"jsonrpc":"2.0","method":"a","x":0,"params":{"arguments":%b}}',
        b'{"jsonrpc":"2.0","result":0,"params":{"arguments":%b}}',
    ),
    "token": (b"%b", b"[%b]", b'{"x":%b}'),
}
_DECODER = json.JSONDecoder(parse_int=float)  # no limit on digits
_ID = re.compile(rb'"id"\s*:\s*("[^"\\\n]*"|-?[0-9]+(?![0-9.eE]))')
OWN_ID = b"987654320"
"""An id that no other message of a session has."""


def spelled(raw: bytes, version: Version, value: bytes = OWN_ID) -> bytes:
    """A line of what stands in for a frame; ``value`` is its id, or the piece that it holds."""
    made = raw.replace(b"%b", value)
    if version == "2026-07-28" and raw in _WHOLE:
        message, model = json.loads(made), json.loads(request(version))
        params = message.get("params", {})
        meta = model["params"]["_meta"] | params.get("_meta", {})
        made = json.dumps(message | {"params": params | {"_meta": meta}}).encode()
    return made + b"\n"


def like(case: Case, data: bytes) -> Case:
    """Other bytes, written and judged as those of ``case``."""
    each = len(case.cuts) == len(case.data) - 1
    cuts = (
        pause_after_every_byte(data)
        if case.cuts and each
        else move_pauses(case.cuts, case.data, data)
    )
    return case_from_bytes(data, protocol=case.version, cuts=list(cuts))


def instead(
    case: Case, frame: FrameVerdict, raws: Iterable[bytes], value: bytes = OWN_ID
) -> Iterator[bytes]:
    """Sessions with other frames in place of ``frame``: those that break another rule."""
    for raw in raws:
        line = spelled(raw, case.version, value)
        data = case.data[: frame.start] + line + case.data[frame.end :]
        if _rule_at(like(case, data), frame.start) not in ("", frame.rule):
            yield data


def pieces(case: Case, frame: FrameVerdict) -> Iterator[tuple[str, list[bytes]]]:
    """For each piece of a frame that could be kept: sessions with that alone in its place."""
    for name, value in _held(case, frame):
        yield name, list(instead(case, frame, _KEPT[name], value))


def _held(case: Case, frame: FrameVerdict) -> Iterator[tuple[str, bytes]]:
    raw = case.data[frame.start : frame.end]
    if hit := _ID.search(raw):
        yield "id", hit[1]
    token = json.dumps(Contract().token).encode()
    if token in raw:
        yield "token", token
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return
    if isinstance(value, dict):
        yield from _members(value)


def _members(value: dict[str, object]) -> Iterator[tuple[str, bytes]]:
    if isinstance(value.get("method"), str):
        yield "method", json.dumps(value["method"]).encode()
    params = value.get("params")
    if isinstance(params, dict) and isinstance(params.get("arguments"), dict):
        yield "arguments", json.dumps(params["arguments"]).encode()


def without_calls(case: Case, frame: FrameVerdict) -> bytes:
    """A session up to ``frame`` and no further, without the calls that were granted before."""
    before = [each for each in _frames(case) if each.start < frame.start and not each.calls]
    return b"".join(case.data[each.start : each.end] for each in [*before, frame])


def unbatched(case: Case) -> bytes:
    """A session with the members of each batch as lines of their own."""
    lines = re.findall(rb"[^\n]*\n|[^\n]+\Z", case.data)
    return b"".join(map(_apart, lines))


def _apart(line: bytes) -> bytes:
    text = line.decode("latin-1").strip(" \t\n")
    members, at = [], 1
    try:
        if not text.startswith("[") or not _DECODER.decode(text):
            return line
        while at < len(text):
            start = len(text) - len(text[at:].lstrip(" \t"))
            _, end = _DECODER.raw_decode(text, start)
            members.append(text[start:end].encode("latin-1") + b"\n")
            at = len(text) - len(text[end:].lstrip(" \t")) + 1
    except (ValueError, RecursionError):
        return line
    return b"".join(members)


def _frames(case: Case) -> tuple[FrameVerdict, ...]:
    return judge_session(case.data, Contract(version=case.version, policy="continue")).frames


def _rule_at(case: Case, start: int) -> str:
    return next((each.rule for each in _frames(case) if each.start == start), "")
