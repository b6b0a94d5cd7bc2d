"""One case against one target, and what is wrong with how it was taken.

The key insight: minimizing, replaying and filing all ask this one question, so one function answers
it for targets of every kind, and processes ask it where a target can do no harm.
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
from wirefence.fuzz.examination.plan import Plan, build
from wirefence.fuzz.extras import require_for_targets
from wirefence.fuzz.processes.child import (
    START,
    Begun,
    Failed,
    end_of,
    settle,
    starting,
    telling,
    unbegun,
)
from wirefence.fuzz.store.metadata import Metadata
from wirefence.fuzz.store.scan import Entry
from wirefence.oracles.records import Finding, finding
from wirefence.strategies.contract import Profile
from wirefence.strategies.records import Case
from wirefence.targets.command.records import Launch
from wirefence.targets.parsers.configs import BY_NAME

__all__ = ["Runners", "Subject", "findings_of", "subject_of", "targets_of"]

Method = Literal["forkserver", "spawn"]


@dataclass(frozen=True, slots=True)
class Subject:
    """What a case is run against: a target by name, and for a server the command that starts it.

    ``sides`` are the two of a difference, as ``wirefence compare`` spells them. ``options`` is what
    the gate was told about the server, or the interpreter and form of a comparison.
    """

    target: str
    launch: Launch | None = None
    sides: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)


def subject_of(metadata: Metadata) -> Subject:
    """The subject on which a reproducer was found. Raises UsageError where it cannot be rerun."""
    try:
        launch = metadata.command.launch() if metadata.command else None
    except ValueError as error:
        raise UsageError(
            f"it cannot be started again: {error}",
            "pass it the secret in a variable of the environment and file it again",
        ) from error
    return Subject(metadata.target, launch, metadata.sides, metadata.options)


def targets_of(entries: Iterable[Entry]) -> list[str]:
    """Return the targets that run in processes of ours: no servers, no sides of a comparison."""
    metadata = [entry.metadata for entry in entries]
    return [each.target for each in metadata if not (each.command or each.sides)]


def findings_of(case: Case, subject: Subject) -> list[Finding]:
    """Everything that is wrong with how ``subject`` takes ``case``, known quirks included.

    A gateway is named with or without its variant and policy; ``parsers`` shows how all parsers
    split. Raises UsageError for a name that means nothing, TargetError where it cannot be started.
    """
    if subject.launch is not None:
        # A gate needs much that nothing else here does.
        from wirefence.fuzz.gate.replay import examine_command  # noqa: PLC0415

        target = subject.target.partition("/")[0]
        return examine_command(case, subject.launch, subject.options, target=target)
    if subject.sides:
        # Nor does anything else need environments.
        from wirefence.fuzz.crashes.compared_sides import differences  # noqa: PLC0415

        return differences(case.data, subject.sides, subject.options)
    require_for_targets([subject.target])
    if subject.target == PARSERS:
        return divergences(case)
    return _examiner(subject.target).examine(case)


@lru_cache(maxsize=16)
def _examiner(target: str) -> Examiner:
    kind, _, name = target.partition(":")
    if kind == "parser":
        if name not in BY_NAME:
            raise UsageError(f"there is no parser {name!r} here", "see docs/parsers.md")
        return Examiner([BY_NAME[name]], ())
    if target == "process":
        return build(Plan())
    profile: Profile = "spec" if target.endswith("/spec") else "strict"
    made = build(Plan((target.partition("/")[0],), profile=profile))
    exact = [each for group in made.gateways for each in group if each.name == target]
    return Examiner((), [exact] if exact else made.gateways)


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    pipe: Connection
    place: int = -1
    since: float = 0.0
    begun: bool = False

    def until(self, patience: float) -> float:
        """When it is said to hang, by ``time.monotonic``: a start has a patience of its own."""
        return self.since + (patience if self.begun else max(START, patience))


@dataclass(slots=True)
class Runners:
    """Processes that run cases against one subject; a case that kills or stops one is a finding.

    ``patience`` (seconds) bounds each case. With ``method`` ``spawn`` each process starts from
    nothing, slowly. Use it as a context; leaving it ends the processes.
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

    def run(self, cases: Sequence[Case]) -> list[list[Finding]]:
        """Run cases, several at a time, and return the findings of each.

        Raises what :func:`findings_of` raises, StartError where a process ends before its first
        case, and RuntimeError for a fault of ours.
        """
        found: list[list[Finding]] = [[] for _ in cases]
        waiting = deque(range(len(cases)))
        while waiting or self._busy:
            while waiting and len(self._busy) < self.count:
                self._give(waiting.popleft(), cases)
            for worker, said in self._hear():
                if said is not None:
                    found[worker.place] = said
        return found

    def _give(self, place: int, cases: Sequence[Case]) -> None:
        worker = self._idle.pop() if self._idle else self._start()
        worker.place, worker.since = place, time.monotonic()
        self._busy[worker.pipe] = worker
        try:
            worker.pipe.send(cases[place])
        except OSError:  # it died while idle: its pipe says so when it is heard
            return

    def _start(self) -> _Worker:
        context = _context(self.method)
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(self.subject, theirs), daemon=True)
        with starting():
            process.start()
        theirs.close()
        return _Worker(process, ours)

    def _hear(self) -> list[tuple[_Worker, list[Finding] | None]]:
        """Wait for a word; return what was said, by workers and about those that are no more.

        ``None`` is for the word of one that has begun and has not come to its case.
        """
        soonest = min(worker.until(self.patience) for worker in self._busy.values())
        ready = wait(list(self._busy), max(0.0, soonest - time.monotonic()))
        heard: list[tuple[_Worker, list[Finding] | None]] = []
        for worker in list(self._busy.values()):
            if worker.pipe in ready:
                heard.append((worker, self._said(worker)))
            elif time.monotonic() >= worker.until(self.patience):
                heard.append((worker, self._ended(worker, hung=True)))
        return heard

    def _said(self, worker: _Worker) -> list[Finding] | None:
        try:
            said: list[Finding] | Begun | Failed = worker.pipe.recv()
        except (EOFError, OSError):
            return self._ended(worker, hung=False)
        if isinstance(said, Failed):
            raise said.raised()
        if isinstance(said, Begun):
            worker.begun, worker.since = True, time.monotonic()
            return None
        self._idle.append(self._busy.pop(worker.pipe))
        return said

    def _ended(self, worker: _Worker, *, hung: bool) -> list[Finding]:
        del self._busy[worker.pipe]
        worker.pipe.close()
        name = self.subject.target
        if hung:
            worker.process.kill()
        if not worker.begun:
            raise unbegun(end_of(worker.process))
        if hung:
            worker.process.join()
            summary = f"no end of the case within {self.patience:g} s"
            return [finding("liveness", "live-hang", name, "process", summary)]
        end = end_of(worker.process)
        return [finding("liveness", "live-crash", name, end, f"the process died ({end})")]


def _context(method: Method) -> ForkServerContext | SpawnContext:
    if method == "spawn":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def _serve(subject: Subject, pipe: Connection) -> None:
    settle()
    with telling(pipe):
        pipe.send(Begun())
        while True:
            try:
                case: Case = pipe.recv()
            except EOFError:
                return
            pipe.send(findings_of(case, subject))
