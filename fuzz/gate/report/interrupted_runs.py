"""Report runs that were killed, at the next run with the same output folder.

A run writes each finding before it goes on, but a killed run prints no report. So a run keeps a
mark file while it lasts; a mark without its process belongs to a run whose findings were not
reported.
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
from wirefence.targets.command.proc_files import read_stat

__all__ = ["InterruptedRun", "find_interrupted_runs", "mark_running"]

_PREFIX = ".running-"
_SLACK = 2.0
"""Seconds by which a file system's clock may be behind: some store times in steps of 2 s."""


@dataclass(frozen=True, slots=True)
class InterruptedRun:
    """A run that was killed before its report: its start, command, and reproducers."""

    began: str
    command: str
    found: tuple[Path, ...]

    def describe_run(self) -> str:
        """Return a sentence with the paths of what was found."""
        sentence = f"a run of {self.began} on {self.command} was killed before its report"
        if not self.found:
            return f"{sentence}; it had found nothing yet"
        return f"{sentence}; what it had found is kept: {', '.join(map(str, self.found))}"


@contextmanager
def mark_running(out: Path, command: str) -> Iterator[None]:
    """Keep a mark file in a folder while the block lasts. Raises UsageError where that fails.

    ``command`` is the launch with secrets redacted.
    """
    Store(out).check_writable()
    path = out / f"{_PREFIX}{os.getpid()}"
    fields = {"began": time.time(), "command": command, "start": _start_of(os.getpid())}
    try:
        path.write_text(json.dumps(fields), encoding="utf-8")
    except OSError as error:
        path.unlink(missing_ok=True)
        raise UsageError(f"cannot write to {path}: {error.strerror}", "free it") from error
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def find_interrupted_runs(out: Path) -> list[InterruptedRun]:
    """Return killed runs, oldest first, and remove their marks: each is reported once."""
    found = []
    for mark in sorted(out.glob(f"{_PREFIX}*")):
        try:
            fields = json.loads(mark.read_bytes())
            began, command, start = float(fields["began"]), str(fields["command"]), fields["start"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue  # not a mark of ours
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
    """Return the reproducers written since a moment."""
    frames = (path for path in sorted(out.glob("*/*.frame")) if path.with_suffix(".json").exists())
    return tuple(path for path in frames if path.stat().st_mtime >= began - _SLACK)


def _start_of(pid: int) -> str:
    """Return the kernel's start time of a process, ``""`` for none: process ids are reused."""
    return b"".join(read_stat(pid)[19:20]).decode()
