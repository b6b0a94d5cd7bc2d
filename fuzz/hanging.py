"""How long a process has been at one thing: what a hang is measured by.

The key insight: on a busy machine most of a minute may go by without a processor. The kernel counts
that time, so it is taken off, and a case that was never let run does not seem to hang.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Patience", "delayed"]

_MOST = 10
"""Times the patience after which a process hangs, whatever it waited for."""


@dataclass(slots=True)
class Patience:
    """Since when process ``pid`` has been at one thing."""

    pid: int
    since: float = 0.0
    delay: float = 0.0

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """It begins another one now."""
        self.since, self.delay = time.monotonic(), delayed(self.pid)

    def over(self, seconds: float) -> bool:
        """Whether it has been at it for more than ``seconds`` in which it could have run."""
        passed = time.monotonic() - self.since
        if passed <= seconds:
            return False
        waited = max(0.0, delayed(self.pid) - self.delay)
        return passed - waited > seconds or passed > seconds * _MOST


def delayed(pid: int) -> float:
    """Seconds that a process and its children waited for a processor; 0 where nobody counts."""
    children = _words(Path(f"/proc/{pid}/task/{pid}/children"))
    waits = (_words(Path(f"/proc/{each}/schedstat")) for each in (str(pid), *children))
    return sum(int(words[1]) for words in waits if len(words) > 1) / 1e9


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []
