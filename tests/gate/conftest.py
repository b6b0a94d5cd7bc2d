"""What tests of the gate share: servers of our own, and single trials in fresh processes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

import pytest

from wirefence.fuzz.gate.records import Facts, NominatedTool, Observation, Options, Trial
from wirefence.fuzz.gate.server.controls import Controls
from wirefence.fuzz.gate.server.declared_tools import declare_tool
from wirefence.fuzz.gate.server.fresh import FreshServers, prepare_trial
from wirefence.fuzz.gate.server.verdicts import judge_trial
from wirefence.fuzz.gate.trials.generate import TrialMaker
from wirefence.fuzz.gate.trials.messages import ToolWording
from wirefence.oracles.records import Finding
from wirefence.targets.command.records import Launch

SERVER = Path(__file__).parent / "servers" / "server.py"
NOMINEE = NominatedTool("record", '{"action":"{nonce}"}')
DECLARED = {"name": "record", "inputSchema": {"properties": {"action": {"type": "string"}}}}


@dataclass
class Bench:
    """One server of ``servers/server.py``, its facts as they are, and trials by name."""

    folder: Path
    fault: str = "Strict"
    policy: str = "continue"
    patience: float = 20.0
    profile: str = "strict"
    command: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    @property
    def launch(self) -> Launch:
        if self.command:
            return Launch((*self.command, str(self.folder), *self.words))
        return Launch((sys.executable, str(SERVER), str(self.folder), self.fault))

    @property
    def facts(self) -> Facts:
        tool = declare_tool(DECLARED, NOMINEE)
        return Facts(
            "s", "s", "1", "2025-11-25", ("2025-11-25",), ("record",), NOMINEE, tool,
            policy=self.policy, startup=0.1, peak_bytes=100_000_000,
        )  # fmt: skip

    @property
    def options(self) -> Options:
        return Options(
            self.profile,
            nominee=NOMINEE,
            effects=("files",),
            watch=(self.folder,),
            patience=self.patience,
        )

    @property
    def maker(self) -> TrialMaker:
        return TrialMaker(self.facts, ToolWording.of(NOMINEE), "2025-11-25")

    def trial(self, name: str, place: str = "after") -> Trial:
        maker = self.maker
        if name == "good":
            return maker.make_good_session(next(self.numbers))
        every = (
            maker.make_ugly,
            maker.make_dangerous,
            maker.make_rejected_handshakes,
            maker.make_version_trials,
            maker.make_damaged,
        )
        return next(
            trial
            for make in every
            for trial in make(self.numbers)
            if trial.name == name and trial.place == place
        )

    def run(self, trial: Trial) -> tuple[Observation, set[str]]:
        """What was seen, and the signatures without the label."""
        seen, findings = self.find(trial)
        return seen, {c.signature.partition("|")[2] for c in findings}

    def find(self, trial: Trial) -> tuple[Observation, list[Finding]]:
        """What was seen, and the findings."""
        lab = FreshServers(self.launch, self.options)
        prepared = prepare_trial(trial, self.facts.make_contract(self.profile))
        seen = lab.run_trial(prepared, self.facts)
        control = Controls(lab, self.facts, lambda: next(self.numbers)).get_control(prepared)
        return seen, judge_trial(prepared, seen, self.facts, control)

    def shows(self, name: str, place: str = "after") -> set[str]:
        return self.run(self.trial(name, place))[1]


@pytest.fixture
def bench(tmp_path: Path) -> Callable[..., Bench]:
    folder = tmp_path / "acts"
    folder.mkdir()

    def make(fault: str = "Strict", **more: object) -> Bench:
        return replace(Bench(folder, fault), **more)

    return make
