"""The queue of a pipelined server: trials to send now, alone, or to the next server.

An idle pipe costs more than sending a trial twice. So trials that need the server for themselves
wait for others of their kind, and while a new trial is generated a fast server gets copies of known
ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from wirefence.fuzz.gate.server.fresh import PreparedTrial
from wirefence.fuzz.gate.server.trial_templates import Templates

__all__ = ["TrialQueue"]

_COPIES_PER_TRIAL = 31
"""Copies for each new trial: generating one takes as long as a fast server needs for dozens."""


@dataclass(slots=True)
class TrialQueue:
    """Trials to send. ``again`` come first: they were in flight when a server stopped answering.

    ``alone`` are sent one by one, ``next_server`` by the next server.
    """

    source: Iterator[PreparedTrial]
    again: deque[PreparedTrial] = field(default_factory=deque)
    alone: list[PreparedTrial] = field(default_factory=list)
    next_server: list[PreparedTrial] = field(default_factory=list)
    templates: Templates | None = None
    spent: bool = False

    def next_trial(self) -> PreparedTrial | None:
        """Return the next trial; ``None`` where there is none."""
        if self.again:
            return self.again.popleft()
        found = next(self.source, None)
        self.spent = found is None
        if found is not None and self.templates is not None:
            self.templates.add_template(found)
        return found

    def make_copies(self) -> Iterator[PreparedTrial]:
        """Yield copies of known trials while new ones are generated."""
        if self.templates is not None and not self.spent:
            for _ in range(_COPIES_PER_TRIAL):
                yield from filter(None, [self.templates.make_copy()])

    @property
    def is_empty(self) -> bool:
        """Whether no trial is left for this server."""
        return self.spent and not self.again and not self.alone
