"""No false alarm on the reference gateway: every version, policy and profile.

Each combination runs the classic inputs and its own share of the rest. The policy ``continue``
covers the whole vocabulary in a living server that way; fresh processes are a sample.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from itertools import chain, count, product
from pathlib import Path

import pytest

from wirefence.fuzz.gate.confirm import Confirmer
from wirefence.fuzz.gate.records import Facts, NominatedTool, Options, Trial
from wirefence.fuzz.gate.server.controls import Controls
from wirefence.fuzz.gate.server.discovery import discover_server
from wirefence.fuzz.gate.server.fresh import FreshServers, prepare_trial
from wirefence.fuzz.gate.server.pipelined import PipelinedServer
from wirefence.fuzz.gate.server.verdicts import judge_trial
from wirefence.fuzz.gate.trials.generate import TrialMaker
from wirefence.fuzz.gate.trials.messages import ToolWording
from wirefence.fuzz.gate.trials.schedule import Plan, plan_trials
from wirefence.oracles.protocol import list_methods
from wirefence.strategies.records import VERSIONS
from wirefence.targets.command.records import Launch

SERVER = Path(__file__).parent / "servers" / "reference.py"
NOMINEE = NominatedTool("record", '{"action":"{nonce}"}')
EVERY = list(product(VERSIONS, ("close", "continue"), ("strict", "spec")))
FRESH = 1
ALWAYS = 8
PLANS: dict[str, Plan] = {}
"""Trials depend on the version alone, and making them takes longer than running a share."""


@dataclass
class Server:
    """The reference gateway under one contract, and what the gate says of trials with it."""

    lab: FreshServers
    facts: Facts
    numbers: count = field(default_factory=lambda: count(100_000))

    def plan(self) -> Plan:
        version = self.facts.version
        if version not in PLANS:
            maker = TrialMaker(self.facts, ToolWording.of(NOMINEE), version)
            PLANS[version] = plan_trials(maker, "quick", count(1), Path("absent"))
        return PLANS[version]

    def warm(self, trials: list[Trial]) -> set[str]:
        contract = self.facts.make_contract(self.lab.options.profile)
        warm = PipelinedServer(self.lab, self.facts)
        try:
            seen = warm.screen_trials(
                (prepare_trial(trial, contract) for trial in trials), lambda: False
            )
            findings = chain.from_iterable(judge_trial(one, saw, self.facts) for one, saw in seen)
            return {finding.signature for finding in findings}
        finally:
            warm.close()

    def fresh(self, trials: list[Trial]) -> set[str]:
        number = self.numbers.__next__
        controls = Controls(self.lab, self.facts, number)
        confirmer = Confirmer(self.lab, self.facts, controls, None, 0.0, number)
        contract = self.facts.make_contract(self.lab.options.profile)
        found = [
            confirmer.run_in_fresh_process(prepare_trial(trial, contract)).findings
            for trial in trials
        ]
        return {finding.signature for finding in chain.from_iterable(found)}


@pytest.mark.parametrize(("version", "policy", "profile"), EVERY)
def test_the_reference_gateway_shows_nothing(version, policy, profile):
    launch = Launch((sys.executable, str(SERVER), version, policy, profile))
    options = Options(profile, policy, version, NOMINEE, effects=("http",), patience=20.0)
    lab = FreshServers(launch, options)
    try:
        facts = discover_server(lab)
        assert facts.version == version
        assert set(facts.promised) <= list_methods(version, "request", "client-to-server")
        server = Server(lab, facts)
        todo = server.plan()
        share = EVERY.index((version, policy, profile)) // 2
        trials = [t for t in (*todo.classic.cold, *todo.rest.cold) if isinstance(t, Trial)]
        warm = [*todo.classic.warm, *todo.rest.warm[share :: len(EVERY) // 2]]
        if policy == "close":
            trials, warm = [*warm[: ALWAYS // 2], *trials], []
        assert server.warm(warm) == set()
        assert server.fresh(trials[share :: len(EVERY)][:FRESH]) == set()
    finally:
        lab.close()
