"""The one error that says a target could not be used at all.

What a target does wrong while it runs is an observation and belongs into its trace; this error is
for targets that never came to run: a wrong name, a failing import, a broken adapter.
"""

from __future__ import annotations

__all__ = ["TargetError"]


class TargetError(Exception):
    """A target that cannot be run, with what went wrong and what to do about it."""

    def __init__(self, cause: str, hint: str = "") -> None:
        super().__init__(cause, hint)
        self.cause = cause
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.cause}; {self.hint}" if self.hint else self.cause
