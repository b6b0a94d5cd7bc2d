"""What a right gateway may do although few do it: no rule charges it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.oracles.judged import judge_trace, make_case, read_session
from tests.oracles.lines import Lines, greeting, line
from wirefence.oracles.evidence import Evidence
from wirefence.oracles.session import judge_session
from wirefence.oracles.session_findings import judge_evidence
from wirefence.oracles.state import control_of
from wirefence.strategies.contract import Contract, Policy
from wirefence.strategies.records import Version
from wirefence.targets.records import Effect, Ending, Trace

LINES = Lines("2025-11-25")
HELLO = LINES.opened()
TOKEN = Contract().token


def result(name: Any, **members: Any) -> bytes:
    return line({"jsonrpc": "2.0", "id": name, "result": members})


def error(name: Any, code: int, text: str = "no") -> bytes:
    return line({"jsonrpc": "2.0", "id": name, "error": {"code": code, "message": text}})


def bad(raw: bytes) -> bytes:
    """A message with another version of JSON-RPC."""
    return raw.replace(b'"jsonrpc":"2.0"', b'"jsonrpc":"2"')


def call(name: Any, action: str, **arguments: Any) -> bytes:
    return LINES.call(name, action=action, **arguments)


INIT = result(0, **greeting("2025-11-25"))
DONE = {name: result(name, content=[]) for name in range(1, 9)}
PROGRESS = line(
    {
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": 1, "progress": 1},
    }
)
LOG = line(
    {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
)
ASKS = line({"jsonrpc": "2.0", "id": 1, "method": "ping"})
BATCHES = Lines("2025-03-26")
STATELESS = Lines("2026-07-28")
OLD_INIT = result(0, **greeting("2025-03-26"))


@dataclass(frozen=True)
class Right:
    """What was sent, what was written and which actions ran, with their arguments."""

    sent: bytes
    out: bytes
    ran: tuple[str, ...] = ()
    policy: Policy = "continue"
    version: Version = "2025-11-25"
    arguments: dict[str, Any] | None = None
    tool: str = "record"
    ending: Ending = "open"


def admin(name: Any, action: str, token: object = TOKEN) -> bytes:
    arguments = {"name": "admin_reset", "arguments": {"action": action}}
    return LINES.request("tools/call", arguments | {"_meta": {"wirefence/token": token}}, name)


RIGHT = {
    "answers in any order": Right(
        HELLO + call(1, "run-a") + call(2, "run-b") + call(3, "run-c"),
        DONE[3] + DONE[1] + INIT + DONE[2],
        ("run-c", "run-b", "run-a"),
    ),
    "is silent on every rejected frame": Right(
        HELLO + b"{\n" + bad(call(1, "run-x")) + b"\xff\n" + b"\n" + call(2, "run-a"),
        INIT + DONE[2],
        ("run-a",),
    ),
    "answers rejected frames by their own ids": Right(
        HELLO + bad(call(1, "run-x")) + bad(call("two", "run-y")) + call(3, "run-a"),
        INIT + error("two", -32600) + error(1, -32600) + DONE[3],
        ("run-a",),
    ),
    "answers rejected frames with null ids, and late": Right(
        HELLO + b"{\n" + bad(call(1, "run-x")) + call(3, "run-a"),
        INIT + DONE[3] + error(None, -32600) + error(None, -32700),
        ("run-a",),
    ),
    "answers one rejected frame and not the other": Right(
        HELLO + b"{\n" + bad(call(1, "run-x")) + call(3, "run-a"),
        INIT + error(None, -32700) + DONE[3],
        ("run-a",),
    ),
    "closes at the first rejected frame": Right(
        HELLO + call(1, "run-a") + b"{\n" + call(2, "run-b") + LINES.request("ping", name=3),
        INIT + DONE[1] + error(None, -32700),
        ("run-a",),
        policy="close",
    ),
    "closes without a word": Right(HELLO + b"{\n" + call(2, "run-b"), INIT, policy="close"),
    "closes before the handshake": Right(b"{\n" + HELLO + call(1, "run-a"), b"", policy="close"),
    "lets an id be used again after a rejected frame": Right(
        HELLO + bad(call(1, "run-x")) + call(1, "run-a"),
        INIT + error(1, -32600) + DONE[1],
        ("run-a",),
    ),
    "answers good and rejected frames of one id in any order": Right(
        HELLO + call(1, "run-a") + bad(call(1, "run-x")),
        INIT + error(1, -32600) + DONE[1],
        ("run-a",),
    ),
    "tells the id 1 from the id '1'": Right(
        HELLO + call(1, "run-a") + call("1", "run-b"),
        INIT + result("1", content=[]) + DONE[1],
        ("run-b", "run-a"),
    ),
    "refuses a tool by a failed result": Right(
        HELLO + LINES.call(1, "nothing", action="run-x") + call(2, "run-a"),
        INIT + result(1, content=[], isError=True) + DONE[2],
        ("run-a",),
    ),
    "refuses a tool by an error": Right(
        HELLO + LINES.call(1, "nothing", action="run-x"), INIT + error(1, -32602)
    ),
    "refuses the operator's tool": Right(
        HELLO
        + admin(1, "run-x", "?")
        + LINES.call(2, "admin_reset", action="run-y")
        + call(3, "run-a"),
        INIT + error(2, -32003) + error(1, -32001) + DONE[3],
        ("run-a",),
    ),
    "runs the operator's tool for the operator": Right(
        HELLO + admin(1, "run-a"), INIT + DONE[1], ("run-a",), tool="admin_reset"
    ),
    "tells a client that its own id was the token": Right(
        HELLO + LINES.request("ping", name=TOKEN), INIT + result(TOKEN)
    ),
    "answers a request named as an action": Right(
        HELLO + call("run-a", "run-a") + LINES.call("run-b", "nothing", action="run-b"),
        INIT + result("run-a", content=[]) + error("run-b", -32602),
        ("run-a",),
    ),
    "runs an action as often as it was asked to": Right(
        HELLO + call(1, "run-a") + call(2, "run-a"), INIT + DONE[2] + DONE[1], ("run-a", "run-a")
    ),
    "takes arguments in another order": Right(
        HELLO + call(1, "run-a", note="n", count=1),
        INIT + DONE[1],
        ("run-a",),
        arguments={"count": 1, "action": "run-a", "note": "n"},
    ),
    "does nothing for a call within the text of a call": Right(
        HELLO + call(1, "run-a", note=bad(call(2, "run-inner")).decode()),
        INIT + DONE[1],
        ("run-a",),
        arguments={"action": "run-a", "note": bad(call(2, "run-inner")).decode()},
    ),
    "notifies and asks in between": Right(
        HELLO + call(1, "run-a"), LOG + INIT + PROGRESS + ASKS + DONE[1] + LOG, ("run-a",)
    ),
    "adds members to results and data to errors": Right(
        HELLO + call(1, "run-a") + LINES.call(2, "nothing", action="run-x"),
        INIT
        + result(1, content=[], structuredContent={}, _meta={"x": 1}, more=[1.5])
        + line({"jsonrpc": "2.0", "id": 2, "error": {"code": -32602, "message": "", "data": [1]}}),
        ("run-a",),
    ),
    "writes escapes, white space and CR LF": Right(
        HELLO + call("é", "run-a"),
        INIT + b' {"id":"\\u00e9" ,"result":{"content":[ ]},\t"jsonrpc":"2\\u002e0"}\r\n',
        ("run-a",),
    ),
    "is silent on notifications, known or not": Right(
        HELLO + LINES.note("x") + LINES.note("notifications/cancelled", {"requestId": 77}), INIT
    ),
    "ignores a line that does not end": Right(
        HELLO + call(1, "run-a") + call(2, "run-x")[:-1], INIT + DONE[1], ("run-a",)
    ),
    "answers a line that does not end with an error": Right(
        HELLO + call(1, "run-a") + call(2, "run-x")[:-1],
        INIT + DONE[1] + error(2, -32700),
        ("run-a",),
    ),
    "rejects all before a handshake": Right(
        call(1, "run-x") + LINES.request("tools/list", name=2) + HELLO + call(3, "run-a"),
        error(2, -32600) + error(1, -32600) + INIT + DONE[3],
        ("run-a",),
    ),
    "rejects a bad initialize and takes a good one": Right(
        LINES.initialize(1, clientInfo=1) + HELLO + call(2, "run-a"),
        error(1, -32602) + INIT + DONE[2],
        ("run-a",),
    ),
    "answers a batch in any order": Right(
        BATCHES.opened()
        + b"[%b,%b,%b]\n"
        % (
            BATCHES.call(1, action="run-a")[:-1],
            BATCHES.note("x")[:-1],
            BATCHES.request("ping", name=2)[:-1],
        ),
        OLD_INIT + b"[%b,%b]\n" % (result(2)[:-1], DONE[1][:-1]),
        ("run-a",),
        version="2025-03-26",
    ),
    "answers no batch of notifications": Right(
        BATCHES.opened() + b"[%b]\n" % BATCHES.note("x")[:-1], OLD_INIT, version="2025-03-26"
    ),
    "rejects a batch with a bad member as a whole": Right(
        BATCHES.opened()
        + b"[%b,1]\n" % BATCHES.call(1, action="run-x")[:-1]
        + BATCHES.call(2, action="run-a"),
        OLD_INIT + error(None, -32600) + DONE[2],
        ("run-a",),
        version="2025-03-26",
    ),
    "needs no handshake where there is none": Right(
        STATELESS.call(1, action="run-a") + b"{\n" + STATELESS.call(2, action="run-b"),
        b"".join(result(name, content=[], resultType="complete") for name in (2, 1)),
        ("run-a", "run-b"),
        version="2026-07-28",
    ),
    "says nothing to nothing": Right(b"", b""),
}


def run_effects(right: Right, ran: tuple[str, ...]) -> tuple[Effect, ...]:
    size = len(right.sent)
    return tuple(
        Effect(right.tool, right.arguments or {"action": name}, size, after_eof=True)
        for name in ran
    )


def read_control(right: Right, contract: Contract) -> Evidence | None:
    """Return the evidence of the session without its rejected frames, as a right gateway has it."""
    case = make_case(right.sent, contract)
    control = control_of(case, judge_session(case.data, contract))
    if control is None or right.policy == "close":
        return None
    trace = Trace("t", b"", run_effects(right, right.ran))
    return read_session(control.data, trace, contract)


@pytest.mark.parametrize("right", RIGHT.values(), ids=RIGHT)
def test_a_right_session_has_no_finding(right: Right) -> None:
    contract = Contract(right.version, policy=right.policy)
    control = read_control(right, contract)
    trace = Trace("t", right.out, run_effects(right, right.ran), right.ending)
    found = judge_trace(right.sent, trace, contract, ("run-a", "run-b", "run-x", "run-y"), control)
    assert [f"{each.signature}: {each.summary}" for each in found] == []


@pytest.mark.parametrize("right", RIGHT.values(), ids=RIGHT)
def test_the_same_session_has_findings_where_something_ran_that_must_not(right: Right) -> None:
    """So that none of them is right only because nothing is looked at."""
    contract = Contract(right.version, policy=right.policy)
    trace = Trace("t", right.out, (*run_effects(right, right.ran), Effect("record", {}, 0)))
    rules = {each.rule for each in judge_trace(right.sent, trace, contract)}
    assert "act-unfounded" in rules


def other_servers(right: Right, **changes: Any) -> list[str]:
    """Judge a session as that of a server which need not keep our contract to the letter."""
    contract = Contract(right.version, policy=right.policy)
    trace = Trace("t", right.out, run_effects(right, right.ran), right.ending)
    seen = read_session(right.sent, trace, contract)
    fields = {name: getattr(seen, name) for name in Evidence.__slots__ if name[0] != "_"}
    return [
        each.signature for each in judge_evidence(Evidence(**{**fields, "exact": False, **changes}))
    ]


@pytest.mark.parametrize("right", RIGHT.values(), ids=RIGHT)
def test_what_is_right_by_the_letter_is_right_for_the_servers_of_others(right: Right) -> None:
    assert other_servers(right) == []


OTHERS = {
    "uses error codes of its own": Right(
        HELLO + b"{\n" + bad(call(1, "run-x")) + LINES.call(2, "nothing", action="run-y"),
        INIT + error(None, -1) + error(1, -32603) + error(2, 7),
    ),
    "answers a frame that has no id with several errors": Right(
        HELLO + b"{\n" + call(1, "run-a"), INIT + error(None, -1) * 3 + DONE[1], ("run-a",)
    ),
    "serves methods of its own": Right(
        HELLO + LINES.request("custom/method", name=1), INIT + result(1, anything=[])
    ),
    "writes notifications of its own": Right(
        HELLO, INIT + line({"jsonrpc": "2.0", "method": "notifications/own", "params": {}})
    ),
    "ends after a rejected frame": Right(
        HELLO + b"{\n" + call(1, "run-x"), INIT, policy="close", ending="exited"
    ),
}


@pytest.mark.parametrize("right", OTHERS.values(), ids=OTHERS)
def test_servers_of_others_may_do_what_the_contract_does_not_forbid(right: Right) -> None:
    assert other_servers(right) == []


def test_a_reply_that_is_told_from_a_control_session_is_no_finding_of_its_own() -> None:
    """A refusal of the server's own, which it gives without the rejected frame as well."""
    right = Right(HELLO + b"{\n" + LINES.request("tools/list", name=1), INIT + error(1, -32601))
    assert other_servers(right) == ["t|reply-code:refused|none"]
    control = read_session(HELLO, Trace("t", INIT, ()), Contract(policy="continue"))
    assert other_servers(right, control=control) == []
