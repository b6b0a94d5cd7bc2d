"""Oracle *session*: a control session without the rejected frames, and what differs from it."""

from __future__ import annotations

from tests.oracles.lines import Lines
from wirefence.oracles.rules import ORACLE_RULES
from wirefence.oracles.session import judge_session
from wirefence.oracles.state import check_state, control_of
from wirefence.strategies.contract import Contract
from wirefence.strategies.records import Case, Frame
from wirefence.targets.records import Effect, Trace

LINES = Lines("2025-11-25")
HELLO = (LINES.initialize(), LINES.ready())
CALL, REFUSED, BAD = LINES.call(3), LINES.call(4, "nothing"), b"{\n"
KEPT = Contract(policy="continue")


def control(*lines: bytes, contract: Contract = KEPT) -> bytes | None:
    case = Case(tuple(Frame(raw) for raw in lines))
    found = control_of(case, judge_session(case.data, contract))
    return found and found.data


def effect(**arguments: object) -> Effect:
    return Effect("record", {"action": "a", **arguments}, 9)


def trace(*effects: Effect) -> Trace:
    return Trace("t", b"", effects)


def test_the_control_has_all_but_the_rejected_frames() -> None:
    found = control(*HELLO, BAD, REFUSED, b"\n", CALL, b"tail")
    assert found == b"".join((*HELLO, REFUSED, CALL))


def test_several_lines_written_as_one_frame_are_parted() -> None:
    assert control(b"".join(HELLO), BAD + CALL) == b"".join((*HELLO, CALL))


def test_there_is_no_control_where_it_would_show_nothing() -> None:
    assert control(*HELLO, CALL) is None
    assert control(*HELLO, CALL, BAD) is None
    assert control(*HELLO, BAD, CALL, contract=Contract()) is None


def test_there_is_no_control_where_a_batch_with_a_bad_member_may_have_acted() -> None:
    lines = Lines("2025-03-26")
    sent = (lines.opened(), b"[" + lines.call(1)[:-1] + b",5]\n", lines.call(2))
    for profile, kept in (("strict", sent[0] + sent[2]), ("spec", None)):
        contract = Contract("2025-03-26", profile=profile, policy="continue")
        assert control(*sent, contract=contract) == kept


def test_other_effects_than_in_the_control_are_one_finding() -> None:
    different = [
        (trace(effect()), trace()),
        (trace(), trace(effect())),
        (trace(effect(count=1)), trace(effect(count=1.0))),
        (trace(effect()), trace(Effect("http_call", {"action": "a"}, 9))),
        (trace(effect(), effect(x=1)), trace(effect(x=1), effect())),
    ]
    for seen, expected in different:
        (found,) = check_state(seen, expected)
        assert (found.oracle, found.rule) == ("session", "session-state")
    assert set(ORACLE_RULES["session"]) == {"session-state", "session-resync"}


def test_equal_effects_are_no_finding_however_the_bytes_came() -> None:
    assert check_state(trace(), trace()) == []
    other = Effect("record", {"count": 1, "action": "a"}, 70, after_eof=True)
    assert check_state(trace(effect(count=1)), trace(other)) == []
