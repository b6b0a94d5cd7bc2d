"""What breaks each row of ``docs/contract.md``, and what the reference gateway makes of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.gateway.wire import (
    HANDSHAKE,
    INITIALIZE,
    LATEST,
    META,
    READY,
    actions,
    after,
    call,
    message,
    play,
    raw_id,
)
from wirefence.strategies.contract import Contract
from wirefence.strategies.records import Version
from wirefence.targets.gateway import ReferenceGateway, Rejection
from wirefence.targets.recorder import Recorder

CONTRACT_PAGE = Path(__file__).resolve().parents[2] / "docs" / "contract.md"


def deep(levels: int) -> bytes:
    # the params object is level 2, the array in it starts at level 3
    inner = b"[" * (levels - 2) + b"]" * (levels - 2)
    return message(id=7, method="ping", params={"x": 0}).replace(b"0}", inner + b"}")


def number(token: bytes) -> bytes:
    return message(id=7, method="ping", params={"x": None}).replace(b"null", token)


@dataclass(frozen=True)
class Row:
    """``data`` breaks ``rule``. ``strict``: the spec profile accepts it. ``id``: of the answer."""

    rule: str
    data: bytes
    version: Version = "2025-11-25"
    strict: bool = False
    opening: bytes | None = None
    silent: bool = False
    id: object = 7


def bare(rule: str, data: bytes, *, strict: bool = False, version: Version = "2025-11-25") -> Row:
    return Row(rule, data, version=version, strict=strict, id=None)


REJECTED = [
    bare("frame-empty", b"\n"),
    bare("frame-empty", b" \t\r\n"),
    bare("frame-too-long", b'{"a":"' + b"x" * 2_000 + b'"}\n'),
    bare("frame-too-long", b" " * 2_000 + b"\n"),
    bare("frame-too-long", call({"action": "n", "note": "x" * 2_000}), strict=True),
    bare("frame-cr", call().replace(b"\n", b"\r\n"), strict=True),
    bare("utf8-bom", b"\xef\xbb\xbf" + call()),
    bare("utf8-invalid", call().replace(b'"n"', b'"\xc0\xaf"')),
    bare("utf8-invalid", call().replace(b'"n"', b'"\xed\xa0\x80"')),
    bare("utf8-invalid", call().replace(b'"n"', b'"\xf4\x90\x80\x80"')),
    bare("json-syntax", call().replace(b"}}}", b"}},}")),
    bare("json-syntax", call()[:-1] + call()),
    bare("json-syntax", call()[:-2] + b"\n"),
    bare("json-syntax", number(b"NaN")),
    bare("json-syntax", number(b"01")),
    bare("json-syntax", number(b"[1,]")),
    bare("json-syntax", number(b'"\x01"')),
    bare("json-syntax", number(b'"\\x"')),
    bare("json-syntax", b"\xc2\xa0" + call()),
    bare("json-syntax", b"[" * 900 + b"\n"),
    bare("json-depth", deep(129), strict=True),
    bare("json-duplicate-name", call().replace(b'"id"', b'"i\\u0064": 9, "id"'), strict=True),
    bare("json-lone-surrogate", number(b'"\\ud800\\ud800\\udc00"'), strict=True),
    bare("json-lone-surrogate", number(b'{"\\udc00": 1}'), strict=True),
    bare("json-integer-range", number(b"9007199254740992"), strict=True),
    bare("json-number-range", number(b"1e400"), strict=True),
    bare("json-number-range", number(b"0.1e-400"), strict=True),
    bare("json-number-length", number(b"1" * 1_001), strict=True),
    bare("rpc-not-object", b"7\n"),
    bare("rpc-batch", b"[]\n", version="2025-03-26"),
    bare("rpc-batch", b"[" + call().strip() + b"]\n"),
    bare("rpc-batch", b"[" + INITIALIZE.strip() + b"]\n", version="2025-03-26"),
    bare("rpc-batch", b"[" + call().strip() + b",7]\n", version="2025-03-26"),
    bare("rpc-batch", b"[%b,%b]\n" % (call().strip(), call().strip()), version="2025-03-26"),
    Row("rpc-version", call().replace(b'"2.0"', b'"1.0"')),
    Row("rpc-version", call().replace(b'"2.0"', b"2.0")),
    Row("rpc-kind", message(id=7)),
    Row("rpc-kind", message(result={}), silent=True),
    Row("rpc-kind", message(id=7, method="ping", result={}), silent=True),
    Row("rpc-kind", message(id=7, error={"code": 1, "message": ""}, result={}), silent=True),
    Row("rpc-kind", message(error={"code": 1, "message": ""}), "2025-06-18", silent=True),
    Row("rpc-unknown-member", message(id=7, method="ping", extra=1), strict=True),
    Row("rpc-unknown-member", message(id=7, result={}, params={}), strict=True, silent=True),
    *(bare("rpc-id", raw_id(token)) for token in (b"1.0", b"1e2", b"true", b"null", b"[]", b"-0")),
    Row("rpc-method", message(id=7, method=7)),
    Row("rpc-params", message(id=7, method="ping", params=[])),
    Row("rpc-params", message(id=7, method="ping", params=None)),
    Row("rpc-result", message(id=7, result=[]), silent=True),
    Row("rpc-result", message(id=7, error={"code": True, "message": ""}), silent=True),
    Row("mcp-kind", message(method="tools/call", params={"name": "record"}), silent=True),
    Row("mcp-kind", message(id=7, method="notifications/cancelled")),
    Row("mcp-meta", message(id=7, method="ping", params={"_meta": []})),
    Row("mcp-meta", message(method="notifications/other", params={"_meta": []}), silent=True),
    Row("mcp-meta", call(meta={"progressToken": 1.5})),
    Row("mcp-meta", message(id=7, method="tools/list"), LATEST),
    Row("mcp-meta", call(), LATEST),
    Row("mcp-meta", call(meta={**META, "io.modelcontextprotocol/clientInfo": {}}), LATEST),
    Row("mcp-params", message(id=7, method="initialize", params={}), opening=b""),
    Row("mcp-params", message(id=7, method="tools/list", params={"cursor": 1})),
    Row("mcp-params", call([])),
    Row("mcp-params", call(task=[])),
    Row("mcp-params", message(id=7, method="tools/call")),
    Row("mcp-params", message(method="notifications/cancelled"), "2025-06-18", silent=True),
    Row("mcp-params", message(method="notifications/progress"), silent=True),
    Row("mcp-unknown-param", call(extra=1), strict=True),
    Row("mcp-unknown-param", call(task={}), "2025-06-18", strict=True),
    Row("life-not-initialized", call(), opening=b""),
    Row("life-not-initialized", message(id=7, method="unheard-of"), opening=b""),
    Row("life-not-initialized", READY, strict=True, opening=b"", silent=True),
    Row("life-not-ready", call(), strict=True, opening=INITIALIZE),
    Row("life-reinitialize", INITIALIZE, id=None),
    Row("life-reinitialize", READY, strict=True, silent=True),
    Row("life-id-reuse", call(id="init"), id=None),
    Row("life-id-reuse", message(id="init", method="unheard-of"), id=None),
    Row("life-unsolicited-response", message(id=7, result={}), strict=True, silent=True),
]

REFUSED = [
    Row("mcp-method", message(id=7, method="resources/list", params={"_meta": 1})),
    Row("mcp-method", message(id=7, method="server/discover")),
    Row("mcp-method", message(id=7, method="ping"), LATEST),
    Row(
        "mcp-version",
        call(meta={**META, "io.modelcontextprotocol/protocolVersion": "2025-11-25"}),
        LATEST,
    ),
    Row("tool-unknown", call(name="Record")),
    Row("tool-arguments", call({})),
    Row("tool-arguments", call({"action": 1})),
    Row("tool-arguments", call({"action": "n", "count": True})),
    Row("tool-arguments", call({"action": "n", "count": 1.0})),
    Row("tool-arguments", call({"action": "n", "tags": [1]})),
    Row("tool-arguments", call({"action": "n", "url": "u", "method": "PUT"}, name="http_call")),
    Row("tool-unknown-argument", call({"action": "n", "more": 1}), strict=True),
    Row("identity-unknown", call(meta={"wirefence/token": "wrong"})),
    Row("identity-unknown", call(meta={"wirefence/token": None})),
    Row("authz-denied", call(name="admin_reset")),
]
CODES = {
    "framing": -32700,
    "utf8": -32700,
    "json": -32700,
    "rpc": -32600,
    "message": -32602,
    "lifecycle": -32600,
}
REFUSAL_CODES = {
    "mcp-method": -32601,
    "mcp-version": -32022,
    "tool-unknown": -32602,
    "tool-arguments": -32602,
    "tool-unknown-argument": -32602,
    "identity-unknown": -32001,
    "authz-denied": -32003,
}


def label(row: Row) -> str:
    return f"{row.rule}-{row.version}"


def bounded(row: Row, **terms: object) -> Contract:
    contract = Contract(version=row.version, max_frame=1_500)
    return replace(contract, **terms)  # type: ignore[arg-type]


@pytest.mark.parametrize("row", REJECTED, ids=label)
def test_a_broken_rule_rejects_the_frame_and_closes_the_session(row: Row) -> None:
    played = play(row.data + after(row.version), bounded(row), opening=row.opening)
    assert played.rules == [row.rule]
    assert actions(played) == []
    if row.silent:
        assert played.replies == []
    else:
        (reply,) = played.replies
        entry = played.gateway.journal.entries[-1]
        assert isinstance(entry, Rejection)
        assert (reply["id"], reply["error"]["code"]) == (row.id, CODES[entry.layer])


@pytest.mark.parametrize("row", [row for row in REJECTED if row.opening is None], ids=label)
def test_under_continue_the_next_frame_acts_as_if_nothing_had_been_sent(row: Row) -> None:
    played = play(row.data + after(row.version), bounded(row, policy="continue"))
    assert played.rules == [row.rule]
    assert actions(played) == ["after"]
    assert played.replies[-1]["id"] == "next"


@pytest.mark.parametrize("row", [row for row in REJECTED if row.strict], ids=label)
def test_what_only_strict_rejects_passes_under_spec(row: Row) -> None:
    played = play(row.data, bounded(row, profile="spec"), opening=row.opening)
    assert played.rules == []


@pytest.mark.parametrize(
    "row",
    [row for row in REJECTED if not row.strict and row.rule != "frame-too-long"],
    ids=label,
)
def test_what_the_specifications_demand_rejects_under_spec_too(row: Row) -> None:
    played = play(row.data, bounded(row, profile="spec"), opening=row.opening)
    assert played.rules == [row.rule]
    assert actions(played) == []


@pytest.mark.parametrize("row", REFUSED, ids=label)
def test_a_refusal_is_answered_and_the_session_goes_on(row: Row) -> None:
    again = row.data.replace(b'"id": 7', b'"id": 8') + after(row.version)
    played = play(row.data + again, bounded(row))
    assert played.rules == [row.rule, row.rule]
    errors = [(reply["id"], reply["error"]["code"]) for reply in played.replies[:2]]
    assert errors == [(7, REFUSAL_CODES[row.rule]), (8, REFUSAL_CODES[row.rule])]
    assert actions(played) == ["after"]


@pytest.mark.parametrize("row", REFUSED, ids=label)
def test_the_id_of_a_refused_request_is_used(row: Row) -> None:
    reused = after(row.version).replace(b'"next"', b"7")
    played = play(row.data + reused, bounded(row))
    assert played.rules == [row.rule, "life-id-reuse"]


def test_under_spec_an_undeclared_argument_is_dropped() -> None:
    played = play(call({"action": "n", "more": 1}), Contract(profile="spec"))
    assert [effect.arguments for effect in played.recorder.effects] == [{"action": "n"}]


def test_the_operator_may_what_the_anonymous_caller_may_not() -> None:
    contract = Contract()
    played = play(
        call(name="admin_reset", meta={"wirefence/token": contract.token})
        + call(name="admin_reset", id=8),
        contract,
    )
    assert [effect.tool for effect in played.recorder.effects] == ["admin_reset"]
    assert played.rules == ["authz-denied"]


def test_the_last_line_without_lf_never_acts() -> None:
    played = play(call()[:-1], Contract())
    assert played.rules == ["frame-unterminated"]
    assert (actions(played), played.replies) == ([], [])


def test_after_close_nothing_is_heard() -> None:
    gateway = ReferenceGateway(recorder := Recorder(), Contract())
    gateway.feed(b"\n")
    assert gateway.feed(HANDSHAKE + call()) == b""
    assert recorder.effects == []


def test_every_rule_of_the_contract_has_a_row() -> None:
    named = set(re.findall(r"^\| (?:\w+ )?\| ([\w-]+) \|", CONTRACT_PAGE.read_text(), re.MULTILINE))
    elsewhere = {"rule", "frame-unterminated", "life-closed"}
    assert named - elsewhere == {row.rule for row in REJECTED + REFUSED}


def test_depth_up_to_the_limit_and_any_depth_under_spec() -> None:
    assert play(deep(128), Contract()).rules == []
    assert play(deep(200_000), Contract(profile="spec")).rules == []
