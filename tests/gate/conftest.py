"""What tests of the gate share: servers of our own, and single trials in fresh processes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

import pytest

from wirefence.fuzz.gate.records import Facts, Nominee, Options, Seen, Trial
from wirefence.fuzz.gate.server.controls import Controls
from wirefence.fuzz.gate.server.declared_tools import declaration
from wirefence.fuzz.gate.server.fresh import Lab, ready
from wirefence.fuzz.gate.server.verdicts import judge
from wirefence.fuzz.gate.trials.generate import Maker
from wirefence.fuzz.gate.trials.messages import Wording
from wirefence.targets.command.records import Launch

SERVER = Path(__file__).parent / "servers" / "server.py"
NOMINEE = Nominee("record", '{"action":"{nonce}"}')
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
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    @property
    def launch(self) -> Launch:
        if self.command:
            return Launch((*self.command, str(self.folder)))
        return Launch((sys.executable, str(SERVER), str(self.folder), self.fault))

    @property
    def facts(self) -> Facts:
        tool, _ = declaration(DECLARED, NOMINEE)
        return Facts(
            "s", "s", "1", "2025-11-25", ("2025-11-25",), ("record",), NOMINEE, tool,
            declared=True, policy=self.policy, startup=0.1, peak_bytes=100_000_000,
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
    def maker(self) -> Maker:
        return Maker(self.facts, Wording.of(NOMINEE), "2025-11-25")

    def trial(self, name: str, place: str = "after") -> Trial:
        maker = self.maker
        if name == "good":
            return maker.good(next(self.numbers))
        every = (maker.ugly, maker.dangerous, maker.gates, maker.versions, maker.damage)
        return next(
            trial
            for make in every
            for trial in make(self.numbers)
            if trial.name == name and trial.place == place
        )

    def run(self, trial: Trial) -> tuple[Seen, set[str]]:
        """What was seen, and the signatures without the label."""
        lab = Lab(self.launch, self.options)
        prepared = ready(trial, self.facts.contract(self.profile))
        seen = lab.run(prepared, self.facts)
        control = Controls(lab, self.facts, lambda: next(self.numbers)).of(prepared)
        charges = judge(prepared, seen, self.facts, control)
        return seen, {c.finding.signature.partition("|")[2] for c in charges}

    def shows(self, name: str, place: str = "after") -> set[str]:
        return self.run(self.trial(name, place))[1]


@pytest.fixture
def bench(tmp_path: Path) -> Callable[..., Bench]:
    folder = tmp_path / "acts"
    folder.mkdir()

    def make(fault: str = "Strict", **more: object) -> Bench:
        return replace(Bench(folder, fault), **more)

    return make
