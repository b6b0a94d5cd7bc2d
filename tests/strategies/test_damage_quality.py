"""What an operator promises of a session is what the judge says of it, under both profiles."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import accumulate

import pytest

from wirefence.oracles.records import FrameVerdict
from wirefence.oracles.session import judge_session
from wirefence.strategies.contract import Contract, Profile
from wirefence.strategies.damage import OPERATORS, Damaged, Operator, Scene
from wirefence.strategies.records import VERSIONS, Case, Frame, Version
from wirefence.strategies.sessions import handshake, session
from wirefence.strategies.source import RandomSource

PROFILES: tuple[Profile, ...] = ("strict", "spec")
EXACT = [each for each in OPERATORS if each.expect != "profile" and not each.heavy]
HEAVY = [each for each in OPERATORS if each.heavy]
OPEN = [each for each in OPERATORS if each.expect == "profile" and not each.heavy]
CANCEL = Frame(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n')
"""The last frame of a session that asks for nothing."""


def quiet(version: Version) -> Case:
    return Case((*handshake(RandomSource(0), version), CANCEL), version=version)


SESSIONS = {
    version: [quiet(version), *(session(RandomSource(n), version, prefix="q-") for n in range(3))]
    for version in VERSIONS
}


def verdicts(case: Case, profile: Profile) -> tuple[FrameVerdict, ...]:
    contract = Contract(version=case.version, profile=profile, policy="continue")
    return judge_session(case.data, contract).frames


@cache
def broken(case: Case, profile: Profile) -> tuple[str, ...]:
    """The rules that a session breaks, whatever the order."""
    return tuple(sorted(each.rule for each in verdicts(case, profile) if each.rule))


def damaged(operator: Operator) -> Iterator[tuple[Case, Damaged]]:
    """Good sessions of every version, each damaged at every place that the operator fits."""
    for version in VERSIONS:
        host = operator.host(version, "host") if operator.host else None
        last = () if host is None else (Frame(host + b"\n"),)
        for session_ in SESSIONS[version]:
            good = Case((*session_.frames, *last), version=version)
            for at in range(len(good.frames)):
                made = operator.apply(RandomSource(at), Scene(good.frames, at, version))
                if made is not None:
                    yield good, made


def hit(operator: Operator, made: Damaged, version: Version, profile: Profile) -> list[str]:
    """The rules that the lines of the damaged frames break, ``""`` for one that is accepted."""
    ends = list(accumulate(len(frame.raw) for frame in made.frames))
    spans = [
        (end - len(frame.raw), end)
        for frame, end in zip(made.frames, ends, strict=True)
        if operator.name in frame.damage
    ] or [(0, ends[-1])]
    return [
        verdict.rule
        for verdict in verdicts(Case(made.frames, made.cuts, version), profile)
        if any(verdict.start < end and verdict.end > start for start, end in spans)
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_good_sessions_break_no_rule_and_are_at_most_refused(version: Version) -> None:
    for good in SESSIONS[version]:
        for profile in PROFILES:
            assert not [each for each in verdicts(good, profile) if each.reply == "optional-error"]


@pytest.mark.parametrize("operator", EXACT, ids=lambda operator: operator.name)
def test_the_judge_says_what_the_operator_expects(operator: Operator) -> None:
    every = list(damaged(operator))
    assert every
    for good, made in every:
        for profile in PROFILES:
            if operator.expect == "reject":
                assert any(hit(operator, made, good.version, profile))
            else:
                after = Case(made.frames, made.cuts, good.version)
                assert broken(after, profile) == broken(good, profile)


@pytest.mark.parametrize("operator", OPEN, ids=lambda operator: operator.name)
def test_what_is_left_open_does_depend_on_profile_version_or_place(operator: Operator) -> None:
    seen: set[bool] = set()
    for good, made in damaged(operator):
        seen |= {any(hit(operator, made, good.version, profile)) for profile in PROFILES}
        if len(seen) == 2:
            break
    # Of equal names any may win under spec, though the judge has to take one.
    assert len(seen) == 2 or operator.name.startswith("duplicate")


@pytest.mark.parametrize("operator", HEAVY, ids=lambda operator: operator.name)
def test_heavy_damage_is_judged_as_expected_at_one_place(operator: Operator) -> None:
    """Where it depends, it does on the profile: what is heavy is at or beyond a bound of strict."""
    good = SESSIONS["2025-11-25"][0]
    made = operator.apply(RandomSource(0), Scene(good.frames, len(good.frames) - 1, good.version))
    assert made is not None
    rejected = {each: any(hit(operator, made, good.version, each)) for each in PROFILES}
    assert rejected == {"strict": operator.expect != "accept", "spec": operator.expect == "reject"}
