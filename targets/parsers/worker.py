"""Parsers in another process, for documents that may kill the process they run in.

A child is given one document for all parsers and says what each made of it before
it tries the next, so when it dies, by any cause, the number of its answers tells of which parser,
and a new child goes on behind it. On a small stack nothing but the parser runs: what reads its
value needs a stack of its own.
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
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

from wirefence.targets.errors import TargetError
from wirefence.targets.parsers.configs import BY_NAME, Parse, ParserConfig
from wirefence.targets.parsers.outcomes import at_depth, outcome_of
from wirefence.targets.records import Outcome

__all__ = ["isolated_outcomes"]

_SIZE = struct.Struct("<I")
_PLACE = Path(__file__).absolute().parents[3]
"""The folder in which a child finds our package, also where it is not installed."""

_children: dict[int, _Child] = {}
_COMMAND = (sys.executable, "-m", "wirefence.targets.parsers.worker")
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
    parsers, and nothing else, in threads with so many bytes of stack, as servers with many threads
    do.

    Raises TargetError where the child does not start, which says nothing about a parser.
    """
    return [_read_document(configs, raw, timeout, thread_stack or 0) for raw in raws]


def _read_document(
    configs: Sequence[ParserConfig], raw: bytes, timeout: float, thread_stack: int
) -> list[Outcome]:
    done: list[Outcome] = []
    names = [config.name for config in configs]
    while len(done) < len(names):
        done += _get_child(thread_stack).run(names[len(done) :], raw, timeout)
    return done


def _get_child(thread_stack: int) -> _Child:
    """The living child of this process for a stack size; starting one costs half a second."""
    child = _children.get(thread_stack)
    if child is None or child.ended():
        child = _children[thread_stack] = _Child(thread_stack)
    return child


@atexit.register
def _close_children() -> None:
    for child in _children.values():
        child.close()


class _Child:
    """One child process; it serves until a document kills it or it is closed."""

    def __init__(self, thread_stack: int) -> None:
        self.dead = False
        self.process = subprocess.Popen(  # noqa: S603 - our own module in our own interpreter
            [*_COMMAND, str(thread_stack)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=_PLACE,
            start_new_session=True,  # Ctrl-C is for us alone, and so is what to say of it
        )
        if self._answer(_START_SECONDS) is None:
            cause = self._cause()
            self.close()
            raise TargetError(
                f"the parser process did not start ({cause})", "its stderr says what it lacks"
            )

    def ended(self) -> bool:
        """Whether it is gone; one that ended while it had nothing to do, no document killed."""
        if not self.dead and self.process.poll() is not None:
            self.close()
        return self.dead

    def run(self, names: list[str], raw: bytes, timeout: float) -> list[Outcome]:
        """Outcomes of ``raw`` by name, in order, up to and with the first that ends the child."""
        done: list[Outcome] = []
        self._say(marshal.dumps((names, raw), 2))
        for _ in names:
            answer = self._answer(timeout)
            if answer is None:
                cause = self._cause()
                self.close()
                return [*done, Outcome("death", b"", cause)]
            done.append(Outcome(*marshal.loads(answer)))  # noqa: S302 - our own child wrote it
        return done

    def _say(self, message: bytes) -> None:
        stdin = self.process.stdin
        assert stdin is not None
        with suppress(BrokenPipeError):  # a dead child's silence tells as much
            stdin.write(_SIZE.pack(len(message)) + message)
            stdin.flush()

    def _answer(self, timeout: float) -> bytes | None:
        until = time.monotonic() + timeout
        head = self._read(_SIZE.size, until)
        return None if head is None else self._read(_SIZE.unpack(head)[0], until)

    def _read(self, size: int, until: float) -> bytes | None:
        """Exactly so many bytes of what the child says; ``None`` if it ends or is late before."""
        stream = self.process.stdout
        assert stream is not None
        found = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            # Past the buffer of the stream: what lay in it already, no selector would announce.
            while len(found) < size:
                ready = selector.select(max(0.0, until - time.monotonic()))
                piece = os.read(stream.fileno(), size - len(found)) if ready else b""
                if not piece:
                    return None
                found += piece
        return bytes(found)

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


def _serve_parent(source: BinaryIO, sink: BinaryIO, *, small_stack: bool) -> None:
    sink.write(_SIZE.pack(0))  # ready: from here on, a death is the document's doing
    sink.flush()
    while len(head := source.read(_SIZE.size)) == _SIZE.size:
        names, raw = marshal.loads(source.read(_SIZE.unpack(head)[0]))  # noqa: S302 - our parent
        for name in names:
            config = BY_NAME[name]
            if small_stack:
                config = replace(config, parse=partial(_in_thread, config.parse))
            seen = outcome_of(config, raw)
            answer = marshal.dumps((seen.kind, seen.value, seen.error), 2)
            sink.write(_SIZE.pack(len(answer)) + answer)
            sink.flush()


def _main(thread_stack: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this one
    # Whatever a library prints must not stand between two answers.
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if thread_stack:
        threading.stack_size(thread_stack)
    _serve_parent(sys.stdin.buffer, sink, small_stack=bool(thread_stack))


def _in_thread(parse: Parse, raw: bytes) -> object:
    """What ``parse`` gives or raises, after a thread of its own has run it."""
    values: list[object] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            values.append(at_depth(parse, raw))
        except BaseException as error:  # noqa: BLE001 - raised again where it is looked at
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    for error in errors:
        raise error
    return values[0]


if __name__ == "__main__":
    with suppress(BrokenPipeError):  # the parent is gone, and with it whoever asked
        _main(int(sys.argv[1]))
