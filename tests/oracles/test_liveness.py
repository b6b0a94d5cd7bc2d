"""Oracle *liveness*: each way to die is found and named; a healthy end is not."""

from __future__ import annotations

import pytest

from wirefence.oracles.liveness import (
    HELD_PER_BYTE,
    HELD_SLACK,
    MEMORY_PER_BYTE,
    MEMORY_SLACK,
    check_liveness,
)
from wirefence.oracles.rules import ORACLE_RULES
from wirefence.targets.records import Trace

DATA = b"x" * 1000
BOUND = MEMORY_SLACK + MEMORY_PER_BYTE * len(DATA)
DEAD = [
    (Trace("t", b"", (), "crashed", "RecursionError"), "live-crash"),
    (Trace("t", b"", (), "exited"), "live-crash"),
    (Trace("t", b"", (), "hung"), "live-hang"),
    (Trace("t", b"", (), peak_bytes=BOUND + 1), "live-memory"),
]


@pytest.mark.parametrize(("trace", "rule"), DEAD)
def test_a_death_is_one_finding(trace: Trace, rule: str) -> None:
    (found,) = check_liveness(DATA, trace)
    assert (found.oracle, found.rule) == ("liveness", rule)


def test_every_rule_is_planted() -> None:
    assert {rule for _, rule in DEAD} == set(ORACLE_RULES["liveness"])


def test_a_healthy_end_is_no_finding() -> None:
    assert check_liveness(DATA, Trace("t", b"", (), peak_bytes=BOUND)) == []


def test_more_held_than_a_frame_may_have_is_a_finding_where_a_bound_holds() -> None:
    bound = HELD_SLACK + HELD_PER_BYTE * 100
    full, over = (Trace("t", b"", (), held_bytes=size) for size in (bound, bound + 1))
    assert [found.rule for found in check_liveness(DATA, over, 100)] == ["live-memory"]
    assert check_liveness(DATA, full, 100) == check_liveness(DATA, over) == []


def test_two_kinds_of_crash_have_two_signatures() -> None:
    traces = [Trace("t/a", b"", (), "crashed", error) for error in ("A", "B", "A")]
    one, other, same = (check_liveness(DATA, trace)[0].signature for trace in traces)
    assert one == same != other
