"""Oracle *liveness*: each way to die is found and named; a healthy end is not."""

from __future__ import annotations

import pytest

from tests.oracles.judged import read_session
from tests.oracles.lines import Lines
from wirefence.oracles.liveness import (
    HELD_PER_BYTE,
    HELD_SLACK,
    MEMORY_PER_BYTE,
    MEMORY_SLACK,
    check_liveness,
    make_death,
    make_hang,
)
from wirefence.oracles.records import Finding
from wirefence.oracles.rules import ORACLE_RULES
from wirefence.strategies.contract import Contract
from wirefence.targets.records import Trace

DATA = b"x" * 1000
BOUND = MEMORY_SLACK + MEMORY_PER_BYTE * len(DATA)
STRICT, SPEC = Contract(), Contract(profile="spec")
DEAD = [
    (Trace("t", b"", (), "crashed", "RecursionError"), "live-crash", "RecursionError"),
    (Trace("t", b"", (), "exited"), "live-crash", "exit"),
    (Trace("t", b"", (), "hung"), "live-hang", "frame-unterminated:part"),
    (Trace("t", b"", (), peak_bytes=BOUND + 1), "live-memory", "frame-unterminated:part"),
]


def check(data: bytes, trace: Trace, contract: Contract = STRICT) -> list[Finding]:
    return list(check_liveness(read_session(data, trace, contract)))


@pytest.mark.parametrize(("trace", "rule", "deviation"), DEAD)
def test_a_death_is_one_finding(trace: Trace, rule: str, deviation: str) -> None:
    (found,) = check(DATA, trace)
    assert (found.oracle, found.rule, found.deviation) == ("liveness", rule, deviation)


def test_every_rule_is_planted() -> None:
    assert {rule for _, rule, _ in DEAD} == set(ORACLE_RULES["liveness"])


def test_a_healthy_end_is_no_finding() -> None:
    assert check(DATA, Trace("t", b"", (), peak_bytes=BOUND)) == []


def test_more_held_than_a_frame_may_have_is_a_finding_where_a_bound_holds() -> None:
    bound = HELD_SLACK + HELD_PER_BYTE * 100
    full, over = (Trace("t", b"", (), held_bytes=size) for size in (bound, bound + 1))
    short = Contract(max_frame=100)
    assert [found.effect for found in check(DATA, over, short)] == ["live-memory:held"]
    assert check(DATA, full, short) == check(DATA, over, SPEC) == []


def test_a_peak_and_what_is_held_are_two_effects() -> None:
    peak = Trace("t", b"", (), peak_bytes=BOUND + 1)
    held = Trace("t", b"", (), held_bytes=HELD_SLACK + HELD_PER_BYTE * STRICT.max_frame + 1)
    assert [check(DATA, each)[0].effect for each in (peak, held)] == [
        "live-memory:peak",
        "live-memory:held",
    ]


def test_a_crash_is_named_by_how_the_target_ended_whatever_was_sent() -> None:
    lines = Lines("2025-11-25")
    inputs = (DATA, b"{\n", lines.opened() + lines.with_id('"id":true'), b"\xff\n")
    for error in ("KeyError", "RecursionError"):
        trace = Trace("t/a", b"", (), "crashed", error)
        assert {check(data, trace)[0].signature for data in inputs} == {f"t|live-crash|{error}"}


def test_a_hang_is_named_by_the_frame_that_must_be_rejected() -> None:
    hung = Trace("t", b"", (), "hung")
    lines = Lines("2025-11-25")
    sound = lines.opened() + lines.call()
    assert check(sound, hung)[0].signature == "t|live-hang|none"
    broken = check(sound + b"{\n", hung)[0]
    assert broken.signature == "t|live-hang|json-syntax:unclosed"


def test_a_process_that_a_case_ended_has_the_signature_of_a_crash() -> None:
    assert make_death("t/a", "SIGSEGV").signature == "t|live-crash|SIGSEGV"
    assert make_death("t/a", "exit 1").signature != make_death("t/a", "exit 2").signature
    assert make_hang("t/a", 1.5).signature == "t|live-hang:process|none"
    assert make_hang("t/a", 1.5).summary == "the case did not end within 1.5 s"


def test_what_ended_a_process_for_its_time_or_memory_names_the_rule() -> None:
    found = make_death("t", "out-of-memory < parse", "too much", "live-memory")
    assert (found.rule, found.signature) == ("live-memory", "t|live-memory|out-of-memory < parse")
    assert found.summary == "too much"
    assert make_death("t", "exit 1").summary == "the process died (exit 1)"
