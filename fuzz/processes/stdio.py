"""Make stdout and stderr of the command line safe to write to.

click, rich and this package all write through ``sys.stdout``. So errors of a full disk or a closed
pipe are handled here, at the lowest layer, once for every command.
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

__all__ = ["protect_streams"]


class _ReportStream(io.FileIO):
    """stdout: ignore a reader that has gone, as ``head`` does; raise UsageError for a full disk."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            _redirect_to_null(self.fileno())
            if isinstance(error, BrokenPipeError):
                return memoryview(data).nbytes
            raise UsageError(
                f"cannot write the report: {error.strerror}", "give stdout another place"
            ) from error


class _ProgressStream(io.FileIO):
    """stderr: ignore write errors, since there is nowhere to report them."""

    def write(self, data: ReadableBuffer, /) -> int:
        with suppress(OSError):
            return super().write(data)
        return memoryview(data).nbytes


def _redirect_to_null(number: int) -> None:
    """Redirect a descriptor to the null device, so that flushing the rest at exit does not fail
    again.
    """
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, number)
    os.close(null)


def protect_streams(*, reports: bool = True) -> None:
    """Make stdout and stderr safe to write to, in any encoding.

    Afterwards a failed write to stdout raises UsageError. With ``reports`` false, stdout ignores
    write errors as stderr does: for a child whose targets may print. A stream that this process has
    replaced stays in place, as in tests.
    """
    for number in range(3):
        _reserve_descriptor(number)
    sys.stdout = _protect_stream(sys.stdout, 1, _ReportStream if reports else _ProgressStream)
    sys.stderr = _protect_stream(sys.stderr, 2, _ProgressStream)


def _reserve_descriptor(number: int) -> None:
    """Open the null device on a closed standard descriptor, so that no other file gets its
    number.
    """
    try:
        os.fstat(number)
    except OSError:
        os.open(os.devnull, os.O_RDWR)  # gets the lowest free number: this one
        os.set_inheritable(number, True)  # noqa: FBT003 - it takes no keyword arguments


def _protect_stream(stream: TextIO | None, number: int, kind: type[io.FileIO]) -> TextIO:
    """Return ``stream`` with safe writes, or itself if this process has replaced it."""
    buffer = getattr(stream, "buffer", None)
    raw = getattr(buffer, "raw", buffer)  # with python -u there is no buffer in between
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
