"""Gateways take turns: every one has its share of the cases, whatever the damage of a case."""

from __future__ import annotations

from collections import Counter

import pytest

from wirefence.fuzz.examination.examiner import GatewayTarget
from wirefence.fuzz.examination.plan import Plan, build_examiner
from wirefence.fuzz.examination.turns import Turns
from wirefence.targets.parsers.configs import STRICT

COUNT = 36_000


def turns_of(*targets: str) -> Turns[GatewayTarget]:
    return Turns(build_examiner(Plan(targets)).gateways)


def shares(turns: Turns[GatewayTarget], step: int = 1) -> dict[str, float]:
    """The share of every step-th case that each target runs."""
    seen = Counter(each.name for n in range(COUNT) for each in turns.select(n * step))
    return {name: count / COUNT for name, count in seen.items()}


@pytest.mark.parametrize("step", [1, 4, 4 * 384, 4 * 390])
def test_every_gateway_has_its_share_whatever_the_turn_of_the_damage(step: int) -> None:
    found = shares(turns_of("gateway", "reference", "reference/spec"), step)
    assert found["reference/close"] == found["reference/continue"] == pytest.approx(0.5, abs=0.01)
    assert found["reference/close/spec"] == pytest.approx(1 / 3, abs=0.01)
    for config in STRICT:
        share = found[f"gateway/{config.name}/close"]
        assert share == pytest.approx(0.5 / len(STRICT), abs=0.01)


@pytest.mark.parametrize("targets", [("reference",), ("reference/spec",)])
def test_a_gateway_that_is_alone_runs_every_case(targets: tuple[str, ...]) -> None:
    assert set(shares(turns_of(*targets)).values()) == {1.0}


def test_all_gateways_run_where_no_turn_is_given() -> None:
    names = [each.name for each in turns_of("reference", "reference/spec").select(None)]
    ways = ("reference/close", "reference/continue")
    assert names == [*ways, *(f"{way}/spec" for way in ways)]


def test_no_gateway_runs_where_there_is_none() -> None:
    assert list(Turns[GatewayTarget](()).select(3)) == []
