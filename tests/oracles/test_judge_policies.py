"""What a session keeps after a bad frame, what a batch shares, and input made to break readers."""

from __future__ import annotations

import pytest

from tests.oracles.lines import Lines, line
from tests.oracles.plants import MAX_FRAME
from tests.oracles.test_planted_rules import judge
from wirefence.strategies.records import VERSIONS, Version

OLD, BATCHED, NEW = Lines("2025-11-25"), Lines("2025-03-26"), Lines("2026-07-28")
BAD = b"{\n"


def rules(lines: Lines, *frames: bytes, **terms: object) -> list[str]:
    return [frame.rule for frame in judge(lines, b"".join(frames), **terms).frames]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_rejection_closes_or_leaves_no_trace(version: Version) -> None:
    lines = Lines(version)
    data = lines.opened() + lines.call(5) + BAD + lines.call(6)
    closed = judge(lines, data)
    assert [frame.rule for frame in closed.frames][-2:] == ["json-syntax", "life-closed"]
    assert closed.closed_at == len(data) - len(lines.call(6))
    assert rules(lines, data, policy="continue")[-2:] == ["json-syntax", ""]


@pytest.mark.parametrize("policy", ["close", "continue"])
def test_a_refusal_uses_its_id_and_the_session_goes_on(policy: str) -> None:
    frames = (OLD.call(5, "nothing"), OLD.call(6), OLD.call(5), OLD.call(8))
    after = "life-closed" if policy == "close" else ""
    found = rules(OLD, OLD.opened(), *frames, policy=policy)
    assert found[2:] == ["tool-unknown", "", "life-id-reuse", after]


def test_a_rejected_frame_uses_no_id_and_initializes_nothing() -> None:
    lost = OLD.initialize(1)[:-1] + b"\r\n"
    bad_call = OLD.call(3).replace(b"2.0", b"2.1")
    frames = (lost, OLD.initialize(1), lost, OLD.ready(), bad_call, OLD.call(3))
    found = rules(OLD, *frames, policy="continue")
    assert found == ["frame-cr", "", "frame-cr", "", "rpc-version", ""]


def test_a_rejected_ready_does_not_make_ready() -> None:
    ready = OLD.ready().replace(b"2.0", b"2.1")
    found = rules(OLD, OLD.initialize(), ready, OLD.call(3), policy="continue")
    assert found == ["", "rpc-version", "life-not-ready"]


def test_ids_are_compared_with_their_type() -> None:
    frames = [OLD.call(name) for name in (1, "1", "01", 2, "2", 1)]
    assert rules(OLD, OLD.opened(), *frames)[2:] == ["", "", "", "", "", "life-id-reuse"]


def test_strict_hears_nothing_before_initialize_and_ready_only_once() -> None:
    answer = line({"jsonrpc": "2.0", "id": 1, "result": {}})
    assert rules(OLD, OLD.ready()) == rules(OLD, answer) == ["life-not-initialized"]
    assert rules(OLD, OLD.opened(), OLD.ready())[2:] == ["life-reinitialize"]
    spec = rules(OLD, OLD.ready(), answer, OLD.opened(), OLD.ready(), profile="spec")
    assert spec == [""] * 5


def test_an_unserved_method_is_refused_only_after_the_lifecycle_rules() -> None:
    unserved = OLD.request("prompts/list", {"_meta": 1}, 0)
    assert rules(OLD, unserved) == ["life-not-initialized"]
    assert rules(OLD, OLD.initialize(1), unserved)[1:] == ["life-not-ready"]
    assert rules(OLD, OLD.opened(), unserved)[2:] == ["life-id-reuse"]


def test_another_version_is_refused_only_after_an_id_reuse() -> None:
    other = NEW.call(3).replace(b"2026-07-28", b"2025-11-25")
    assert rules(NEW, NEW.call(3), other) == ["", "life-id-reuse"]


def test_a_granted_call_is_exactly_what_was_sent() -> None:
    frame = OLD.with_argument('"n\\u006fte":"\\ud83d\\ude00","count":-0,"ratio":1.0')
    (call,) = judge(OLD, OLD.opened() + frame).calls()
    assert call.tool == "record"
    assert call.arguments == {"action": "act-1", "note": "\U0001f600", "count": 0, "ratio": 1.0}
    assert [type(value) for value in call.arguments.values()] == [str, str, int, float]


def test_spec_drops_an_argument_that_no_tool_declares() -> None:
    (call,) = judge(OLD, OLD.opened() + OLD.call(x=1), profile="spec").calls()
    assert call.arguments == {"action": "act-1"}


@pytest.mark.parametrize("profile", ["strict", "spec"])
def test_minus_zero_is_told_from_zero_wherever_the_id_stands(profile: str) -> None:
    deep = NEW.with_argument('"count":-0,"options":{"id":-0,"b":[-0]}')
    zero, minus = deep.replace(b'"id":7', b'"id":0'), deep.replace(b'"id":7', b'"id":-0')
    assert rules(NEW, zero, profile=profile) == [""]
    assert rules(NEW, minus, profile=profile) == ["rpc-id"]


@pytest.mark.parametrize("mark", [*"{}[]:,", "-0", "id"])
def test_a_string_that_looks_like_syntax_does_not_hide_minus_zero(mark: str) -> None:
    call = NEW.call(action=mark).replace(b'"id":7,', b"")[:-2]
    assert rules(NEW, call + b',"id": 0 }\n', profile="spec") == [""]
    assert rules(NEW, call + b',"id": -0 }\n', profile="spec") == ["rpc-id"]


def test_minus_zero_in_a_batch_blames_its_own_member_only() -> None:
    zero, minus = BATCHED.call(0), BATCHED.call(0, action="b").replace(b'"id":0', b'"id":-0')
    opened = BATCHED.initialize(9) + BATCHED.ready()
    for members in ((zero, minus), (minus, zero)):
        calls = judge(BATCHED, opened + batch(*members), profile="spec").calls()
        assert [call.arguments["action"] for call in calls] == ["act-1"]


def batch(*members: bytes) -> bytes:
    return b"[" + b",".join(member[:-1] for member in members) + b"]\n"


def test_a_batch_acts_as_a_whole_and_owes_its_requests_replies() -> None:
    members = (BATCHED.call(3), BATCHED.note("x"), BATCHED.call("3", "no"), BATCHED.request("ping"))
    verdict = judge(BATCHED, BATCHED.opened() + batch(*members)).frames[-1]
    assert (verdict.rule, verdict.kind, verdict.reply) == ("", "batch", "either")
    assert verdict.ids == (3, "3", 7)
    told = [(m.ids, m.method, m.rule, m.reply, m.code) for m in verdict.members]
    assert told == [
        ((3,), "tools/call", "", "result", 0),
        (("3",), "tools/call", "tool-unknown", "either", -32602),
        ((7,), "ping", "", "result", 0),
    ]
    assert [call.tool for call in verdict.calls] == ["record"]


def test_a_batch_of_notifications_owes_nothing_and_still_counts() -> None:
    data = BATCHED.initialize() + batch(BATCHED.ready()) + BATCHED.call(3)
    first, notes, call = judge(BATCHED, data).frames
    assert (first.rule, notes.rule, notes.reply, call.rule) == ("", "", "none", "")


@pytest.mark.parametrize("member", [b"1\n", b"[]\n", b"{}\n", BATCHED.call(7)])
def test_strict_rejects_a_batch_for_one_bad_member_or_a_repeated_id(member: bytes) -> None:
    found = rules(BATCHED, BATCHED.opened(), batch(BATCHED.call(7), member))
    assert found[2:] == ["rpc-batch"]


def test_the_state_of_a_batch_grows_from_member_to_member_or_not_at_all() -> None:
    opened, good = BATCHED.initialize(), BATCHED.call(3)
    assert rules(BATCHED, opened, batch(BATCHED.ready(), good))[1:] == [""]
    assert rules(BATCHED, opened, batch(good, BATCHED.ready()))[1:] == ["rpc-batch"]
    lost = (opened, batch(BATCHED.ready(), good, b"1\n"), good, BATCHED.ready(), good, good)
    found = rules(BATCHED, *lost, policy="continue")[1:]
    assert found == ["rpc-batch", "life-not-ready", "", "", "life-id-reuse"]


def test_spec_lets_the_good_members_of_a_bad_batch_act_but_demands_nothing() -> None:
    data = BATCHED.opened() + batch(BATCHED.call(4), b"7\n")
    (call,) = judge(BATCHED, data, profile="spec").calls()
    assert (call.arguments, call.required) == ({"action": "act-1"}, False)
    assert judge(BATCHED, data).calls() == []


@pytest.mark.parametrize("policy", ["close", "continue"])
def test_a_tail_never_acts_and_is_told_apart_after_a_close(policy: str) -> None:
    whole = OLD.opened() + OLD.call(3)
    cut = judge(OLD, whole + OLD.call(4)[:-1], policy=policy)
    assert (cut.tail, cut.frames[-1].rule, len(cut.calls())) == (True, "frame-unterminated", 1)
    assert (judge(OLD, whole).tail, judge(OLD, b"").frames) == (False, ())
    after = rules(OLD, BAD, b"x", policy=policy)
    assert after[1:] == ["life-closed" if policy == "close" else "frame-unterminated"]


def test_a_long_tail_is_too_long_under_strict() -> None:
    assert rules(OLD, b"[" * (MAX_FRAME + 1)) == ["frame-too-long"]
    assert rules(OLD, b"[" * (MAX_FRAME + 1), profile="spec") == ["frame-unterminated"]


def test_frames_cover_every_byte_once() -> None:
    data = OLD.opened() + b"\n\n" + BAD + OLD.call() + b"tail"
    frames = judge(OLD, data, policy="continue").frames
    assert [frame.start for frame in frames[1:]] == [frame.end for frame in frames[:-1]]
    assert (frames[0].start, frames[-1].end) == (0, len(data))


@pytest.mark.parametrize("raw", [b"[" * 100_000, b'{"a":' * 100_000], ids=["arrays", "objects"])
def test_a_hundred_thousand_open_brackets_are_a_syntax_error(raw: bytes) -> None:
    assert rules(OLD, raw + b"\n", profile="spec") == ["json-syntax"]
    assert rules(OLD, raw + b"\n", max_frame=10**6) == ["json-syntax"]


def test_a_hundred_thousand_balanced_brackets_are_judged_like_any_value() -> None:
    frame = OLD.nested(100_000)
    spec = judge(OLD, OLD.opened() + frame, profile="spec")
    assert (spec.frames[-1].rule, len(spec.calls())) == ("", 1)
    assert rules(OLD, OLD.opened(), frame, max_frame=10**6)[2:] == ["json-depth"]


def test_ten_megabytes_of_escapes_are_one_string() -> None:
    frame = OLD.with_argument('"note":"' + "\\u0041bc\\ud83d\\ude00" * 500_000 + '"')
    assert len(frame) > 10_000_000
    (call,) = judge(OLD, OLD.opened() + frame, max_frame=2**24).calls()
    assert call.arguments["note"] == "Abc\U0001f600" * 500_000


def test_many_frames_are_judged_one_by_one() -> None:
    calls = b"".join(OLD.call(n) for n in range(1, 3_001))
    judged = judge(OLD, OLD.opened() + calls + OLD.call(1_500))
    assert len(judged.calls()) == 3_000
    assert judged.frames[-1].rule == "life-id-reuse"
