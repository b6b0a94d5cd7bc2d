"""A planted violation is named where the profile has the rule; its healthy kin passes."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tests.oracles.lines import Lines
from tests.oracles.plants import MAX_DEPTH, MAX_FRAME, PLANTS, Plant
from wirefence.oracles.records import FrameVerdict, Judgement
from wirefence.oracles.rules import BY_ID, RULES
from wirefence.oracles.session import judge_session
from wirefence.strategies.contract import Contract

NAMES = [f"{n}-{plant.rule}" for n, plant in enumerate(PLANTS)]
planted = pytest.mark.parametrize("plant", PLANTS, ids=NAMES)
PROFILES = ("strict", "spec")


def judge(lines: Lines, data: bytes, **terms: Any) -> Judgement:
    bounds = {"max_frame": MAX_FRAME, "max_depth": MAX_DEPTH}
    return judge_session(data, Contract(lines.version, **(bounds | terms)))


def verdict_on_bad(plant: Plant, lines: Lines, profile: str) -> FrameVerdict:
    data = plant.before(lines) + plant.bad(lines)
    return judge(lines, data, profile=profile).frames[-1]


@planted
def test_a_violation_is_named_where_the_profile_has_the_rule(plant: Plant) -> None:
    for lines, profile in product(map(Lines, plant.versions), PROFILES):
        ruled = profile in BY_ID[plant.rule].profiles
        assert verdict_on_bad(plant, lines, profile).rule == (plant.rule if ruled else "")


@planted
def test_the_nearest_healthy_frame_passes_under_both_profiles(plant: Plant) -> None:
    for lines, profile in product(map(Lines, plant.versions), PROFILES):
        before = lines.opened() if plant.rule == "life-closed" else plant.before(lines)
        judged = judge(lines, before + plant.good(lines), profile=profile)
        assert judged.frames[-1].rule == ""


@planted
def test_what_breaks_a_rule_never_acts_and_is_answered_by_the_rule(plant: Plant) -> None:
    rule = BY_ID[plant.rule]
    for lines, profile in product(map(Lines, plant.versions), rule.profiles):
        verdict = verdict_on_bad(plant, lines, profile)
        assert (verdict.layer, verdict.calls) == (rule.layer, ())
        if rule.id == "life-closed":
            assert (verdict.reply, verdict.closes) == ("none", False)
        elif rule.closes:
            assert (verdict.reply, verdict.code) == ("optional-error", rule.code)
        else:
            assert verdict.reply == ("either" if rule.layer == "tool" else "error")
            assert (verdict.code, verdict.closes, len(verdict.ids)) == (rule.code, False, 1)


def test_every_rule_is_planted() -> None:
    assert {plant.rule for plant in PLANTS} == {rule.id for rule in RULES}
