"""Every rule of the contract's upper layers, both ways and in both profiles, in whole sessions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wirefence.oracles.records import Judgement
from wirefence.oracles.rules import BY_ID
from wirefence.oracles.session import judge_session
from wirefence.strategies.contract import Contract

INIT = (
    b'{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"x",'
    b'"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
)
READY = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
HELLO = INIT + READY
PING = b'{"jsonrpc":"2.0","id":%b,"method":"ping"}\n'
META = (
    '"_meta":{"io.modelcontextprotocol/protocolVersion":"%s",'
    '"io.modelcontextprotocol/clientCapabilities":{}}'
)


def line(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n"


def call(arguments: dict[str, Any], tool: str = "record", *, ident: Any = 1, **more: Any) -> bytes:
    params = {"name": tool, "arguments": arguments, **more}
    return line(id=ident, method="tools/call", params=params)


def judge(data: bytes, profile: str = "strict", **terms: Any) -> Judgement:
    return judge_session(data, Contract(profile=profile, **terms))


ACT = {"action": "a"}
# What follows an opened session of 2025-11-25, and the rule of it under strict and under spec.
TABLE = [
    (b" \t\r\n", "frame-empty", "frame-empty"),
    (b"\n", "frame-empty", "frame-empty"),
    (PING % b"1" + b"\r\n", "frame-empty", "frame-empty"),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n', "frame-cr", ""),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', "frame-unterminated", "frame-unterminated"),
    (b"\xef\xbb\xbf" + PING % b"1", "utf8-bom", "utf8-bom"),
    (PING % b'"\xff"', "utf8-invalid", "utf8-invalid"),
    (b"{\n", "json-syntax", "json-syntax"),
    (b"1\n", "rpc-not-object", "rpc-not-object"),
    (b"[]\n", "rpc-batch", "rpc-batch"),
    (b'{"id":1,"method":"ping"}\n', "rpc-version", "rpc-version"),
    (b'{"jsonrpc":2.0,"id":1,"method":"ping"}\n', "rpc-version", "rpc-version"),
    (line(id=1), "rpc-kind", "rpc-kind"),
    (line(id=1, result={}, error={"code": 1, "message": ""}), "rpc-kind", "rpc-kind"),
    (line(id=1, method="ping", result={}), "rpc-kind", "rpc-kind"),
    (line(result={}), "rpc-kind", "rpc-kind"),
    (line(id=1, method="ping", Method="x"), "rpc-unknown-member", ""),
    (line(id=1, result={}, params={}), "rpc-unknown-member", ""),
    *((PING % bad, "rpc-id", "rpc-id") for bad in (b"1.0", b"1e2", b"-0", b"true", b"null", b"[]")),
    (b'{"\\u0069d":-0,"jsonrpc":"2.0","method":"ping"}\n', "rpc-id", "rpc-id"),
    (b'{"id":-0,"jsonrpc":"2.0","result":{}}\n', "rpc-id", "rpc-id"),
    (b'{"jsonrpc":"2.0","id":0,"method":"ping","params":{"id":-0}}\n', "", ""),
    (line(id=1, method=1), "rpc-method", "rpc-method"),
    (line(id=1, method="ping", params=[]), "rpc-params", "rpc-params"),
    (line(id=1, method="ping", params=None), "rpc-params", "rpc-params"),
    (line(id=1, result=[]), "rpc-result", "rpc-result"),
    (line(id=1, error={"code": 1.0, "message": ""}), "rpc-result", "rpc-result"),
    (line(method="tools/call", params={"name": "record"}), "mcp-kind", "mcp-kind"),
    (line(id=1, method="notifications/cancelled"), "mcp-kind", "mcp-kind"),
    (line(id=1, method="resources/list", params={"_meta": 1}), "mcp-method", "mcp-method"),
    (line(method="notifications/other", params={"x": 1}), "", ""),
    (line(method="notifications/other", params={"_meta": 1}), "mcp-meta", "mcp-meta"),
    (line(method="notifications/cancelled", params={"_meta": 1}), "mcp-meta", "mcp-meta"),
    (line(id=1, method="ping", params={"_meta": []}), "mcp-meta", "mcp-meta"),
    (line(id=1, method="ping", params={"_meta": {"progressToken": 1.5}}), "mcp-meta", "mcp-meta"),
    (line(id=1, method="tools/list", params={"cursor": None}), "mcp-params", "mcp-params"),
    (line(id=1, method="tools/list", params={"cursor": "c"}), "", ""),
    (line(id=1, method="tools/call", params={"name": 1}), "mcp-params", "mcp-params"),
    (call(ACT, task=1), "mcp-params", "mcp-params"),
    (call(ACT, task={}), "", ""),
    (line(method="notifications/cancelled"), "mcp-params", "mcp-params"),
    (line(method="notifications/cancelled", params={}), "", ""),
    (line(method="notifications/cancelled", params={"reason": 1}), "mcp-params", "mcp-params"),
    (
        line(method="notifications/progress", params={"progressToken": 1}),
        "mcp-params",
        "mcp-params",
    ),
    (call(ACT, inputResponses={}), "mcp-unknown-param", ""),
    (INIT, "life-reinitialize", "life-reinitialize"),
    (READY, "life-reinitialize", ""),
    (PING % b'"i"', "life-id-reuse", "life-id-reuse"),
    (line(id="i", method="x/y"), "life-id-reuse", "life-id-reuse"),
    (line(id=1, result={}), "life-unsolicited-response", ""),
    (line(error={"code": 1, "message": ""}), "life-unsolicited-response", ""),
    (line(id=None, error={"code": 1, "message": ""}), "life-unsolicited-response", ""),
    (call(ACT, "nothing"), "tool-unknown", "tool-unknown"),
    (call({}), "tool-arguments", "tool-arguments"),
    (call(ACT | {"count": 1.0}), "tool-arguments", "tool-arguments"),
    (call(ACT | {"count": True}), "tool-arguments", "tool-arguments"),
    (call(ACT | {"ratio": 1}), "", ""),
    (call(ACT | {"ratio": True}), "tool-arguments", "tool-arguments"),
    (call(ACT | {"tags": ["x", 1]}), "tool-arguments", "tool-arguments"),
    (call(ACT | {"url": "u", "method": "PUT"}, "http_call"), "tool-arguments", "tool-arguments"),
    (call(ACT | {"url": "u", "method": "GET"}, "http_call"), "", ""),
    (call(ACT | {"more": 1}), "tool-unknown-argument", ""),
    (call(ACT, _meta={"wirefence/token": "?"}), "identity-unknown", "identity-unknown"),
    (call(ACT, _meta={"wirefence/token": Contract().token}), "", ""),
    (call(ACT, "admin_reset"), "authz-denied", "authz-denied"),
    (call(ACT, "admin_reset", _meta={"wirefence/token": Contract().token}), "", ""),
]


@pytest.mark.parametrize(("sent", "strict", "spec"), TABLE)
def test_rule_of_the_last_frame(sent: bytes, strict: str, spec: str) -> None:
    for profile, rule in (("strict", strict), ("spec", spec)):
        last = judge(HELLO + sent, profile, policy="continue").frames[-1]
        assert last.rule == rule
        assert last.layer == (BY_ID[rule].layer if rule else "")
        assert last.code == (BY_ID[rule].code if rule else 0)


@pytest.mark.parametrize(
    ("data", "strict", "spec"),
    [
        (call(ACT), "life-not-initialized", "life-not-initialized"),
        (line(id=1, method="x/y"), "life-not-initialized", "life-not-initialized"),
        (READY, "life-not-initialized", ""),
        (line(id=1, result={}), "life-not-initialized", ""),
        (PING % b"1", "", ""),
        (INIT + call(ACT), "life-not-ready", ""),
        (INIT + PING % b"1", "", ""),
    ],
)
def test_handshake(data: bytes, strict: str, spec: str) -> None:
    assert judge(data).frames[-1].rule == strict
    assert judge(data, "spec").frames[-1].rule == spec


def test_every_rule_of_the_table_is_a_rule_of_the_contract() -> None:
    assert {rule for _, *rules in TABLE for rule in rules if rule} <= BY_ID.keys()


def test_nothing_acts_after_a_rejected_frame_under_close() -> None:
    data = HELLO + b"{\n" + call(ACT)
    closed = judge(data)
    assert closed.closed_at == len(HELLO) + 2
    assert [f.rule for f in closed.frames[2:]] == ["json-syntax", "life-closed"]
    assert closed.calls() == []
    assert len(judge(data, policy="continue").calls()) == 1


def test_a_rejected_frame_leaves_no_state_and_a_refused_one_uses_its_id() -> None:
    rejected = line(id=5, method="ping", params={"_meta": 1})
    after = judge(HELLO + rejected + PING % b"5", policy="continue").frames
    assert [frame.rule for frame in after[2:]] == ["mcp-meta", ""]
    assert after[2].ids == (5,)
    refused = judge(HELLO + line(id=5, method="x/y") + PING % b"5").frames
    assert [frame.rule for frame in refused[2:]] == ["mcp-method", "life-id-reuse"]


def test_ids_of_different_types_differ() -> None:
    frames = judge(HELLO + PING % b"1" + PING % b'"1"' + PING % b"0").frames
    assert all(frame.accepted for frame in frames)


def test_a_line_over_the_bound_is_too_long_whatever_it_holds() -> None:
    for data in (b" " * 11 + b"\n", b"\xff" * 11 + b"\n", b"{" * 11):
        judgement = judge(data, max_frame=10)
        assert judgement.frames[-1].rule == "frame-too-long"
        assert judgement.closed_at == len(data)
    assert judge(b" " * 10 + b"\n", max_frame=10).frames[0].rule == "frame-empty"
    assert judge(b" " * 11 + b"\n", "spec", max_frame=10).frames[0].rule == "frame-empty"


def test_bytes_without_lf_never_act() -> None:
    judgement = judge(HELLO + call(ACT)[:-1])
    assert judgement.tail
    assert judgement.closed_at is None
    assert judgement.calls() == []


BATCH = "2025-03-26"


def batch(*members: bytes) -> bytes:
    return b"[" + b",".join(member.strip() for member in members) + b"]\n"


def test_a_batch_is_accepted_as_a_whole() -> None:
    sent = batch(call(ACT), call({}, ident=2), line(method="notifications/other"))
    frame = judge(HELLO + sent, version=BATCH).frames[-1]
    assert (frame.rule, frame.kind, frame.ids, frame.reply) == ("", "batch", (1, 2), "either")
    assert [call.arguments for call in frame.calls] == [ACT]
    assert [(m.ids, m.rule) for m in frame.members if m.rule] == [((2,), "tool-arguments")]
    silent = judge(HELLO + batch(line(method="notifications/other")), version=BATCH).frames[-1]
    assert silent.reply == "none"


@pytest.mark.parametrize("bad", [b"1", b"[]", PING % b"-0", PING % b"1"])
def test_one_bad_member_spoils_a_strict_batch_and_frees_its_ids(bad: bytes) -> None:
    data = HELLO + batch(call(ACT), bad) + PING % b"1"
    frames = judge(data, version=BATCH, policy="continue").frames
    assert [frame.rule for frame in frames[2:]] == ["rpc-batch", ""]
    assert frames[2].calls == ()
    spec = judge(data, "spec", version=BATCH, policy="continue").frames[2]
    assert [(call.arguments, call.required) for call in spec.calls] == [(ACT, False)]
    assert spec.ids == (1,)
    assert [bool(member.rule) for member in spec.members].count(True) == 1


@pytest.mark.parametrize("sent", [b"[]\n", batch(INIT), batch(PING % b"1", INIT)])
def test_batches_that_no_profile_takes(sent: bytes) -> None:
    for profile in ("strict", "spec"):
        assert judge(HELLO + sent, profile, version=BATCH).frames[-1].rule == "rpc-batch"


@pytest.mark.parametrize(
    ("params", "rule"),
    [
        (META % "2026-07-28", ""),
        (META % "2025-11-25", "mcp-version"),
        ("", "mcp-meta"),
        ('"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}', "mcp-meta"),
    ],
)
def test_each_request_of_the_stateless_version_stands_alone(params: str, rule: str) -> None:
    sent = b'{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{%b}}\n'
    assert judge(sent % params.encode(), version="2026-07-28").frames[0].rule == rule


def test_methods_of_other_versions_are_refused() -> None:
    assert judge(INIT, version="2026-07-28").frames[0].rule == "mcp-method"
    discover = judge(HELLO + line(id=1, method="server/discover"))
    assert discover.frames[-1].rule == "mcp-method"


def test_a_long_session_costs_the_same_for_each_frame() -> None:
    frames = b"".join(PING % str(i).encode() for i in range(3_000))
    assert all(frame.accepted for frame in judge(HELLO + frames).frames)


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_an_empty_method_is_a_method_that_nobody_serves(version: str) -> None:
    asked = line(id=7, method="", params={})
    sent = asked if version == "2026-07-28" else HELLO + asked
    assert judge(sent, version=version).frames[-1].rule == "mcp-method"
