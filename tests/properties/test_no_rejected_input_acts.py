"""Every rejected input leaves the executor's recorder empty."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given

from wirefence import strategies
from wirefence.oracles.session import judge_session
from wirefence.strategies.contract import Contract, Policy, Profile
from wirefence.strategies.sessions import handshake
from wirefence.strategies.source import RandomSource
from wirefence.targets.gateway.session import factory
from wirefence.targets.parsers.configs import STRICT
from wirefence.targets.planted.base import MiniGateway
from wirefence.targets.recorder import Recorder
from wirefence.targets.records import GatewayFactory

GATEWAYS: dict[str, GatewayFactory] = {
    "reference": factory(),
    "planted-healthy": MiniGateway,
    **{f"reference over {parser.name}": factory(parser.parse) for parser in STRICT},
}
ONE_LINE = strategies.damaged_frames(expect="reject").filter(
    lambda damaged: b"\n" not in damaged.raw[:-1]  # a good line beside a bad one may act
)
POLICIES: tuple[Policy, ...] = ("close", "continue")
PROFILES: tuple[Profile, ...] = ("strict", "spec")


def list_profiles(name: str) -> tuple[Profile, ...]:
    """The profiles that a gateway has. A strict parser rejects under spec what the judge accepts,
    and then a later frame with the same id is no second one.
    """
    return PROFILES if name == "reference" else PROFILES[:1]


@pytest.mark.parametrize("name", GATEWAYS)
@given(case=strategies.sessions())
def test_every_rejected_input_leaves_the_recorder_empty(name: str, case: strategies.Case) -> None:
    profiles = list_profiles(name)
    for policy, profile in product(POLICIES, profiles):
        contract = Contract(case.version, profile, policy)
        judged = judge_session(case.data, contract)
        granted = {call.arguments["action"] for frame in judged.frames for call in frame.calls}
        recorder = Recorder()
        gateway = GATEWAYS[name](recorder, contract)
        for chunk in case.chunks():
            gateway.feed(chunk)
        gateway.eof()
        assert {effect.action for effect in recorder.effects} <= granted


@pytest.mark.parametrize("name", GATEWAYS)
@given(damaged=ONE_LINE)
def test_a_rejected_frame_alone_leaves_the_recorder_empty(
    name: str, damaged: strategies.DamagedFrame
) -> None:
    profiles = PROFILES if name != "planted-healthy" else PROFILES[:1]  # it has the strict one only
    for policy, profile in product(POLICIES, profiles):
        contract = Contract(damaged.version, profile, policy)
        recorder = Recorder()
        gateway = GATEWAYS[name](recorder, contract)
        gateway.feed(b"".join(each.raw for each in handshake(RandomSource(0), damaged.version)))
        gateway.feed(damaged.raw)
        gateway.eof()
        assert not recorder.effects
