"""stdout and stderr of the command line, whatever the caller has made of them.

The key insight: click, rich and our own code all write through ``sys.stdout`` in the end, so what a
full disk or a reader that went away means is decided at the bottom of it, once for every command.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from wirefence.fuzz.errors import UsageError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["settle_streams"]


class _Report(io.FileIO):
    """stdout: a reader that went away, as ``head`` does, changes nothing; a full disk is said."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            _discard(self.fileno())
            if isinstance(error, BrokenPipeError):
                return memoryview(data).nbytes
            raise UsageError(
                f"cannot write the report: {error.strerror}", "give stdout another place"
            ) from error


class _Progress(io.FileIO):
    """stderr: where it takes nothing more, nobody can be told, and the work goes on."""

    def write(self, data: ReadableBuffer, /) -> int:
        with suppress(OSError):
            return super().write(data)
        return memoryview(data).nbytes


def _discard(number: int) -> None:
    """What is still to be written would fail again, at the end of the interpreter at the latest."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, number)
    os.close(null)


def settle_streams(*, reports: bool = True) -> None:
    """Make stdout and stderr safe to write to; a terminal that is no UTF-8 still gets its text.

    From then on writing to stdout raises UsageError where it cannot be done. With ``reports`` false
    stdout is one more stderr, for a child whose targets may print. A stream that this process has
    replaced stays in its place, as in tests.
    """
    for number in range(3):
        _hold(number)
    sys.stdout = _settled(sys.stdout, 1, _Report if reports else _Progress)
    sys.stderr = _settled(sys.stderr, 2, _Progress)


def _hold(number: int) -> None:
    """Let no file of ours become a stream that was closed."""
    try:
        os.fstat(number)
    except OSError:
        os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
        os.set_inheritable(number, True)  # noqa: FBT003 - it takes nothing by name


def _settled(stream: TextIO | None, number: int, kind: type[io.FileIO]) -> TextIO:
    buffer = getattr(stream, "buffer", None)
    raw = getattr(buffer, "raw", buffer)  # Python's -u leaves out the buffer between
    if stream is not None and not (isinstance(raw, io.FileIO) and raw.fileno() == number):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(kind(number, "w", closefd=False)),
        encoding=stream.encoding if stream else "utf-8",
        errors="backslashreplace",
        line_buffering=bool(stream.line_buffering) if stream else True,
    )
