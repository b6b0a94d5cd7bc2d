"""What a server writes is permitted line by line; damaged, it is not."""

from __future__ import annotations

import pytest

from wirefence.oracles.message import judge_message
from wirefence.oracles.transcript_judge import judge_reply
from wirefence.strategies.damage import OPERATORS, Operator, Scene, apply_damage
from wirefence.strategies.records import VERSIONS, Case, Version
from wirefence.strategies.server_sessions import server_session
from wirefence.strategies.source import RandomSource

TEXTUAL = {"truncation", "concatenation", "banner", "encoding", "number-spelling", "white-space"}
REJECTED = [
    each
    for each in OPERATORS
    if each.family in TEXTUAL and each.expect == "reject" and not each.heavy
]


def sample(version: Version, count: int) -> list[Case]:
    source = RandomSource(VERSIONS.index(version))
    return [server_session(source, version) for _ in range(count)]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_line_is_one_that_a_server_may_write(version: Version) -> None:
    kinds = set()
    for case in sample(version, 150):
        assert case.direction == "server-to-client"
        for frame in case.frames:
            line = frame.raw[:-1]
            said = judge_reply(line, version)
            kinds.add(said.kind)
            assert said.rule == ""
            for profile in ("strict", "spec"):
                assert judge_message(line, version, "server-to-client", profile).rule == ""
    assert {"response", "notification"} <= kinds
    assert ("request" in kinds) is (version != "2026-07-28")


@pytest.mark.parametrize("operator", REJECTED, ids=lambda operator: operator.name)
def test_damage_to_what_a_server_says_is_seen_by_the_judge_of_its_lines(
    operator: Operator,
) -> None:
    for version in VERSIONS:
        for case in sample(version, 2):
            made = operator.apply(RandomSource(1), Scene(case.frames, 0, version))
            if made is None:
                continue
            *lines, tail = b"".join(frame.raw for frame in made.frames).split(b"\n")
            assert tail or any(judge_reply(line, version).rule for line in lines)


def test_damage_of_the_campaign_reaches_what_a_server_says() -> None:
    source = RandomSource(3)
    cases = [server_session(source, damage=apply_damage) for _ in range(60)]
    assert any(case.damages() for case in cases)
    assert not all(case.damages() for case in cases)
    assert all(case.direction == "server-to-client" for case in cases)
