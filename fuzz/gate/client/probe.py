"""Probe whether the command under test is a server: send a second process an ``initialize``.

A server under test as a client waits for a request, as the gate waits for its first message, so
neither sends anything; a longer time-out does not help. The probe uses a second process, so it does
not disturb a client that is only slow.
"""

from __future__ import annotations

import json

from wirefence.fuzz.gate.trials.messages import make_initialize
from wirefence.targets.command.process import Process
from wirefence.targets.command.records import Launch
from wirefence.targets.command.session import Session
from wirefence.targets.errors import TargetError

__all__ = ["ServerProbe"]

_REQUEST_ID = "wirefence-who"
_REQUEST = make_initialize(b'"2025-11-25"', json.dumps(_REQUEST_ID).encode()).raw


class ServerProbe:
    """A process of ``launch`` that is sent an ``initialize``. Raises TargetError."""

    def __init__(self, launch: Launch) -> None:
        self._session = Session(Process(launch))
        self._session.send(_REQUEST)

    def check_answer(self) -> None:
        """Raise TargetError if the request has been answered; return at once."""
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
    """Whether a line is a response to our request; an echo is none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    is_ours = isinstance(value, dict) and value.get("id") == _REQUEST_ID
    return is_ours and bool({"result", "error"} & value.keys())
