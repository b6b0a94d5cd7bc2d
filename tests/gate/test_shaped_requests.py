"""Requests that a server promises are sent with each fault that their params can have."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest

from tests.gate.paper import CALLED, Paper, ident, line
from wirefence.fuzz.gate.records import Observation
from wirefence.fuzz.gate.server.evidence import find_trial_deviation
from wirefence.fuzz.gate.server.fresh import prepare_trial
from wirefence.oracles.promises import list_promised
from wirefence.oracles.protocol import list_methods
from wirefence.oracles.protocol.traits import list_traits
from wirefence.strategies.records import VERSIONS, Version

ALL = {
    "tools": {},
    "prompts": {},
    "resources": {"subscribe": True},
    "logging": {},
    "completions": {},
    "tasks": {"list": {}, "cancel": {}},
}
CALLED_ANYWAY = frozenset({"tools/call", "tools/list", "ping", "initialize"})


@pytest.mark.parametrize("version", VERSIONS)
def test_all_capabilities_promise_all_methods_but_those_of_every_server(version: Version) -> None:
    known = list_methods(version, "request", "client-to-server")
    always = {"initialize", "ping", "server/discover", "subscriptions/listen"}
    assert list_promised(version, ALL) == known - always
    for nothing in ({}, None, [], {"tools": None, "logging": False}):
        assert list_promised(version, nothing) == frozenset()


@pytest.mark.parametrize(
    ("capabilities", "promised", "silent"),
    [
        ({"resources": {}}, "resources/read", "resources/subscribe"),
        ({"resources": {"subscribe": False}}, "resources/list", "resources/subscribe"),
        ({"tasks": {}}, "tasks/get", "tasks/list"),
        ({"prompts": {"listChanged": True}}, "prompts/get", "tools/list"),
    ],
)
def test_a_method_is_promised_by_its_own_capability(capabilities, promised, silent) -> None:
    methods = list_promised("2025-11-25", capabilities)
    assert promised in methods
    assert silent not in methods


def make_trials(bench, capabilities):
    maker = bench().maker
    promised = list_promised("2025-11-25", capabilities) | CALLED_ANYWAY
    facts = replace(maker.facts, promised=tuple(sorted(promised)))
    return facts, list(replace(maker, facts=facts).make_shaped(count(1)))


def test_each_trial_is_wrong_in_its_own_way_and_they_reach_every_method(bench) -> None:
    facts, trials = make_trials(bench, ALL)
    contract = facts.make_contract("strict")
    seen = set()
    for trial in trials:
        prepared = prepare_trial(trial, contract)
        (bad,) = [frame for frame in prepared.judgement.frames if frame.rule]
        seen.add((bad.method, find_trial_deviation(prepared)))
    assert len(seen) == len(trials)
    assert {method for method, _ in seen} == set(facts.promised) - {"initialize", "ping"}
    known = {f"mcp-params:{each}" for some in list_traits()["mcp-params"].values() for each in some}
    assert {deviation for _, deviation in seen} <= known
    for wanted in ("uri-missing", "level-type", "level-value", "ref-missing", "taskId-missing"):
        assert f"mcp-params:{wanted}" in {deviation for _, deviation in seen}


def test_nothing_is_sent_that_is_not_promised(bench) -> None:
    _, trials = make_trials(bench, {})
    methods = {b'"tools/list"', b'"tools/call"'}
    assert trials
    assert all(any(each in trial.case.data for each in methods) for trial in trials)
    assert not any(b"resources/" in trial.case.data for trial in trials)


def test_a_result_for_bad_params_is_found_and_an_error_is_right(bench) -> None:
    facts, trials = make_trials(bench, ALL)
    made = bench()
    for trial in trials:
        paper = replace(Paper.of(made, trial), facts=facts)
        deviation = find_trial_deviation(paper.prepared())
        name = ident(trial.number, "t")
        refused = line(name, error={"code": -32602, "message": "no"})
        assert paper.shows(Observation(paper.lines(refused))) == set()
        assert paper.shows(Observation(paper.lines())) == set()
        (told,) = paper.shows(Observation(paper.lines(line(name, result=CALLED))))
        assert told in (f"reply-to-rejected|{deviation}", f"act-rejected|{deviation}")
