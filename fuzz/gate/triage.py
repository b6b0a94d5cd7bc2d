"""Confirm suspects in order of severity and file the findings, within the time budget.

The first signs of each signature are confirmed at once, so later signs of it only need counting.
When the time budget is spent nothing runs again: what a fresh process showed is filed, what only a
pipelined server showed is reported as pending.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from wirefence.fuzz.gate.confirm import Confirmed, Confirmer, Examined
from wirefence.fuzz.gate.records import Flaw, FlawFound, Listener, Tally
from wirefence.fuzz.gate.report.artifacts import ArtifactWriter
from wirefence.fuzz.gate.server.evidence import find_trial_deviation
from wirefence.fuzz.gate.server.fresh import PreparedTrial
from wirefence.fuzz.gate.server.verdicts import ACTING
from wirefence.oracles.records import rule_of
from wirefence.oracles.replies import UNUSABLE
from wirefence.targets.command.records import Launch

__all__ = ["Triage"]

_MOST_UNCONFIRMED = 2
"""Unconfirmed signs of one signature before it is given up: each costs a process or more."""


@dataclass(slots=True)
class Triage:
    """The suspects and flaws of one run.

    ``is_time_spent`` returns whether the time budget is spent.
    """

    confirmer: Confirmer
    artifacts: ArtifactWriter
    listener: Listener
    tally: Tally
    is_time_spent: Callable[[], bool]
    flaws: dict[str, Flaw] = field(default_factory=dict)
    _doubts: dict[str, int] = field(default_factory=dict)
    _suspects: dict[str, list[PreparedTrial]] = field(default_factory=dict)

    def add_suspect(self, prepared: PreparedTrial, signature: str) -> None:
        """Keep a trial for :meth:`confirm_suspects`; of a known signature, only its name."""
        if not self._is_known(prepared, signature):
            self._suspects.setdefault(signature, []).append(prepared)

    def confirm_suspects(self) -> None:
        """Confirm suspects in fresh processes: the most severe first, the shortest trial first."""
        for signature in sorted(self._suspects, key=_severity_rank):
            left = self.confirmer.servers.deadline - time.monotonic()
            self.confirmer.share = max(0.0, left) / len(self._suspects)
            suspects = self._suspects[signature]
            for prepared in sorted(suspects, key=lambda each: len(each.trial.case.data)):
                self.confirm_sign(prepared, signature)
            del self._suspects[signature]  # not earlier: an interrupt must leave it pending
        self.confirmer.share = math.inf

    def count_pending(self) -> None:
        """Count the suspects that were not run again because the run ended."""
        for signature, suspects in self._suspects.items():
            if signature not in self.flaws:
                self.tally.pending.setdefault(signature, len(suspects))
        self._suspects.clear()

    def confirm_sign(
        self, prepared: PreparedTrial, signature: str, shown: Examined | None = None
    ) -> None:
        """Confirm one sign of a fault and file it, unless it is known or failed too often.

        ``shown`` is what a fresh process has already shown of the trial.
        """
        if (
            self._is_known(prepared, signature)
            or self._doubts.get(signature, 0) >= _MOST_UNCONFIRMED
        ):
            return
        name = prepared.trial.name
        confirmed = self._confirm_again(prepared, signature, shown)
        for found in confirmed:
            if found.finding.signature not in self.flaws and not _was_hurried(found):
                self.file_finding(found, name)
        if signature in self.flaws:
            self.tally.unconfirmed.pop(signature, None)
            self.tally.pending.pop(signature, None)
        elif self.is_time_spent() or any(map(_was_hurried, confirmed)):
            self.tally.pending[signature] = self.tally.pending.get(signature, 0) + 1
        else:
            self._doubts[signature] = self._doubts.get(signature, 0) + 1
            if not confirmed:
                self.tally.unconfirmed[signature] = self._doubts[signature]

    def _confirm_again(
        self, prepared: PreparedTrial, signature: str, shown: Examined | None
    ) -> list[Confirmed]:
        """Confirm while there is time; afterwards return what ``shown`` already holds."""
        if not self.is_time_spent():
            return self.confirmer.confirm_in_fresh_process(prepared, signature)
        return [] if shown is None else shown.list_confirmed(signature)

    def _is_known(self, prepared: PreparedTrial, signature: str) -> bool:
        """Whether the signature has a flaw; adds the trial's name to that flaw."""
        known, name = self.flaws.get(signature), prepared.trial.name
        if known is not None and name not in known.trials:
            deviations = (*known.deviations, find_trial_deviation(prepared))
            trials = (*known.trials, name)
            self.flaws[signature] = replace(known, trials=trials, deviations=deviations)
        return known is not None

    def file_finding(self, found: Confirmed, trial: str = "", launch: Launch | None = None) -> None:
        """Write a finding to disk and send its event. Raises UsageError."""
        flaw = self.artifacts.write_finding(found, (trial or found.prepared.trial.name,), launch)
        flaw = replace(flaw, deviations=(find_trial_deviation(found.prepared),))
        self.flaws[flaw.finding.signature] = flaw
        if flaw.finding.rule in UNUSABLE:
            self.confirmer.servers.shorten_patience()
        self.listener(FlawFound(flaw))


def _was_hurried(found: Confirmed) -> bool:
    """Whether a reply counts as missing only because its time-out was cut short."""
    return found.seen.hurried and found.finding.rule in UNUSABLE


def _severity_rank(signature: str) -> int:
    """The rank of a signature's rule: the most severe rule has rank 0."""
    rules = [*ACTING, *UNUSABLE]
    rule = rule_of(signature)
    return rules.index(rule) if rule in rules else len(rules)
