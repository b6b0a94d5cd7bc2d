"""Confirm suspects in fresh processes, in the smallest form that still shows the finding.

A pipelined server shrinks a trial quickly, as it answers in milliseconds; only a fresh process
confirms. The shrunk form is tried first, the original form where the shrunk one fails.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace

from wirefence.fuzz.gate.records import Facts, Observation, SentPart, Trial
from wirefence.fuzz.gate.server.controls import Controls
from wirefence.fuzz.gate.server.fresh import (
    FreshServers,
    PreparedTrial,
    prepare_trial,
    rename_trial,
)
from wirefence.fuzz.gate.server.history import join_history
from wirefence.fuzz.gate.server.pipelined import PipelinedServer
from wirefence.fuzz.gate.server.verdicts import find_showing, judge_trial
from wirefence.fuzz.gate.trials.messages import rename_tokens
from wirefence.fuzz.shrink.deviation_guard import DeviationGuard
from wirefence.fuzz.shrink.shrinker import shrink_input
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.oracles.records import Finding, rule_of
from wirefence.oracles.rules import ORACLE_OF
from wirefence.strategies.records import Case

__all__ = ["Confirmed", "Confirmer", "Examined"]

_GRACE_SECONDS = 0.3
"""Seconds to wait for late output and effects after the last reply."""
_MOST_SHRUNK = 100_000
"""Bytes from which a case is not shrunk: one run of it takes seconds."""
_BATCH = 16
"""Shrinking candidates sent in one batch; those after the first success are wasted."""
_LEAST_FRESH_SECONDS = 5.0
"""Seconds needed to shrink with fresh processes: with less, too few candidates could run."""
_FIRST_HISTORY, _HISTORY_STEP = 8, 8
"""Trials of the first history that is tried, and the factor to the next one: most faults that need
a history need a few calls, and a long one takes seconds."""
_LOOK_FACTOR = 20
"""Times the seconds to shrink a finding that a longer history is tried, if there is that much."""
_NO_WARM = ("liveness", "session")
"""Oracles whose faults end or spoil a running server, so it cannot show them twice."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A finding that a fresh process showed, with the observation."""

    finding: Finding
    prepared: PreparedTrial
    seen: Observation


@dataclass(frozen=True, slots=True)
class Examined:
    """A trial as it ran in a fresh process, what was observed, and the findings."""

    prepared: PreparedTrial
    seen: Observation
    findings: list[Finding]

    def list_confirmed(self, signature: str = "") -> list[Confirmed]:
        """The findings as confirmed findings; with ``signature``, only that one."""
        wanted = [c for c in self.findings if signature in ("", c.signature)]
        return [Confirmed(finding, self.prepared, self.seen) for finding in wanted]


@dataclass(slots=True)
class Confirmer:
    """Runs trials again in fresh processes, and shrinks them.

    ``seconds`` is the time to shrink one finding. ``number`` returns an unused trial number.
    ``share`` is how many of the remaining seconds one finding may take.
    """

    servers: FreshServers
    facts: Facts
    controls: Controls
    pipelined: PipelinedServer | None
    seconds: float
    number: Callable[[], int]
    share: float = math.inf

    def run_in_fresh_process(
        self, prepared: PreparedTrial, *, grace: float = _GRACE_SECONDS, full: bool = True
    ) -> Examined:
        """Run a trial in a fresh process under new names, beside its control session.

        ``full`` is for :meth:`FreshServers.reply_patience`.
        """
        fresh = rename_trial(prepared, self.number())
        seen = self.servers.run_trial(fresh, self.facts, grace=grace, full=full)
        findings = self._judge_beside_control(fresh, seen)
        if any(finding.rule == "act-unfounded" for finding in findings):
            # Repeat the control session: periodic work of the server may have missed the first one.
            findings = self._judge_beside_control(fresh, seen, again=True)
        return Examined(fresh, seen, findings)

    def _judge_beside_control(
        self, fresh: PreparedTrial, seen: Observation, *, again: bool = False
    ) -> list[Finding]:
        control = self.controls.get_control(fresh, again=again)
        return judge_trial(fresh, seen, self.facts, control, self.controls.most)

    def confirm_in_fresh_process(self, prepared: PreparedTrial, signature: str) -> list[Confirmed]:
        """Return everything that a fresh process shows of a trial, smallest form first.

        The result may lack ``signature``: a server that hangs in a fresh process may only have lost
        a reply in a shared one.
        """
        small = self._shrink_trial(prepared, signature)
        found = self.run_in_fresh_process(
            small, grace=0.0
        )  # if it shows at once, no grace is needed
        if not _has_signature(found.findings, signature):
            found = self.run_in_fresh_process(prepared)
        return found.list_confirmed()

    def confirm_with_history(
        self,
        prepared: PreparedTrial,
        finding: Finding,
        history: Sequence[SentPart],
        known: Container[str] = (),
    ) -> Confirmed | None:
        """Return what a fresh process shows after the shortest history that shows it.

        The effect counts: after other trials it may follow another deviation, if that is not among
        the ``known`` signatures. ``None`` where no history shows it.
        """
        began, most_seconds = time.monotonic(), min(self.share / 2, _LOOK_FACTOR * self.seconds)
        enough = min(began + most_seconds, self.servers.deadline)
        deadline = min(began + min(self.seconds, most_seconds), self.servers.deadline)

        def run_after(size: int) -> Confirmed | None:
            joined = join_history(prepared, history[len(history) - size :])
            shown = self.run_in_fresh_process(joined)
            return next(
                (
                    each
                    for each in shown.list_confirmed()
                    if _is_alike(each.finding, finding, known)
                ),
                None,
            )

        least = most = 0
        found: Confirmed | None = None
        while found is None and most < len(history) and (not most or time.monotonic() < enough):
            least, most = most, min(len(history), max(_FIRST_HISTORY, most * _HISTORY_STEP))
            found = run_after(most)
        while found is not None and least + 1 < most and time.monotonic() < deadline:
            size = (least + most) // 2
            shorter = run_after(size)
            least, most = (least, size) if shorter else (size, most)
            found = shorter or found
        return found

    def _shrink_trial(self, prepared: PreparedTrial, signature: str) -> PreparedTrial:
        """Return the smallest form that still shows the signature, and is wrong in no new way."""
        trial = prepared.trial
        # Do not shrink pauses (offsets into the bytes) and heavy trials (seconds for each run).
        if trial.case.cuts or len(trial.case.data) > _MOST_SHRUNK:
            return prepared
        fast = (
            self.pipelined is not None
            and trial.warm
            and ORACLE_OF[rule_of(signature)] not in _NO_WARM
        )
        if not fast and self.seconds < _LEAST_FRESH_SECONDS:
            return prepared
        opening = trial.case.data[: trial.opening] if fast else b""
        rest = trial.case.data[len(opening) :]
        seconds = min(self.seconds, self.share / 2)
        deadline = min(time.monotonic() + seconds, self.servers.deadline)
        guard = DeviationGuard.of(trial.case, prepared.contract)

        def run(cases: Sequence[Case]) -> list[bool]:
            if fast:
                return self._keeps_in_warm_server(trial, cases, signature, deadline)
            return [self._keeps_in_fresh_process(trial, case, signature) for case in cases]

        def keep(many: Sequence[bytes]) -> list[bool]:
            version = trial.case.version
            return guard.screen(
                [case_from_bytes(opening + data, protocol=version) for data in many], run
            )

        try:
            small = shrink_input(
                rest,
                lambda data: keep([data])[0],
                deadline=deadline,
                keeps_many=keep,
                width=_BATCH if fast else 1,
            ).data
        except ValueError:  # the signature did not show again: try the original form
            return prepared
        return self._make_trial(trial, opening + small, trial.number)

    def _keeps_in_warm_server(
        self, trial: Trial, cases: Sequence[Case], signature: str, deadline: float
    ) -> list[bool]:
        """For each form, whether a pipelined server shows the signature; all run in one batch."""
        assert self.pipelined is not None
        made = [
            self._make_trial(trial, case.data, self.number()) if case.data.endswith(b"\n") else None
            for case in cases  # without its LF it would join the next trial
        ]
        shown = find_showing(self.pipelined, self.facts, filter(None, made), signature, deadline)
        return [each is not None and each.trial.number in shown for each in made]

    def _keeps_in_fresh_process(self, trial: Trial, case: Case, signature: str) -> bool:
        """Whether a fresh process shows the signature of one form."""
        made = self._make_trial(trial, case.data, trial.number)
        return _has_signature(
            self.run_in_fresh_process(made, grace=0.1, full=False).findings, signature
        )

    def _make_trial(self, trial: Trial, data: bytes, number: int) -> PreparedTrial:
        """The trial with other bytes, under the names of ``number``."""
        case = case_from_bytes(rename_tokens(data, number), protocol=trial.case.version)
        case = replace(case, damage=trial.case.damages())
        made = replace(trial, case=case, number=number, eof=trial.eof or not data.endswith(b"\n"))
        return prepare_trial(
            made, self.facts.make_contract(self.servers.options.profile, case.version)
        )


def _is_alike(shown: Finding, finding: Finding, known: Container[str]) -> bool:
    """Whether a finding is another one, or one with its effect that is not known."""
    alike = shown.effect == finding.effect and shown.signature not in known
    return shown.signature == finding.signature or alike


def _has_signature(findings: list[Finding], signature: str) -> bool:
    return any(finding.signature == signature for finding in findings)
