"""Errors for people: a sentence of cause and what to do next, never a traceback for bad input.

Exit codes of every command: 0 nothing found, 1 findings, 2 wrong usage, a target that cannot start
or a report that cannot be written, 3 a failure of Wirefence itself.
"""

from __future__ import annotations

import sys

__all__ = ["FOUND", "NOTHING", "OWN_FAILURE", "USAGE", "StartError", "UsageError", "missing"]

NOTHING = 0
FOUND = 1
USAGE = 2
OWN_FAILURE = 3


class _SaidError(Exception):
    """An error that people are told in a sentence: ``cause``, and ``hint``, what to do next."""

    def __init__(self, cause: str, hint: str) -> None:
        super().__init__(f"{cause}; {hint}")
        self.cause = cause
        self.hint = hint


class UsageError(_SaidError):
    """Something the user gave cannot be used."""


class StartError(_SaidError):
    """A process of our own did not come to its work, so it says nothing about any target."""


def missing(error: ModuleNotFoundError) -> UsageError:
    """What an interpreter says that has our code and not what that needs."""
    return UsageError(
        f"this Python ({sys.executable}) has no {error.name}",
        "run make setup and .venv/bin/wirefence, or install requirements.txt",
    )
