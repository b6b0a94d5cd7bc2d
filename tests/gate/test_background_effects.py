"""What a server does at its own time is not laid at the door of a bad frame."""

from __future__ import annotations

from collections import Counter

import pytest

from wirefence.fuzz.gate.records import Observation
from wirefence.fuzz.gate.server.evidence import list_unnamed
from wirefence.fuzz.gate.server.fresh import prepare_trial
from wirefence.fuzz.gate.server.verdicts import judge_trial
from wirefence.targets.effects.counting import count_effects
from wirefence.targets.effects.records import Observed

UPDATE = Observed("http", "http", b"CONNECT updates.example:443 HTTP/1.1", b"", 0.0)


@pytest.mark.parametrize(
    ("often", "earlier", "charged"), [(1, 0, True), (1, 1, False), (2, 1, True)]
)
def test_only_more_than_any_good_session_counts(bench, often, earlier, charged):
    made = bench()
    prepared = prepare_trial(made.trial("ugly-debug-line"), made.facts.make_contract("strict"))
    seen = Observation((), effects=(UPDATE,) * often, fresh=True)
    most = Counter(count_effects(list_unnamed(Observation((), effects=(UPDATE,) * earlier))))
    findings = judge_trial(prepared, seen, made.facts, Observation(()), most)
    assert ("act-unfounded" in {finding.rule for finding in findings}) is charged
