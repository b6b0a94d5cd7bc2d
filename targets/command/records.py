"""How a server is started, and when its bytes went and came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Launch", "Times"]


@dataclass(frozen=True, slots=True)
class Launch:
    """A command as it is to be started.

    ``env`` holds changes to the environment that is inherited: a value, or ``None`` to take the
    variable away. ``cwd`` is the working directory, ``None`` for the current one.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str | None] = field(default_factory=dict)
    cwd: Path | None = None


@dataclass(frozen=True, slots=True)
class Times:
    """When the bytes of a process went and came: pairs (seconds since its start, bytes so far)."""

    sent: tuple[tuple[float, int], ...] = ()
    received: tuple[tuple[float, int], ...] = ()
