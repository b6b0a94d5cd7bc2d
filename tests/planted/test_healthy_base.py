"""The base of the planted faults keeps the contract, rule by rule, in both policies."""

from __future__ import annotations

import json
import random

import pytest

from wirefence.oracles.document import judge_document
from wirefence.strategies.contract import Contract, Policy
from wirefence.strategies.damage import apply_damage
from wirefence.strategies.records import VERSIONS, Case, Version
from wirefence.strategies.sessions import session
from wirefence.strategies.source import RandomSource
from wirefence.targets.planted import MiniGateway
from wirefence.targets.planted.records import Rejected

HELLO = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    b'"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
)
CALL = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
    b'{"name":"record","arguments":{"action":"a"}}}'
)
GOOD = CALL.replace(b'"a"', b'"good"').replace(b'"id":1', b'"id":2') + b"\n"
SMALL = 2048


def damaged(old: bytes, new: bytes) -> bytes:
    assert CALL.count(old) == 1
    return CALL.replace(old, new)


def argument(raw: bytes) -> bytes:
    return damaged(b'"action":"a"', b'"action":"a",' + raw)


REJECTED: tuple[tuple[str, bytes, int], ...] = (
    ("frame-empty", b" \t", -32700),
    ("frame-too-long", argument(b'"note":"%b"' % (b"x" * SMALL)), -32700),
    ("frame-cr", CALL + b"\r", -32700),
    ("utf8-bom", b"\xef\xbb\xbf" + CALL, -32700),
    ("utf8-invalid", argument(b'"note":"\xed\xa0\x80"'), -32700),
    ("json-syntax", CALL + b"]", -32700),
    ("json-depth", argument(b'"options":{"x":%b%b}' % (b"[" * 125, b"]" * 125)), -32700),
    ("json-duplicate-name", argument(b'"\\u0061ction":"b"'), -32700),
    ("json-lone-surrogate", argument(b'"note":"\\udc00"'), -32700),
    ("json-integer-range", argument(b'"count":9007199254740992'), -32700),
    ("json-number-range", argument(b'"ratio":1e-400'), -32700),
    ("json-number-length", argument(b'"ratio":0.%b' % (b"1" * 1000)), -32700),
    ("rpc-not-object", b"1", -32600),
    ("rpc-batch", b"[%b]" % CALL, -32600),
    ("rpc-version", damaged(b'"2.0"', b"2.0"), -32600),
    ("rpc-kind", damaged(b'"id":1', b'"id":1,"result":{}'), -32600),
    ("rpc-kind", b'{"jsonrpc":"2.0","id":1}', 0),
    ("rpc-unknown-member", damaged(b'"id":1', b'"id":1,"ID":1'), -32600),
    ("rpc-id", damaged(b'"id":1', b'"id":-0'), -32600),
    ("rpc-method", damaged(b'"tools/call"', b"1"), -32600),
    ("rpc-params", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600),
    ("mcp-kind", b'{"jsonrpc":"2.0","id":1,"method":"notifications/cancelled"}', -32602),
    ("mcp-meta", damaged(b'"name"', b'"_meta":{"progressToken":true},"name"'), -32602),
    ("mcp-params", damaged(b'"record"', b"1"), -32602),
    ("mcp-params", damaged(b'"name"', b'"task":1,"name"'), -32602),
    ("mcp-unknown-param", damaged(b'"name"', b'"Name":1,"name"'), -32602),
    ("life-reinitialize", HELLO.split(b"\n")[0].replace(b'"id":0', b'"id":1'), -32600),
    ("life-reinitialize", HELLO.split(b"\n")[1], 0),
    ("life-id-reuse", damaged(b'"id":1', b'"id":0'), 0),
    ("life-unsolicited-response", b'{"jsonrpc":"2.0","id":1,"result":{}}', 0),
)
"""One frame for each rule that rejects, and the code of its error reply; 0 for silence."""

REFUSED: tuple[tuple[str, bytes, int], ...] = (
    ("mcp-method", damaged(b"tools/call", b"prompts/get"), -32601),
    ("tool-unknown", damaged(b"record", b"Record"), -32602),
    ("tool-arguments", argument(b'"count":true'), -32602),
    ("tool-arguments", damaged(b'"action"', b'"note"'), -32602),
    ("tool-unknown-argument", argument(b'"Action":"b"'), -32602),
    ("identity-unknown", damaged(b'"name"', b'"_meta":{"wirefence/token":1},"name"'), -32001),
    ("authz-denied", damaged(b"record", b"admin_reset"), -32003),
)


def run(
    data: bytes, policy: Policy = "close", version: Version = "2025-11-25", size: int = 1 << 30
) -> tuple[list[object], list[dict[str, object]]]:
    """Return the actions that ran and the replies, with ``data`` fed in pieces of ``size``."""
    actions: list[object] = []
    contract = Contract(version=version, policy=policy, max_frame=SMALL)
    gateway = MiniGateway(lambda _, arguments: actions.append(arguments["action"]), contract)
    out = b"".join(gateway.feed(data[at : at + size]) for at in range(0, len(data), size))
    out += gateway.eof()
    assert not out or out.endswith(b"\n")
    return actions, [json.loads(line) for line in out.splitlines()]


@pytest.mark.parametrize("size", [1 << 30, 1])
@pytest.mark.parametrize(("rule", "frame", "code"), REJECTED, ids=[row[0] for row in REJECTED])
def test_a_rejected_frame_closes_the_session_or_is_forgotten(rule, frame, code, size):
    data = HELLO + frame + b"\n" + GOOD
    closed, replies = run(data, "close", size=size)
    assert closed == []
    assert [reply["error"]["code"] for reply in replies[1:]] == ([code] if code else [])
    actions, replies = run(data, "continue", size=size)
    assert actions == ["good"]
    assert replies[-1]["id"] == 2


@pytest.mark.parametrize("policy", ["close", "continue"])
@pytest.mark.parametrize(("rule", "frame", "code"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_refused_request_is_answered_and_the_session_goes_on(rule, frame, code, policy):
    actions, replies = run(HELLO + frame + b"\n" + GOOD, policy)
    assert actions == ["good"]
    assert (replies[1]["id"], replies[1]["error"]["code"]) == (1, code)


@pytest.mark.parametrize("sent", [b"", HELLO.split(b"\n")[0] + b"\n"], ids=["none", "half"])
def test_nothing_acts_before_the_handshake_is_complete(sent):
    assert run(sent + CALL + b"\n")[0] == []


def test_an_unterminated_line_neither_acts_nor_is_answered():
    assert run(HELLO + CALL) == ([], run(HELLO)[1])


def test_a_stateless_request_carries_its_version_and_capabilities():
    prefix = b"io.modelcontextprotocol/"
    version = b'"%bprotocolVersion":"2026-07-28"' % prefix
    meta = b'"_meta":{%b,"%bclientCapabilities":{}},"name"' % (version, prefix)
    whole = damaged(b'"name"', meta)
    assert run(whole + b"\n", version="2026-07-28")[0] == ["a"]
    for sent, code in (
        (CALL, -32602),
        (whole.replace(version, version.replace(b'"2026-07-28"', b"1")), -32602),
        (whole.replace(b"2026-07-28", b"2025-11-25"), -32022),
    ):
        actions, replies = run(sent + b"\n", version="2026-07-28")
        assert actions == []
        assert replies[0]["error"]["code"] == code


def test_a_batch_is_not_empty_and_does_not_begin_a_session():
    hello, ready, _ = HELLO.split(b"\n")
    assert run(b"[]\n" + HELLO + GOOD, version="2025-03-26")[0] == []
    assert run(b"[%b]\n%b\n" % (hello, ready) + GOOD, version="2025-03-26")[0] == []


def test_a_batch_acts_only_when_all_its_members_are_accepted():
    other = CALL.replace(b'"id":1', b'"id":2').replace(b'"a"', b'"b"')
    good = b"[%b,%b]\n" % (CALL, other)
    actions, replies = run(HELLO + good, version="2025-03-26")
    assert actions == ["a", "b"]
    assert [reply["id"] for reply in replies[-1]] == [1, 2]
    assert run(HELLO + good.replace(b'"id":2', b'"id":1'), version="2025-03-26")[0] == []


def test_the_buffer_holds_no_more_than_one_byte_beyond_a_frame():
    gateway = MiniGateway(lambda *_: None, Contract(max_frame=SMALL))
    for _ in range(4):
        gateway.feed(b"x" * SMALL)
    assert len(gateway.buffer) == SMALL + 1


def test_the_base_reads_documents_as_the_judge_does(shared):
    gateway = MiniGateway(lambda *_: None, Contract())
    for path in sorted((shared / "corpora/JSONTestSuite/test_parsing").iterdir()):
        raw = path.read_bytes()
        verdict = judge_document(raw)
        try:
            value = gateway.parse(gateway.decode(raw))
        except Rejected:
            assert not verdict.accepted, path.name
        else:
            assert verdict.accepted, path.name
            assert value == verdict.value


def _sessions(count: int, damage: bool) -> list[Case]:
    source = RandomSource(random.Random(11))
    operators = apply_damage if damage else None
    return [session(source, VERSIONS[i % 5], damage=operators) for i in range(count)]


def test_no_frame_of_an_undamaged_session_is_rejected():
    for case in _sessions(300, damage=False):
        gateway = MiniGateway(lambda *_: None, Contract(version=case.version))
        gateway.feed(case.data)
        assert not gateway.closed, case


@pytest.mark.parametrize("policy", ["close", "continue"])
def test_where_the_writer_pauses_changes_nothing(policy):
    for case in _sessions(150, damage=True):
        seen = []
        for chunks in (case.chunks(), [case.data]):
            acts: list[object] = []
            gateway = MiniGateway(
                lambda tool, arguments, acts=acts: acts.append((tool, arguments)),
                Contract(version=case.version, policy=policy),
            )
            seen.append((b"".join(map(gateway.feed, chunks)), acts))
        assert seen[0] == seen[1], case
