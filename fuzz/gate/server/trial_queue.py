"""What a living server is sent next, and how: in the pipe, alone, or by another server.

The key insight: a pipe that runs empty costs more than a trial that is sent twice. So what needs
the server for itself waits for others of its kind, and while a new trial is made a fast server is
sent copies of known ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from wirefence.fuzz.gate.server.fresh import PreparedTrial
from wirefence.fuzz.gate.server.trial_templates import Templates

__all__ = ["TrialQueue"]

_COPIES = 31
"""For each new trial, where a server would have to wait for it."""


@dataclass(slots=True)
class TrialQueue:
    """Trials to be sent: what was behind a silence first; some alone, some to the next server."""

    source: Iterator[PreparedTrial]
    again: deque[PreparedTrial] = field(default_factory=deque)
    alone: list[PreparedTrial] = field(default_factory=list)
    next_server: list[PreparedTrial] = field(default_factory=list)
    templates: Templates | None = None
    spent: bool = False

    def next_trial(self) -> PreparedTrial | None:
        """The next trial, ``None`` where there is none."""
        if self.again:
            return self.again.popleft()
        found = next(self.source, None)
        self.spent = found is None
        if found is not None and self.templates is not None:
            self.templates.add_template(found)
        return found

    def make_copies(self) -> Iterator[PreparedTrial]:
        """Known trials under new names, while a fast server waits for new ones to be made."""
        if self.templates is not None and not self.spent:
            for _ in range(_COPIES):
                yield from filter(None, [self.templates.make_copy()])

    @property
    def is_empty(self) -> bool:
        return self.spent and not self.again and not self.alone
