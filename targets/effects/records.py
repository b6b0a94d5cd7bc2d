"""What recorders of effects have in common.

No recorder sees everything, so each says what it can't see, whether it came to
watch at all, and a report names those that did. Silence of a recorder proves only what it could
have seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from wirefence.targets.command.records import Launch

__all__ = ["EffectKind", "EffectRecorder", "Observed"]

EffectKind = Literal["connect", "exec", "write", "delete", "rename", "http", "tool"]


@dataclass(frozen=True, slots=True)
class Observed:
    """One thing that a process did.

    ``detail`` is what identifies it (path, address, arguments joined by spaces, request line) and
    ``content`` what it carried as far as the recorder sees that (request, stdin, file content);
    the action name of the frame that caused it is looked for in both. ``at`` is by
    ``time.monotonic``: when it happened, or, for recorders that only look, when it was seen.
    """

    recorder: str
    kind: EffectKind
    detail: bytes
    content: bytes = b""
    at: float = 0.0

    def carries(self, nonce: str) -> bool:
        """Whether the action name ``nonce`` reached this effect. An empty one reaches nothing."""
        raw = nonce.encode()
        return bool(raw) and (raw in self.detail or raw in self.content)


class EffectRecorder(Protocol):
    """Watches one started process and its children: ``wrap`` once, then any number of ``take``.

    One set of recorders for each process is what keeps the effects of two servers apart (a spare
    that starts meanwhile, for one). Where effects are told apart by nonce alone, processes may
    share a set: the launch that ``wrap`` returned can be started again.
    """

    name: str
    blind: str
    """What it can't see, in one sentence."""

    def unavailable(self, launch: Launch) -> str:
        """Why it can't watch this launch; ``""`` where it can. Asked before ``wrap``."""

    def wrap(self, launch: Launch) -> Launch:
        """The launch with what this recorder needs around it."""

    def idle(self) -> str:
        """Why nothing has been watched so far; ``""`` where it did watch.

        An injected hook can't know beforehand whether anything will load it.
        """

    def take(self) -> Sequence[Observed]:
        """What was seen since the last call, in order."""

    def close(self) -> None:
        """Give back files, ports and threads. May be called twice."""
