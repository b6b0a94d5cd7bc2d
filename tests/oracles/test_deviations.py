"""Each deviation is named where a frame has it, and a frame like it that is sound has none."""

from __future__ import annotations

from pathlib import Path

import pytest

from wirefence.oracles.deviation_table import (
    DEVIATIONS,
    NONE,
    leniency_of,
    render_deviations,
)
from wirefence.oracles.deviations import find_deviation
from wirefence.oracles.rules import BY_ID
from wirefence.oracles.session import close_judgement, judge_session
from wirefence.strategies.contract import DEFAULT_TOOLS, Argument, Contract, Tool
from wirefence.strategies.records import Version

DOCS = Path(__file__).resolve().parents[2] / "docs"

HANDSHAKE = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    b'"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}\n'
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
)
INITIALIZE = HANDSHAKE[: HANDSHAKE.index(b"\n") + 1]
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
TOKEN = Contract().token.encode()


def value(raw: bytes) -> bytes:
    """A request with a value where any may stand."""
    return b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"a":%b}}}' % raw


def message(members: bytes) -> bytes:
    return b'{"jsonrpc":"2.0",%b}' % members


def call(params: bytes) -> bytes:
    return message(b'"id":1,"method":"tools/call","params":{%b}' % params)


def record(arguments: bytes) -> bytes:
    return call(b'"name":"record","arguments":{"action":"a"%b}' % arguments)


def granted(token: bytes) -> bytes:
    return call(
        b'"_meta":{"wirefence/token":%b},"name":"admin_reset","arguments":{"action":"a"}' % token
    )


def notice(method: bytes, params: bytes) -> bytes:
    return message(b'"method":"notifications/%b","params":{%b}' % (method, params))


def stateless(meta: bytes) -> bytes:
    return message(b'"id":1,"method":"tools/list","params":{"_meta":{%b}}' % meta)


def opening(params: bytes) -> bytes:
    return message(b'"id":1,"method":"initialize","params":{%b}' % params)


_CLIENT = b'"clientInfo":{"name":"c","version":"1"}'
_OPENING = opening(b'"protocolVersion":"2025-11-25","capabilities":{},' + _CLIENT)
_PREFIX = b'"io.modelcontextprotocol/'
_VERSION = _PREFIX + b'protocolVersion":"2026-07-28"'
_CAPABILITIES = _PREFIX + b'clientCapabilities":{}'
_RESULT = message(b'"id":1,"result":{}')

DOCUMENTS: dict[str, tuple[bytes, bytes]] = {
    "utf8-bom:bom": (b"\xef\xbb\xbf" + PING, value(b'"\xef\xbb\xbf"')),
    "utf8-invalid:surrogate-bytes": (value(b'"\xed\xa0\x80"'), value(b'"\xed\x9f\xbf"')),
    "utf8-invalid:utf16-or-utf32": (b"\xff\xfe" + PING.decode().encode("utf-16-le"), PING),
    "utf8-invalid:invalid-utf8": (value(b'"\xff"'), value(b'"\xc3\xbf"')),
    "json-syntax:utf16-or-utf32": (PING.decode().encode("utf-16-le"), PING),
    "json-syntax:nul": (value(b"\x001"), value(b"1")),
    "json-syntax:nul-in-string": (value(b'"\x00"'), value(b'"\\u0000"')),
    "json-syntax:control-in-string": (value(b'"\x01"'), value(b'"\x7f"')),
    "json-syntax:lax-hex": (value(b'"\\u+041"'), value(b'"\\\\u+041"')),
    "json-syntax:bad-escape": (value(b'"\\x41"'), value(b'"\\\\x41"')),
    "json-syntax:block-comment": (value(b"/**/1"), value(b'"/**/"')),
    "json-syntax:line-comment": (b"# " + PING, value(b'"#"')),
    "json-syntax:other-white-space": (value(b"\x0c1"), value(b"\t1")),
    "json-syntax:control-character": (b"\x1b[0m", value(b'"\\u001b"')),
    "json-syntax:single-quotes": (value(b"'a'"), value(b"\"'a'\"")),
    "json-syntax:nan": (value(b"NaN"), value(b'"NaN"')),
    "json-syntax:infinity": (value(b"-Infinity"), value(b'"-Infinity"')),
    "json-syntax:hexadecimal": (value(b"0x1F"), value(b"31")),
    "json-syntax:neg-leading-zero": (value(b"-01"), value(b"-1")),
    "json-syntax:leading-zero": (value(b"01"), value(b"1e01")),
    "json-syntax:neg-dot": (value(b"-.5"), value(b"-0.5")),
    "json-syntax:dot-tail": (value(b"1."), value(b"1.0")),
    "json-syntax:dot-head": (value(b".5"), value(b"0.5")),
    "json-syntax:bare-minus": (value(b"-"), value(b"-1")),
    "json-syntax:exponent-tail": (value(b"1e+"), value(b"1e+1")),
    "json-syntax:plus": (value(b"+1"), value(b"1")),
    "json-syntax:trailing-comma": (value(b"[1, ]"), value(b"[1, 2]")),
    "json-syntax:unclosed": (PING[:-1], PING),
    "json-syntax:trailing": (PING + PING, value(PING)),
    "json-syntax:wrong-bracket": (PING[:-1] + b"]", PING),
    "json-syntax:unclosed-string": (PING[:-2], PING),
    "json-syntax:unquoted-name": (value(b"{a:1}"), value(b'{"a":1}')),
    "json-syntax:missing-colon": (value(b'{"a" 1}'), value(b'{"a": 1}')),
    "json-syntax:missing-comma": (value(b"[1 2]"), value(b"[1 ,2]")),
    "json-syntax:missing-value": (value(b"[1,,2]"), value(b"[1,0,2]")),
    "json-syntax:literal-case": (value(b"True"), value(b"true")),
    "json-syntax:digit-separator": (value(b"1_000"), value(b"1000")),
    "json-syntax:other-digit": (value(b"\xef\xbc\x91"), value(b'"\xef\xbc\x91"')),
    "json-syntax:unicode-space": (value(b"\xe3\x80\x801"), value(b" 1")),
    "json-syntax:unknown-word": (value(b"None"), value(b"null")),
    "json-syntax:foreign-text": (b"INFO: ready", value(b'"INFO: ready"')),
    "json-syntax:syntax": (value(b"<"), value(b'"<"')),
    "json-depth:depth": (value(b"[" * 126 + b"]" * 126), value(b"[" * 125 + b"]" * 125)),
    "json-duplicate-name:dup-escaped": (value(b'{"a":1,"\\u0061":1}'), value(b'{"a":1,"b":1}')),
    "json-duplicate-name:duplicate-name": (value(b'{"a":1,"a":1}'), value(b'{"a":1,"b":{"a":1}}')),
    "json-lone-surrogate:surrogate-key": (value(b'{"\\ud800":1}'), value(b'{"\\ud834\\udd1e":1}')),
    "json-lone-surrogate:lone-hi": (value(b'"\\ud800"'), value(b'"\\ud834\\udd1e"')),
    "json-lone-surrogate:lone-lo": (value(b'"\\udc00"'), value(b'"\\\\udc00"')),
    "json-integer-range:int-310d": (value(b"1" * 310), value(b'"%b"' % (b"1" * 310))),
    "json-integer-range:int>=10^20": (value(b"1%020d" % 0), value(b"1e20")),
    "json-integer-range:int>=2^64": (value(b"18446744073709551616"), value(b"1.8e19")),
    "json-integer-range:int>=2^63": (value(b"9223372036854775808"), value(b"9.2e18")),
    "json-integer-range:int<-2^63": (value(b"-9223372036854775809"), value(b"-9.2e18")),
    "json-integer-range:int>2^53": (value(b"9007199254740992"), value(b"9007199254740991")),
    "json-number-range:overflow-exp": (value(b"1e400"), value(b"1e308")),
    "json-number-range:underflow": (value(b"1e-400"), value(b"0e-400")),
    "json-number-length:int-4301d": (value(b"1" * 4_301), value(b"1" * 15)),
    "json-number-length:fraction-4301d": (value(b"0." + b"1" * 4_301), value(b"0." + b"1" * 998)),
    "json-number-length:number-1001c": (value(b"0." + b"1" * 999), value(b"0." + b"1" * 998)),
}
MESSAGES: dict[str, tuple[bytes, bytes]] = {
    "frame-empty:no-bytes": (b"", PING),
    "frame-empty:white-space": (b" \t", b" \t" + PING),
    "frame-too-long:whole-line": (PING + b" " * 1_048_537, PING + b" " * 1_048_536),
    "frame-cr:line-end": (PING + b"\r", PING),
    "frame-cr:separator": (PING + b"\r" + PING, value(PING)),
    "frame-cr:in-string": (value(b'"\r"'), value(b'"\\r"')),
    "frame-cr:white-space": (b"\r" + PING, b" " + PING),
    "rpc-not-object:null": (b"null", PING),
    "rpc-not-object:boolean": (b"true", PING),
    "rpc-not-object:number": (b"0", PING),
    "rpc-not-object:string": (b'"ready"', PING),
    "rpc-batch:other-version": (b"[%b]" % PING, PING),
    "rpc-version:absent": (b'{"id":1,"method":"ping"}', PING),
    "rpc-version:string": (PING.replace(b'"2.0"', b'"1.0"'), PING),
    "rpc-version:type": (PING.replace(b'"2.0"', b"2.0"), PING),
    "rpc-kind:mixed": (message(b'"id":1,"method":"ping","result":{}'), PING),
    "rpc-kind:no-kind": (message(b'"id":1'), PING),
    "rpc-kind:no-id": (message(b'"result":{}'), message(b'"method":"x/y"')),
    "rpc-unknown-member:other-case": (message(b'"id":1,"method":"ping","Params":{}'), PING),
    "rpc-unknown-member:params": (message(b'"id":1,"result":{},"params":{}'), PING),
    "rpc-unknown-member:other": (message(b'"id":1,"method":"ping","extra":1'), PING),
    "rpc-id:minus-zero": (PING.replace(b":1,", b":-0,"), PING),
    "rpc-id:integral-fraction": (PING.replace(b":1,", b":1.0,"), PING),
    "rpc-id:fraction": (PING.replace(b":1,", b":1.5,"), PING),
    "rpc-id:exponent": (PING.replace(b":1,", b":1e2,"), PING.replace(b":1,", b":100,")),
    "rpc-id:boolean": (PING.replace(b":1,", b":true,"), PING.replace(b":1,", b':"true",')),
    "rpc-id:null": (PING.replace(b":1,", b":null,"), PING),
    "rpc-id:array": (PING.replace(b":1,", b":[],"), PING),
    "rpc-id:object": (PING.replace(b":1,", b":{},"), PING),
    **{
        f"rpc-method:{kind}": (message(b'"id":1,"method":%b' % raw), PING)
        for kind, raw in (
            *(("null", b"null"), ("boolean", b"false"), ("number", b"1")),
            *(("array", b"[]"), ("object", b"{}")),
        )
    },
    **{
        f"rpc-params:{kind}": (message(b'"id":1,"method":"ping","params":' + raw), value(raw))
        for kind, raw in (
            *(("null", b"null"), ("boolean", b"true"), ("number", b"1")),
            *(("string", b'"{}"'), ("array", b"[]")),
        )
    },
    "rpc-result:result": (message(b'"id":1,"result":[]'), PING),
    "rpc-result:error": (message(b'"id":1,"error":"none"'), PING),
    "rpc-result:code": (message(b'"id":1,"error":{"code":"1","message":"m"}'), PING),
    "rpc-result:message": (message(b'"id":1,"error":{"code":1}'), PING),
    "mcp-kind:no-id": (message(b'"method":"ping"'), PING),
    "mcp-kind:id": (
        message(b'"id":1,"method":"notifications/cancelled"'),
        notice(b"cancelled", b'"requestId":1'),
    ),
    "mcp-meta:type": (message(b'"id":1,"method":"ping","params":{"_meta":[]}'), value(b"[]")),
    "mcp-meta:progressToken-type": (
        message(b'"id":1,"method":"ping","params":{"_meta":{"progressToken":1.5}}'),
        message(b'"id":1,"method":"ping","params":{"_meta":{"progressToken":"1.5"}}'),
    ),
    "mcp-params:cursor-type": (
        message(b'"id":1,"method":"tools/list","params":{"cursor":1}'),
        message(b'"id":1,"method":"tools/list","params":{"cursor":"1"}'),
    ),
    "mcp-params:name-type": (call(b'"name":1'), record(b"")),
    "mcp-params:arguments-type": (call(b'"name":"record","arguments":"{}"'), record(b"")),
    "mcp-params:task-type": (
        call(b'"name":"record","arguments":{"action":"a"},"task":1'),
        call(b'"name":"record","arguments":{"action":"a"},"task":{}'),
    ),
    "mcp-params:requestId-type": (
        notice(b"cancelled", b'"requestId":null'),
        notice(b"cancelled", b'"requestId":"null"'),
    ),
    "mcp-params:reason-type": (
        notice(b"cancelled", b'"requestId":1,"reason":1'),
        notice(b"cancelled", b'"requestId":1,"reason":"1"'),
    ),
    "mcp-params:progressToken-missing": (
        notice(b"progress", b'"progress":1'),
        notice(b"progress", b'"progress":1,"progressToken":1'),
    ),
    "mcp-params:progress-type": (
        notice(b"progress", b'"progressToken":1,"progress":"1"'),
        notice(b"progress", b'"progressToken":1,"progress":1'),
    ),
    "mcp-params:total-type": (
        notice(b"progress", b'"progressToken":1,"progress":1,"total":"1"'),
        notice(b"progress", b'"progressToken":1,"progress":1,"total":1.5'),
    ),
    "mcp-unknown-param:other-case": (
        call(b'"name":"record","arguments":{"action":"a"},"Arguments":{}'),
        record(b""),
    ),
    "mcp-unknown-param:other": (
        call(b'"name":"record","arguments":{"action":"a"},"extra":{}'),
        record(b""),
    ),
    "life-reinitialize:request": (_OPENING, PING),
    "life-reinitialize:notification": (notice(b"initialized", b""), notice(b"initialised", b"")),
    "life-id-reuse:request": (PING.replace(b":1,", b":0,"), PING.replace(b":1,", b':"0",')),
    "life-unsolicited-response:response": (_RESULT, PING),
    "mcp-method:unknown": (message(b'"id":1,"method":"Ping"'), PING),
    "tool-unknown:white-space": (call(b'"name":" record","arguments":{"action":"a"}'), record(b"")),
    "tool-unknown:other-case": (call(b'"name":"Record","arguments":{"action":"a"}'), record(b"")),
    "tool-unknown:other": (call(b'"name":"records","arguments":{"action":"a"}'), record(b"")),
    "tool-arguments:missing": (call(b'"name":"record","arguments":{}'), record(b"")),
    "tool-arguments:choice": (
        call(b'"name":"http_call","arguments":{"action":"a","url":"u","method":"get"}'),
        call(b'"name":"http_call","arguments":{"action":"a","url":"u","method":"GET"}'),
    ),
    "tool-arguments:item": (record(b',"tags":["a",1]'), record(b',"tags":["a","1"]')),
    "tool-arguments:number": (record(b',"count":1.0'), record(b',"count":1')),
    "tool-arguments:null": (record(b',"note":null'), record(b',"note":"null"')),
    "tool-arguments:boolean": (record(b',"count":true'), record(b',"dry_run":true')),
    "tool-arguments:string": (record(b',"count":"1"'), record(b',"note":"1"')),
    "tool-arguments:array": (record(b',"note":[]'), record(b',"tags":[]')),
    "tool-arguments:object": (record(b',"note":{}'), record(b',"options":{}')),
    "tool-unknown-argument:other-case": (record(b',"Action":"b"'), record(b"")),
    "tool-unknown-argument:other": (record(b',"operator":true'), record(b"")),
    "identity-unknown:type": (granted(b"true"), granted(b'"%b"' % TOKEN)),
    "identity-unknown:near": (granted(b'"%b "' % TOKEN), granted(b'"%b"' % TOKEN)),
    "identity-unknown:other": (granted(b'"guess"'), granted(b'"%b"' % TOKEN)),
    "authz-denied:no-token": (
        call(b'"name":"admin_reset","arguments":{"action":"a"}'),
        granted(b'"%b"' % TOKEN),
    ),
}
"""After the handshake of 2025-11-25: for each deviation a frame that has it, and a sound one."""


@pytest.mark.parametrize(("name", "bad", "sound"), [
    (name, *pair) for name, pair in (*DOCUMENTS.items(), *MESSAGES.items())
], ids=lambda each: each if isinstance(each, str) else "")  # fmt: skip
def test_a_deviation_is_named_and_a_sound_frame_like_it_has_none(
    name: str, bad: bytes, sound: bytes
) -> None:
    assert last_deviation(HANDSHAKE + bad + b"\n") == name
    assert last_deviation(HANDSHAKE + sound + b"\n") == NONE


SHORT = '{"properties":{"action":{"maxLength":1}}}'
ONE_ARGUMENT = Tool("one", (Argument("action", "string"),), input_schema=SHORT)


def last_deviation(data: bytes, version: Version = "2025-11-25") -> str:
    contract = Contract(version=version, policy="continue", tools=(*DEFAULT_TOOLS, ONE_ARGUMENT))
    return find_deviation(data, judge_session(data, contract).frames[-1], contract)


_FULL = b"%b,%b" % (_VERSION, _CAPABILITIES)
_ONE = b'"name":"one","arguments":{"action":"%b"}'
_CALLS = record(b""), record(b"").replace(b'"id":1', b'"id":2')

OTHERS: dict[str, tuple[Version, bytes, bytes]] = {
    "frame-too-long:no-line-feed": (
        "2025-11-25",
        HANDSHAKE + b" " * 1_048_577,
        HANDSHAKE + PING + b"\n",
    ),
    "frame-unterminated:whole": ("2025-11-25", HANDSHAKE + PING, HANDSHAKE + PING + b"\n"),
    "frame-unterminated:part": ("2025-11-25", HANDSHAKE + PING[:-1], HANDSHAKE + PING + b"\n"),
    "rpc-batch:empty": ("2025-03-26", HANDSHAKE + b"[]\n", HANDSHAKE + b"[%b]\n" % PING),
    "rpc-batch:initialize": (
        "2025-03-26",
        b"[%b]\n" % INITIALIZE[:-1],
        INITIALIZE + b"[%b]\n" % PING,
    ),
    "rpc-batch:bad-member": (
        "2025-03-26",
        HANDSHAKE + b"[%b,1]\n" % PING,
        HANDSHAKE + b"[%b,%b]\n" % _CALLS,
    ),
    "mcp-meta:protocolVersion-missing": (
        "2026-07-28",
        stateless(_CAPABILITIES) + b"\n",
        stateless(_FULL) + b"\n",
    ),
    "mcp-meta:clientCapabilities-missing": (
        "2026-07-28",
        stateless(_VERSION) + b"\n",
        stateless(_FULL) + b"\n",
    ),
    "mcp-meta:clientInfo-version-missing": (
        "2026-07-28",
        stateless(b'%b,%bclientInfo":{"name":"c"}' % (_FULL, _PREFIX)) + b"\n",
        stateless(b'%b,%bclientInfo":{"name":"c","version":"1"}' % (_FULL, _PREFIX)) + b"\n",
    ),
    "mcp-version:unsupported": (
        "2026-07-28",
        stateless(_FULL.replace(b"2026-07-28", b"2026-07-29")) + b"\n",
        stateless(_FULL) + b"\n",
    ),
    "mcp-params:protocolVersion-type": (
        "2025-11-25",
        opening(b'"protocolVersion":1,"capabilities":{},' + _CLIENT) + b"\n",
        _OPENING + b"\n",
    ),
    "mcp-params:capabilities-missing": (
        "2025-11-25",
        opening(b'"protocolVersion":"1",' + _CLIENT) + b"\n",
        _OPENING + b"\n",
    ),
    "mcp-params:clientInfo-version-missing": (
        "2025-11-25",
        opening(b'"protocolVersion":"1","capabilities":{},"clientInfo":{"name":"c"}') + b"\n",
        _OPENING + b"\n",
    ),
    "tool-arguments:schema": (
        "2025-11-25",
        HANDSHAKE + call(_ONE % b"ab") + b"\n",
        HANDSHAKE + call(_ONE % b"a") + b"\n",
    ),
    "life-not-initialized:request": ("2025-11-25", record(b"") + b"\n", PING + b"\n"),
    "life-not-initialized:notification": (
        "2025-11-25",
        notice(b"cancelled", b'"requestId":1') + b"\n",
        INITIALIZE + notice(b"cancelled", b'"requestId":1') + b"\n",
    ),
    "life-not-initialized:response": ("2025-11-25", _RESULT + b"\n", PING + b"\n"),
    "life-not-ready:request": (
        "2025-11-25",
        INITIALIZE + record(b"") + b"\n",
        INITIALIZE + PING + b"\n",
    ),
}
"""The same for frames that need a session of their own: version, session and sound session."""


@pytest.mark.parametrize("name", OTHERS)
def test_the_last_frame_of_a_session_has_its_deviation_or_none(name: str) -> None:
    version, bad, sound = OTHERS[name]
    assert last_deviation(bad, version) == name
    assert last_deviation(sound, version) == NONE


def test_a_frame_after_the_close_is_named_so_whatever_it_holds() -> None:
    contract = Contract()
    data = HANDSHAKE + b"null\n" + PING + b"\n[1,]\n"
    frames = close_judgement(judge_session(data, contract)).frames
    named = [find_deviation(data, frame, contract) for frame in frames[2:]]
    assert named == ["rpc-not-object:null", "life-closed:frame", "life-closed:frame"]


def is_shaped(name: str) -> bool:
    """Whether a deviation is one of the protocol's shapes, which the tables list by the hundred."""
    return name.startswith(("mcp-meta:", "mcp-params:", "mcp-result:"))


def test_every_deviation_of_the_table_has_a_frame() -> None:
    given = {*DOCUMENTS, *MESSAGES, *OTHERS, "life-closed:frame"}
    assert given <= set(DEVIATIONS)
    assert {name for name in DEVIATIONS if not is_shaped(name)} <= given
    assert len(DOCUMENTS) + len(MESSAGES) + len(OTHERS) + 1 == len(given)


def test_a_batch_that_is_accepted_has_the_deviation_of_its_first_refused_member() -> None:
    refused = message(b'"id":2,"method":"tools/call","params":{"name":"x","arguments":{}}')
    data = HANDSHAKE + b"[%b,%b]\n" % (PING, refused)
    assert last_deviation(data, "2025-03-26") == "tool-unknown:other"


@pytest.mark.parametrize(
    ("raw", "trait"),
    [
        (b"[NaN", "nan"),
        (b"[1 /**/, NaN]", "block-comment"),
        (b'["INFO", nil]', "unknown-word"),
        (b"{} // done", "trailing"),
        (b"2026-12-01 ready", "trailing"),
        (b"{}\x00", "nul"),
        (b"{}\xc2\xa0", "other-white-space"),
        (b'{"a":1 "b":NaN}', "missing-comma"),
        (b'{"a":{"b":1},}', "trailing-comma"),
        (b'{"a":}', "missing-value"),
        (b"01", "leading-zero"),
        (b"\x00{}", "nul"),
        (b")]}',", "foreign-text"),
    ],
)
def test_syntax_is_named_by_what_stands_where_a_strict_reader_stops(raw: bytes, trait: str) -> None:
    assert last_deviation(HANDSHAKE + raw + b"\n") == f"json-syntax:{trait}"


def test_every_deviation_belongs_to_a_rule_and_a_leniency_of_that_rule() -> None:
    for name, deviation in DEVIATIONS.items():
        rule = name.partition(":")[0]
        assert rule in BY_ID
        assert deviation.leniency == rule or deviation.leniency.startswith(f"{rule}:")
        assert deviation.meaning
    assert {name.partition(":")[0] for name in DEVIATIONS} == set(BY_ID)


SHARED: dict[str, list[str]] = {
    "frame-cr:white-space": ["line-end", "white-space"],
    "json-syntax:bad-escape": ["lax-hex", "bad-escape"],
    "json-syntax:unclosed": ["unclosed", "unclosed-string"],
    "rpc-id:fraction": ["integral-fraction", "fraction", "exponent"],
    "json-syntax:non-finite": ["nan", "infinity"],
    "rpc-id:container": ["array", "object"],
    "rpc-result:error": ["error", "code", "message"],
    "tool-arguments:type": ["number", "null", "boolean", "string", "array", "object"],
}
"""Leniencies within a rule that are about several deviations: one habit of a reader each."""

WHOLE = {
    *("frame-empty", "frame-too-long", "json-duplicate-name", "json-lone-surrogate"),
    *("json-integer-range", "json-number-range", "json-number-length", "rpc-not-object"),
    *("rpc-version", "rpc-unknown-member", "rpc-method", "rpc-params", "mcp-unknown-param"),
    *("life-not-initialized", "tool-unknown-argument"),
}
"""Rules that a reader does not check at all, if it takes one of several deviations."""


def test_a_leniency_that_several_deviations_share_is_about_one_habit() -> None:
    shared: dict[str, list[str]] = {}
    for name in (each for each in DEVIATIONS if not is_shaped(each)):
        shared.setdefault(leniency_of(name), []).append(name.partition(":")[2])
    several = {leniency: traits for leniency, traits in shared.items() if len(traits) > 1}
    assert {each for each in several if each in BY_ID} == WHOLE
    assert {each: traits for each, traits in several.items() if each not in BY_ID} == SHARED


def test_an_unknown_deviation_is_its_own_leniency() -> None:
    assert leniency_of("x:y") == "x:y"
    assert leniency_of(NONE) == NONE


def test_the_page_is_the_table() -> None:
    assert (DOCS / "deviations.md").read_text(encoding="utf-8") == render_deviations()
