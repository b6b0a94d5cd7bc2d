"""The executor that executes nothing: every call that reaches it becomes an effect.

The key insight: an effect is judged by what had been sent when it happened, so the recorder is told
how far stdin has come before each write, and stamps every call with it.
"""

from __future__ import annotations

from collections.abc import Mapping

from wirefence.targets.records import Effect

__all__ = ["Recorder"]


class Recorder:
    """Collects the calls of one session, in order; an ``Act`` to hand to a gateway.

    ``fed`` (stdin bytes given so far) and ``after_eof`` are set by whoever feeds the gateway. The
    arguments are copied one level deep, so that a gateway which reuses its mapping cannot rewrite
    what it did before.
    """

    __slots__ = ("after_eof", "effects", "fed")

    def __init__(self) -> None:
        self.effects: list[Effect] = []
        self.fed = 0
        self.after_eof = False

    def __call__(self, tool: str, arguments: Mapping[str, object]) -> None:
        """Record one call."""
        self.effects.append(Effect(tool, dict(arguments), self.fed, self.after_eof))
