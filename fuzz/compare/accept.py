"""Reviewed differences: a file that says which classes somebody has looked at and accepted.

The key insight: what is accepted is a class between two libraries, not an input and not a version,
so the file outlives the next patch release and still lets a new kind of difference through.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from wirefence.fuzz.compare.report import Compared
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.store.atomic_write import write_whole

__all__ = ["Accepted", "accepted", "marked", "record", "writable"]

Accepted = frozenset[tuple[str, str, str]]
"""Old library, new library and class name of every accepted difference."""


def accepted(path: Path) -> Accepted:
    """Read a file of accepted differences. Raises UsageError where it cannot be read."""
    try:
        rows = json.loads(path.read_bytes())["accepted"]
        return frozenset((str(row["old"]), str(row["new"]), str(row["class"])) for row in rows)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(
            f"{path} is no readable list of accepted differences ({type(error).__name__})",
            "mend it, or move it away and run again to have it written anew",
        ) from error


def writable(path: Path) -> None:
    """Try to write beside ``path``, before the time of a run is spent. Raises UsageError."""
    try:
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise _unwritable(path, error) from error


def marked(pair: Compared, known: Accepted) -> Compared:
    """The pair with its accepted classes marked."""
    old, new = pair.libraries
    found = tuple(replace(f, accepted=(old, new, f.name) in known) for f in pair.found)
    return replace(pair, found=found)


def record(path: Path, pairs: Iterable[Compared]) -> int:
    """Write every class that was found for review; return their number. Raises UsageError."""
    rows = [
        {
            "old": pair.libraries[0],
            "new": pair.libraries[1],
            "class": found.name,
            "why": found.why,
            "input": found.input,
            "outcomes": [found.old, found.new],
            "seen_between": [pair.old, pair.new],
        }
        for pair in pairs
        for found in pair.found
    ]
    try:
        write_whole(path, json.dumps({"accepted": rows}, indent=1).encode() + b"\n")
    except OSError as error:
        raise _unwritable(path, error) from error
    return len(rows)


def _unwritable(path: Path, error: OSError) -> UsageError:
    reason = error.strerror or type(error).__name__
    return UsageError(f"cannot write to {path}: {reason}", "choose another --accept")
