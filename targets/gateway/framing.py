"""Bytes to lines: cut at LF and nowhere else, however the bytes arrive.

A line is too long as soon as one byte too many has come, not when its LF does.
Judged then, the buffer never holds more than the limit, and the verdict does not depend on how the
writer happened to cut its writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from wirefence.targets.gateway.verdicts import RejectedError

__all__ = ["Framer", "Line", "check_line"]

_JSON_SPACE = b" \t\r"


class Line(NamedTuple):
    """One line without its LF; ``offset`` is where it starts in stdin.

    Of a line over the limit, ``raw`` is the part within it and ``too_long`` is set.
    """

    offset: int
    raw: bytes
    too_long: bool = False


class Framer:
    """Cuts a stream at LF. ``limit`` is the most bytes a line may have; ``None`` means any."""

    __slots__ = ("_buffer", "_limit", "_offset", "_skipping")

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._offset = 0
        self._skipping = False

    @property
    def buffered(self) -> int:
        """Bytes kept of a line that has not ended yet."""
        return len(self._buffer)

    def push(self, data: bytes) -> Iterator[Line]:
        """Yield the lines that ``data`` completes or makes too long; take the rest in."""
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            if self._is_whole(end - start):
                yield Line(self._offset, data[start:end])
                self._offset += end - start + 1
                start = end + 1
                continue
            yield from self._grow(data, start, end)
            if not self._skipping:
                yield Line(self._offset, bytes(self._buffer))
                self._offset += len(self._buffer) + 1
                self._buffer.clear()
            else:
                self._offset += 1
            self._skipping = False
            start = end + 1
        yield from self._grow(data, start, len(data))

    def _is_whole(self, size: int) -> bool:
        """Whether a line of ``size`` bytes that ends in this piece also began in it, and fits."""
        return not (self._buffer or self._skipping) and (self._limit is None or size <= self._limit)

    def rest(self) -> Line | None:
        """What has come since the last LF; ``None`` if nothing, or if it was too long already."""
        return Line(self._offset, bytes(self._buffer)) if self._buffer else None

    def _grow(self, data: bytes, start: int, end: int) -> Iterator[Line]:
        """Add a piece without LF to the current line; yield that line if it is now too long."""
        if self._skipping:
            self._offset += end - start
            return
        room = end - start if self._limit is None else self._limit - len(self._buffer)
        self._buffer += data[start : min(end, start + room)]
        if end - start > room:
            yield Line(self._offset, bytes(self._buffer), too_long=True)
            self._offset += len(self._buffer) + (end - start - room)
            self._buffer.clear()
            self._skipping = True


def check_line(line: Line, *, strict: bool) -> None:
    """Apply the framing rules to a line that has ended.

    Raises:
        RejectedError: frame-too-long, frame-empty or frame-cr.

    """
    if line.too_long:
        raise RejectedError("frame-too-long")
    if not line.raw.strip(_JSON_SPACE):
        raise RejectedError("frame-empty")
    if strict and b"\r" in line.raw:
        raise RejectedError("frame-cr")
