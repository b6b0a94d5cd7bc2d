"""Two readings of ``docs/contract.md`` that share no code: the gateway's and the judge's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wirefence.fuzz.examination.examiner import Examiner, GatewayTarget
from wirefence.strategies.contract import Contract, Policy, Profile
from wirefence.strategies.damage import apply_damage
from wirefence.strategies.records import VERSIONS, Case, Version
from wirefence.strategies.sessions import session
from wirefence.strategies.source import RandomSource
from wirefence.targets.gateway import ReferenceGateway, factory
from wirefence.targets.records import Act, Gateway

SESSIONS = 40


def damaged(seed: int, version: Version) -> Case:
    source = RandomSource(seed)
    frames, cuts, names = apply_damage(
        source, session(source, version, prefix=f"act-{seed}-").frames, version
    )
    return Case(tuple(frames), cuts, version, damage=names)


@pytest.mark.parametrize("policy", ["close", "continue"])
@pytest.mark.parametrize("profile", ["strict", "spec"])
@pytest.mark.parametrize("version", VERSIONS)
def test_the_judge_finds_nothing_in_damaged_sessions(
    version: Version, profile: Profile, policy: Policy
) -> None:
    target = GatewayTarget(f"reference/{policy}/{profile}", factory(), policy, profile)
    examiner = Examiner([], [[target]])
    for seed in range(SESSIONS):
        case = damaged(seed, version)
        assert examiner.examine_case(case) == [], case
    assert len(examiner.tally.rules) > 8


def test_a_gateway_of_the_other_profile_is_told_apart() -> None:
    def strict_always(act: Act, contract: Contract) -> Gateway:
        return ReferenceGateway(act, replace(contract, profile="strict"))

    target = GatewayTarget("reference/continue/spec", strict_always, "continue", "spec")
    examiner = Examiner([], [[target]])
    assert any(examiner.examine_case(damaged(seed, "2025-11-25")) for seed in range(SESSIONS))
