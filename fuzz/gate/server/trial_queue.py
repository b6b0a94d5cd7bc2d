"""The queue of a pipelined server: trials to send now, alone, or to the next server.

An idle pipe costs time. So trials that need the server for themselves wait for others of their
kind.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from wirefence.fuzz.gate.server.fresh import PreparedTrial

__all__ = ["TrialQueue"]


@dataclass(slots=True)
class TrialQueue:
    """Trials to send. ``again`` come first: they were in flight when a server stopped answering.

    ``alone`` are sent one by one, ``next_server`` by the next server.
    """

    source: Iterator[PreparedTrial]
    again: deque[PreparedTrial] = field(default_factory=deque)
    alone: list[PreparedTrial] = field(default_factory=list)
    next_server: list[PreparedTrial] = field(default_factory=list)
    spent: bool = False

    def next_trial(self) -> PreparedTrial | None:
        """Return the next trial; ``None`` where there is none."""
        if self.again:
            return self.again.popleft()
        found = next(self.source, None)
        self.spent = found is None
        return found

    @property
    def is_empty(self) -> bool:
        """Whether no trial is left for this server."""
        return self.spent and not self.again and not self.alone
