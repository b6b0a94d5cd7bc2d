"""Detect hangs: measure how long a process has worked on one item.

Time in which the process could not run does not count: on a busy machine it may wait most of a
minute for a processor, and Ctrl-Z may stop it for a night. Linux reports both (``schedstat`` and
the state in ``stat``), and both are subtracted.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from wirefence.targets.command.proc_files import list_children, read_proc, read_stat

__all__ = ["HangTimer", "is_stopped", "read_processor_wait"]

_MAX_PATIENCE_FACTOR = 10
"""Multiple of the patience after which a process counts as hung, whatever it waited for."""
_MAX_CHECK_GAP = 5.0
"""Seconds between two checks after which this process must have been stopped itself; campaigns
check twice a second.
"""
_GAP_COUNTED = 1.0
"""Seconds of such a gap that count, so that patience ends even if every check is late."""


@dataclass(slots=True)
class HangTimer:
    """Measures how long process ``pid`` has worked on its current item.

    Call :meth:`has_hung` regularly. ``looked`` is the time of the last check, ``stopped`` the
    seconds for which the process was seen stopped.
    """

    pid: int
    since: float = 0.0
    delay: float = 0.0
    looked: float = 0.0
    stopped: float = 0.0

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Start measuring a new item now."""
        self.since = self.looked = time.monotonic()
        self.delay, self.stopped = read_processor_wait(self.pid), 0.0

    def has_hung(self, seconds: float) -> bool:
        """Return whether the item took more than ``seconds`` of time in which it could run."""
        unseen = time.monotonic() - self.looked
        self.looked += unseen
        if unseen > _MAX_CHECK_GAP:
            self.since += unseen - _GAP_COUNTED
        elif is_stopped(self.pid):
            self.stopped += unseen
        passed = self.looked - self.since
        if passed <= seconds:
            return False
        waited = max(0.0, read_processor_wait(self.pid) - self.delay) + self.stopped
        return passed - waited > seconds or passed > seconds * _MAX_PATIENCE_FACTOR


def is_stopped(pid: int) -> bool:
    """Return whether a process is stopped, by a signal or a debugger."""
    return read_stat(pid)[:1] in ([b"T"], [b"t"])


def read_processor_wait(pid: int) -> float:
    """Return the seconds that a process and its children waited for a processor; 0 if unknown."""
    waits = (read_proc(each, "schedstat").split() for each in (pid, *list_children(pid)))
    return sum(int(words[1]) for words in waits if len(words) > 1) / 1e9
