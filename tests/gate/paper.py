"""Sessions with a server that exists on paper only: what was sent, what it said, and the judge."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from wirefence.fuzz.gate.records import Facts, Observation, Trial
from wirefence.fuzz.gate.server.fresh import PreparedTrial, prepare_trial
from wirefence.fuzz.gate.server.verdicts import judge_trial
from wirefence.fuzz.gate.trials.messages import TrialNames
from wirefence.strategies.contract import Profile
from wirefence.strategies.records import Case, Frame, Version
from wirefence.targets.effects.records import Observed

HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "serverInfo": {"name": "s", "version": "1"},
}
CALLED = {"content": []}


def line(ident: object, **said: Any) -> bytes:
    """A response of the server."""
    return json.dumps({"jsonrpc": "2.0", "id": ident, **said}).encode()


def ident(number: int, role: str) -> str:
    return TrialNames(number).request_id(role).decode().strip('"')


def request(number: int, role: str, method: str, params: str = "{}") -> bytes:
    name = ident(number, role)
    return f'{{"jsonrpc":"2.0","id":"{name}","method":"{method}","params":{params}}}\n'.encode()


@dataclass(frozen=True)
class Paper:
    """One trial, and what a server that serves it well says to it; ``said`` replaces roles."""

    facts: Facts
    trial: Trial
    profile: Profile = "strict"

    @classmethod
    def of(cls, made: Any, trial: Trial) -> Paper:
        return cls(made.facts, trial, made.profile)

    def with_frames(self, *raw: bytes, version: Version | None = None) -> Paper:
        """The same with frames of one's own before the sentinel."""
        *frames, last = self.trial.case.frames
        case = Case((*frames, *map(Frame, raw), last), version=version or self.trial.case.version)
        return replace(self, trial=replace(self.trial, case=case))

    @property
    def number(self) -> int:
        return self.trial.number

    def prepared(self) -> PreparedTrial:
        return prepare_trial(
            self.trial, self.facts.make_contract(self.profile, self.trial.case.version)
        )

    def lines(self, *more: bytes, without: str = "", **said: bytes) -> tuple[bytes, ...]:
        usual = {"h": {"result": HELLO}, "p": {"result": CALLED}, "s": {"result": {}}}
        made = {role: line(ident(self.number, role), **each) for role, each in usual.items()}
        return (*(raw for role, raw in {**made, **said}.items() if role not in without), *more)

    def acted(self, role: str = "p") -> Observed:
        return Observed(
            "files", "write", b"acts/" + TrialNames(self.number).action_name(role).encode()
        )

    def shows(self, seen: Observation, control: Observation | None = None) -> set[str]:
        """Signatures without the label."""
        findings = judge_trial(self.prepared(), seen, self.facts, control)
        return {finding.signature.partition("|")[2] for finding in findings}

    def summaries(self, seen: Observation, control: Observation | None = None) -> Sequence[str]:
        return [c.summary for c in judge_trial(self.prepared(), seen, self.facts, control)]


__all__ = ["CALLED", "HELLO", "Paper", "ident", "line", "request"]
