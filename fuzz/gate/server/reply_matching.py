"""Match a reply, or a name in an effect, to the request or frame that it came from.

A server may spell an id differently than it was sent (``1.0`` returns as ``1``, bad UTF-8 as
U+FFFD). So the frame is searched by value, then by spelling, then by the characters that survive
any spelling, then by elimination.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from wirefence.fuzz.gate.server.fresh import spell_id
from wirefence.oracles.evidence import TypedId, has_id, is_owed, is_rejected
from wirefence.oracles.records import FrameVerdict
from wirefence.oracles.trace_evidence import holds_name

__all__ = ["ReplyMatcher"]

_RESPELLED = re.compile(rb"[^A-Za-z0-9._-]")
"""Characters that a server may spell differently."""
_LEAST_SPELLED = 6
"""Least length of an id that is searched by spelling: a shorter one occurs by chance."""


class ReplyMatcher:
    """The frames of one case, searched by id, name or bytes."""

    def __init__(self, data: bytes, frames: Sequence[FrameVerdict]) -> None:
        self._data = data
        self._frames = frames
        self._not_owed = [frame for frame in frames if frame.ids and not is_owed(frame)]

    def find_rejected(self, key: TypedId) -> FrameVerdict | None:
        """Return the rejected frame with this id."""
        return next((frame for frame in self._not_owed if has_id(frame, key)), None)

    def match_reply(self, key: TypedId, *, by_elimination: bool) -> FrameVerdict | None:
        """Return the frame that a reply came from, where no owed request has its id."""
        found = self.find_rejected(key) or self._match_by_spelling(key)
        if found is None and by_elimination:
            found = next((f for f in self._frames if f.rule and not is_owed(f) and not f.ids), None)
        return found

    def _match_by_spelling(self, key: TypedId) -> FrameVerdict | None:
        """Return the frame whose bytes hold the id, exactly or without odd characters."""
        text = spell_id(key)
        if key[0] is int or len(text) < _LEAST_SPELLED:
            return None
        return self.find_frame_with(text) or self._find_frame_with_letters(text)

    def _find_frame_with_letters(self, text: bytes) -> FrameVerdict | None:
        """Return the frame that holds some bytes if odd characters are left out of both."""
        bare = _RESPELLED.sub(b"", text)
        return next(
            (f for f in self._frames if bare in _RESPELLED.sub(b"", self._raw_frame(f))), None
        )

    def find_owner(self, name: bytes) -> FrameVerdict | None:
        """Return the frame that a name of ours in an effect came from.

        A frame may hold it in escapes or in another encoding. Else it can only be of one that is
        rejected.
        """
        text = name.decode()
        escaped = (f for f in self._frames if f.rule and holds_name(self._raw_frame(f), text))
        return (
            self.find_frame_with(name)
            or next(escaped, None)
            or self._find_frame_with_letters(name)
            or next((f for f in self._frames if is_rejected(f)), None)
        )

    def find_frame_with(self, text: bytes) -> FrameVerdict | None:
        """Return the frame that holds some bytes; a rejected one before an accepted one."""
        having = [f for f in self._frames if text in self._raw_frame(f)]
        return next((f for f in having if f.rule), having[0] if having else None)

    def _raw_frame(self, frame: FrameVerdict) -> bytes:
        return self._data[frame.start : frame.end]
