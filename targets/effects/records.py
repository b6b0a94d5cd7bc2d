"""What recorders of effects have in common.

The key insight: no recorder sees everything, so each says what it can't see, and a report names
those that were on. Silence of a recorder proves only what it could have seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from targets.command.records import Launch

__all__ = ["EffectKind", "EffectRecorder", "Observed"]

EffectKind = Literal["connect", "exec", "write", "delete", "http", "tool"]


@dataclass(frozen=True, slots=True)
class Observed:
    """One thing that a process did.

    ``detail`` is what identifies it (path, address, argument list, request), as raw bytes, in which
    the action name of the frame that caused it is looked for. ``at`` is by ``time.monotonic``.
    """

    recorder: str
    kind: EffectKind
    detail: bytes
    at: float = 0.0


class EffectRecorder(Protocol):
    """Watches the processes of one launch. Used once: ``wrap``, then any number of ``take``."""

    name: str
    blind: str
    """What it can't see, in one sentence."""

    def unavailable(self, launch: Launch) -> str:
        """Why it can't watch this launch; ``""`` where it can."""

    def wrap(self, launch: Launch) -> Launch:
        """The launch with what this recorder needs around it."""

    def take(self) -> Sequence[Observed]:
        """What was seen since the last call, in order."""

    def close(self) -> None:
        """Give back files, ports and processes."""
