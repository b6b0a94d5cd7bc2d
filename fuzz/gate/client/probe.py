"""Is the client a server? A second process of the command is asked what a server would answer.

The key insight: a server that is taken for a client waits for a request, as we wait for its first
word, and neither ever speaks. Waiting longer tells nothing; asking does. The process that is asked
is another one than the client that may only be slow, which notices nothing of it.
"""

from __future__ import annotations

import json

from wirefence.fuzz.gate.trials.messages import make_initialize
from wirefence.targets.command.process import Process
from wirefence.targets.command.records import Launch
from wirefence.targets.command.session import Session
from wirefence.targets.errors import TargetError

__all__ = ["ServerProbe"]

_IDENT = "wirefence-who"
_ASKED = make_initialize(b'"2025-11-25"', json.dumps(_IDENT).encode()).raw


class ServerProbe:
    """A process of ``launch`` that is sent an ``initialize``. Raises TargetError."""

    def __init__(self, launch: Launch) -> None:
        self._session = Session(Process(launch))
        self._session.send(_ASKED)

    def check_answer(self) -> None:
        """Raise TargetError if the request has been answered; returns at once."""
        self._session.process.pump(0)
        self._session.collect()
        if any(map(_is_response, self._session.lines)):
            raise TargetError(
                "the command waits for requests and answers them, so it is a server and no client",
                "leave --client out",
            )

    def stop(self) -> None:
        """End the process."""
        self._session.stop()


def _is_response(line: bytes) -> bool:
    """Whether a line is a response to our request: whoever sends that back answers nothing."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    told = isinstance(value, dict) and value.get("id") == _IDENT
    return told and bool({"result", "error"} & value.keys())
