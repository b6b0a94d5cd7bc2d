"""Every planted fault is found by generated cases of a fixed seed; the healthy base shows nothing.

This is the proof that the oracles bite: what they are given is made without any knowledge of the
fault, and what they find breaks a rule that the fault is said to break.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fuzz.drivers import BLOCK, block
from fuzz.examine import Examiner, GatewayTarget
from fuzz.plan import POLICIES
from oracles.records import Finding
from oracles.rules import ORACLE_RULES
from strategies.damage import BY_NAME, Scene
from strategies.records import Case, Frame
from strategies.source import RandomSource
from targets.gateway.session import factory
from targets.parsers.configs import STRICT
from targets.planted import BY_NAME as FAULTS
from targets.planted import HEALTHY, PLANTED, Planted

SEED = 7
BUDGET = 6_000
HEALTHY_BUDGET = 640
OBSERVABLE = {rule for rules in ORACLE_RULES.values() for rule in rules}
"""The rules that an oracle can see broken; a fault also names the contract rule it ignores."""


def generated(planted: Planted, budget: int) -> Iterator[Case]:
    """The cases of the fixed seed, all in the version under which the fault shows."""
    for number in range(budget // BLOCK):
        yield from block(SEED, number, (planted.version,))


def examined(target: GatewayTarget, cases: Iterator[Case]) -> Iterator[Finding]:
    examiner = Examiner((), [[target]])
    for case in cases:
        yield from examiner.examine(case)


@pytest.mark.parametrize("planted", PLANTED, ids=lambda each: each.name)
def test_a_planted_fault_is_found(planted: Planted) -> None:
    target = GatewayTarget(f"planted:{planted.name}", planted.factory, planted.policy)
    expected = OBSERVABLE.intersection(planted.breaks)
    if "act-rejected" in expected:
        # Whoever takes a frame that closes the session also serves what follows it.
        expected |= {"act-after-close", "reply-to-rejected"}
    rules: set[str] = set()
    for finding in examined(target, generated(planted, BUDGET)):
        rules.add(finding.rule)
        if finding.rule in expected:
            return
    pytest.fail(f"{planted.name} breaks {sorted(expected)}; found only {sorted(rules)}")


@pytest.mark.parametrize(
    ("name", "rules"), [("buffers-without-bound", {"live-memory"}), ("healthy", set())]
)
def test_memory_is_measured_on_a_line_that_never_ends(name: str, rules: set[str]) -> None:
    made = BY_NAME["line-without-end"].apply(RandomSource(0), Scene((Frame(b"{}\n"),), 0))
    assert made is not None
    planted = FAULTS[name]
    target = GatewayTarget(f"planted:{name}", planted.factory, "close")
    found = Examiner((), [[target]]).examine(Case(made.frames, made.cuts))
    assert {each.rule for each in found} == rules


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-11-25", "2026-07-28"])
def test_the_healthy_base_shows_nothing(policy: str, version: str) -> None:
    target = GatewayTarget("planted:healthy", HEALTHY.factory, policy)
    cases = (c for n in range(HEALTHY_BUDGET // BLOCK) for c in block(SEED, n, (version,)))
    assert [f"{f.signature}: {f.summary}" for f in examined(target, cases)] == []


@pytest.mark.parametrize("config", STRICT, ids=lambda each: each.name)
@pytest.mark.parametrize("policy", POLICIES)
def test_the_reference_gateway_shows_nothing(policy: str, config) -> None:
    target = GatewayTarget("gateway/test", factory(parse=config.parse), policy)
    cases = (c for n in range(4) for c in block(SEED, n))
    assert [f"{f.signature}: {f.summary}" for f in examined(target, cases)] == []
