"""A copy under new names is what making and judging it anew would give, for every operator."""

from __future__ import annotations

from dataclasses import replace
from itertools import count, islice

import pytest

from wirefence.fuzz.gate.records import Observation
from wirefence.fuzz.gate.server.fresh import PreparedTrial, prepare_trial
from wirefence.fuzz.gate.server.trial_payload import TrialPayload
from wirefence.fuzz.gate.server.trial_templates import (
    CachedJudge,
    Templates,
    is_template,
    rename_template,
)
from wirefence.fuzz.gate.server.verdicts import judge_trial
from wirefence.fuzz.gate.trials.messages import TrialNames
from wirefence.strategies.damage import OPERATORS

FAR = 3_000_000
"""A number of more than six digits: the run in a name counts what they can't."""


def bare(prepared: PreparedTrial) -> PreparedTrial:
    return replace(prepared, trial=replace(prepared.trial, origin=0))


def test_a_spliced_trial_is_that_which_is_made_and_judged_with_the_new_name(bench):
    made = bench()
    contract = made.facts.make_contract("strict")
    operators = set()
    maker = replace(made.maker, seed=3)
    for one, other in zip(
        maker.make_damaged(count(1)), maker.make_damaged(count(FAR)), strict=True
    ):
        prepared = prepare_trial(one, contract)
        if is_template(prepared):
            operators.add(one.name)
            again = rename_template(prepared, other.number)
            assert again.trial.case.data == other.case.data, one.name
            assert bare(again) == prepare_trial(other, contract), one.name
    # What is left out hides names, pauses, or has ids that a session may have but once.
    assert len(operators) > 0.7 * sum(not operator.heavy for operator in OPERATORS)


def test_a_copy_is_sent_and_waited_for_as_if_it_had_been_spliced(bench):
    made = bench()
    contract, numbers = made.facts.make_contract("strict"), count(1)
    templates, offered = Templates(numbers), 0
    for trial in made.maker.make_damaged(numbers):
        prepared = prepare_trial(trial, contract)
        if is_template(prepared):
            offered += 1
            templates.add_template(prepared)
    for _ in range(offered):
        copy = templates.make_copy()
        whole = rename_template(copy.template, copy.payload.number)
        assert copy.payload == TrialPayload.of(whole, "2025-11-25"), whole.trial.name
        assert (copy.trial, copy.judgement, copy.owed) == (
            whole.trial,
            whole.judgement,
            whole.owed,
        )


@pytest.mark.parametrize("name", ["encoding-utf-16-le", "truncate-action", "id-empty-string"])
def test_what_hides_a_name_or_has_a_foreign_id_is_no_template(bench, name):
    made = bench()
    prepared = prepare_trial(made.trial(name), made.facts.make_contract("strict"))
    assert not is_template(prepared)


def answered(prepared: PreparedTrial, *, to_all: bool) -> Observation:
    """What a server says that answers every id it sees, or those it has to."""
    ids = sorted(name for kind, name in prepared.owed if kind is str)
    if to_all:
        ids.append(TrialNames(prepared.trial.number).action_name("ti"))
    text = '{"jsonrpc":"2.0","id":"%s","result":{"content":[]}}'
    lines = tuple(text.encode() % name.encode() for name in dict.fromkeys(ids))
    return Observation(lines, since=prepared.trial.opening)


@pytest.mark.parametrize("to_all", [True, False])
def test_what_is_remembered_is_what_the_judge_would_say(bench, to_all):
    made = bench()
    contract, numbers = made.facts.make_contract("strict"), count(1)
    known = CachedJudge(made.facts)
    for trial in made.maker.make_damaged(numbers):
        prepared = prepare_trial(trial, contract)
        if not is_template(prepared):
            continue
        first, second = (
            rename_template(prepared, next(numbers)),
            rename_template(prepared, next(numbers)),
        )
        for each in (first, second):
            seen = answered(each, to_all=to_all)
            told = {finding.signature for finding in known.judge_trial(each, seen)}
            anew = {finding.signature for finding in judge_trial(each, seen, made.facts)}
            assert told == anew, trial.name


def test_what_was_seen_otherwise_is_judged_again(bench):
    made = bench()
    contract = made.facts.make_contract("strict")
    known, prepared = CachedJudge(made.facts), prepare_trial(made.trial("danger-nan"), contract)
    copy, other = rename_template(prepared, 1_000), rename_template(prepared, 1_001)
    assert known.judge_trial(copy, answered(copy, to_all=False)) == []
    assert known.judge_trial(other, answered(other, to_all=True))


def test_copies_have_names_of_their_own_and_other_neighbours_each_round(bench):
    made = bench()
    contract, numbers = made.facts.make_contract("strict"), count(1)
    templates = Templates(numbers)
    assert templates.make_copy() is None
    kept = [prepare_trial(t, contract) for t in islice(made.maker.make_damaged(numbers), 30)]
    for each in kept:
        templates.add_template(each)
    copies = [templates.make_copy().trial for _ in range(90)]
    assert len({copy.number for copy in copies}) == 90
    offered = {each.trial.number for each in kept if is_template(each)}
    assert {copy.origin for copy in copies} == offered
