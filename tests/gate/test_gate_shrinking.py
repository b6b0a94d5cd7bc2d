"""A suspect is shrunk to one thing: it keeps what it shows, and nothing else goes wrong with it."""

from __future__ import annotations

from itertools import count

import pytest

from wirefence.fuzz.gate.confirm import Confirmer, Examined
from wirefence.fuzz.gate.records import Observation
from wirefence.fuzz.gate.server.controls import Controls
from wirefence.fuzz.gate.server.fresh import FreshServers, PreparedTrial, prepare_trial
from wirefence.fuzz.shrink.deviation_guard import list_deviations
from wirefence.oracles.records import make_finding

FOUND = make_finding("non-action", "act-rejected", "s", "json-syntax:nan", "a call ran")


@pytest.fixture
def shrunk(bench, monkeypatch):
    """What becomes of a trial with NaN if each form with the two words shows the finding."""
    made = bench()
    servers = FreshServers(made.launch, made.options)
    numbers = count(1)

    def show(_: Confirmer, prepared: PreparedTrial, **__: object) -> Examined:
        data = prepared.trial.case.data
        shows = b'"tools/call"' in data and b"NaN" in data
        return Examined(prepared, Observation(()), [FOUND] if shows else [])

    monkeypatch.setattr(Confirmer, "run_in_fresh_process", show)
    controls = Controls(servers, made.facts, lambda: next(numbers))
    confirmer = Confirmer(servers, made.facts, controls, None, 60.0, lambda: next(numbers))
    prepared = prepare_trial(made.trial("danger-nan"), made.facts.make_contract("strict"))
    [found] = confirmer.confirm_in_fresh_process(prepared, FOUND.signature)
    return prepared, found.prepared


def test_a_shrunk_trial_is_wrong_in_no_new_way(shrunk):
    before, after = (list_deviations(each.trial.case, each.contract) for each in shrunk)
    assert after <= before == {"json-syntax:nan"}
    first, last = (len(each.trial.case.data) for each in shrunk)
    assert last < first
