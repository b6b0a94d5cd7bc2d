"""Record the input in flight, and counts, in a file that outlives the process.

The file is memory-mapped, and the kernel keeps its pages after SIGKILL. Recording an input costs a
memory copy instead of a system call.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Marker", "Sighting", "read_marker"]

_BEGIN = struct.Struct("<QI")
_END = struct.Struct("<QQQ")
_HEAD = struct.Struct(_BEGIN.format + _END.format[1:])


@dataclass(frozen=True, slots=True)
class Sighting:
    """The content of a marker: inputs started and ended, those that were JSON, those with a call.

    ``running`` is the input in flight, ``None`` between two inputs.
    """

    begun: int = 0
    ended: int = 0
    valid: int = 0
    calls: int = 0
    running: bytes | None = None


class Marker:
    """Writes the marker of one process, for inputs of at most ``size`` bytes."""

    __slots__ = ("_begun", "_map", "_size")

    def __init__(self, path: Path, size: int) -> None:
        with path.open("w+b") as stream:
            stream.truncate(_HEAD.size + size)
            self._map = mmap.mmap(stream.fileno(), _HEAD.size + size)
        self._size = size
        self._begun = 0

    def record_start(self, data: bytes) -> None:
        """Record the input that is about to run; a longer one is cut."""
        size = min(len(data), self._size)
        self._map[_HEAD.size : _HEAD.size + size] = data[:size]
        self._begun += 1
        _BEGIN.pack_into(self._map, 0, self._begun, size)

    def record_end(self, valid: int, calls: int) -> None:
        """Record that the input has ended, and how many were JSON and had calls so far."""
        _END.pack_into(self._map, _BEGIN.size, self._begun, valid, calls)


def read_marker(path: Path) -> Sighting:
    """Read the marker at ``path``; all counts are 0 if it does not exist or is incomplete."""
    try:
        content = path.read_bytes()
        begun, size, ended, valid, calls = _HEAD.unpack_from(content)
    except (OSError, struct.error):
        return Sighting()
    running = content[_HEAD.size : _HEAD.size + size] if begun > ended else None
    return Sighting(begun, ended, valid, calls, running)
