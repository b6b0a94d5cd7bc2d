"""The sides of a comparison, ready to work.

Whatever a side is made of, it comes down to a command that speaks one protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from wirefence.targets.environments.mined import mine_strings
from wirefence.targets.environments.process import Worker
from wirefence.targets.environments.records import Context, Facts, Program

__all__ = ["DEFAULT", "Program", "Side"]

DEFAULT = Context()


@dataclass(frozen=True, slots=True)
class Side:
    """One side, prepared: what was asked for and what it turned out to be.

    ``name`` is the specification as given, ``label`` what it came to with its interpreter,
    ``program`` starts a worker, ``versions`` names what it was made of and with (interpreter,
    library, installer). ``facts`` are those of the first start.
    """

    name: str
    label: str
    program: Program
    facts: Facts
    versions: dict[str, str]

    @property
    def readers(self) -> tuple[str, ...]:
        """The ways of reading that take part, the usual one first."""
        return self.facts.readers

    @property
    def writers(self) -> tuple[str, ...]:
        """The ways of writing that take part, the usual one first; empty where it only reads."""
        return self.facts.writers

    @contextmanager
    def worker(self, context: Context = DEFAULT) -> Iterator[Worker]:
        """A worker of this side; it has ended when the block ends. Raises TargetError."""
        worker = Worker(self.program, context)
        try:
            yield worker
        finally:
            worker.close()

    def strings(self) -> list[bytes]:
        """Names and words found in the library's own files, most promising first."""
        return mine_strings(self.facts.files)
