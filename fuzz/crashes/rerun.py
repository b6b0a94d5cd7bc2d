"""Run one case against one target, in worker processes, and return its findings.

Minimizing, replaying and adding all use this function, for targets of every kind.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from multiprocessing.connection import Connection
from typing import Self

from wirefence.fuzz.crashes.divergences import PARSERS, divergences
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.examination.examiner import Examiner
from wirefence.fuzz.examination.plan import Plan, build_examiner
from wirefence.fuzz.extras import require_for_targets
from wirefence.fuzz.processes.child import (
    ChildStarted,
    make_early_death_error,
    prepare_child,
    send_failures,
)
from wirefence.fuzz.processes.supervisor import (
    Child,
    Ended,
    Method,
    kill_children,
    poll_children,
)
from wirefence.fuzz.store.metadata import Metadata
from wirefence.fuzz.store.scan import Entry
from wirefence.oracles.liveness import make_death, make_hang
from wirefence.oracles.records import Finding
from wirefence.strategies.contract import Profile
from wirefence.strategies.records import Case
from wirefence.targets.command.records import Launch
from wirefence.targets.parsers.configs import BY_NAME

__all__ = ["CaseRunners", "Subject", "find_faults", "make_subject", "targets_of"]


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
class CaseRunners:
    """Processes that run cases against one subject; a case that kills or hangs one is a finding.

    ``patience`` (seconds) bounds each case. With ``method`` ``spawn`` each process starts without
    any state, slowly. Use it as a context manager; it ends the processes.
    """

    subject: Subject
    count: int = 1
    patience: float = 60.0
    method: Method = "forkserver"
    _idle: list[Child] = field(default_factory=list)
    _busy: dict[Child, int] = field(default_factory=dict)
    """Children with the index of the case that each runs."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End every process."""
        kill_children([*self._idle, *self._busy])
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
                worker = self._idle.pop() if self._idle else self._start_worker()
                self._busy[worker] = place = waiting.popleft()
                worker.send(cases[place])
            for worker, said in poll_children(self._busy):
                if isinstance(said, Ended):
                    found[self._busy.pop(worker)] = [self._make_death_finding(worker, said)]
                elif not (worker.hung or isinstance(said, ChildStarted)):
                    found[self._busy.pop(worker)] = said
                    self._idle.append(worker)
        return found

    def _start_worker(self) -> Child:
        return Child(
            _run_worker, self.subject, method=self.method, patience=self.patience, duplex=True
        )

    def _make_death_finding(self, worker: Child, ended: Ended) -> Finding:
        if not worker.begun:
            raise make_early_death_error(ended.how)
        name = self.subject.target
        if ended.hung:
            return make_hang(name, self.patience)
        return make_death(name, ended.how)


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
