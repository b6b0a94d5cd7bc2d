"""A session with a server that may live through many cases, and spares for when it doesn't.

A reply is waited for by the id that nobody else uses, never by its place, since
replies come out of order and between notifications. A sentinel is only such a request, sent last.
"""

from __future__ import annotations

import contextlib
import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

from wirefence.targets.command.process import Exit, Process
from wirefence.targets.errors import TargetError

__all__ = ["Session", "Spares", "answered_ids"]

_ID = re.compile(rb'"id"[ \t\r]*:[ \t\r]*"([A-Za-z0-9._-]{1,64})"')


def answered_ids(lines: bytes) -> list[bytes]:
    """Plain string ids that lines of stdout may be answering: what a waiting reader looks for."""
    return _ID.findall(lines)


class Session:
    """One server process and the complete lines of its stdout, in order.

    ``answered`` holds every plain string id that was seen on a line. A line is kept without its
    LF; bytes after the last LF are in ``tail``. What was given to a caller of :meth:`take` is in
    neither of them.
    """

    def __init__(self, process: Process) -> None:
        self.process = process
        self.lines: list[bytes] = []
        self.answered: set[bytes] = set()
        self._scanned = 0

    def send(self, data: bytes, cuts: Sequence[int] = ()) -> None:
        """Have bytes written; returns at once."""
        self.process.write(data, cuts)

    def take(self) -> bytes:
        """The new complete lines, each with its LF, for a caller who looks into them himself."""
        out = self.process.stdout.data
        end = out.rfind(b"\n", self._scanned)
        if end < 0:
            return b""
        fresh = bytes(memoryview(out)[self._scanned : end + 1])
        self._scanned = end + 1
        return fresh

    def collect(self) -> None:
        """Split what stdout has brought into lines."""
        if fresh := self.take():
            self.lines += fresh.split(b"\n")[:-1]
            self.answered.update(answered_ids(fresh))

    def wait_for(self, ids: Iterable[bytes], seconds: float) -> bool:
        """Wait until each of ``ids`` was answered, or the deadline; say whether all were."""
        missing = set(ids)

        def done() -> bool:
            self.collect()
            missing.difference_update([each for each in missing if each in self.answered])
            return not missing

        return self.process.pump_until(done, seconds)

    def linger(self, seconds: float) -> None:
        """Take what comes within ``seconds``, for what comes late."""
        self.process.pump_until(lambda: False, seconds)
        self.collect()

    @property
    def tail(self) -> bytes:
        """Bytes of stdout after the last LF."""
        self.collect()
        return bytes(self.process.stdout.data[self._scanned :])

    def stop(self) -> Exit:
        """Kill the server's group and take its last words."""
        ended = self.process.stop()
        self.collect()
        return ended


class _Stoppable(Protocol):
    def stop(self) -> object: ...


T = TypeVar("T", bound=_Stoppable)


class Spares(Generic[T]):
    """Processes started ahead, since a server may need seconds before it reads its first byte.

    ``start`` starts one. At most ``ahead`` wait at a time; close() ends those that were not taken.
    """

    def __init__(self, start: Callable[[], T], ahead: int = 1) -> None:
        self._start = start
        self._ahead = ahead
        self._waiting: deque[T] = deque()

    def take(self) -> T:
        """A fresh one; another is started in its place. Raises TargetError.

        One in its place that can't be started now is tried again by the next call.
        """
        fresh = self._waiting.popleft() if self._waiting else self._start()
        try:
            self.fill()
        except TargetError:
            pass
        except BaseException:
            fresh.stop()
            raise
        return fresh

    def fill(self) -> None:
        """Start as many as may wait."""
        while len(self._waiting) < self._ahead:
            self._waiting.append(self._start())

    def close(self) -> None:
        """End all that wait."""
        while self._waiting:
            with contextlib.suppress(OSError):
                self._waiting.popleft().stop()
