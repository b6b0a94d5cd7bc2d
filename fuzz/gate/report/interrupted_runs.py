"""Runs that were killed, named by the next run into the same folder.

The key insight: what a run found is on disk before it goes on, but nobody is told of it where the
report never came. So a run leaves a mark while it lasts, and a mark without its process is a run
whose findings nobody has seen.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.store.store import Store

__all__ = ["InterruptedRun", "find_interrupted_runs", "mark_running"]

_PREFIX = ".running-"
_SLACK = 2.0
"""Seconds by which the clock of a file system may be behind ours."""


@dataclass(frozen=True, slots=True)
class InterruptedRun:
    """A run that never told what it found: when it began, on what, and the reproducers it left."""

    began: str
    command: str
    found: tuple[Path, ...]

    def describe_run(self) -> str:
        """What to tell, with the place of what was found."""
        told = f"a run of {self.began} on {self.command} was killed before its report"
        if not self.found:
            return f"{told}; it had found nothing yet"
        return f"{told}; what it had found is kept: {', '.join(map(str, self.found))}"


@contextmanager
def mark_running(out: Path, command: str) -> Iterator[None]:
    """Leave a mark in a folder while the block lasts. Raises UsageError where that fails.

    ``command`` is the launch without its secrets.
    """
    Store(out).prepare()
    path = out / f"{_PREFIX}{os.getpid()}"
    said = {"began": time.time(), "command": command, "start": _start_of(os.getpid())}
    try:
        path.write_text(json.dumps(said), encoding="utf-8")
    except OSError as error:
        path.unlink(missing_ok=True)
        raise UsageError(f"cannot write to {path}: {error.strerror}", "free it") from error
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def find_interrupted_runs(out: Path) -> list[InterruptedRun]:
    """Runs that were killed, oldest first; each is told once, for its mark is taken away."""
    found = []
    for mark in sorted(out.glob(f"{_PREFIX}*")):
        try:
            said = json.loads(mark.read_bytes())
            began, command, start = float(said["began"]), str(said["command"]), said["start"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue  # not ours
        pid = mark.name.removeprefix(_PREFIX)
        if pid.isdigit() and _start_of(int(pid)) != start:
            mark.unlink(missing_ok=True)
            found.append(
                (
                    began,
                    InterruptedRun(_format_time(began), command, _reproducers_since(out, began)),
                )
            )
    return [each for _, each in sorted(found, key=lambda pair: pair[0])]


def _format_time(began: float) -> str:
    return datetime.fromtimestamp(began, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _reproducers_since(out: Path, began: float) -> tuple[Path, ...]:
    """Reproducers written since a moment."""
    frames = (path for path in sorted(out.glob("*/*.frame")) if path.with_suffix(".json").exists())
    return tuple(path for path in frames if path.stat().st_mtime >= began - _SLACK)


def _start_of(pid: int) -> str:
    """When the kernel says that a process started, ``""`` for none: numbers are used again."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return ""
    return fields[19].decode()
