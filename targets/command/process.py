"""One server process: raw pipes in its own process group, and a deadline on everything.

Nothing may wait for the server but with a clock in hand. What the pipe of stdin
has no room for is written by a thread of its own, which may block; reads never do; and the group is
killed before its leader is reaped, while its number can't have gone to somebody else.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import selectors
import signal
import struct
import termios
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue

from wirefence.targets.command.guardian import forget_group, guard_group
from wirefence.targets.command.memory import list_family, peak_of_group
from wirefence.targets.command.records import Launch, Times
from wirefence.targets.command.starting import end_unwatched, start_command
from wirefence.targets.errors import TargetError

__all__ = ["Exit", "Process", "Stream"]

_CHUNK = 1 << 20
_ROOM = 1 << 18
"""Bytes of a pipe: for what it has no room, a thread must be woken or a fast server must wait."""
_MOST_OUTPUT = 64 << 20
_MOST_AT_ONCE = 16 << 20
_MOST_LINES = 20_000
"""What may come on stdout after one write: more is no answer to anything."""
_MOST_STDERR = 8 << 20
_PAUSE = 0.002
_ALL_PAUSES = 0.1
"""Seconds for one write byte by byte: enough for a server that waits to read each alone."""
_TICK = 0.05


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended: its exit code, or the signal that ended it (then ``code`` is None)."""

    code: int | None
    signal: int = 0

    def __str__(self) -> str:
        if self.code is not None:
            return f"exit code {self.code}"
        return signal.Signals(self.signal).name


@dataclass(slots=True)
class Stream:
    """What came from one descriptor, raw, with pairs (monotonic time, bytes so far)."""

    data: bytearray = field(default_factory=bytearray)
    marks: list[tuple[float, int]] = field(default_factory=list)
    ended: bool = False

    def take(self, chunk: bytes) -> None:
        self.data += chunk
        self.marks.append((time.monotonic(), len(self.data)))
        self.ended |= not chunk


@dataclass(frozen=True, slots=True)
class _Write:
    data: bytes
    cuts: tuple[int, ...]


class Process:
    """A started command. Raises TargetError where it cannot be started.

    ``sent`` holds every byte that its stdin took, ``sends`` the times and sizes of the writes.
    ``exit`` is set once it has ended. ``flooded`` says that it wrote so much to stdout that reading
    was given up; of stderr, which is never left unread, the first megabytes are kept. Not for use
    by several threads.
    """

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.began = time.monotonic()
        self._child = start_command(launch)
        self.pid = self._child.pid
        self.stdout, self.stderr = Stream(), Stream()
        self.sent = bytearray()
        self.sends: list[tuple[float, int]] = []
        self.exit: Exit | None = None
        self.flooded = False
        self.peak_bytes = 0
        self._unasked = [0, 0]  # bytes and lines of stdout since the last write
        self._queue: SimpleQueue[_Write | None] = SimpleQueue()
        self._gone = False
        self._attach()
        self._writer: threading.Thread | None = None
        self._ended_input = self._broken = False
        self._given = self._put_down = 0  # what the writer was given, and is done with

    def _attach(self) -> None:
        """Guard and watch what was started; where that fails, nothing of it is left."""
        try:
            with contextlib.ExitStack() as undo:
                undo.callback(end_unwatched, self._child)
                guard_group(self.pid)
                self._selector = undo.enter_context(selectors.DefaultSelector())
                self._watched = os.pidfd_open(self.pid)
                undo.callback(os.close, self._watched)
                self._watch()
                undo.pop_all()
        except OSError as error:
            raise TargetError(
                f"{self.launch.argv[0]!r} cannot be watched ({error.strerror})",
                "see what the machine is short of",
            ) from error

    def _watch(self) -> None:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        assert self._child.stderr is not None
        for pipe in (self._child.stdin, self._child.stdout):
            with contextlib.suppress(OSError):  # a user may have so many pages in pipes
                fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _ROOM)
        for pipe, stream in ((self._child.stdout, self.stdout), (self._child.stderr, self.stderr)):
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, stream)
        self._selector.register(self._watched, selectors.EVENT_READ, None)

    def write(self, data: bytes, cuts: Sequence[int] = ()) -> None:
        """Have ``data`` written, with a pause at each offset of ``cuts``; returns at once."""
        self._unasked = [0, 0]
        idle = self._given == self._put_down and not self._ended_input
        if idle and data and not cuts:
            data = self._at_once(data)
            if not data:
                return
        if self._writer is None:
            self._writer = threading.Thread(target=self._write_all, daemon=True)
            self._writer.start()
        self._given += 1
        self._queue.put(_Write(data, tuple(cuts)))

    def _at_once(self, data: bytes) -> bytes:
        """Write what the pipe has room for; gives the rest. To wake a thread costs far more."""
        assert self._child.stdin is not None
        pipe, count = self._child.stdin.fileno(), 0
        os.set_blocking(pipe, False)
        try:
            count = os.write(pipe, data)
        except OSError:  # no room, or no reader: the writer will see
            return data
        finally:
            os.set_blocking(pipe, True)
        self._wrote(data[:count])
        return data[count:]

    def _wrote(self, data: bytes) -> None:
        self.sent += data
        self.sends.append((time.monotonic(), len(self.sent)))

    def end_input(self) -> None:
        """Close stdin once all that was given to :meth:`write` is written."""
        if not self._ended_input:
            self._ended_input = True
            self.write(b"")
            self._queue.put(None)

    def _write_all(self) -> None:
        """The writer's thread: the only place that may block, ended by the death of the reader."""
        assert self._child.stdin is not None
        pipe = self._child.stdin.fileno()
        while (item := self._queue.get()) is not None:
            with contextlib.suppress(OSError):
                self._put(pipe, item)
                self._put_down += 1
                continue
            self._broken = True
            break
        with contextlib.suppress(OSError):
            self._child.stdin.close()

    def _put(self, pipe: int, item: _Write) -> None:
        pause = min(_PAUSE, _ALL_PAUSES / max(1, len(item.cuts)))
        start = 0
        for edge in (*item.cuts, len(item.data)):
            while start < edge:
                count = os.write(pipe, item.data[start : min(edge, start + _CHUNK)])
                self._wrote(item.data[start : start + count])
                start += count
            if edge != len(item.data):
                time.sleep(pause)

    def unread(self) -> int:
        """How many bytes wait in the pipe of stdin: what the server has not read yet."""
        assert self._child.stdin is not None
        try:
            answer = fcntl.ioctl(self._child.stdin.fileno(), termios.FIONREAD, b"\0" * 4)
        except (OSError, ValueError):
            return 0
        return int(struct.unpack("i", answer)[0])

    @property
    def refused(self) -> bool:
        """Whether nobody was left who could read from stdin before we closed it."""
        assert self._child.stdin is not None
        if self._broken or self._child.stdin.closed:
            return self._broken
        poll = select.poll()
        poll.register(self._child.stdin, 0)
        return any(event & select.POLLERR for _, event in poll.poll(0))

    def pump(self, seconds: float) -> bool:
        """Take what has arrived, waiting at most ``seconds`` for the first of it.

        False where nothing came. After the process and its pipes have ended it returns at once.
        """
        ready = self._selector.select(max(0.0, seconds)) if self._selector.get_map() else []
        for key, _ in ready:
            if isinstance(key.data, Stream):
                self._read(key.fd, key.fileobj, key.data)
            else:
                self._selector.unregister(key.fileobj)
                self._gone = True
        return bool(ready)

    def _read(self, descriptor: int, pipe: object, stream: Stream) -> None:
        try:
            chunk = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return
        if stream is self.stdout:
            self.flooded = self._too_much(chunk)
        elif len(stream.data) > _MOST_STDERR and chunk:
            return  # a server that nobody listens to would be stuck, and we would be the cause
        stream.take(chunk)
        if not chunk or self.flooded:
            self._selector.unregister(pipe)  # type: ignore[arg-type]
            stream.ended = True

    def _too_much(self, chunk: bytes) -> bool:
        self._unasked[0] += len(chunk)
        self._unasked[1] += chunk.count(b"\n")
        whole = len(self.stdout.data) + len(chunk)
        return (
            whole > _MOST_OUTPUT
            or self._unasked[0] > _MOST_AT_ONCE
            or self._unasked[1] > _MOST_LINES
        )

    def pump_until(self, done: Callable[[], bool], seconds: float) -> bool:
        """Pump until ``done``, the end of stdout, or the deadline; say whether it is done."""
        deadline = time.monotonic() + seconds
        while not done():
            left = deadline - time.monotonic()
            if left <= 0 or self.stdout.ended or (self.gone and not self._drain()):
                return done()
            self.pump(min(left, _TICK))
        return True

    def wait(self, seconds: float) -> bool:
        """Read on until the process itself has ended, at most ``seconds``; say whether it has."""
        deadline = time.monotonic() + seconds
        while not self._gone and (left := deadline - time.monotonic()) > 0:
            self.pump(min(left, _TICK))
        return self._gone

    def _drain(self) -> bool:
        """Whether anything is still to be read of a process that has ended."""
        return self.pump(_TICK)

    @property
    def gone(self) -> bool:
        """Whether the process itself has ended, though others may hold its pipes."""
        return self._gone

    def times(self) -> Times:
        """When what was written was taken, and when stdout brought what."""

        def since(marks: Sequence[tuple[float, int]]) -> tuple[tuple[float, int], ...]:
            return tuple((at - self.began, size) for at, size in marks)

        return Times(since(self.sends), since(self.stdout.marks))

    def measure(self) -> int:
        """Peak resident bytes so far of the largest process of the group.

        By the processes' own status: what ``wait4`` tells begins with the size of whoever started
        them.
        """
        if not self._gone:
            self.peak_bytes = max(self.peak_bytes, peak_of_group(self.pid))
        return self.peak_bytes

    def send_signal(self, number: int) -> None:
        """Send a signal to the whole group, if anything of it is left."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def stop(self) -> Exit:
        """Kill the whole group, take what was still in the pipes, and say how the leader ended."""
        if self.exit is not None:
            return self.exit
        self.measure()
        self.pump(0)
        ended = self._gone or self._ended_by_itself()
        started = list_family(self.pid)
        self.send_signal(signal.SIGKILL)
        for pid in started[1:]:  # those that have left the group
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        forget_group(self.pid)
        _, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self._child.returncode = code
        self.exit = Exit(code) if code >= 0 else Exit(None, -code)
        self._gone = ended
        while self._selector.get_map() and self.pump(0):
            pass
        self._close()
        return self.exit

    def _ended_by_itself(self) -> bool:
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _close(self) -> None:
        self._queue.put(None)
        if self._writer is not None:
            self._writer.join(_TICK * 20)
        self._selector.close()
        os.close(self._watched)
        alive = self._writer is not None and self._writer.is_alive()
        for pipe in (self._child.stdin, self._child.stdout, self._child.stderr):
            # A pipe that a write is stuck in, held by a process that left the group, stays open.
            if pipe is not None and not (alive and pipe is self._child.stdin):
                with contextlib.suppress(OSError):
                    pipe.close()
