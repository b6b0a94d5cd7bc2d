"""Oracle *session*: a control session without the rejected frames, and what differs from it."""

from __future__ import annotations

from tests.oracles.judged import judge_trace, read_session
from tests.oracles.lines import Lines
from wirefence.oracles.effects import check_acts
from wirefence.oracles.evidence import Evidence
from wirefence.oracles.records import Finding
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


SENT = b"".join((*HELLO, BAD, CALL, LINES.call(5, action="b"), REFUSED))
KEPT_SENT = SENT.replace(BAD, b"")


def effect(action: str = "act-1", tool: str = "record", **arguments: object) -> Effect:
    return Effect(tool, {"action": action, **arguments}, len(SENT))


def compare(seen: Trace, expected: Trace) -> list[Finding]:
    """Compare what was seen of a session with a broken frame and of that without it."""
    return list(check_state(read_both(seen, expected)))


def read_both(seen: Trace, expected: Trace) -> Evidence:
    reference = read_session(KEPT_SENT, expected, KEPT)
    return read_session(SENT, seen, KEPT, control=reference)


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
    two = (effect(), effect("b"))
    different = [
        (trace(effect()), trace()),
        (trace(), trace(effect())),
        (trace(effect(count=1)), trace(effect(count=1.0))),
        (trace(effect()), trace(effect(tool="http_call"))),
        (trace(*two), trace(*reversed(two))),
        (trace(*two), trace(effect())),
        (trace(effect()), trace(*two)),
        (trace(effect(tool="nothing", action="lost")), trace()),
    ]
    refused = LINES.call(8, "nothing", action="lost")
    for seen, expected in different:
        control = read_session(KEPT_SENT + refused, expected, KEPT)
        evidence = read_session(SENT + refused, seen, KEPT, control=control)
        (found,) = check_state(evidence)
        assert (found.oracle, found.signature) == (
            "session",
            "t|session-state|json-syntax:unclosed",
        )
    assert set(ORACLE_RULES["session"]) == {"session-state", "session-resync"}


def test_equal_effects_are_no_finding_however_the_bytes_came() -> None:
    assert compare(trace(), trace()) == []
    other = Effect("record", {"count": 1, "action": "act-1"}, 70, after_eof=True)
    assert compare(trace(effect(count=1)), trace(other)) == []


def test_what_rejected_frames_did_themselves_is_no_state() -> None:
    """That a target acts on them is one finding, and not a second one by what it leaves."""
    bad = LINES.call(9, action="taken").replace(b'"2.0"', b'"2"')
    data = b"".join((*HELLO, bad, CALL))
    reference = read_session(data.replace(bad, b""), trace(effect()), KEPT)
    seen = trace(effect("taken"), effect())
    assert list(check_state(read_session(data, seen, KEPT, control=reference))) == []
    found = judge_trace(data, seen, KEPT, control=reference)
    assert [each.signature for each in found if each.oracle == "non-action"] == [
        "t|act-rejected|rpc-version:string"
    ]


def test_a_session_that_ended_early_says_nothing_of_state() -> None:
    dead = Trace("t", b"", (), "crashed", "KeyError")
    assert compare(dead, trace(effect())) == []


def test_a_permission_that_a_rejected_frame_left_is_state() -> None:
    """Such a target must not look like one that asks for no permission at all."""
    call = LINES.call(6, "admin_reset", action="reset")
    data = b"".join((*HELLO, BAD, call))
    acted = trace(effect("reset", "admin_reset"))
    signatures = {}
    for name, expected in (("keeps", trace()), ("never asks", acted)):
        reference = read_session(data.replace(BAD, b""), expected, KEPT)
        found = judge_trace(data, acted, KEPT, control=reference)
        signatures[name] = {each.signature for each in found}
    denied = "t|act-unauthorized|authz-denied:no-token"
    assert denied in signatures["keeps"] & signatures["never asks"]
    assert "t|session-state|json-syntax:unclosed" in signatures["keeps"] - signatures["never asks"]


def test_a_call_that_only_a_rejected_frame_alters_is_state_and_no_altered_call() -> None:
    altered = trace(effect(count=2))
    for expected, rules in (
        (trace(effect()), {"session-state"}),
        (altered, {"act-altered"}),
    ):
        evidence = read_both(altered, expected)
        found = [*check_acts(evidence), *check_state(evidence)]
        assert {each.rule for each in found} == rules
