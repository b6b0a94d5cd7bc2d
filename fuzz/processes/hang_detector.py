"""How long a process has been at one thing: what a hang is measured by.

The key insight: on a busy machine most of a minute may go by without a processor, and behind Ctrl-Z
a whole night. The kernel counts the one and shows the other, so both are taken off, and a case that
was never let run does not seem to hang.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Patience", "delayed", "is_stopped"]

_MOST = 10
"""Times the patience after which a process hangs, whatever it waited for."""
_UNWATCHED = 5.0
"""Seconds without a look after which we must have been stopped ourselves."""
_COUNTED = 1.0
"""Seconds of such a time that count: where each look comes late, patience has an end as well."""


@dataclass(slots=True)
class Patience:
    """Since when process ``pid`` has been at one thing.

    To be asked again and again: ``looked`` is when it was asked last, ``stopped`` counts the
    seconds for which the process was found stopped.
    """

    pid: int
    since: float = 0.0
    delay: float = 0.0
    looked: float = 0.0
    stopped: float = 0.0

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """It begins another one now."""
        self.since = self.looked = time.monotonic()
        self.delay, self.stopped = delayed(self.pid), 0.0

    def over(self, seconds: float) -> bool:
        """Whether it has been at it for more than ``seconds`` in which it could have run."""
        unseen = time.monotonic() - self.looked
        self.looked += unseen
        if unseen > _UNWATCHED:
            self.since += unseen - _COUNTED
        elif is_stopped(self.pid):
            self.stopped += unseen
        passed = self.looked - self.since
        if passed <= seconds:
            return False
        waited = max(0.0, delayed(self.pid) - self.delay) + self.stopped
        return passed - waited > seconds or passed > seconds * _MOST


def is_stopped(pid: int) -> bool:
    """Whether a process is stopped, by a signal or a debugger."""
    # Its name comes before, and may be anything.
    after_name = _text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return bool(after_name) and after_name[0] in "Tt"


def delayed(pid: int) -> float:
    """Seconds that a process and its children waited for a processor; 0 where nobody counts."""
    children = _words(Path(f"/proc/{pid}/task/{pid}/children"))
    waits = (_words(Path(f"/proc/{each}/schedstat")) for each in (str(pid), *children))
    return sum(int(words[1]) for words in waits if len(words) > 1) / 1e9


def _words(path: Path) -> list[str]:
    return _text(path).split()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
