"""Confirm suspects in order of severity and file the findings, within the time budget.

A line on stdout that is no message is filed when it is seen. Everything else is run again: alone,
and where that does not show it, after the trials that its server was sent before. When the time
budget is spent nothing runs again: what a fresh process showed is filed, what only a pipelined
server showed is reported as pending.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from wirefence.fuzz.gate.confirm import Confirmed, Confirmer, Examined
from wirefence.fuzz.gate.records import (
    Flaw,
    FlawFound,
    Listener,
    Observation,
    SentPart,
    Sign,
    Tally,
)
from wirefence.fuzz.gate.report.artifacts import ArtifactWriter
from wirefence.fuzz.gate.server.evidence import find_trial_deviation
from wirefence.fuzz.gate.server.fresh import PreparedTrial
from wirefence.fuzz.gate.server.history import join_history
from wirefence.fuzz.gate.server.verdicts import ACTING
from wirefence.oracles.faults import name_faults
from wirefence.oracles.records import Finding, rule_of
from wirefence.oracles.replies import UNUSABLE
from wirefence.targets.command.records import Launch

__all__ = ["COUNTED", "Triage"]

COUNTED = ("act-twice", "act-missing")
"""Rules that count effects. Counts are reliable in fresh processes only."""

_MOST_UNCONFIRMED = 2
"""Unconfirmed signs of one signature before it is given up: each costs a process or more."""


@dataclass(frozen=True, slots=True)
class _Suspect:
    """A trial that showed a finding, what was seen, and what its server was sent before."""

    prepared: PreparedTrial
    finding: Finding
    seen: Observation
    history: tuple[SentPart, ...] = ()
    bystander: bool = False
    """Whether the trial was only the last one that was sent, and may have nothing to do with it."""

    @property
    def name(self) -> str:
        """The name of what showed it."""
        if self.bystander:
            return f"a session of {len(self.history) + 1} trials"
        return self.prepared.trial.name

    @property
    def is_evidence(self) -> bool:
        """Whether it counts though it is not shown again.

        Not where a reply was given little time, and not where effects were counted: those of
        periodic work come at any time, and recorders see one file change once between two looks.
        """
        rule = self.finding.rule
        if rule in UNUSABLE:
            return not self.seen.hurried
        return rule != "act-unfounded" and (self.seen.fresh or rule not in COUNTED)


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
    _suspects: dict[str, list[_Suspect]] = field(default_factory=dict)
    _as_seen: set[str] = field(default_factory=set)
    """Signatures of flaws that were filed when they were seen, and may get a shorter session."""

    def add_suspect(self, prepared: PreparedTrial, finding: Finding, seen: Observation) -> None:
        """Keep a trial for :meth:`confirm_suspects`; of a known signature, only its name.

        What stands on stdout and is no message is evidence by itself: it is filed at once.
        """
        if self._is_known(prepared, finding.signature):
            return
        history = seen.history.list_before(prepared.trial.number) if seen.history else ()
        self._keep_suspect(_Suspect(prepared, finding, seen, history))

    def add_noise(
        self, last: PreparedTrial, finding: Finding, seen: Observation, before: Sequence[SentPart]
    ) -> None:
        """File a line that is no message and names no trial, with all that was sent before it."""
        if finding.signature not in self.flaws:
            self._keep_suspect(_Suspect(last, finding, seen, tuple(before), bystander=True))

    def _keep_suspect(self, suspect: _Suspect) -> None:
        self._suspects.setdefault(suspect.finding.signature, []).append(suspect)
        if suspect.finding.oracle == "transcript":
            self._file_as_seen(suspect)

    def _file_as_seen(self, suspect: _Suspect) -> None:
        """File what needs no confirmation, with the session that led to it."""
        signature = suspect.finding.signature
        if signature not in self.flaws:
            joined = join_history(suspect.prepared, suspect.history)
            self.file_finding(Confirmed(suspect.finding, joined, suspect.seen), suspect.name)
            self._as_seen.add(signature)

    def confirm_suspects(self) -> None:
        """Confirm suspects in fresh processes: the most severe first, the shortest trial first.

        Of each fault one sign comes before all others, so that a short run shows every fault.
        """
        for signature in _order_by_fault([some[0].finding for some in self._suspects.values()]):
            left = self.confirmer.servers.deadline - time.monotonic()
            self.confirmer.share = max(0.0, left) / len(self._suspects)
            suspects = self._suspects[signature]
            for each in sorted(suspects, key=lambda each: len(each.prepared.trial.case.data)):
                self._confirm_suspect(each)
            del self._suspects[signature]  # not earlier: an interrupt must leave it pending
        self.confirmer.share = math.inf

    def count_pending(self) -> None:
        """Count the suspects that were not run again because the run ended."""
        for signature, suspects in self._suspects.items():
            if signature not in self.flaws and signature not in self.tally.signs:
                self._note_sign(suspects[0], len(suspects), pending=True)
        self._suspects.clear()

    def confirm_sign(self, prepared: PreparedTrial, finding: Finding, shown: Examined) -> None:
        """Confirm one sign of a fault and file it, unless it is known or failed too often.

        ``shown`` is what a fresh process has already shown of the trial.
        """
        suspect = _Suspect(prepared, finding, shown.seen)
        if finding.oracle == "transcript":
            self._file_as_seen(replace(suspect, prepared=shown.prepared))
        self._confirm_suspect(suspect, shown)

    def _confirm_suspect(self, suspect: _Suspect, shown: Examined | None = None) -> None:
        """Run a suspect again, alone and after its history, and file or count what it shows."""
        prepared, signature = suspect.prepared, suspect.finding.signature
        known = not suspect.bystander and self._is_known(prepared, signature)
        tried = self._doubts.get(signature, 0) >= _MOST_UNCONFIRMED
        if known or tried or (suspect.bystander and self._is_settled(signature)):
            return
        confirmed = self._confirm_again(suspect, shown)
        for found in confirmed:
            if not self._is_settled(found.finding.signature) and not _was_hurried(found):
                self.file_finding(found, prepared.trial.name)
        hurried = any(map(_was_hurried, confirmed))
        if self._is_settled(signature) or self._confirm_after_history(suspect):
            self.tally.signs.pop(signature, None)
            self.tally.uncounted.pop(signature, None)
        elif signature in self._as_seen:
            self._doubts[signature] = self._doubts.get(signature, 0) + 1
        elif self.is_time_spent() or hurried:
            self._note_sign(suspect, 1 + self.tally.pending.get(signature, 0), pending=True)
        else:
            self._doubts[signature] = self._doubts.get(signature, 0) + 1
            if not confirmed:
                self._note_sign(suspect, self._doubts[signature])

    def _note_sign(self, suspect: _Suspect, count: int, *, pending: bool = False) -> None:
        """Note a sign that is not confirmed."""
        signature, trial = suspect.finding.signature, suspect.prepared.trial
        if pending or suspect.is_evidence:
            sent = trial.case.data[trial.opening :]
            sign = Sign(suspect.finding, suspect.name, sent, count, pending=pending)
            self.tally.signs[signature] = sign
        else:
            self.tally.uncounted[signature] = count

    def _confirm_again(self, suspect: _Suspect, shown: Examined | None) -> list[Confirmed]:
        """Confirm while there is time; afterwards return what ``shown`` already holds."""
        signature = suspect.finding.signature
        if self.is_time_spent():
            return [] if shown is None else shown.list_confirmed(signature)
        if suspect.bystander:
            return []
        return self.confirmer.confirm_in_fresh_process(suspect.prepared, signature)

    def _confirm_after_history(self, suspect: _Suspect) -> bool:
        """Confirm a suspect by what its server was sent before; return whether it was shown."""
        if not suspect.history or self.is_time_spent():
            return False
        known = self.flaws.keys() - self._as_seen
        found = self.confirmer.confirm_with_history(
            suspect.prepared, suspect.finding, suspect.history, known
        )
        if found is None or _was_hurried(found):
            return False
        self.file_finding(found, suspect.name)
        return True

    def _is_settled(self, signature: str) -> bool:
        """Whether a flaw has the signature and was shown by a session made for it."""
        return signature in self.flaws and signature not in self._as_seen

    def _is_known(self, prepared: PreparedTrial, signature: str) -> bool:
        """Whether the signature is settled; adds the trial's name to its flaw."""
        known, name = self.flaws.get(signature), prepared.trial.name
        if known is not None and name not in known.trials:
            deviations = (*known.deviations, find_trial_deviation(prepared))
            trials = (*known.trials, name)
            self.flaws[signature] = replace(known, trials=trials, deviations=deviations)
        return self._is_settled(signature)

    def file_finding(self, found: Confirmed, trial: str = "", launch: Launch | None = None) -> None:
        """Write a finding to disk and send its event; replace one that was filed as seen.

        Raises UsageError.
        """
        before = self.flaws.get(found.finding.signature)
        name = trial or found.prepared.trial.name
        flaw = self.artifacts.write_finding(found, (name,), launch)
        flaw = replace(flaw, deviations=(find_trial_deviation(found.prepared),))
        signature = flaw.finding.signature
        if before is not None and signature in self._as_seen:
            self._as_seen.discard(signature)
            self.flaws[signature] = replace(
                flaw, trials=before.trials, deviations=before.deviations
            )
            return
        self.flaws[signature] = flaw
        if flaw.finding.rule in UNUSABLE:
            self.confirmer.servers.shorten_patience()
        self.listener(FlawFound(flaw))


def _was_hurried(found: Confirmed) -> bool:
    """Whether a reply counts as missing only because its time-out was cut short."""
    return found.seen.hurried and found.finding.rule in UNUSABLE


def _order_by_fault(findings: Collection[Finding]) -> list[str]:
    """Return signatures by severity; the second of a fault comes after the first of all faults."""
    names, counts = name_faults(findings), Counter[str]()
    ranked = []
    for signature in sorted(names, key=_severity_rank):
        ranked.append((counts[names[signature]], signature))
        counts[names[signature]] += 1
    return [signature for _, signature in sorted(ranked, key=lambda pair: pair[0])]


def _severity_rank(signature: str) -> int:
    """The rank of a signature's rule: the most severe rule has rank 0."""
    rules = [*ACTING, *UNUSABLE]
    rule = rule_of(signature)
    return rules.index(rule) if rule in rules else len(rules)
