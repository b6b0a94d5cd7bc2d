"""Each reply and each effect of a trace is put to the frame that it belongs to."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracles.judged import judge_trace, make_case, read_session
from tests.oracles.lines import Lines, greeting, line
from wirefence.oracles.evidence import Evidence
from wirefence.oracles.records import FrameVerdict
from wirefence.oracles.session import judge_session
from wirefence.oracles.session_findings import judge_evidence
from wirefence.oracles.trace_evidence import read_trace
from wirefence.oracles.transcript import check_transcript
from wirefence.oracles.transcript_judge import judge_reply
from wirefence.strategies.contract import Contract
from wirefence.targets.records import Effect, Trace

LINES = Lines("2025-11-25")
HELLO = LINES.opened()
KEPT = Contract(policy="continue")
CLOSED = Contract(policy="close")
START = 2
"""Frames of the handshake, before those that a test sends."""


def result(name: Any, **members: Any) -> bytes:
    return line({"jsonrpc": "2.0", "id": name, "result": members})


def error(name: Any, code: int = -32600) -> bytes:
    return line({"jsonrpc": "2.0", "id": name, "error": {"code": code, "message": "no"}})


def bad(raw: bytes) -> bytes:
    return raw.replace(b'"jsonrpc":"2.0"', b'"jsonrpc":"2"')


def read(sent: bytes, out: bytes = b"", *ran: str, contract: Contract = KEPT) -> Evidence:
    data = HELLO + sent
    effects = tuple(Effect("record", {"action": name}, len(data)) for name in ran)
    return read_session(data, Trace("t", out, effects), contract)


def place_of(evidence: Evidence, frame: FrameVerdict | None) -> int | None:
    """Return the number of a frame behind the handshake; ``None`` for none."""
    return None if frame is None else evidence.frames.index(frame) - START


def owed_names(evidence: Evidence) -> list[tuple[str | int, int]]:
    return [(each.name, len(each.replies)) for each in evidence.owed[1:]]


def test_replies_belong_to_requests_by_id_and_type_and_not_by_order() -> None:
    sent = LINES.call(1) + LINES.call("1") + LINES.request("ping", name=3)
    evidence = read(sent, result("1", content=[]) + result(3) + result(3))
    assert owed_names(evidence) == [(1, 0), ("1", 1), (3, 2)]
    assert evidence.owed[2].replies[0].line == result("1", content=[])[:-1]


def test_each_member_of_a_batch_is_owed_its_reply() -> None:
    lines = Lines("2025-03-26")
    batch = b"[%b,%b]\n" % (lines.call(1)[:-1], lines.request("ping", name=2)[:-1])
    data = lines.opened() + batch
    out = b"[%b,%b]\n" % (result(2)[:-1], result(1, content=[])[:-1])
    evidence = read_session(data, Trace("t", out, ()), Contract("2025-03-26"))
    assert owed_names(evidence) == [(1, 1), (2, 1)]
    assert [each.frame.method for each in evidence.owed[1:]] == ["tools/call", "ping"]


def test_an_id_that_a_rejected_frame_has_as_well_is_shared() -> None:
    evidence = read(bad(LINES.call(1)) + LINES.call(1) + LINES.call(2))
    assert [place_of(evidence, each.shared) for each in evidence.owed[1:]] == [0, None]


def test_a_second_reply_may_be_that_of_a_twin_without_one() -> None:
    both = LINES.call(1) + LINES.call("1")
    twice = result(1, content=[]) * 2
    assert [each.twin for each in read(both, twice).owed[1:]] == [True, False]
    answered = twice + result("1", content=[])
    assert [each.twin for each in read(both, answered).owed[1:]] == [False, False]


@pytest.mark.parametrize(
    ("sent", "out", "owners"),
    [
        (bad(LINES.call(9)), error(9), [0]),
        (LINES.call(1) + bad(LINES.call("x")), error("x"), [1]),
        (b'{"id" : 9, "method"\n', error(9), [0]),
        (b'{"ID":"x",}\n', error("x"), [0]),
        (b'{"id":"\\u0078",}\n', error("x"), []),
        (b'{"id":90}\n{"id":9.5}\n{"x":9}\n', error(9), []),
        (LINES.call(1, note='"id":9'), error(9), []),
        (b'{"id":9,}\n' + bad(LINES.call(9)), error(9), [1]),
    ],
)
def test_a_reply_to_nobody_has_the_rejected_frames_that_hold_its_id(
    sent: bytes, out: bytes, owners: list[int]
) -> None:
    evidence = read(sent, out)
    (stray,) = evidence.strays
    assert [place_of(evidence, each) for each in stray.owners] == owners


def test_replies_with_a_null_id_have_no_owner() -> None:
    evidence = read(b"{\n", error(None) + error(None))
    assert (len(evidence.nameless), evidence.strays) == (2, ())


def test_lines_that_are_no_responses_answer_nothing() -> None:
    out = b'{"jsonrpc":"2.0","id":1}\n' + LINES.request("ping", name=1) + b"oops\n"
    evidence = read(LINES.call(1), out + b'{"tail"')
    assert (owed_names(evidence), evidence.strays) == ([(1, 0)], ())
    assert (len(evidence.lines), len(evidence.said), evidence.tail) == (3, 3, b'{"tail"')


@pytest.mark.parametrize(
    ("sent", "ran", "owner"),
    [
        (bad(LINES.call(1, action="x")), "x", 0),
        (bad(LINES.call(1, action="x")) + LINES.call(2, "nothing", action="x"), "x", 1),
        (b'{"a":"x-1"}\n' + bad(LINES.call(1, action="x-1")), "x-1", 1),
        (b'{"note":"x-1"}\n{"note":"x-1"}\n', "x-1", 0),
        (LINES.call(1, action="a", note="x-1"), "x-1", 0),
        (LINES.call(1, action="a"), "never", None),
        (LINES.call(1, action="a"), "", None),
    ],
)
def test_an_effect_belongs_to_the_last_frame_that_names_its_action(
    sent: bytes, ran: str, owner: int | None
) -> None:
    evidence = read(sent, b"", ran)
    (act,) = evidence.acts
    assert place_of(evidence, act.owner) == owner
    assert act.fault == ("unfounded" if owner is None else "")


def test_of_frames_that_name_an_action_the_one_with_a_result_acted() -> None:
    sent = bad(LINES.call("one", action="x")) + bad(LINES.call("two", action="x"))
    for name, owner in (("one", 0), ("two", 1)):
        evidence = read(sent, result(name, content=[]), "x")
        assert place_of(evidence, evidence.acts[0].owner) == owner


def test_an_action_without_a_frame_is_that_of_the_one_refused_call_with_success() -> None:
    sent = LINES.call(1, action=5) + LINES.call(2, "nothing", action="y")
    served = read(sent, result(1, content=[]) + error(2, -32602), "5")
    assert place_of(served, served.acts[0].owner) == 0  # and not the handshake, which has a 5
    for out in (
        error(1, -32602) + error(2, -32602),
        result(1, content=[], isError=True) + error(2, -32602),
        result(1, content=[]) + result(2, content=[]),
    ):
        (act,) = read(sent, out, "five").acts
        assert (act.owner, act.fault) == (None, "unfounded")


def test_the_result_of_a_good_call_serves_no_rejected_frame_of_its_id() -> None:
    sent = bad(LINES.call(1, action="x")) + LINES.call(1, action="good")
    (act,) = read(sent, error(1) + result(1, content=[]), "good", "five").acts
    assert (act.owner, act.fault) == (None, "unfounded")


def test_effects_are_done_once_for_each_granted_or_refused_call() -> None:
    sent = (
        LINES.call(1, action="a")
        + LINES.call(2, "admin_reset", action="b")
        + bad(LINES.call(3, action="c"))
    )
    evidence = read(sent, b"", "a", "a", "b", "c", "never")
    assert [call.arguments["action"] for call in evidence.done] == ["a", "b"]  # type: ignore[attr-defined]
    assert [each.fault for each in evidence.acts] == ["twice", "", "", "unfounded"]


def test_a_call_with_success_and_no_effect_has_lost_one() -> None:
    ok = result(1, content=[])
    assert read(LINES.call(1, action="a"), ok).owed[1].lost
    assert not read(LINES.call(1, action="a"), ok, "a").owed[1].lost
    for out in (b"", error(1), result(1, content=[], isError=True), result(1)):
        assert not read(LINES.call(1, action="a"), out).owed[1].lost


def test_the_bounds_and_secrets_are_those_of_the_contract() -> None:
    data = HELLO + LINES.call(1, action="name-1")
    case = make_case(data, KEPT, ["name-1"])
    trace = Trace("t", b"", (), "crashed", "KeyError", seconds=1.5, peak_bytes=7, held_bytes=9)
    for profile in ("strict", "spec"):
        contract = Contract(profile=profile, policy="continue")
        evidence = read_trace(case, judge_session(data, contract), trace, contract)
        assert (evidence.held_bound is not None) == (profile == "strict")
        assert evidence.secrets == (contract.token,)
        assert evidence.names == ("name-1",)
        assert (evidence.ending, evidence.status, evidence.seconds) == ("crashed", "KeyError", 1.5)
        assert (evidence.peak_bytes, evidence.held_bytes, evidence.exact) == (7, 9, True)


def test_a_frame_has_its_deviation_and_one_after_the_close_that_of_what_closed() -> None:
    sent = LINES.call(1) + LINES.with_id('"id":true') + LINES.call(2)
    kept, closed = (read(sent, contract=each) for each in (KEPT, CLOSED))
    names = [kept.deviation_of(each) for each in kept.frames[START:]]
    assert names == ["none", "rpc-id:boolean", "none"]
    assert [each.rule for each in closed.frames[START:]] == ["", "rpc-id", "life-closed"]
    assert closed.deviation_of(closed.frames[-1]) == "rpc-id:boolean"
    assert kept.deviation_of(None) == "none"


def test_a_findings_deviation_may_be_known_already() -> None:
    evidence = read(b"{\n")
    made = evidence.make_finding("liveness", "live-crash", "SIGSEGV", "died", b"raw")
    assert made.signature == "t|live-crash|SIGSEGV"
    about = evidence.make_finding("session", "session-state", evidence.frames[-1], "differs")
    assert (about.family, about.effect, about.deviation) == (
        *("t", "session-state", "json-syntax:unclosed"),
    )


def test_each_signature_is_found_once_with_the_first_bytes_that_show_it() -> None:
    sent = b"".join(bad(LINES.call(name, action=f"x-{name}")) for name in (1, 2))
    out = b"first\n" + result(1, content=[]) + b"second\n" + result(2, content=[])
    found = judge_evidence(read(sent, out, "x-1", "x-2"))
    signatures = [each.signature for each in found]
    assert len(signatures) == len(set(signatures))
    shown = {each.rule: each.offending for each in found}
    assert shown["out-not-json"] == b"first"
    assert shown["reply-to-rejected"] == result(1, content=[])[:-1]


def test_a_server_of_others_may_extend_the_protocol_and_ours_may_not() -> None:
    own = line({"jsonrpc": "2.0", "method": "notifications/own", "params": {}})[:-1]
    for exact, rules in ((True, ["out-not-message"]), (False, [])):
        evidence = Evidence(
            target="t",
            data=b"",
            contract=KEPT,
            frames=(),
            exact=exact,
            lines=(own,),
            said=(judge_reply(own, "2025-11-25"),),
        )
        assert [each.rule for each in check_transcript(evidence)] == rules


def test_errors_with_a_null_id_are_usual_where_the_control_session_has_them_as_well() -> None:
    sent = b"{\n" + LINES.call(1, action="a")
    out = error(None, -32700) * 3 + result(1, content=[])
    data = HELLO + sent
    trace = Trace("t", result(0, **greeting("2025-11-25")) + out, ())
    for same, deviation in ((b"", "json-syntax:unclosed"), (error(None), "none")):
        control = read(LINES.call(1, action="a"), same)
        found = judge_trace(data, trace, KEPT, control=control)
        assert [each.signature for each in found if each.oracle == "reply"] == [
            f"t|reply-id:null|{deviation}"
        ]


IN_BATCH = Lines("2025-03-26")
MIXED = b"[%b,%b,%b]\n" % (
    IN_BATCH.call(1, action="good")[:-1],
    IN_BATCH.call(2, "nothing", action="odd")[:-1],
    IN_BATCH.call(3, "admin_reset", action="admin")[:-1],
)


def judge_batch(out: bytes, *effects: tuple[str, str]) -> set[str]:
    data = IN_BATCH.opened() + MIXED
    ran = tuple(Effect(tool, {"action": action}, len(data)) for tool, action in effects)
    opened = result(0, **greeting("2025-03-26"))
    found = judge_trace(data, Trace("t", opened + out, ran), Contract("2025-03-26"))
    return {each.signature for each in found}


def answer(*replies: bytes) -> bytes:
    return b"[" + b",".join(each[:-1] for each in replies) + b"]\n"


GOOD, ODD, ADMIN = result(1, content=[]), error(2, -32602), error(3, -32003)


def test_each_member_of_a_batch_has_the_deviation_of_its_own() -> None:
    ran = ("record", "good")
    assert judge_batch(answer(GOOD, ODD, ADMIN), ran) == set()
    done = [result(name, content=[]) for name in (2, 3)]
    assert judge_batch(answer(GOOD, *done), ran) == {
        *("t|reply-code:result|tool-unknown:other", "t|reply-code:result|authz-denied:no-token"),
    }
    assert judge_batch(answer(error(1, -32603), ODD, ADMIN), ran) == {"t|reply-code:refused|none"}
    assert judge_batch(answer(GOOD, ODD, error(3, -1)), ran) == {
        "t|reply-code|authz-denied:no-token"
    }


def test_what_a_member_of_a_batch_did_is_about_that_member() -> None:
    out, ran = answer(GOOD, ODD, ADMIN), ("record", "good")
    assert judge_batch(out, ran, ran) == {"t|act-twice|none"}
    assert judge_batch(out, ran, ("admin_reset", "admin")) == {
        "t|act-unauthorized:denied|authz-denied:no-token"
    }
