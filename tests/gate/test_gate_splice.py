"""A copy under new names is what making and judging it anew would give, for every operator."""

from __future__ import annotations

from dataclasses import replace
from itertools import count, islice

import pytest

from wirefence.fuzz.gate.records import Seen
from wirefence.fuzz.gate.server.fresh import Ready, ready
from wirefence.fuzz.gate.server.sent_trial import Parcel
from wirefence.fuzz.gate.server.trial_copies import Remembered, Templates, is_template, splice
from wirefence.fuzz.gate.server.verdicts import judge
from wirefence.fuzz.gate.trials.messages import Names
from wirefence.strategies.damage import OPERATORS

FAR = 3_000_000
"""A number of more than six digits: the run in a name counts what they can't."""


def bare(prepared: Ready) -> Ready:
    return replace(prepared, trial=replace(prepared.trial, origin=0))


def test_a_spliced_trial_is_that_which_is_made_and_judged_with_the_new_name(bench):
    made = bench()
    contract = made.facts.contract("strict")
    operators = set()
    maker = replace(made.maker, seed=3)
    for one, other in zip(maker.damage(count(1)), maker.damage(count(FAR)), strict=True):
        prepared = ready(one, contract)
        if is_template(prepared):
            operators.add(one.name)
            again = splice(prepared, other.number)
            assert again.trial.case.data == other.case.data, one.name
            assert bare(again) == ready(other, contract), one.name
    # What is left out hides names, pauses, or has ids that a session may have but once.
    assert len(operators) > 0.7 * sum(not operator.heavy for operator in OPERATORS)


def test_a_copy_is_sent_and_waited_for_as_if_it_had_been_spliced(bench):
    made = bench()
    contract, numbers = made.facts.contract("strict"), count(1)
    templates, offered = Templates(numbers), 0
    for trial in made.maker.damage(numbers):
        prepared = ready(trial, contract)
        if is_template(prepared):
            offered += 1
            templates.offer(prepared)
    for _ in range(offered):
        copy = templates.copy()
        whole = splice(copy.template, copy.parcel.number)
        assert copy.parcel == Parcel.of(whole, "2025-11-25"), whole.trial.name
        assert (copy.trial, copy.judgement, copy.owed) == (
            whole.trial,
            whole.judgement,
            whole.owed,
        )


@pytest.mark.parametrize("name", ["encoding-utf-16-le", "truncate-action", "id-empty-string"])
def test_what_hides_a_name_or_has_a_foreign_id_is_no_template(bench, name):
    made = bench()
    prepared = ready(made.trial(name), made.facts.contract("strict"))
    assert not is_template(prepared)


def answered(prepared: Ready, *, to_all: bool) -> Seen:
    """What a server says that answers every id it sees, or those it has to."""
    ids = sorted(name for kind, name in prepared.owed if kind is str)
    if to_all:
        ids.append(Names(prepared.trial.number).action("ti"))
    text = '{"jsonrpc":"2.0","id":"%s","result":{"content":[]}}'
    lines = tuple(text.encode() % name.encode() for name in dict.fromkeys(ids))
    return Seen(lines, since=prepared.trial.opening)


@pytest.mark.parametrize("to_all", [True, False])
def test_what_is_remembered_is_what_the_judge_would_say(bench, to_all):
    made = bench()
    contract, numbers = made.facts.contract("strict"), count(1)
    known = Remembered(made.facts)
    for trial in made.maker.damage(numbers):
        prepared = ready(trial, contract)
        if not is_template(prepared):
            continue
        first, second = splice(prepared, next(numbers)), splice(prepared, next(numbers))
        for each in (first, second):
            seen = answered(each, to_all=to_all)
            told = {charge.finding.signature for charge in known.judge(each, seen)}
            anew = {charge.finding.signature for charge in judge(each, seen, made.facts)}
            assert told == anew, trial.name


def test_what_was_seen_otherwise_is_judged_again(bench):
    made = bench()
    contract = made.facts.contract("strict")
    known, prepared = Remembered(made.facts), ready(made.trial("danger-nan"), contract)
    copy, other = splice(prepared, 1_000), splice(prepared, 1_001)
    assert known.judge(copy, answered(copy, to_all=False)) == []
    assert known.judge(other, answered(other, to_all=True))


def test_copies_have_names_of_their_own_and_other_neighbours_each_round(bench):
    made = bench()
    contract, numbers = made.facts.contract("strict"), count(1)
    templates = Templates(numbers)
    assert templates.copy() is None
    kept = [ready(t, contract) for t in islice(made.maker.damage(numbers), 30)]
    for each in kept:
        templates.offer(each)
    copies = [templates.copy().trial for _ in range(90)]
    assert len({copy.number for copy in copies}) == 90
    offered = {each.trial.number for each in kept if is_template(each)}
    assert {copy.origin for copy in copies} == offered
