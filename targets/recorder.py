"""The executor that executes nothing: every call that reaches it becomes an effect.

An effect is judged by what had been sent when it happened, so the recorder is told
how far stdin has come before each write, and stamps every call with it.
"""

from __future__ import annotations

from collections.abc import Mapping

from wirefence.targets.records import Effect

__all__ = ["Recorder"]

_SHOWN = 200
"""Characters of a tool that is no string: it stands in a finding."""


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

    def __call__(self, tool: object, arguments: object) -> None:
        """Record one call.

        A gateway may pass on what was sent without a look at its type: a tool that is no string is
        recorded by its text, and arguments that are no mapping under the name ``arguments``.
        """
        name = tool if isinstance(tool, str) else repr(tool)[:_SHOWN]
        named = dict(arguments) if isinstance(arguments, Mapping) else {"arguments": arguments}
        self.effects.append(Effect(name, named, self.fed, self.after_eof))
