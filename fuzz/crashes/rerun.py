"""Run one case against one target, in worker processes, and return its findings.

Minimizing, replaying and adding all use this function, for targets of every kind.
"""

from __future__ import annotations

import multiprocessing
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Literal, Self

from wirefence.fuzz.crashes.same import PARSERS, divergences
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.examination.examiner import Examiner
from wirefence.fuzz.examination.plan import Plan, build_examiner
from wirefence.fuzz.extras import require_for_targets
from wirefence.fuzz.processes.child import (
    START,
    ChildFailed,
    ChildStarted,
    make_early_death_error,
    prepare_child,
    send_failures,
    start_children,
    wait_for_exit,
)
from wirefence.fuzz.store.metadata import Metadata
from wirefence.fuzz.store.scan import Entry
from wirefence.oracles.records import Finding, make_finding
from wirefence.strategies.contract import Profile
from wirefence.strategies.records import Case
from wirefence.targets.command.records import Launch
from wirefence.targets.parsers.configs import BY_NAME

__all__ = ["CaseRunners", "Subject", "find_faults", "make_subject", "targets_of"]

Method = Literal["forkserver", "spawn"]


@dataclass(frozen=True, slots=True)
class Subject:
    """What a case is run against: a target by name, and for a server the command that starts it.

    ``sides`` are the two of a difference, as ``wirefence compare`` spells them. ``options`` are the
    gate's options, or interpreter and form of a comparison.
    """

    target: str
    launch: Launch | None = None
    sides: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)


def make_subject(metadata: Metadata) -> Subject:
    """Return the subject of a reproducer. Raises UsageError if it cannot be run again."""
    try:
        launch = metadata.command.to_launch() if metadata.command else None
    except ValueError as error:
        raise UsageError(
            f"it cannot be started again: {error}",
            "pass the secret in an environment variable and add it again",
        ) from error
    return Subject(metadata.target, launch, metadata.sides, metadata.options)


def targets_of(entries: Iterable[Entry]) -> list[str]:
    """Return the targets that run in processes of ours: no servers, no sides of a comparison."""
    metadata = [entry.metadata for entry in entries]
    return [each.target for each in metadata if not (each.command or each.sides)]


def find_faults(case: Case, subject: Subject) -> list[Finding]:
    """Return all findings of ``case`` on ``subject``, known quirks included.

    A gateway is named with or without its variant and policy; ``parsers`` shows how all parsers
    differ. Raises UsageError for an unknown name, TargetError if it cannot be started.
    """
    if subject.launch is not None:
        # Importing the gate is slow, and only servers need it.
        from wirefence.fuzz.gate.replay import examine_command  # noqa: PLC0415

        target = subject.target.partition("/")[0]
        return examine_command(case, subject.launch, subject.options, target=target)
    if subject.sides:
        # Importing environments is slow, and only differences need them.
        from wirefence.fuzz.crashes.compared_sides import find_differences  # noqa: PLC0415

        return find_differences(case.data, subject.sides, subject.options)
    require_for_targets([subject.target])
    if subject.target == PARSERS:
        return divergences(case)
    return _make_examiner(subject.target).examine_case(case)


@lru_cache(maxsize=16)
def _make_examiner(target: str) -> Examiner:
    kind, _, name = target.partition(":")
    if kind == "parser":
        if name not in BY_NAME:
            raise UsageError(f"there is no parser {name!r} here", "see docs/parsers.md")
        return Examiner([BY_NAME[name]], ())
    if target == "process":
        return build_examiner(Plan())
    profile: Profile = "spec" if target.endswith("/spec") else "strict"
    made = build_examiner(Plan((target.partition("/")[0],), profile=profile))
    exact = [each for group in made.gateways for each in group if each.name == target]
    return Examiner((), [exact] if exact else made.gateways)


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    pipe: Connection
    place: int = -1
    since: float = 0.0
    begun: bool = False

    def find_hang_time(self, patience: float) -> float:
        """Return when the worker counts as hanging, by ``time.monotonic``; a start may take
        longer.
        """
        return self.since + (patience if self.begun else max(START, patience))


@dataclass(slots=True)
class CaseRunners:
    """Processes that run cases against one subject; a case that kills or hangs one is a finding.

    ``patience`` (seconds) bounds each case. With ``method`` ``spawn`` each process starts without
    any state, slowly. Use it as a context manager; it ends the processes.
    """

    subject: Subject
    count: int = 1
    patience: float = 60.0
    method: Method = "forkserver"
    _idle: list[_Worker] = field(default_factory=list)
    _busy: dict[Connection, _Worker] = field(default_factory=dict)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every process."""
        for worker in [*self._idle, *self._busy.values()]:
            worker.process.kill()
            worker.process.join()
            worker.pipe.close()
        self._idle.clear()
        self._busy.clear()

    def run_cases(self, cases: Sequence[Case]) -> list[list[Finding]]:
        """Run cases, several at a time, and return the findings of each.

        Raises what :func:`find_faults` raises, StartError if a process ends before its first case,
        and RuntimeError for an internal error.
        """
        found: list[list[Finding]] = [[] for _ in cases]
        waiting = deque(range(len(cases)))
        while waiting or self._busy:
            while waiting and len(self._busy) < self.count:
                self._send_case(waiting.popleft(), cases)
            for worker, said in self._receive_results():
                if said is not None:
                    found[worker.place] = said
        return found

    def _send_case(self, place: int, cases: Sequence[Case]) -> None:
        worker = self._idle.pop() if self._idle else self._start_worker()
        worker.place, worker.since = place, time.monotonic()
        self._busy[worker.pipe] = worker
        try:
            worker.pipe.send(cases[place])
        except OSError:  # it died while idle: reading its pipe reports that
            return

    def _start_worker(self) -> _Worker:
        context = _make_context(self.method)
        ours, theirs = context.Pipe()
        process = context.Process(target=_run_worker, args=(self.subject, theirs), daemon=True)
        with start_children():
            process.start()
        theirs.close()
        return _Worker(process, ours)

    def _receive_results(self) -> list[tuple[_Worker, list[Finding] | None]]:
        """Wait for messages; return results by worker, including deaths and hangs.

        ``None`` marks a worker that has started and has no result yet.
        """
        soonest = min(worker.find_hang_time(self.patience) for worker in self._busy.values())
        ready = wait(list(self._busy), max(0.0, soonest - time.monotonic()))
        heard: list[tuple[_Worker, list[Finding] | None]] = []
        for worker in list(self._busy.values()):
            if worker.pipe in ready:
                heard.append((worker, self._receive_result(worker)))
            elif time.monotonic() >= worker.find_hang_time(self.patience):
                heard.append((worker, self._handle_death(worker, hung=True)))
        return heard

    def _receive_result(self, worker: _Worker) -> list[Finding] | None:
        try:
            said: list[Finding] | ChildStarted | ChildFailed = worker.pipe.recv()
        except (EOFError, OSError):
            return self._handle_death(worker, hung=False)
        if isinstance(said, ChildFailed):
            raise said.to_exception()
        if isinstance(said, ChildStarted):
            worker.begun, worker.since = True, time.monotonic()
            return None
        self._idle.append(self._busy.pop(worker.pipe))
        return said

    def _handle_death(self, worker: _Worker, *, hung: bool) -> list[Finding]:
        del self._busy[worker.pipe]
        worker.pipe.close()
        name = self.subject.target
        if hung:
            worker.process.kill()
        if not worker.begun:
            raise make_early_death_error(wait_for_exit(worker.process))
        if hung:
            worker.process.join()
            summary = f"the case did not end within {self.patience:g} s"
            return [make_finding("liveness", "live-hang", name, "process", summary)]
        end = wait_for_exit(worker.process)
        return [make_finding("liveness", "live-crash", name, end, f"the process died ({end})")]


def _make_context(method: Method) -> ForkServerContext | SpawnContext:
    if method == "spawn":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def _run_worker(subject: Subject, pipe: Connection) -> None:
    prepare_child()
    with send_failures(pipe):
        pipe.send(ChildStarted())
        while True:
            try:
                case: Case = pipe.recv()
            except EOFError:
                return
            pipe.send(find_faults(case, subject))
