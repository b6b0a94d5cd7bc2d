"""Parsers in another process, for documents that may kill the process they run in.

The key insight: parent and child move in step, one document and one answer at a time, so when a
child dies, by any cause, the parent knows of which, and a new child goes on behind it.
"""

from __future__ import annotations

import atexit
import marshal
import os
import selectors
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from targets.errors import TargetError
from targets.parsers.configs import BY_NAME, ParserConfig
from targets.parsers.outcomes import outcome
from targets.records import Outcome

__all__ = ["isolated_outcomes"]

_SIZE = struct.Struct("<I")
_ROOT = Path(__file__).resolve().parents[2]
_children: dict[int, _Child] = {}
_COMMAND = (sys.executable, "-m", "targets.parsers.worker")
_START_SECONDS = 60.0


def isolated_outcomes(
    configs: Sequence[ParserConfig],
    raws: Sequence[bytes],
    *,
    timeout: float = 20.0,
    thread_stack: int | None = None,
) -> list[list[Outcome]]:
    """What each configuration makes of each document, in child processes.

    A child that dies of a document makes that outcome ``death`` with the signal's name, one that
    does not answer within ``timeout`` seconds ``death`` with ``timeout``. ``thread_stack`` runs
    parsers in a thread with so many bytes of stack, as servers with many threads do.

    Raises TargetError where the child does not start, which says nothing about a parser.
    """
    if not configs:
        return [[] for _ in raws]
    work = [(config.name, raw) for raw in raws for config in configs]
    done: list[Outcome] = []
    while len(done) < len(work):
        done += _child(thread_stack or 0).run(work[len(done) :], timeout)
    width = len(configs)
    return [done[at : at + width] for at in range(0, len(done), width)]


def _child(thread_stack: int) -> _Child:
    """The living child of this process for a stack size; starting one costs half a second."""
    child = _children.get(thread_stack)
    if child is None or child.dead:
        child = _children[thread_stack] = _Child(thread_stack)
        atexit.register(child.close)
    return child


class _Child:
    """One child process; it serves until a document kills it or it is closed."""

    def __init__(self, thread_stack: int) -> None:
        self.dead = False
        self.process = subprocess.Popen(  # noqa: S603 - our own module in our own interpreter
            [*_COMMAND, str(thread_stack)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=_ROOT,
        )
        if self._answer(_START_SECONDS) is None:
            cause = self._cause()
            self.close()
            raise TargetError(
                f"the parser process did not start ({cause})", "its stderr says what it lacks"
            )

    def run(self, work: Sequence[tuple[str, bytes]], timeout: float) -> list[Outcome]:
        """Outcomes of ``work`` in order, up to and with the first that ends the child."""
        done: list[Outcome] = []
        for item in work:
            answer = self._ask(marshal.dumps(item, 2), timeout)
            if answer is None:
                cause = self._cause()
                self.close()
                return [*done, Outcome("death", b"", cause)]
            done.append(Outcome(*marshal.loads(answer)))  # noqa: S302 - our own child wrote it
        return done

    def _ask(self, message: bytes, timeout: float) -> bytes | None:
        stdin = self.process.stdin
        assert stdin is not None
        try:
            stdin.write(_SIZE.pack(len(message)) + message)
            stdin.flush()
        except BrokenPipeError:
            return None
        return self._answer(timeout)

    def _answer(self, timeout: float) -> bytes | None:
        stream = self.process.stdout
        assert stream is not None
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            if not selector.select(timeout):
                return None
        head = stream.read(_SIZE.size)
        if len(head) < _SIZE.size:
            return None
        size = _SIZE.unpack(head)[0]
        body = stream.read(size)
        return body if len(body) == size else None

    def _cause(self) -> str:
        try:
            code = self.process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            return "timeout"
        return signal.Signals(-code).name if code < 0 else f"exit {code}"

    def close(self) -> None:
        """End the child and wait for it; twice does no harm."""
        self.dead = True
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):  # what the dead child left unread
                    stream.close()


def _serve(source: BinaryIO, sink: BinaryIO) -> None:
    sink.write(_SIZE.pack(0))  # ready: from here on, a death is the document's doing
    sink.flush()
    while len(head := source.read(_SIZE.size)) == _SIZE.size:
        name, raw = marshal.loads(source.read(_SIZE.unpack(head)[0]))  # noqa: S302 - our parent
        seen = outcome(BY_NAME[name], raw)
        answer = marshal.dumps((seen.kind, seen.value, seen.error), 2)
        sink.write(_SIZE.pack(len(answer)) + answer)
        sink.flush()


def _main(thread_stack: int) -> None:
    # Whatever a library prints must not stand between two answers.
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if not thread_stack:
        _serve(sys.stdin.buffer, sink)
        return
    threading.stack_size(thread_stack)
    thread = threading.Thread(target=_serve, args=(sys.stdin.buffer, sink))
    thread.start()
    thread.join()


if __name__ == "__main__":
    with suppress(BrokenPipeError):  # the parent is gone, and with it whoever asked
        _main(int(sys.argv[1]))
