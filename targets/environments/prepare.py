"""From a specification to a side."""

from __future__ import annotations

import sys
from pathlib import Path

from targets.environments.process import Worker
from targets.environments.sides import DEFAULT, Side

__all__ = ["prepare"]

_WORKER = Path(__file__).with_name("worker.py")


def prepare(spec: str, *, python: str | None = None, cache: Path | None = None) -> Side:
    """Make a side ready to work."""
    name, _, option = spec.rstrip("]").partition("[")
    command = (sys.executable, "-I", str(_WORKER))
    worker = Worker(command, DEFAULT, library=name, option=option)
    worker.close()
    facts = worker.facts
    label = f"{facts.library} {facts.library_version} on {facts.implementation} {facts.version}"
    return Side(spec, label, command, facts, {"python": facts.version}, option)
