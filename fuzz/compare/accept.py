"""A file of reviewed differences: which classes of differences are accepted.

An entry names a class and two libraries, not an input and not a version. So the file stays valid
for the next patch release, and a new kind of difference is still reported.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from wirefence.fuzz.compare.reports.report import Compared
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.store.atomic_write import write_atomically
from wirefence.fuzz.store.metadata import MIGRATE

__all__ = ["Accepted", "check_writable", "mark_accepted", "read_accepted", "write_for_review"]

_FORMAT = 2
"""Version of the file: classes are named by the traits of docs/traits.md."""

Accepted = frozenset[tuple[str, str, str]]
"""Old library, new library and class name of every accepted difference."""


def read_accepted(path: Path) -> Accepted:
    """Read a file of accepted differences. Raises UsageError if it is not valid."""
    try:
        content = json.loads(path.read_bytes())
        rows = content["accepted"]
        if content.get("format") != _FORMAT:
            raise UsageError(f"{path} is of another form", MIGRATE)
        return frozenset((str(row["old"]), str(row["new"]), str(row["class"])) for row in rows)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(
            f"{path} is not a valid list of accepted differences ({type(error).__name__})",
            "repair it, or move it away and run again to write a new one",
        ) from error


def check_writable(path: Path) -> None:
    """Try to write beside ``path``, before the run starts. Raises UsageError."""
    try:
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise _make_write_error(path, error) from error


def mark_accepted(pair: Compared, known: Accepted) -> Compared:
    """Return the pair with its accepted classes marked."""
    old, new = pair.libraries
    found = tuple(replace(f, accepted=(old, new, f.name) in known) for f in pair.found)
    return replace(pair, found=found)


def write_for_review(path: Path, pairs: Iterable[Compared]) -> int:
    """Write every class that was found to a file; return their number. Raises UsageError."""
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
    content = {"format": _FORMAT, "accepted": rows}
    try:
        write_atomically(path, json.dumps(content, indent=1).encode() + b"\n")
    except OSError as error:
        raise _make_write_error(path, error) from error
    return len(rows)


def _make_write_error(path: Path, error: OSError) -> UsageError:
    reason = error.strerror or type(error).__name__
    return UsageError(f"cannot write to {path}: {reason}", "choose another --accept")
