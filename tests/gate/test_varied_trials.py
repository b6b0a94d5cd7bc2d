"""Later rounds of trials: new bytes, of which every one is wrong in the way of its operator."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from itertools import count, islice

import pytest

from tests.gate.test_bad_input_deviations import VERSIONS, make_maker
from wirefence.fuzz.gate.server.evidence import find_trial_deviation
from wirefence.fuzz.gate.server.fresh import prepare_trial
from wirefence.fuzz.gate.trials.generate import TrialMaker
from wirefence.fuzz.gate.trials.messages import strip_names
from wirefence.fuzz.gate.trials.schedule import make_warm_trials
from wirefence.fuzz.gate.trials.variation import vary_message
from wirefence.oracles.message import judge_message
from wirefence.strategies.damage import OPERATORS
from wirefence.strategies.records import Version
from wirefence.strategies.source import RandomSource

CALL = (
    b'{"jsonrpc":"2.0","id":"a","method":"tools/call",'
    b'"params":{"name":"record","arguments":{"action":"x"}}}\n'
)


def test_a_varied_message_means_the_same_and_is_spelled_in_many_ways() -> None:
    made = [vary_message(RandomSource(seed), CALL) for seed in range(400)]
    for each in made:
        message = json.loads(each)
        message["params"].pop("_meta", None)
        assert message == json.loads(CALL)
        assert judge_message(each[:-1], "2025-11-25").accepted
        assert each.endswith(b"}\n")
        assert each.count(b"\n") == 1
    assert len(set(made)) > 390
    assert any(b"_meta" in each for each in made)


def test_a_message_that_says_what_it_knows_in_meta_keeps_it() -> None:
    raw = CALL.replace(b'"name"', b'"_meta":{"progressToken":1},"name"')
    for seed in range(50):
        made = json.loads(vary_message(RandomSource(seed), raw))
        assert made["params"]["_meta"] == {"progressToken": 1}


@pytest.mark.parametrize("version", VERSIONS)
def test_later_rounds_send_what_no_round_before_has_sent(version: Version) -> None:
    maker = make_maker(version)
    trials = islice(make_warm_trials(maker, 1, count(1)), 1_200)
    spelled = [strip_names(trial.case.data) for trial in trials]
    assert len(set(spelled)) > 0.97 * len(spelled)
    plain = [t for turn in range(3) for t in replace(maker, seed=turn).make_damaged(count(1))]
    repeated = {strip_names(trial.case.data) for trial in plain}
    assert len(repeated) < 0.6 * len(plain)  # hence the variation


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_wrong_with_a_varied_trial_is_what_its_operator_names(version: Version) -> None:
    plain, varied = (list_deviations(each) for each in (make_maker(version), vary(version)))
    named = {operator.name: operator.deviations for operator in OPERATORS}
    assert varied.keys() == plain.keys()
    for name, deviations in varied.items():
        allowed = {*plain[name], *named[name]}
        strange = {each for each in deviations if f"{each.partition(':')[0]}:*" not in allowed}
        assert strange <= allowed, name


def vary(version: Version) -> TrialMaker:
    return replace(make_maker(version), varied=True)


def list_deviations(maker: TrialMaker) -> dict[str, set[str]]:
    found = defaultdict(set)
    contract = maker.facts.make_contract("strict")
    for seed in range(3):
        for trial in replace(maker, seed=seed).make_damaged(count(1)):
            found[trial.name].add(find_trial_deviation(prepare_trial(trial, contract)))
    return found
