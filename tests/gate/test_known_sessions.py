"""Sessions that are like an uneventful one are judged as if each were judged by itself."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest

from tests.gate.paper import Paper, ident, line
from wirefence.fuzz.gate.records import Observation
from wirefence.fuzz.gate.server import known_sessions as module
from wirefence.fuzz.gate.server.fresh import FreshServers, prepare_trial
from wirefence.fuzz.gate.server.known_sessions import KnownSessions
from wirefence.fuzz.gate.server.pipelined import PipelinedServer
from wirefence.fuzz.gate.server.verdicts import judge_trial


@pytest.mark.parametrize("fault", ["Strict", "Chatty", "LastMethodWins"])
def test_no_finding_is_lost_or_made(bench, fault, monkeypatch):
    made = bench(fault, patience=1.0)
    servers = FreshServers(made.launch, made.options)
    pipelined = PipelinedServer(servers, made.facts)
    contract = made.facts.make_contract("strict")
    trials = [
        prepare_trial(trial, contract)
        for seed in range(2)
        for trial in replace(made.maker, seed=seed, varied=bool(seed)).make_damaged(made.numbers)
        if trial.warm and not trial.case.cuts
    ]
    try:
        seen = list(pipelined.screen_trials(trials, lambda: False))
    finally:
        pipelined.close()
        servers.close()
    built = count_calls(monkeypatch)
    known = KnownSessions(made.facts, None)
    short = [known.judge_trial(*each) for each in seen]
    assert short == [judge_trial(*each, made.facts) for each in seen]
    acted = [each.rule for found in short for each in found if each.rule == "act-rejected"]
    assert bool(acted) == (fault == "LastMethodWins")
    if fault == "Strict":
        assert next(built) < 0.3 * len(seen)


def count_calls(monkeypatch):
    calls, build = count(), module.build_evidence

    def counted(*args):
        next(calls)
        return build(*args)

    monkeypatch.setattr(module, "build_evidence", counted)
    return calls


@pytest.fixture
def good(bench):
    made = bench()
    return Paper.of(made, made.trial("good"))


def test_what_differs_in_anything_that_counts_is_judged(good):
    known, plain = KnownSessions(good.facts, None), Observation(good.lines())
    prepared = good.prepared()

    def judge(seen: Observation) -> set[str]:
        return {each.effect for each in known.judge_trial(prepared, seen)}

    assert judge(plain) == set()
    assert judge(plain) == set()
    again = line(ident(good.number, "p"), result={"content": []})
    assert judge(replace(plain, lines=(*plain.lines, again))) == {"reply-twice"}
    assert judge(replace(plain, tail=b"x")) == {"out-unterminated:text"}
    assert judge(replace(plain, lines=(*plain.lines, b"log"))) == {"out-not-json:text"}
    assert judge(replace(plain, ending="exited", status="exit code 1")) == {"live-crash"}
    assert judge(replace(plain, lines=plain.lines[:-1], complete=False)) == {"reply-missing:ping"}
    assert judge(replace(plain, peak_bytes=1 << 40)) == {"live-memory:peak"}
    hidden = replace(good.acted(), detail=good.acted("tx").detail)
    assert judge(replace(plain, effects=(hidden,))) == {"act-unfounded"}


def test_the_result_of_a_task_is_right_only_where_a_task_was_asked_for(good):
    """The verdicts on both calls are equal, and so are the replies."""
    asks = replace_call(good, b'"params":{', b'"params":{"task":{},')
    task = {"taskId": "t", "status": "working", "createdAt": "", "lastUpdatedAt": "", "ttl": None}
    seen = Observation(good.lines(p=line(ident(good.number, "p"), result={"task": task})))
    known = KnownSessions(good.facts, None)
    assert known.judge_trial(asks.prepared(), seen) == []
    (told,) = known.judge_trial(good.prepared(), seen)
    assert told.effect == "malformed-result"


def replace_call(paper: Paper, old: bytes, new: bytes) -> Paper:
    frames = list(paper.trial.case.frames)
    frames[2] = replace(frames[2], raw=frames[2].raw.replace(old, new))
    case = replace(paper.trial.case, frames=tuple(frames))
    return replace(paper, trial=replace(paper.trial, case=case))
