"""What a gateway may remember of its traffic: rules, places and fingerprints, never content.

A fingerprint keyed with a secret of the session tells equal frames apart from
different ones, and nothing else; a bare hash of a short frame could be guessed.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b

from wirefence.targets.gateway.framing import Line
from wirefence.targets.gateway.verdicts import Layer, layer_of

__all__ = ["Entry", "Execution", "Journal", "Rejection"]

_CAPACITY = 256


@dataclass(frozen=True, slots=True)
class Rejection:
    """A frame or request that was not granted.

    ``offset`` is the frame's place in stdin and ``size`` its length, both in bytes; for a frame
    that is too long only the part within the limit is measured and fingerprinted.
    """

    rule: str
    layer: Layer
    offset: int
    size: int
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Execution:
    """A granted call; ``tool`` is a name from the contract."""

    tool: str
    offset: int


Entry = Rejection | Execution


class Journal:
    """The latest entries of one session, oldest first; ``total`` counts those dropped as well.

    ``listen`` hears of each entry at once. ``key`` is for repeatable fingerprints.
    """

    __slots__ = ("_entries", "_key", "_listen", "total")

    def __init__(
        self,
        *,
        listen: Callable[[Entry], None] | None = None,
        key: bytes | None = None,
        capacity: int = _CAPACITY,
    ) -> None:
        self.total = 0
        self._entries: deque[Entry] = deque(maxlen=capacity)
        self._listen = listen
        self._key = key or os.urandom(16)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What is kept, oldest first."""
        return tuple(self._entries)

    def reject(self, rule: str, line: Line) -> None:
        """Note that ``line`` broke ``rule``."""
        digest = blake2b(line.raw, key=self._key, digest_size=8).hexdigest()
        self._note(Rejection(rule, layer_of(rule), line.offset, len(line.raw), digest))

    def execute(self, tool: str, line: Line) -> None:
        """Note that ``line`` led to a call of ``tool``."""
        self._note(Execution(tool, line.offset))

    def _note(self, entry: Entry) -> None:
        self.total += 1
        self._entries.append(entry)
        if self._listen is not None:
            self._listen(entry)
