"""The worker processes of a comparison: lanes that digest batches, and lookers that give details.

A batch is sent to every side before any result is read, and the next batch is generated meanwhile.
So one thread keeps all sides busy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from wirefence.fuzz.compare.records import Look
from wirefence.targets.environments import Observation, Pending, Side, Usage, Worker
from wirefence.targets.environments.protocol import DIGEST

__all__ = ["DIGEST", "Form", "Lane", "Team", "find_forms", "start_team"]

_LOOKED = 200
"""Inputs of one request for details; their values may be large."""


@dataclass(frozen=True, slots=True)
class Form:
    """One way to pass an input: its name, and each side's reader for it."""

    name: str
    readers: tuple[str, ...]


def find_forms(sides: Sequence[Side]) -> tuple[Form, ...]:
    """Return the forms that all sides have; if there is none, one with each side's usual reader."""
    common = [name for name in sides[0].readers if all(name in side.readers for side in sides)]
    if common:
        return tuple(Form(name, (name,) * len(sides)) for name in common)
    usual = tuple(side.readers[0] for side in sides)
    return (Form("/".join(usual), usual),)


@dataclass(slots=True)
class Lane:
    """One worker of each side, and the batch that they run."""

    workers: Sequence[Worker]
    named: bool
    project: bool
    pending: list[Pending] = field(default_factory=list)

    def send_batch(self, inputs: Sequence[bytes], form: Form) -> None:
        """Send a batch to every side."""
        self.pending = [
            worker.begin(inputs, reader=reader, named=self.named, project=self.project)
            for worker, reader in zip(self.workers, form.readers, strict=True)
        ]

    def read_digests(self) -> list[bytes]:
        """Return the digests of the batch, one block for each side."""
        return [pending.block() for pending in self.pending]


@dataclass(frozen=True, slots=True)
class Team:
    """All workers of a comparison; they end with the block of :func:`start_team`.

    ``project`` is true if a side has only one number type, so that all numbers are compared as
    such.
    """

    sides: tuple[Side, ...]
    forms: tuple[Form, ...]
    lanes: tuple[Lane, ...]
    lookers: tuple[Worker, ...]
    project: bool

    def observe(self, at: int, raws: Sequence[bytes], form: str) -> list[Observation]:
        """Return the full outcomes of side ``at`` for inputs in a form."""
        reader = next(each for each in self.forms if each.name == form).readers[at]
        return [
            seen
            for start in range(0, len(raws), _LOOKED)
            for seen in self.lookers[at].outcomes(
                raws[start : start + _LOOKED], reader=reader, project=self.project
            )
        ]

    def make_look(self, old: int, new: int) -> Look:
        """Return a function that runs inputs in a form on two sides."""
        return lambda raws, form: list(
            zip(self.observe(old, raws, form), self.observe(new, raws, form), strict=True)
        )

    def restart_lookers(self) -> None:
        """Give every looker a new process, without cached strings or unread results."""
        for worker in self.lookers:
            worker.close()

    def sum_usage(self, at: int) -> Usage:
        """Return the cost of side ``at``, over all of its workers."""
        all_ = [*(lane.workers[at].usage for lane in self.lanes), self.lookers[at].usage]
        return Usage(
            sum(each.inputs for each in all_),
            sum(each.bytes for each in all_),
            sum(each.cpu_seconds for each in all_),
            max(each.peak_bytes for each in all_),
            sum(each.restarts for each in all_),
            sum(each.unsteady for each in all_),
        )


@contextmanager
def start_team(sides: Sequence[Side], lanes: int) -> Iterator[Team]:
    """Start ``lanes`` workers of every side, and one more of each for details."""
    named = len({side.facts.library for side in sides}) == 1
    project = any(side.facts.numbers == "binary64" for side in sides)
    with ExitStack() as stack:

        def hire() -> tuple[Worker, ...]:
            return tuple(stack.enter_context(side.worker()) for side in sides)

        ready = tuple(Lane(hire(), named, project) for _ in range(lanes))
        yield Team(tuple(sides), find_forms(sides), ready, hire(), project)
