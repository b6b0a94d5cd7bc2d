"""Errors for people: a sentence of cause and what to do next, never a traceback for bad input.

Exit codes of every command: 0 nothing found, 1 findings, 2 wrong usage or a target that cannot
start, 3 a failure of Wirefence itself.
"""

from __future__ import annotations

__all__ = ["FOUND", "NOTHING", "OWN_FAILURE", "USAGE", "UsageError"]

NOTHING = 0
FOUND = 1
USAGE = 2
OWN_FAILURE = 3


class UsageError(Exception):
    """Something the user gave cannot be used; ``cause`` says what, ``hint`` what to do."""

    def __init__(self, cause: str, hint: str) -> None:
        super().__init__(f"{cause}; {hint}")
        self.cause = cause
        self.hint = hint
