"""Oracle *reply*: each wrong, missing or telling answer is found; honest answers are not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracles.judged import judge_trace
from tests.oracles.lines import Lines, greeting, line
from wirefence.oracles.records import Finding
from wirefence.oracles.rules import ORACLE_RULES
from wirefence.strategies.contract import Contract
from wirefence.strategies.records import Version
from wirefence.targets.records import Effect, Ending, Trace

LINES = Lines("2025-11-25")
HELLO = LINES.opened()
CALL, LIST = LINES.call(1, action="ran-1"), LINES.request("tools/list", name=2)
REFUSED = LINES.call(3, "nothing", action="lost-3")
BAD = LINES.call(4, action="lost-4").replace(b'"2.0"', b'"2"')
BROKEN = b'{"id":5,\n'
BAD_TWIN = LINES.call("1", action="lost-4").replace(b'"2.0"', b'"2"')


def result(name: Any, **members: Any) -> bytes:
    return line({"jsonrpc": "2.0", "id": name, "result": members})


def error(name: Any, code: int, text: str = "no") -> bytes:
    return line({"jsonrpc": "2.0", "id": name, "error": {"code": code, "message": text}})


INIT = result(0, **greeting("2025-11-25"))
DONE, TOOLS, NO = result(1, content=[]), result(2, tools=[]), error(3, -32602)
FAILED = result(3, content=[], isError=True)


def found_in(sent: bytes, out: bytes, **how: Any) -> list[str]:
    return [each.rule for each in findings(sent, out, **how)]


def named(sent: bytes, out: bytes) -> list[str]:
    return [each.signature for each in findings(sent, out)]


def findings(
    sent: bytes,
    out: bytes,
    *,
    policy: Any = "continue",
    ran: tuple[str, ...] = ("ran-1",),
    ending: Ending = "open",
    version: Version = "2025-11-25",
) -> list[Finding]:
    effects = tuple(Effect("record", {"action": name}, len(sent)) for name in ran)
    trace = Trace("t", out, effects, ending)
    return judge_trace(sent, trace, Contract(version, policy=policy), ("ran-1", "lost-3", "lost-4"))


HONEST = [
    (HELLO + CALL + LIST, INIT + DONE + TOOLS),
    (HELLO + CALL + LIST, TOOLS + DONE + INIT),
    (HELLO + CALL + REFUSED, INIT + DONE + NO),
    (HELLO + CALL + REFUSED, INIT + DONE + FAILED),
    (HELLO + BAD + CALL, INIT + DONE),
    (HELLO + BAD + CALL, INIT + error(4, -32600) + DONE),
    (HELLO + BAD + CALL, INIT + error(None, -32600) + DONE),
    (HELLO + BROKEN + CALL, INIT + error(None, -32700) + DONE),
    (HELLO + LINES.note("x") + CALL, INIT + DONE),
]
WRONG = [
    (HELLO + CALL, INIT + DONE + result(99), "reply-id"),
    (HELLO + CALL, INIT + DONE + result("1", content=[]), "reply-id"),
    (HELLO + CALL + LIST, INIT + result(1, tools=[]) + TOOLS, "reply-id"),
    (HELLO + CALL, INIT + error(1, -32602), "reply-code"),
    (HELLO + CALL + REFUSED, INIT + DONE + error(3, -32601), "reply-code"),
    (HELLO + CALL + REFUSED, INIT + DONE + result(3, content=[]), "reply-code"),
    (HELLO + BAD + CALL, INIT + error(4, -32700) + DONE, "reply-code"),
    (HELLO + BROKEN + CALL, INIT + error(None, -32600) + DONE, "reply-code"),
    (HELLO + CALL, INIT + DONE + DONE, "reply-twice"),
    (HELLO + BAD + CALL, INIT + error(4, -32600) + DONE + DONE, "reply-twice"),
    (HELLO + BAD_TWIN + CALL, INIT + error("1", -32600) + DONE + DONE, "reply-twice"),
    (HELLO + CALL, INIT + DONE + error(None, -32600), "reply-to-notification"),
    (HELLO + CALL + LIST, INIT + DONE, "reply-missing"),
    (HELLO + BAD + CALL, INIT + result(4, content=[]) + DONE, "reply-to-rejected"),
    (HELLO + BAD + CALL, INIT, "session-resync"),
    (HELLO + CALL, INIT + result(1, content=[{"type": "text"}]), "malformed-result"),
    (HELLO + CALL + REFUSED, INIT + DONE + error(3, -32602, "lost-3 failed"), "reply-leak"),
    (
        HELLO + CALL + REFUSED,
        INIT + DONE + error(3, -32602, "Traceback (most recent call last)"),
        "reply-leak",
    ),
    (HELLO + CALL, INIT + result(1, content=[], said=Contract().token), "reply-leak"),
]


@pytest.mark.parametrize(("sent", "out"), HONEST)
def test_honest_answers_are_no_finding(sent: bytes, out: bytes) -> None:
    assert found_in(sent, out) == []


@pytest.mark.parametrize(("sent", "out", "rule"), WRONG)
def test_a_wrong_answer_is_one_finding(sent: bytes, out: bytes, rule: str) -> None:
    (found,) = findings(sent, out)
    assert found.rule == rule
    assert found.oracle == ("session" if rule == "session-resync" else "reply")


def test_a_number_too_long_for_python_to_spell_hides_no_action_name() -> None:
    said = b'{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"m","data":[%s,"%s"]}}\n'
    for name, rules in ((b"", []), (b"lost-3", ["reply-leak"])):
        assert found_in(HELLO + CALL + REFUSED, INIT + DONE + said % (b"1" * 5000, name)) == rules


def test_a_request_named_after_the_token_hears_its_id_again_and_no_more() -> None:
    token = Contract().token
    sent = HELLO + LINES.request("ping", name=token)
    assert found_in(sent, INIT + result(token), ran=()) == []
    assert found_in(sent, INIT + result(token, said=token), ran=()) == ["reply-leak"]


def test_every_rule_is_planted() -> None:
    wrong = {rule for _, _, rule in WRONG}
    assert wrong == {*ORACLE_RULES["reply"], "session-resync"}


def test_nothing_is_answered_after_the_close() -> None:
    late = HELLO + BAD + CALL
    assert found_in(late, INIT + error(4, -32600), policy="close", ran=()) == []
    for answer in (DONE, error(1, -32600)):
        assert found_in(late, INIT + answer, policy="close", ran=()) == ["reply-to-rejected"]


def test_success_without_an_effect_is_a_lie() -> None:
    assert found_in(HELLO + CALL, INIT + DONE, ran=()) == ["act-missing"]


def test_the_dead_owe_no_answers() -> None:
    assert found_in(HELLO + CALL, INIT, ran=(), ending="crashed") == ["live-crash"]
    assert found_in(HELLO + CALL, INIT, ran=(), ending="hung") == ["live-hang"]


def test_an_id_of_a_rejected_frame_may_be_used_again() -> None:
    again = LINES.request("tools/list", name=4)
    out = INIT + error(4, -32600) + result(4, tools=[])
    assert found_in(HELLO + BAD + again, out, ran=()) == []


def test_an_id_of_another_type_excuses_nothing() -> None:
    bad = LINES.call("1").replace(b'"2.0"', b'"2"')
    out = INIT + error(1, -32600) + DONE
    assert "reply-twice" in found_in(HELLO + bad + CALL, out)


@pytest.mark.parametrize("together", [True, False])
def test_a_batch_is_answered_in_full(together: bool) -> None:
    lines = Lines("2025-03-26")
    sent = lines.opened() + b"[" + lines.call(1, action="ran-1")[:-1] + b"," + LIST[:-1] + b"]\n"
    parts = [DONE[:-1], TOOLS[:-1]]
    whole = b"[" + b",".join(parts) + b"]\n"
    part = b"[" + parts[0] + b"]\n"
    found = found_in(sent, INIT + (whole if together else part), version="2025-03-26")
    assert found == ([] if together else ["reply-missing"])


IN_BATCH = Lines("2025-03-26")
BATCH = b"[%b,%b,%b]\n" % (
    IN_BATCH.call(1, action="ran-1")[:-1],
    IN_BATCH.call(3, "nothing", action="lost-3")[:-1],
    IN_BATCH.request("tools/list", name=2)[:-1],
)
ANSWERS = [
    ((DONE, NO, TOOLS), []),
    ((TOOLS, FAILED, DONE), []),
    ((error(1, -32603), NO, TOOLS), ["reply-code"]),
    ((DONE, error(3, -1), TOOLS), ["reply-code"]),
    ((DONE, result(3, content=[]), TOOLS), ["reply-code"]),
    ((result(1, tools=[]), NO, TOOLS), ["reply-id"]),
    ((DONE, DONE, NO, TOOLS), ["reply-twice"]),
]


@pytest.mark.parametrize(("out", "rules"), ANSWERS)
def test_each_member_of_a_batch_is_answered_as_if_it_were_alone(
    out: tuple[bytes, ...], rules: list[str]
) -> None:
    sent = IN_BATCH.opened() + BATCH
    whole = b"[" + b",".join(each[:-1] for each in out) + b"]\n"
    said = [each.rule for each in findings(sent, INIT + whole, version="2025-03-26")]
    assert said == rules


def test_success_without_an_effect_is_a_lie_in_a_batch_too() -> None:
    whole = b"[" + b",".join(each[:-1] for each in (DONE, NO, TOOLS)) + b"]\n"
    found = found_in(IN_BATCH.opened() + BATCH, INIT + whole, ran=(), version="2025-03-26")
    assert found == ["act-missing"]


LONGEST = b"1" * 100_001


def test_numbers_too_long_for_python_are_ids_and_codes_like_others() -> None:
    bad = LINES.with_id('"id":%s' % ("1" * 5_000))
    echo = b'{"jsonrpc":"2.0","id":%b,%b}\n'
    no = b'"error":{"code":%b,"message":"no"}'
    ones, code = b"1" * 5_000, b"-" + b"1" * 5_000
    cases: list[tuple[bytes, bytes, list[str]]] = [
        (bad, echo % (ones, no % b"-32700"), []),
        (bad, echo % (ones, no % b"-32600"), ["reply-code"]),
        (bad, echo % (ones, b'"result":{}'), ["reply-to-rejected"]),
        (b"", echo % (ones, b'"result":{}'), ["reply-id"]),
        (b"", echo % (LONGEST, b'"result":{}'), ["reply-id"]),
        (REFUSED, echo % (b"3", no % code), ["reply-code"]),
        (REFUSED, echo % (b"3", no % LONGEST), ["reply-code"]),
        (BROKEN, echo % (b"null", no % code), ["reply-code"]),
    ]
    for sent, out, rules in cases:
        found = findings(HELLO + CALL + sent, INIT + DONE + out)
        assert [each.rule for each in found] == rules
        assert all(len(each.signature) + len(each.summary) < 400 for each in found)


def test_an_error_may_carry_the_escaped_id_of_what_was_no_message() -> None:
    sent = b'{"\\u0069d":"I\\u0044","x":1}\n'
    assert judge_trace(sent, Trace("t", error("ID", -32600), ()), Contract()) == []


GOOD_MEMBER = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
MIXED = b"[" + GOOD_MEMBER + b',1,{"jsonrpc":"2.0","id":2,"method":"ping","params":[]}]\n'


@pytest.mark.parametrize(
    "out",
    [
        b"",
        b"[%b,%b,%b]\n" % (result(1)[:-1], error(None, -32600)[:-1], error(2, -32600)[:-1]),
        b"%b" % error(None, -32600),
    ],
)
def test_under_spec_the_members_of_a_bad_batch_may_be_answered_one_by_one(out: bytes) -> None:
    assert loose(MIXED, out, "spec") == []


def test_under_strict_a_bad_batch_is_answered_as_a_whole() -> None:
    assert loose(MIXED, result(1), "strict") == ["reply-to-rejected"]


def test_under_spec_other_rejected_frames_get_no_result() -> None:
    assert loose(b'{"jsonrpc":"1.0","id":1,"method":"ping"}\n', result(1), "spec") == [
        "reply-to-rejected"
    ]


def loose(sent: bytes, out: bytes, profile: Any) -> list[str]:
    version: Version = "2025-03-26"
    contract = Contract(version, profile=profile, policy="continue")
    return [each.rule for each in judge_trace(sent, Trace("t", out, ()), contract)]


def test_a_lost_reply_has_one_signature_for_each_method_but_behind_a_rejection() -> None:
    """What was lost says something of the server; behind a rejected frame, anything may be."""
    ping = LINES.request("ping", name=2)
    lost = [named(HELLO + CALL + each, INIT + DONE) for each in (LIST, ping)]
    resync = [named(HELLO + BAD + CALL + each, INIT + DONE) for each in (LIST, ping)]
    assert lost == [["t|reply-missing:tools/list|none"], ["t|reply-missing:ping|none"]]
    assert resync[0] == resync[1] == ["t|session-resync|rpc-version:string"]
