"""Which frame an id or a name belongs to.

The key insight: an id that a server answers may be spelled otherwise than it was sent (``1.0``
comes back as ``1``, bad UTF-8 as U+FFFD), so the owner is looked for by value, then by spelling,
then by what of the spelling survives, and last by elimination.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from wirefence.fuzz.gate.server.fresh import TypedId, is_owed, spell_id
from wirefence.oracles.records import FrameVerdict

__all__ = ["ReplyMatcher"]

_SURVIVES = re.compile(rb"[^A-Za-z0-9._-]")
_TELLING = 6


class ReplyMatcher:
    """The frames of one case, asked for by what is theirs."""

    def __init__(self, data: bytes, frames: Sequence[FrameVerdict]) -> None:
        self._data = data
        self._frames = frames

    def find_request(self, key: TypedId) -> FrameVerdict | None:
        """The accepted or refused request that has this id."""
        return next((f for f in self._frames if is_owed(f) and _has_id(f, key)), None)

    def find_rejected(self, key: TypedId) -> FrameVerdict | None:
        """The rejected frame that has this id."""
        return next((f for f in self._frames if not is_owed(f) and _has_id(f, key)), None)

    def is_shared(self, key: TypedId) -> bool:
        """Whether a rejected frame has the id of a good request: its error may carry it too."""
        return self.find_rejected(key) is not None

    def match_reply(self, key: TypedId, *, by_elimination: bool) -> FrameVerdict | None:
        """The frame that an answered id comes from, where no request that is owed has it."""
        found = self.find_rejected(key) or self._match_by_spelling(key)
        if found is None and by_elimination:
            found = next((f for f in self._frames if f.rule and not is_owed(f) and not f.ids), None)
        return found

    def _match_by_spelling(self, key: TypedId) -> FrameVerdict | None:
        text = spell_id(key)
        if key[0] is int or len(text) < _TELLING:
            return None
        found = self.find_frame_with(text)
        if found is None:
            bare = _SURVIVES.sub(b"", text)
            found = next(
                (f for f in self._frames if bare in _SURVIVES.sub(b"", self._raw_frame(f))), None
            )
        return found

    def find_frame_with(self, text: bytes) -> FrameVerdict | None:
        """The frame that holds some bytes, a rejected one before an accepted one."""
        having = [f for f in self._frames if text in self._raw_frame(f)]
        return next((f for f in having if f.rule), having[0] if having else None)

    def _raw_frame(self, frame: FrameVerdict) -> bytes:
        return self._data[frame.start : frame.end]


def _has_id(frame: FrameVerdict, key: TypedId) -> bool:
    return any(type(name) is key[0] and name == key[1] for name in frame.ids)
