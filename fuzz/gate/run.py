"""Run the whole gate within a time budget: discover, smoke, screen, confirm, report.

The time budget covers everything, confirmation included. The order is: trials that a running server
answers at once, then the suspects among them, then trials that need a process of their own.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path

from wirefence.fuzz.gate.confirm import Confirmed, Confirmer, Examined
from wirefence.fuzz.gate.records import (
    Attempt,
    Budget,
    Facts,
    Listener,
    Observation,
    Options,
    Progress,
    Reason,
    Report,
    RunStarted,
    Tally,
    Trial,
)
from wirefence.fuzz.gate.report.artifacts import ArtifactWriter, shown_command
from wirefence.fuzz.gate.report.severity import sort_by_severity
from wirefence.fuzz.gate.report.signs import explain_signs
from wirefence.fuzz.gate.server.controls import Controls
from wirefence.fuzz.gate.server.discovery import discover_server
from wirefence.fuzz.gate.server.fresh import FreshServers, PreparedTrial, prepare_trial
from wirefence.fuzz.gate.server.known_sessions import KnownSessions
from wirefence.fuzz.gate.server.listings import list_all
from wirefence.fuzz.gate.server.pipelined import PipelinedServer
from wirefence.fuzz.gate.server.smoke import check_end_of_stdin, prepare_crowd
from wirefence.fuzz.gate.server.startup import StartupFinding, StartupRunner
from wirefence.fuzz.gate.server.verdicts import has_acted, is_usable, judge_trial
from wirefence.fuzz.gate.triage import COUNTED, Triage
from wirefence.fuzz.gate.trials.generate import TrialMaker
from wirefence.fuzz.gate.trials.messages import ToolWording
from wirefence.fuzz.gate.trials.schedule import FreshItem, Plan, Stage, is_classic, plan_trials
from wirefence.fuzz.gate.trials.skipped import OpenTrials, explain_gap, join_names
from wirefence.fuzz.gate.trials.startup_variants import StartupVariant
from wirefence.fuzz.store.redaction import Redactor
from wirefence.fuzz.store.store import Store, case_from_bytes
from wirefence.oracles.records import Finding
from wirefence.oracles.replies import UNUSABLE
from wirefence.oracles.smoke import check_tools
from wirefence.oracles.transcript import find_offences
from wirefence.oracles.transcript_judge import judge_reply
from wirefence.targets.command.records import Launch
from wirefence.targets.errors import TargetError

__all__ = ["BUDGET_SECONDS", "count_spares", "run_gate"]

BUDGET_SECONDS: dict[Budget, float] = {"quick": 30.0, "release": 300.0, "nightly": 3_600.0}
"""Time budget of a run in seconds, confirmation included."""

_SHRINK_SECONDS: dict[Budget, float] = {"quick": 1.0, "release": 10.0, "nightly": 60.0}
"""Seconds to shrink one finding: a few percent of the budget; a run may have a dozen findings."""
_CLASSIC_SHARE, _WARM_SHARE, _MORE_SHARE, _ALL = 0.7, 0.85, 0.9, 1.0
"""Shares of the time budget after which a stage ends: classic inputs in fresh processes, screening,
further screening, everything. The rest stays for confirmation and for fresh processes."""
_CROWD_REPEATS = 2
"""Runs that may repeat a loss of replies: a race does not show every time."""
_FEWEST_AHEAD, _MOST_AHEAD = 2, 8
"""Bounds of the servers started ahead: two hide a short start; each one more takes memory."""
_TRIAL_SECONDS = 0.15
"""Seconds that a typical trial takes once its server has started."""
_PROGRESS_INTERVAL = 0.5
"""Seconds between progress events: twice a second is enough to read."""
_NAMED_TRIALS = 12
"""Trials named in the note about a lost server: about three lines of text."""


def run_gate(  # noqa: PLR0913 - the terms of one gate
    launch: Launch,
    options: Options,
    budget: Budget,
    out: Path,
    listener: Listener,
    *,
    crashes: Path = Path("crashes"),
    seconds: float | None = None,
) -> Report:
    """Run the gate on one launch command and return the report.

    Findings are written below ``out`` as they come. ``seconds`` replaces the time budget of
    ``budget``. Raises TargetError for a launch that fails and UsageError for options that do not
    fit the server. Once discovery succeeded there is always a report, even of a run that could not
    go on.
    """
    began, store = time.monotonic(), Store(out)
    store.check_writable()
    servers = FreshServers(launch, options)
    try:
        limit = seconds or BUDGET_SECONDS[budget]
        facts = discover_server(servers, limit)
        servers.start_patience = min(options.start_patience, max(limit, options.patience))
        runner = _GateRun(servers, facts, budget, store, listener, limit, began)
        reason = runner.run(crashes)
        return runner.make_report(reason)
    finally:
        servers.close()


@dataclass(slots=True)
class _GateRun:
    """The state of one gate run."""

    servers: FreshServers
    facts: Facts
    budget: Budget
    store: Store
    listener: Listener
    seconds: float
    began: float
    tally: Tally = field(default_factory=Tally)
    notes: list[str] = field(default_factory=list)
    planned: OpenTrials = field(default_factory=OpenTrials)
    done: int = 0
    reported_at: float = 0.0
    lost: str = ""
    """Why the run could not go on; ``""`` where it could."""
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    maker: TrialMaker = field(init=False)
    confirmer: Confirmer = field(init=False)
    artifacts: ArtifactWriter = field(init=False)
    triage: Triage = field(init=False)
    base: Observation | None = None
    """What a good session showed, which trials of the pipelined server are compared with."""
    pipelined: PipelinedServer = field(init=False)
    startup: StartupRunner = field(init=False)

    def __post_init__(self) -> None:
        options, facts = self.servers.options, self.facts
        self.maker = TrialMaker(facts, ToolWording.of(facts.nominee), facts.version, options.seed)
        self.pipelined = PipelinedServer(self.servers, facts)
        self.startup = StartupRunner(
            self.servers.launch, facts, options, ahead=count_spares(facts) // 2
        )
        self.confirmer = Confirmer(
            self.servers,
            facts,
            Controls(self.servers, facts, lambda: next(self.numbers)),
            self.pipelined if facts.policy == "continue" else None,
            _SHRINK_SECONDS[self.budget],
            lambda: next(self.numbers),
        )
        hide = Redactor.for_launch(self.servers.launch)
        self.artifacts = ArtifactWriter(self.store, self.servers.launch, options, facts, hide)
        late = partial(self._is_budget_spent, _ALL)
        self.triage = Triage(self.confirmer, self.artifacts, self.listener, self.tally, late)
        self.servers.deadline = self.began + self.seconds

    def run(self, crashes: Path) -> Reason:
        """Run everything until the time budget is spent; return how the run ended."""
        self.servers.keep_spares(count_spares(self.facts))
        plan = plan_trials(self.maker, self.budget, self.numbers, crashes)
        for stage in (plan.classic, plan.rest):
            self.planned.add_planned([*stage.cold, *stage.warm])
        command = shown_command(self.servers.launch, self.artifacts.hide)
        try:
            self.listener(RunStarted(self.facts, command, tuple(self.servers.blind), len(plan)))
            return self._run_until_lost(plan)
        except KeyboardInterrupt:
            return "interrupted"
        finally:
            self.pipelined.close()
            self.startup.close()

    def _run_until_lost(self, plan: Plan) -> Reason:
        """Run all stages; stop where the server can no longer be started or opened."""
        try:
            self._run_smoke()
            return "done" if self._run_stages(plan) else "budget"
        except TargetError as error:
            self.lost = self.artifacts.hide.redact_text(str(error))
            if self.pipelined.last:
                names = join_names(self.pipelined.last, _NAMED_TRIALS)
                self.notes.append(
                    f"Sent to the last server that ended or stopped answering: {names}."
                )
            self._check_good_session()
            return "lost"

    def _check_good_session(self) -> None:
        """File a finding if the server no longer serves good sessions, whatever caused it."""
        with contextlib.suppress(TargetError):  # a server that cannot start shows nothing
            shown = self.confirmer.run_in_fresh_process(
                self._prepare_trial(self.maker.make_good_session(next(self.numbers)))
            )
            for found in () if shown.seen.hurried else shown.list_confirmed():
                broken = found.finding
                if broken.rule in UNUSABLE and broken.signature not in self.triage.flaws:
                    text = f"a good session is no longer served: {broken.summary}"
                    self.triage.file_finding(replace(found, finding=replace(broken, summary=text)))

    def _is_budget_spent(self, share: float) -> bool:
        """Whether a share of the time budget is spent."""
        return time.monotonic() - self.began >= self.seconds * share

    def _run_smoke(self) -> None:
        """Run a good session, check what is listed, and send many requests at once."""
        good = self.confirmer.run_in_fresh_process(
            self._prepare_trial(self.maker.make_good_session(next(self.numbers)))
        )
        self.base = good.seen
        self.confirmer.controls.record_good_session(good.seen)
        self._count_and_confirm(good.prepared, good)
        expected = self.servers.options.expected_tools
        for finding in check_tools(self.facts.label, self.facts.tools, expected):
            self.triage.file_finding(Confirmed(finding, good.prepared, good.seen))
        # A server that fails a good session would only time out on each request of a crowd.
        if is_usable(good.findings):
            self._run_listings()
            self._run_crowd()

    def _run_listings(self) -> None:
        """Ask for every list that the server promises, and judge each page."""
        prepared, seen = list_all(self.servers, self.facts, self.maker, next(self.numbers))
        if seen.complete:
            found = judge_trial(prepared, seen, self.facts)
            self._count_and_confirm(prepared, Examined(prepared, seen, found))
        else:  # what is missing shows in a session that is sent as it would be replayed
            self._count_and_confirm(prepared, self.confirmer.run_in_fresh_process(prepared))

    def _run_crowd(self) -> None:
        """Send many requests and end stdin; file lost replies that a further start repeats."""
        prepared = prepare_crowd(self.maker, self.servers, self.facts, next(self.numbers))
        seen, findings = check_end_of_stdin(self.servers, self.facts, prepared)
        if not findings:
            return
        # A loss may depend on a race: one repetition in two further starts confirms it.
        again = {c.signature for _ in range(_CROWD_REPEATS) for c in self._repeat_crowd()}
        for finding in findings:
            if finding.signature in again:
                self.triage.file_finding(Confirmed(finding, prepared, seen))

    def _repeat_crowd(self) -> list[Finding]:
        """Run the crowd once more in a new process."""
        prepared = prepare_crowd(self.maker, self.servers, self.facts, next(self.numbers))
        return check_end_of_stdin(self.servers, self.facts, prepared)[1]

    def _run_startup_variant(self, variant: StartupVariant) -> None:
        """Run one startup variant and file what it adds to the output of a plain start."""
        found = self.startup.judge_variant(variant)
        self.planned.mark_done(variant)
        self._count_attempt("startup", "before", acted=False, usable=not found)
        for each in found:
            self._file_startup_finding(each)

    def _file_startup_finding(self, found: StartupFinding) -> None:
        """File a finding of a start; it was seen in a fresh process, so it is confirmed."""
        started = found.run
        case = case_from_bytes(started.stdin, protocol=self.facts.version)
        trial = Trial(f"startup-{started.variant.name}", "startup", "before", case, eof=True)
        lines = tuple(started.stdout.split(b"\n"))
        seen = Observation(
            lines[:-1],
            lines[-1],
            ending="exited",
            status=started.status,
            stderr=started.stderr,
            stdin=started.stdin,
            times=started.times,
        )
        confirmed = Confirmed(found.finding, self._prepare_trial(trial), seen)
        self.triage.file_finding(confirmed, launch=started.launch)

    def _run_stages(self, plan: Plan) -> bool:
        """Run the classic inputs, then the rest; return whether all ran.

        Suspects of the first screening are confirmed only after the second, so that every classic
        input runs before the time budget is spent.
        """
        screened = self._screen_trials(plan.classic.warm)
        left = self._run_in_fresh_processes(self._list_fresh(plan.classic), _CLASSIC_SHARE)
        screened = self._screen_trials(plan.rest.warm) and screened
        self.triage.confirm_suspects()
        left = self._run_in_fresh_processes([*left, *self._list_fresh(plan.rest)])
        stages = iter(plan.more)
        while not self._is_budget_spent(_ALL) and (more := next(stages, None)) is not None:
            self._screen_trials(more.warm, _MORE_SHARE)
            self.triage.confirm_suspects()
            self._run_in_fresh_processes(self._list_fresh(more))
        return screened and not left

    @property
    def _shares_servers(self) -> bool:
        """Whether trials may share a server: not if it closes after a bad frame."""
        return self.facts.policy == "continue"

    def _list_fresh(self, stage: Stage) -> Sequence[FreshItem]:
        """The items of a stage that need fresh processes."""
        return stage.cold if self._shares_servers else stage.all_cold()

    def _screen_trials(self, trials: Iterable[Trial], share: float = _WARM_SHARE) -> bool:
        """Run trials in a pipelined server within a share of the budget; return if all ran."""
        if not self._shares_servers:
            return True
        left: set[int | None] = {None}

        def prepare_all() -> Iterator[PreparedTrial]:
            for trial in trials:
                left.add(trial.number)
                yield self._prepare_trial(trial)
            left.discard(None)

        late = partial(self._is_budget_spent, share)
        known = KnownSessions(self.facts, self.base)
        for prepared, seen in self.pipelined.screen_trials(prepare_all(), late):
            left.discard(prepared.trial.number)
            findings = known.judge_trial(prepared, seen)
            # A pipelined server cannot tell how often a file changed between two checks.
            certain = [c for c in findings if c.rule not in COUNTED]
            self._count_trial(prepared, certain)
            for finding in findings:
                self.triage.add_suspect(prepared, finding, seen)
            self._file_noise()
        self._file_noise()
        return not left

    def _file_noise(self) -> None:
        """File the lines of the pipelined server that are no messages and name no trial."""
        for noise in self.pipelined.take_noise():
            seen = Observation((noise.line,))
            said = [judge_reply(noise.line, self.facts.version)]
            for finding in find_offences(self.facts.label, seen.lines, said, b""):
                self.triage.add_noise(noise.last, finding, seen, noise.before)

    def _run_in_fresh_processes(
        self, items: Iterable[FreshItem], share: float = _ALL
    ) -> list[FreshItem]:
        """Run items in fresh processes within a share of the budget; return the rest."""
        items, left = list(items), []
        self.startup.start_ahead(item for item in items if isinstance(item, StartupVariant))
        for item in items:
            if self._is_budget_spent(_ALL if is_classic(item) else share):
                left.append(item)
            elif isinstance(item, StartupVariant):
                self._run_startup_variant(item)
            else:
                self._run_trial(item)
        return left

    def _run_trial(self, trial: Trial) -> None:
        """Run one trial in a fresh process; if it shows anything, run each of its parts alone."""
        prepared = self._prepare_trial(trial)
        shown = self.confirmer.run_in_fresh_process(prepared, grace=0.1, full=False)
        for part in trial.parts if shown.findings else ():
            self._run_trial(part)
        self._count_and_confirm(prepared, shown)

    def _prepare_trial(self, trial: Trial) -> PreparedTrial:
        contract = self.facts.make_contract(self.servers.options.profile, trial.case.version)
        return prepare_trial(trial, contract)

    def _count_and_confirm(self, prepared: PreparedTrial, shown: Examined) -> None:
        """Count a trial and confirm each sign of a fault that it showed."""
        self._count_trial(prepared, shown.findings)
        for finding in shown.findings:
            self.triage.confirm_sign(prepared, finding, shown)

    def _count_trial(self, prepared: PreparedTrial, findings: list[Finding]) -> None:
        trial = prepared.trial
        self.planned.mark_done(trial)
        self._count_attempt(
            trial.family, trial.place, acted=has_acted(findings), usable=is_usable(findings)
        )
        self.tally.frames += len(trial.case.frames)

    def _count_attempt(self, family: str, place: str, *, acted: bool, usable: bool) -> None:
        attempt = self.tally.attempts.get((family, place), Attempt())
        self.tally.attempts[family, place] = attempt.add_trial(acted=acted, usable=usable)
        self.done += 1
        self._report_progress()

    def _report_progress(self) -> None:
        """Send a progress event, at most one each interval."""
        now = time.monotonic() - self.began
        if now - self.reported_at >= _PROGRESS_INTERVAL:
            self.reported_at = now
            self.listener(Progress(now, self.done, len(self.triage.flaws)))

    def make_report(self, reason: Reason) -> Report:
        """Return the report of the run."""
        self.triage.count_pending()
        self.tally.processes = self.servers.processes
        self.tally.skipped = self.planned.list_names()
        seconds = time.monotonic() - self.began
        return Report(
            self.facts,
            shown_command(self.servers.launch, self.artifacts.hide),
            self.artifacts.hide.redact_env(self.servers.launch.env),
            self.servers.options.profile,
            self.budget,
            sort_by_severity(self.triage.flaws.values()),
            self.tally,
            dict(self.servers.blind),
            dict(self.servers.absent),
            seconds,
            reason,
            (*self.notes, *self.artifacts.lost),
            explain_gap(reason, self.tally.skipped, seconds, self.lost)
            or explain_signs(self.tally.signs.values()),
        )


def count_spares(facts: Facts) -> int:
    """How many servers to start before they are needed.

    As many as trials pass during one start, but no more at a time than the processors can start: a
    start that mostly waits can run beside others.
    """
    busy = facts.startup_cpu / facts.startup if facts.startup else 1.0
    room = len(os.sched_getaffinity(0)) / max(busy, 1 / _MOST_AHEAD)
    return int(min(max(_FEWEST_AHEAD, min(facts.startup / _TRIAL_SECONDS, room)), _MOST_AHEAD))
