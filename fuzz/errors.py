"""Errors for users: cause and what to do next in one line, never a traceback for bad input.

Exit codes of every command: 0 nothing found, 1 findings, 2 wrong usage, a target that cannot start
or a report that cannot be written, 3 a failure of Wirefence itself.
"""

from __future__ import annotations

import sys

__all__ = [
    "FOUND",
    "NOTHING",
    "OWN_FAILURE",
    "USAGE",
    "StartError",
    "UsageError",
    "make_missing_module_error",
]

NOTHING = 0
FOUND = 1
USAGE = 2
OWN_FAILURE = 3


class _MessageError(Exception):
    """An error that is printed as one line: ``cause``, and ``hint``, what to do next."""

    def __init__(self, cause: str, hint: str) -> None:
        super().__init__(f"{cause}; {hint}")
        self.cause = cause
        self.hint = hint


class UsageError(_MessageError):
    """Something that the user gave cannot be used."""


class StartError(_MessageError):
    """A worker process could not start its work, so there is no result for any target."""


def make_missing_module_error(error: ModuleNotFoundError) -> UsageError:
    """Return the error for an interpreter that lacks a dependency."""
    return UsageError(
        f"this Python ({sys.executable}) has no {error.name}",
        "run make setup and .venv/bin/wirefence, or install requirements.txt",
    )
