"""How a server is started: the command and what its surroundings add to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Launch"]


@dataclass(frozen=True, slots=True)
class Launch:
    """A command as it is to be started.

    ``env`` holds changes to the environment that is inherited: a value, or ``None`` to take the
    variable away. ``cwd`` is the working directory, ``None`` for the current one.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str | None] = field(default_factory=dict)
    cwd: Path | None = None
