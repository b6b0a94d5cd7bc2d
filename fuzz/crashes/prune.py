"""Tidying: what may go from the directories of findings and reproducers.

The key insight: only what is kept elsewhere may go by itself. Everything else is a person's to
decide, and is named again each time until somebody does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wirefence.fuzz.crashes.commit import write_index
from wirefence.fuzz.crashes.render import as_index, cut
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.store.scan import Entry, Problem, scan
from wirefence.fuzz.store.status import is_fixed
from wirefence.fuzz.store.store import Store

__all__ = ["Pruned", "prune"]


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was taken away (or would be), or looks like it and stays; and the problems left."""

    lines: tuple[str, ...]
    left: tuple[Problem, ...]


def prune(folder: Path, findings: Path, *, really: bool) -> Pruned:
    """Take away leftovers of kills in both directories, and findings that are reproducers already.

    What has the name of a reproducer and other bytes stays, and what may be a fixed fault again.
    Without ``really``, only say so. Raises UsageError where something cannot be deleted.
    """
    kept, loose = scan(folder), scan(findings, findings=True)
    problems = [*kept.problems, *loose.problems]
    known = {entry.path.name: entry for entry in kept.entries}
    lines = [_leftover(each, really=really) for each in problems if each.redundant]
    for entry in loose.entries:
        if other := known.get(entry.path.name):
            lines.append(_known(entry, other, findings, really=really))
    lines += _index(folder, kept.entries, really=really)
    return Pruned(tuple(lines), tuple(each for each in problems if not each.redundant))


def _leftover(found: Problem, *, really: bool) -> str:
    if really:
        try:
            found.path.unlink(missing_ok=True)
        except OSError as error:
            raise UsageError(
                f"cannot delete {found.path}: {error.strerror}", "mend its permissions"
            ) from error
    return f"{_did(really=really)}  {cut(str(found.path))}  {cut(found.what)}"


def _known(entry: Entry, other: Entry, findings: Path, *, really: bool) -> str:
    name, filed = cut(str(entry.path)), cut(str(other.path))
    if entry.case != other.case:
        return f"kept  {name}  has other bytes than {filed} ({other.metadata.status})"
    if is_fixed(other):
        return f"kept  {name}  is {filed}, which is fixed: replay says whether it fails again"
    if really:
        Store(findings).drop(entry.path)
    return f"{_did(really=really)}  {name}  is on file as {filed}"


def _index(folder: Path, entries: tuple[Entry, ...], *, really: bool) -> list[str]:
    page = folder / "INDEX.md"
    stale = page.is_file() and page.read_bytes() != as_index(entries).encode()
    if stale and really:
        write_index(folder)
    return [f"{'wrote' if really else 'would write'}  {cut(str(page))}  anew"] if stale else []


def _did(*, really: bool) -> str:
    return "deleted" if really else "would delete"
