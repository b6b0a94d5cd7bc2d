"""Every planted fault is found by generated cases of a fixed seed; the healthy base shows nothing.

This is the proof that the oracles bite: what they are given is made without any knowledge of the
fault, and what they find breaks a rule that the fault is said to break.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

import pytest

from wirefence.fuzz.examination.cases import BLOCK, generate_block
from wirefence.fuzz.examination.examiner import Examiner, GatewayTarget
from wirefence.fuzz.examination.plan import POLICIES
from wirefence.oracles.records import Finding
from wirefence.oracles.rules import ORACLE_RULES
from wirefence.strategies.damage import BY_NAME, Scene
from wirefence.strategies.records import VERSIONS, Case, Frame, Version
from wirefence.strategies.source import RandomSource
from wirefence.targets.gateway.session import factory
from wirefence.targets.parsers.configs import STRICT
from wirefence.targets.planted import BY_NAME as FAULTS
from wirefence.targets.planted import HEALTHY, PLANTED, Planted

SEED = 7
BUDGET = 6_000
HEALTHY_BUDGET = 640
OBSERVABLE = {rule for rules in ORACLE_RULES.values() for rule in rules}
"""The rules that an oracle can see broken; a fault also names the contract rule it ignores."""


@cache
def made(number: int, *versions: Version) -> tuple[Case, ...]:
    """A block of the fixed seed: every fault of a version meets the same cases."""
    return tuple(generate_block(SEED, number, versions or VERSIONS))


def generated(budget: int, *versions: Version) -> Iterator[Case]:
    for number in range(budget // BLOCK):
        yield from made(number, *versions)


def examined(cases: Iterable[Case], *targets: GatewayTarget) -> Iterator[Finding]:
    """What each case shows of all targets: it is judged once."""
    examiner = Examiner((), [targets])
    for case in cases:
        yield from examiner.examine_case(case)


@pytest.mark.parametrize("planted", PLANTED, ids=lambda each: each.name)
def test_a_planted_fault_is_found(planted: Planted) -> None:
    target = GatewayTarget(f"planted:{planted.name}", planted.factory, planted.policy)
    expected = OBSERVABLE.intersection(planted.breaks)
    if "act-rejected" in expected:
        # Whoever takes a frame that closes the session also serves what follows it.
        expected |= {"act-after-close", "reply-to-rejected"}
    rules: set[str] = set()
    for finding in examined(generated(BUDGET, planted.version), target):
        rules.add(finding.rule)
        if finding.rule in expected:
            return
    pytest.fail(f"{planted.name} breaks {sorted(expected)}; found only {sorted(rules)}")


@pytest.mark.parametrize(
    ("name", "rules"), [("buffers-without-bound", {"live-memory"}), ("healthy", set())]
)
def test_memory_is_measured_on_a_line_that_never_ends(name: str, rules: set[str]) -> None:
    endless = BY_NAME["line-without-end"].apply(RandomSource(0), Scene((Frame(b"{}\n"),), 0))
    assert endless is not None
    planted = FAULTS[name]
    target = GatewayTarget(f"planted:{name}", planted.factory, "close")
    found = Examiner((), [[target]]).examine_case(Case(endless.frames, endless.cuts))
    assert {each.rule for each in found} == rules


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-11-25", "2026-07-28"])
def test_the_healthy_base_shows_nothing(version: Version) -> None:
    targets = [GatewayTarget("planted:healthy", HEALTHY.factory, policy) for policy in POLICIES]
    found = examined(generated(HEALTHY_BUDGET, version), *targets)
    assert [f"{f.signature}: {f.summary}" for f in found] == []


@pytest.mark.parametrize("config", STRICT, ids=lambda each: each.name)
def test_the_reference_gateway_shows_nothing(config) -> None:
    made_by = factory(parse=config.parse)
    targets = [GatewayTarget("gateway/test", made_by, policy) for policy in POLICIES]
    found = examined(generated(4 * BLOCK), *targets)
    assert [f"{f.signature}: {f.summary}" for f in found] == []
