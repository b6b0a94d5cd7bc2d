"""Supervise child processes: start them, receive their messages, detect that they die or hang."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any, Literal, TypeVar

from wirefence.fuzz.processes.child import START, ChildFailed, start_children, wait_for_exit

__all__ = ["Child", "Ended", "Method", "kill_children", "poll_children"]

Method = Literal["fork", "forkserver", "spawn"]

_TICK = 0.5
"""Seconds between two checks for dead and hanging children."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended: its exit code or signal; with ``hung`` it was killed for its silence."""

    how: str
    hung: bool


class Child:
    """A process that runs ``target(*args, pipe)``, and our end of that pipe.

    ``patience`` (seconds) is how long it may send nothing, and :data:`START` at least until its
    first message; a forked one needs no time to start. ``duplex`` lets it receive too. Raises
    StartError where the system cannot start a process.
    """

    def __init__(
        self,
        target: Callable[..., None],
        *args: object,
        method: Method,
        patience: float,
        duplex: bool = False,
    ) -> None:
        context: Any = multiprocessing.get_context(method)  # the base type has no Process
        if method == "forkserver":
            context.set_forkserver_preload([target.__module__])
        with start_children(forked=method == "fork"):
            self.pipe, theirs = multiprocessing.Pipe(duplex)
            self.process: BaseProcess = context.Process(
                target=target, args=(*args, theirs), daemon=True
            )
            self.process.start()
        theirs.close()
        self.patience, self.since = patience, time.monotonic()
        self.begun, self.hung, self.checked = method == "fork", False, 0.0

    @property
    def limit(self) -> float:
        """Seconds after which it hangs."""
        return self.patience if self.begun else max(START, self.patience)

    def has_hung(self) -> bool:
        """Return whether it took too long."""
        return time.monotonic() - self.since >= self.limit

    def send(self, message: object) -> None:
        """Send a message, and measure its time from now."""
        self.since = time.monotonic()
        with suppress(OSError):  # it died while idle: reading its pipe reports that
            self.pipe.send(message)

    def receive(self) -> Any:
        """Wait for a message and return it, or an :class:`Ended`.

        Raises the error that it reports, as TargetError, UsageError or RuntimeError.
        """
        while True:
            for _, said in poll_children([self]):
                return said

    def _read(self) -> Any:
        try:
            said = self.pipe.recv()
        except (EOFError, OSError):  # OSError: it died while sending
            return self._end()
        if isinstance(said, ChildFailed):
            raise said.to_exception()
        self.begun, self.since = True, time.monotonic()
        return said

    def _end(self) -> Ended:
        self.pipe.close()
        return Ended(wait_for_exit(self.process), self.hung)

    def _has_died(self) -> bool:
        """Return whether it has ended, even if a child of it still holds the pipe open."""
        return not self.process.is_alive() and not self.pipe.poll()


C = TypeVar("C", bound=Child)


def poll_children(children: Collection[C]) -> Iterator[tuple[C, Any]]:
    """Wait a moment for messages; yield each child with its message, or with an :class:`Ended`.

    A child that hangs is killed; what it has sent comes before its end. Raises as
    :meth:`Child.receive`.
    """
    ready = wait([c.pipe for c in children], min(_TICK, *(c.patience for c in children)))
    now = time.monotonic()
    for child in list(children):
        if child.pipe in ready:
            yield child, child._read()
        elif now - child.checked > _TICK / 2:  # a check costs more than a message
            child.checked = now
            if child._has_died():
                yield child, child._end()
            elif child.has_hung():
                child.hung = True
                child.process.kill()


def kill_children(children: Iterable[Child]) -> None:
    """Kill children, all at once."""
    ended = list(children)
    for child in ended:
        child.process.kill()
    for child in ended:
        child.process.join()
        child.pipe.close()
