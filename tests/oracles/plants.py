"""For every rule of the judge frames that break it, each beside its nearest healthy kin.

A violation proves little unless the smallest change that heals it is accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.oracles.lines import Lines, line, swap
from wirefence.strategies.contract import Contract
from wirefence.strategies.records import VERSIONS, Version

Make = Callable[[Lines], bytes]
MAX_FRAME, MAX_DEPTH = 4_000, 16  # small bounds make small frames
ERA: tuple[Version, ...] = VERSIONS[:4]
NEW: tuple[Version, ...] = VERSIONS[4:]
BATCHES: tuple[Version, ...] = VERSIONS[1:2]
NO_BATCHES: tuple[Version, ...] = (*VERSIONS[:1], *VERSIONS[2:])
WITHOUT_TASKS: tuple[Version, ...] = (*VERSIONS[:3], *NEW)
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
CLIENT = "io.modelcontextprotocol/clientInfo"
TOKEN = {"wirefence/token": Contract().token}


@dataclass(frozen=True)
class Plant:
    """A frame that breaks one rule, after ``before``; ``good`` is its nearest healthy kin."""

    rule: str
    bad: Make
    good: Make = Lines.call
    versions: tuple[Version, ...] = VERSIONS
    before: Make = Lines.opened


def text(raw: bytes) -> Make:
    return lambda _: raw


def argument(spelling: str) -> Make:
    return lambda w: w.with_argument(spelling)


def note(raw: bytes) -> Make:
    """A call whose note holds these bytes as they are."""
    return lambda w: swap(w.with_argument('"note":"#"'), b"#", raw)


def own_id(spelling: str) -> Make:
    return lambda w: w.with_id(spelling)


def edit(old: str, new: str) -> Make:
    return lambda w: swap(w.call(), old.encode(), new.encode())


def listed(params: dict[str, Any]) -> Make:
    return lambda w: w.request("tools/list", params)


def called(params: dict[str, Any], tool: str = "record") -> Make:
    full = {"name": tool, "arguments": {"action": "act-1"}} | params
    return lambda w: w.request("tools/call", full)


def meta(members: dict[str, Any], tool: str = "record") -> Make:
    return called({"_meta": members}, tool)


def noted(method: str, params: dict[str, Any]) -> Make:
    return lambda w: w.note(f"notifications/{method}", params)


def greeted(**changes: Any) -> Make:
    return lambda w: w.initialize(**changes)


def asked(method: str) -> Make:
    return lambda w: w.request(method)


def message(**members: Any) -> Make:
    return text(line({"jsonrpc": "2.0", **members}))


def nothing(_: Lines) -> bytes:
    return b""


def batch(*makes: Make) -> Make:
    return lambda w: b"[" + b",".join(make(w)[:-1] for make in makes) + b"]\n"


def spent(name: int, tool: str = "record") -> Make:
    """An open session in which an id was used by a call of ``tool``."""
    return lambda w: w.opened() + w.call(name, tool)


ERROR = {"code": 1, "message": "no"}
PROGRESS = {"progressToken": "p", "progress": 1.5, "total": 2}
_BYTES = [
    Plant("frame-empty", text(b"\n")),
    Plant("frame-empty", text(b" \t\r\n")),
    Plant("frame-too-long", lambda w: w.padded(MAX_FRAME + 1), lambda w: w.padded(MAX_FRAME)),
    Plant("frame-cr", lambda w: w.call()[:-1] + b"\r\n"),
    Plant("frame-cr", lambda w: b"\r" + w.call()),
    Plant("frame-unterminated", lambda w: w.call()[:-1]),
    Plant("frame-unterminated", text(b" ")),
    Plant("utf8-bom", lambda w: b"\xef\xbb\xbf" + w.call(), note(b"\xef\xbb\xbf")),
    *(
        Plant("utf8-invalid", note(raw), note(b"\xe2\x82\xac \xf0\x9f\x98\x80"))
        for raw in (b"\xc0\xaf", b"\xe2\x82", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80")
    ),
]
_JSON = [
    *(
        Plant("json-syntax", argument(f'"ratio":{token}'), argument('"ratio":-0.1e+1'))
        for token in ("NaN", "-Infinity", "01", "+1", ".5", "1.", "1e", "0x1", "'a'", "1/**/", "1,")
    ),
    Plant("json-syntax", note(b"\x01"), note(b"\\u0001")),
    Plant("json-syntax", note(b"\x00"), note(b"\\u0000")),
    Plant("json-syntax", note(b"\t"), note(b"\\t")),
    Plant("json-syntax", note(b"\\x41"), note(b"\\u0041")),
    Plant("json-syntax", lambda w: b"\x0c" + w.call(), lambda w: b"\t " + w.call()),
    Plant("json-syntax", lambda w: w.call()[:-1] + w.call()),
    Plant("json-syntax", lambda w: w.call()[:-2] + b"\n"),
    Plant("json-depth", lambda w: w.nested(MAX_DEPTH + 1), lambda w: w.nested(MAX_DEPTH)),
    *(
        Plant("json-duplicate-name", argument(t), argument('"note":"action","options":{"note":1}'))
        for t in ('"action":"act-1"', '"\\u0061ction":"act-1"', '"options":{"a":1,"a":1}')
    ),
    *(
        Plant("json-lone-surrogate", note(t), note(b"\\ud83d\\ude00"))
        for t in (b"\\ud800", b"\\uDC00", b"\\ude00\\ud83d", b"\\ud83d\\u0041")
    ),
    Plant("json-lone-surrogate", argument('"options":{"\\ud800":1}')),
    *(
        Plant("json-integer-range", argument(f'"count":{bad}'), argument(f'"count":{good}'))
        for bad, good in ((2**53, 2**53 - 1), (-(2**53), 1 - 2**53), (10**400, 0))
    ),
    *(
        Plant("json-number-range", argument(f'"ratio":{bad}'), argument(f'"ratio":{good}'))
        for bad, good in (("1e400", "1e308"), ("-1e400", "0e400"), ("1e-400", "5e-324"))
    ),
    *(
        Plant("json-number-length", argument(bad), argument(f'"ratio":0.{"1" * 998}'))
        for bad in (f'"ratio":0.{"1" * 999}', f'"count":{"1" * 1001}')
    ),
]
_RPC = [
    *(Plant("rpc-not-object", text(raw)) for raw in (b"1\n", b"null\n", b'"{}"\n')),
    Plant("rpc-batch", batch(Lines.call), versions=NO_BATCHES),
    Plant("rpc-batch", batch(), batch(Lines.call), BATCHES),
    Plant("rpc-batch", batch(Lines.initialize), Lines.initialize, BATCHES, nothing),
    *(Plant("rpc-version", edit('"2.0"', t)) for t in ("2.0", '"2.00"', "null", '"1.0"')),
    Plant("rpc-version", edit('"jsonrpc":"2.0",', "")),
    Plant("rpc-kind", message(id=1)),
    Plant("rpc-kind", message(id=1, method="ping", result={})),
    Plant("rpc-kind", message(id=1, method="ping", error=ERROR)),
    Plant("rpc-kind", message(id=1, result={}, error=ERROR)),
    Plant("rpc-kind", message(result={})),
    Plant("rpc-kind", message(error=ERROR), versions=VERSIONS[:3]),
    Plant("rpc-unknown-member", edit('"id":7', '"id":7,"ID":8')),
    Plant("rpc-unknown-member", message(id=1, result={}, params={})),
    *(
        Plant("rpc-id", own_id(f'"id":{bad}'), own_id(f'"id":{good}'))
        for bad, good in (
            ("7.0", "7"),
            ("7e0", '"7e0"'),
            ("true", '"true"'),
            ("null", '""'),
            ("[]", "12"),
            ("{}", "-1"),
            ("-0", '"-0"'),
        )
    ),
    Plant("rpc-id", own_id('"\\u0069d":-0'), own_id('"\\u0069d":77')),
    Plant("rpc-id", message(id=1.5, result={})),
    Plant("rpc-id", text(b'{"jsonrpc":"2.0","id":-0,"result":{}}\n')),
    Plant("rpc-method", edit('"tools/call"', "1")),
    Plant("rpc-method", edit('"tools/call"', "null")),
    Plant("rpc-params", message(id=1, method="tools/list", params=[]), listed({})),
    Plant("rpc-params", message(method="x", params=None), message(method="x")),
    Plant("rpc-result", message(id=1, result=[])),
    Plant("rpc-result", message(id=1, error={"code": 1.5, "message": "no"})),
    Plant("rpc-result", message(id=1, error={"code": 1})),
]
_MESSAGE = [
    Plant("mcp-kind", edit('"id":7,', "")),
    Plant("mcp-kind", lambda w: w.request("notifications/cancelled", {"requestId": 1})),
    Plant("mcp-method", asked("prompts/list"), listed({})),
    Plant("mcp-method", asked("nobody/knows"), lambda w: w.note("nobody/knows")),
    Plant("mcp-method", asked("server/discover"), versions=ERA),
    Plant("mcp-method", asked("ping"), versions=NEW),
    Plant("mcp-method", lambda w: w.initialize(7), asked("server/discover"), NEW),
    *(
        Plant("mcp-meta", meta({"progressToken": bad}), meta({"progressToken": good}))
        for bad, good in ((1.5, 1), (True, "t"), (None, 0))
    ),
    Plant("mcp-meta", called({"_meta": []}), called({"_meta": {}})),
    *(
        Plant(
            "mcp-meta",
            message(method=method, params={"_meta": 1}),
            message(method=method, params={"_meta": {}}),
        )
        for method in ("notifications/roots/list_changed", "nobody/knows")
    ),
    Plant("mcp-meta", message(id=7, method="tools/list", params={}), listed({}), NEW),
    Plant("mcp-meta", edit(f'"{NEW[0]}"', "1"), versions=NEW),
    Plant("mcp-meta", meta({CAPABILITIES: []}), versions=NEW),
    Plant(
        "mcp-meta", meta({CLIENT: {"name": ""}}), meta({CLIENT: {"name": "", "version": ""}}), NEW
    ),
    Plant("mcp-version", edit(f'"{NEW[0]}"', '"2025-11-25"'), versions=NEW),
    *(
        Plant("mcp-params", greeted(**change), Lines.initialize, ERA, nothing)
        for change in (
            {"protocolVersion": 1},
            {"capabilities": []},
            {"clientInfo": {"name": "c"}},
            {"clientInfo": None},
        )
    ),
    Plant("mcp-params", listed({"cursor": 1}), listed({"cursor": "1"})),
    Plant("mcp-params", called({"name": 1})),
    Plant("mcp-params", called({"arguments": []})),
    Plant("mcp-params", called({"task": 1}), called({"task": {}}), ("2025-11-25",)),
    Plant(
        "mcp-params", noted("cancelled", {}), noted("cancelled", {"requestId": 1}), WITHOUT_TASKS
    ),
    *(
        Plant("mcp-params", noted("cancelled", bad), noted("cancelled", {"requestId": "x"}))
        for bad in ({"requestId": 1.5}, {"requestId": 1, "reason": 1})
    ),
    *(
        Plant("mcp-params", noted("progress", PROGRESS | bad), noted("progress", PROGRESS), ERA)
        for bad in ({"progressToken": 0.5}, {"progress": True}, {"total": "2"})
    ),
    Plant("mcp-unknown-param", called({"Arguments": {}})),
    Plant("mcp-unknown-param", called({"task": {}}), versions=WITHOUT_TASKS),
    Plant("mcp-unknown-param", called({"requestState": ""}), versions=ERA),
]
_LIFECYCLE = [
    Plant("life-closed", Lines.call, before=lambda w: w.opened() + b"{\n"),
    Plant("life-not-initialized", Lines.call, Lines.initialize, ERA, nothing),
    Plant("life-not-initialized", asked("prompts/list"), asked("ping"), ERA, nothing),
    Plant("life-not-ready", Lines.call, asked("ping"), ERA, Lines.initialize),
    Plant("life-reinitialize", lambda w: w.initialize(5), versions=ERA),
    Plant("life-id-reuse", lambda w: w.call(3), lambda w: w.call("3"), before=spent(3)),
    Plant("life-id-reuse", lambda w: w.call(3), before=spent(3, "nothing")),
    Plant("life-id-reuse", lambda w: w.request("prompts/list", name=0), versions=ERA),
    Plant("life-unsolicited-response", message(id=1, result={})),
    Plant("life-unsolicited-response", message(id=None, error=ERROR)),
]
_CALL = [
    Plant("tool-unknown", called({}, "Record")),
    Plant("tool-arguments", called({"arguments": {}})),
    Plant("tool-arguments", lambda w: w.call(action=1)),
    *(
        Plant("tool-arguments", argument(bad), argument(good))
        for bad, good in (
            ('"note":1', '"note":""'),
            ('"count":1.0', '"count":-0'),
            ('"count":true', '"count":1'),
            ('"ratio":true', '"ratio":1'),
            ('"ratio":"1"', '"ratio":1.0'),
            ('"dry_run":0', '"dry_run":false'),
            ('"tags":["a",1]', '"tags":["a","1"]'),
            ('"tags":{}', '"tags":[]'),
            ('"options":[]', '"options":{}'),
        )
    ),
    Plant(
        "tool-arguments",
        lambda w: w.call(tool="http_call", url="u", method="get"),
        lambda w: w.call(tool="http_call", url="u", method="GET"),
    ),
    Plant("tool-arguments", lambda w: w.call(tool="ssh_run", host="h")),
    Plant("tool-unknown-argument", argument('"Note":"x"'), argument('"note":"x"')),
    Plant("identity-unknown", meta({"wirefence/token": "guess"}), meta(TOKEN)),
    Plant("identity-unknown", meta({"wirefence/token": None}), meta({})),
    Plant("authz-denied", called({}, "admin_reset"), meta(TOKEN, "admin_reset")),
]
PLANTS = [*_BYTES, *_JSON, *_RPC, *_MESSAGE, *_LIFECYCLE, *_CALL]
