"""The whole gate: learn, smoke, screen, confirm, report, within a budget.

The key insight: the time that was given is for everything, so what is begun is bounded by what is
left of it: first what a living server answers in no time, then what its answers made suspect, then
what needs a process of its own.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path

from wirefence.fuzz.gate.confirm import Confirmed, Confirmer, Examined
from wirefence.fuzz.gate.records import (
    Attempt,
    Begun,
    Budget,
    Facts,
    Listener,
    Options,
    Reason,
    Report,
    Seen,
    Step,
    Tally,
    Trial,
)
from wirefence.fuzz.gate.report.artifacts import Filing, shown_command
from wirefence.fuzz.gate.report.severity import gravest_first
from wirefence.fuzz.gate.server.controls import Controls
from wirefence.fuzz.gate.server.discovery import learn
from wirefence.fuzz.gate.server.fresh import Lab, Ready, ready
from wirefence.fuzz.gate.server.pipelined import Warm
from wirefence.fuzz.gate.server.smoke import at_the_end, missing_tools, prepared_crowd
from wirefence.fuzz.gate.server.startup import Starts, StartupFinding
from wirefence.fuzz.gate.server.trial_copies import Remembered, Templates, like
from wirefence.fuzz.gate.server.verdicts import UNUSABLE, Charge, acted, usable
from wirefence.fuzz.gate.triage import Pursuit
from wirefence.fuzz.gate.trials.generate import Maker
from wirefence.fuzz.gate.trials.messages import Wording
from wirefence.fuzz.gate.trials.schedule import Cold, Plan, Stage, is_classic, plan
from wirefence.fuzz.gate.trials.skipped import Todo, few, gap
from wirefence.fuzz.gate.trials.startup_variants import Cause
from wirefence.fuzz.store.redaction import Redactor
from wirefence.fuzz.store.store import Store, case_from_bytes
from wirefence.targets.command.records import Launch
from wirefence.targets.errors import TargetError

__all__ = ["SECONDS", "ahead", "gate"]

SECONDS: dict[Budget, float] = {"quick": 30.0, "release": 300.0, "nightly": 3_600.0}
"""How long a run takes, what it confirms included."""

_SHRINK: dict[Budget, float] = {"quick": 1.0, "release": 10.0, "nightly": 60.0}
_CLASSIC_SHARE, _WARM_SHARE, _MORE_SHARE, _ALL = 0.7, 0.85, 0.9, 1.0
"""When the classic inputs, what a living server is sent, and more of that make room for others."""
_COUNTED = ("act-twice", "act-missing")
_TRIES = 2
_FEWEST_AHEAD, _MOST_AHEAD = 2, 8
_TRIAL = 0.15
"""Seconds that a trial takes of a server that has started."""
_TOLD_EVERY = 0.5
_NAMED = 12


def gate(  # noqa: PLR0913 - the terms of one gate
    launch: Launch,
    options: Options,
    budget: Budget,
    out: Path,
    listener: Listener,
    *,
    crashes: Path = Path("crashes"),
    seconds: float | None = None,
) -> Report:
    """Run the gate on one launch command; findings are put below ``out`` as they come.

    ``seconds`` replaces those of the budget. Raises TargetError for a launch that fails and
    UsageError for options that don't fit the server. Once the server is known there is a report in
    any case, be it of a run that could not go on.
    """
    began, store = time.monotonic(), Store(out)
    store.prepare()
    lab = Lab(launch, options)
    try:
        limit = seconds or SECONDS[budget]
        facts = learn(lab, limit)
        lab.start_patience = min(options.start_patience, max(limit, options.patience))
        runner = _Runner(lab, facts, budget, store, listener, limit, began)
        reason = runner.run(crashes)
        return runner.report(reason)
    finally:
        lab.close()


@dataclass(slots=True)
class _Runner:
    """One run in the making."""

    lab: Lab
    facts: Facts
    budget: Budget
    store: Store
    listener: Listener
    seconds: float
    began: float
    tally: Tally = field(default_factory=Tally)
    notes: list[str] = field(default_factory=list)
    todo: Todo = field(default_factory=Todo)
    done: int = 0
    told: float = 0.0
    lost: str = ""
    """Why the run could not go on, where it could not."""
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    maker: Maker = field(init=False)
    confirmer: Confirmer = field(init=False)
    filing: Filing = field(init=False)
    pursuit: Pursuit = field(init=False)
    judge: Remembered = field(init=False)
    warm: Warm = field(init=False)
    starts: Starts = field(init=False)

    def __post_init__(self) -> None:
        options, facts = self.lab.options, self.facts
        self.maker = Maker(facts, Wording.of(facts.nominee), facts.version, options.seed)
        self.warm, self.judge = Warm(self.lab, facts), Remembered(facts)
        self.starts = Starts(self.lab.launch, facts, options, ahead=ahead(facts) // 2)
        self.confirmer = Confirmer(
            self.lab,
            facts,
            Controls(self.lab, facts, lambda: next(self.numbers)),
            self.warm if facts.policy == "continue" else None,
            _SHRINK[self.budget],
            lambda: next(self.numbers),
        )
        hide = Redactor.of(self.lab.launch)
        self.filing = Filing(self.store, self.lab.launch, options, facts, hide)
        late = partial(self._late, _ALL)
        self.pursuit = Pursuit(self.confirmer, self.filing, self.listener, self.tally, late)
        self.lab.deadline = self.began + self.seconds

    def run(self, crashes: Path) -> Reason:
        """Everything, until the budget is spent; says how it ended."""
        self.lab.keep_spares(ahead(self.facts))
        todo = plan(self.maker, self.budget, self.numbers, crashes)
        for stage in (todo.classic, todo.rest):
            self.todo.plan([*stage.cold, *stage.warm])
        command = shown_command(self.lab.launch, self.filing.hide)
        try:
            self.listener(Begun(self.facts, command, tuple(self.lab.blind), len(todo)))
            return self._while_it_starts(todo)
        except KeyboardInterrupt:
            return "interrupted"
        finally:
            self.warm.close()
            self.starts.close()

    def _while_it_starts(self, todo: Plan) -> Reason:
        """Everything, or what comes before the server can't be started or opened any more."""
        try:
            self._smoke()
            return "done" if self._stages(todo) else "budget"
        except TargetError as error:
            self.lost = self.filing.hide.text(str(error))
            if self.warm.last:
                names = few(self.warm.last, _NAMED)
                self.notes.append(f"Sent to the last server that ended or fell silent: {names}.")
            self._good_again()
            return "lost"

    def _good_again(self) -> None:
        """A server that serves good sessions no more is a finding, whichever trial ruined it."""
        with contextlib.suppress(TargetError):  # one that can't be started at all says nothing
            shown = self.confirmer.examine(self._ready(self.maker.good(next(self.numbers))))
            for found in () if shown.seen.hurried else shown.confirmed():
                said = found.charge.finding
                if said.rule in UNUSABLE and said.signature not in self.pursuit.flaws:
                    text = f"a good session is not served any more: {said.summary}"
                    charge = replace(found.charge, finding=replace(said, summary=text))
                    self.pursuit.file(replace(found, charge=charge))

    def _late(self, share: float) -> bool:
        return time.monotonic() - self.began >= self.seconds * share

    def _smoke(self) -> None:
        good = self.confirmer.examine(self._ready(self.maker.good(next(self.numbers))))
        self.judge.base = good.seen
        self.confirmer.controls.learn(good.seen)
        self._take(good.prepared, good)
        for charge in missing_tools(self.facts, self.lab.options.expected_tools):
            self.pursuit.file(Confirmed(charge, good.prepared, good.seen))
        # Else a crowd says nothing new, and each of its replies is waited for.
        if usable(good.charges):
            self._crowd()

    def _crowd(self) -> None:
        prepared = prepared_crowd(self.maker, self.lab, self.facts, next(self.numbers))
        seen, charges = at_the_end(self.lab, self.facts, prepared)
        if not charges:
            return
        # What depends on a race is still lost: once more in two further starts is enough.
        again = {c.finding.signature for _ in range(_TRIES) for c in self._crowd_again()}
        for charge in charges:
            if charge.finding.signature in again:
                self.pursuit.file(Confirmed(charge, prepared, seen))

    def _crowd_again(self) -> list[Charge]:
        prepared = prepared_crowd(self.maker, self.lab, self.facts, next(self.numbers))
        return at_the_end(self.lab, self.facts, prepared)[1]

    def _started(self, cause: Cause) -> None:
        """What one cause of noise at start and end adds to a plain start."""
        found = self.starts.findings(cause)
        self.todo.done(cause)
        self._tally("startup", "before", acted=False, usable=not found)
        for each in found:
            self._noise(each)

    def _noise(self, found: StartupFinding) -> None:
        """File what a start showed: it was in a fresh process."""
        started = found.started
        case = case_from_bytes(started.stdin, protocol=self.facts.version)
        trial = Trial(f"startup-{started.cause.name}", "startup", "before", case, eof=True)
        lines = tuple(started.stdout.split(b"\n"))
        seen = Seen(
            lines[:-1],
            lines[-1],
            ending="exited",
            status=started.status,
            stderr=started.stderr,
            stdin=started.stdin,
            times=started.times,
        )
        confirmed = Confirmed(Charge(found.finding, found.offending), self._ready(trial), seen)
        self.pursuit.file(confirmed, launch=started.launch)

    def _stages(self, todo: Plan) -> bool:
        """The classic inputs first, then the rest; say whether all were run.

        What a living server showed is pursued late: each classic input must have had its chance.
        """
        screened = self._screen(todo.classic.warm)
        left = self._fresh(self._cold(todo.classic), _CLASSIC_SHARE)
        screened = self._screen(todo.rest.warm) and screened
        self.pursuit.pursue()
        left = self._fresh([*left, *self._cold(todo.rest)])
        templates = Templates(self.numbers)
        stages = iter(todo.more)
        while not self._late(_ALL) and (more := next(stages, None)) is not None:
            self._screen(more.warm, templates)
            self.pursuit.pursue()
            self._fresh(self._cold(more))
        return screened and not left

    @property
    def _shares(self) -> bool:
        """Whether trials may share a server: one that closes after a bad frame serves one each."""
        return self.facts.policy == "continue"

    def _cold(self, stage: Stage) -> Sequence[Cold]:
        return stage.cold if self._shares else stage.all_cold()

    def _screen(self, trials: Iterable[Trial], templates: Templates | None = None) -> bool:
        """Trials in a living server, until their share of the budget is spent; says if all were."""
        if not self._shares:
            return True
        left: set[int | None] = {None}

        def made() -> Iterator[Ready]:
            for trial in trials:
                left.add(trial.number)
                yield self._ready(trial)
            left.discard(None)

        late = partial(self._late, _MORE_SHARE if templates else _WARM_SHARE)
        for prepared, seen in self.warm.screen(made(), late, templates=templates):
            trial = like(prepared).trial
            if not trial.origin:
                left.discard(trial.number)
            charges = self.judge.judge(prepared, seen)
            # How often files changed between two looks is told in fresh processes only.
            certain = [c for c in charges if c.finding.rule not in _COUNTED]
            self._count(like(prepared), certain)
            for charge in charges:
                self.pursuit.suspect(prepared, charge.finding.signature)
        return not left

    def _fresh(self, items: Iterable[Cold], share: float = _ALL) -> list[Cold]:
        """What needs fresh processes, until a share of the budget is spent; gives what is left."""
        items, left = list(items), []
        self.starts.expect(item for item in items if isinstance(item, Cause))
        for item in items:
            if self._late(_ALL if is_classic(item) else share):
                left.append(item)
            elif isinstance(item, Cause):
                self._started(item)
            else:
                self._tried(item)
        return left

    def _tried(self, trial: Trial) -> None:
        """One trial in a fresh process; where one for many shows anything, each of them alone."""
        prepared = self._ready(trial)
        shown = self.confirmer.examine(prepared, grace=0.1, full=False)
        for part in trial.parts if shown.charges else ():
            self._tried(part)
        self._take(prepared, shown)

    def _ready(self, trial: Trial) -> Ready:
        contract = self.facts.contract(self.lab.options.profile, trial.case.version)
        return ready(trial, contract)

    def _take(self, prepared: Ready, shown: Examined) -> None:
        """Count a trial, and follow what it showed for the first time."""
        self._count(prepared, shown.charges)
        for charge in shown.charges:
            self.pursuit.follow(prepared, charge.finding.signature, shown)

    def _count(self, prepared: Ready, charges: list[Charge]) -> None:
        trial = prepared.trial
        self.todo.done(trial)
        self._tally(trial.family, trial.place, acted=acted(charges), usable=usable(charges))
        self.tally.frames += len(trial.case.frames)
        self.tally.copies += bool(trial.origin)

    def _tally(self, family: str, place: str, *, acted: bool, usable: bool) -> None:
        attempt = self.tally.attempts.get((family, place), Attempt())
        self.tally.attempts[family, place] = attempt.plus(acted=acted, usable=usable)
        self.done += 1
        self._tell()

    def _tell(self) -> None:
        now = time.monotonic() - self.began
        if now - self.told >= _TOLD_EVERY:
            self.told = now
            self.listener(Step(now, self.done, len(self.pursuit.flaws)))

    def report(self, reason: Reason) -> Report:
        """The result."""
        self.pursuit.give_up()
        self.tally.processes = self.lab.processes
        self.tally.skipped = self.todo.left()
        seconds = time.monotonic() - self.began
        return Report(
            self.facts,
            shown_command(self.lab.launch, self.filing.hide),
            self.filing.hide.env(self.lab.launch.env),
            self.lab.options.profile,
            self.budget,
            gravest_first(self.pursuit.flaws.values()),
            self.tally,
            dict(self.lab.blind),
            dict(self.lab.absent),
            seconds,
            reason,
            (*self.notes, *self.filing.lost),
            gap(reason, self.tally.skipped, seconds, self.lost)
            or _open_questions(self.tally.pending),
        )


def _open_questions(pending: Mapping[str, int]) -> str:
    """Why a run is no pass whose suspicions were not all looked into."""
    few = "1 sign of a fault" if len(pending) == 1 else f"{len(pending)} signs of faults"
    return f"the time was spent before {few} could be run again" if pending else ""


def ahead(facts: Facts) -> int:
    """How many servers to start before they are needed.

    As many as trials pass during one start, but no more at a time than there are processors for
    what a start computes: what only waits can wait beside others.
    """
    busy = facts.startup_cpu / facts.startup if facts.startup else 1.0
    room = len(os.sched_getaffinity(0)) / max(busy, 1 / _MOST_AHEAD)
    return int(min(max(_FEWEST_AHEAD, min(facts.startup / _TRIAL, room)), _MOST_AHEAD))
