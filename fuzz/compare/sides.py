"""The processes behind a comparison: lanes that digest batches, lookers that are asked for details.

The key insight: a batch is sent to every side before the answer of any is read, and the next batch
is made meanwhile, so one thread keeps all sides busy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from wirefence.fuzz.compare.records import Look
from wirefence.targets.environments import Observation, Pending, Side, Usage, Worker
from wirefence.targets.environments.protocol import DIGEST

__all__ = ["DIGEST", "Form", "Lane", "Team", "forms", "team"]

_LOOKED = 200


@dataclass(frozen=True, slots=True)
class Form:
    """One way to hand over an input: its name, and each side's reader for it."""

    name: str
    readers: tuple[str, ...]


def forms(sides: Sequence[Side]) -> tuple[Form, ...]:
    """The ways of reading that all sides have; where there is none, each side's usual one."""
    common = [name for name in sides[0].readers if all(name in side.readers for side in sides)]
    if common:
        return tuple(Form(name, (name,) * len(sides)) for name in common)
    usual = tuple(side.readers[0] for side in sides)
    return (Form("/".join(usual), usual),)


@dataclass(slots=True)
class Lane:
    """One worker of each side, and the batch they are at."""

    workers: Sequence[Worker]
    named: bool
    project: bool
    pending: list[Pending] = field(default_factory=list)

    def begin(self, inputs: Sequence[bytes], form: Form) -> None:
        """Send a batch to every side."""
        self.pending = [
            worker.begin(inputs, reader=reader, named=self.named, project=self.project)
            for worker, reader in zip(self.workers, form.readers, strict=True)
        ]

    def blocks(self) -> list[bytes]:
        """The digests of the batch, a block for each side."""
        return [pending.block() for pending in self.pending]


@dataclass(frozen=True, slots=True)
class Team:
    """All workers of a comparison; they end with the block of :func:`team`.

    ``project`` is true where a side has one number type, so that all are told as it would.
    """

    sides: tuple[Side, ...]
    forms: tuple[Form, ...]
    lanes: tuple[Lane, ...]
    lookers: tuple[Worker, ...]
    project: bool

    def look(self, at: int, raws: Sequence[bytes], form: str) -> list[Observation]:
        """What side number ``at`` makes of inputs in a form, in full."""
        reader = next(each for each in self.forms if each.name == form).readers[at]
        return [
            seen
            for start in range(0, len(raws), _LOOKED)
            for seen in self.lookers[at].outcomes(
                raws[start : start + _LOOKED], reader=reader, project=self.project
            )
        ]

    def pair(self, old: int, new: int) -> Look:
        """A function that asks two of the sides about inputs in a form."""
        return lambda raws, form: list(
            zip(self.look(old, raws, form), self.look(new, raws, form), strict=True)
        )

    def renew(self) -> None:
        """Give every looker a new process: nothing read before, no answer half read."""
        for worker in self.lookers:
            worker.close()

    def usage(self, at: int) -> Usage:
        """What side number ``at`` has cost, over all of its workers."""
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
def team(sides: Sequence[Side], lanes: int) -> Iterator[Team]:
    """Start ``lanes`` workers of every side, and one more of each to ask for details."""
    named = len({side.facts.library for side in sides}) == 1
    project = any(side.facts.numbers == "binary64" for side in sides)
    with ExitStack() as stack:

        def hire() -> tuple[Worker, ...]:
            return tuple(stack.enter_context(side.worker()) for side in sides)

        ready = tuple(Lane(hire(), named, project) for _ in range(lanes))
        yield Team(tuple(sides), forms(sides), ready, hire(), project)
