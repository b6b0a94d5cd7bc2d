"""Delete what is redundant in the directories of findings and reproducers.

Only what is stored elsewhere is deleted. All other problems are reported each time.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wirefence.fuzz.crashes.commit import write_index
from wirefence.fuzz.crashes.render import as_index, shorten_text
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.store.scan import Entry, Problem, scan_folder
from wirefence.fuzz.store.status import is_fixed
from wirefence.fuzz.store.store import Store

__all__ = ["PruneResult", "prune_folders"]


@dataclass(frozen=True, slots=True)
class PruneResult:
    """What was deleted (or would be), what looks redundant and stays; and remaining problems."""

    lines: tuple[str, ...]
    left: tuple[Problem, ...]


def prune_folders(folder: Path, findings: Path, *, really: bool) -> PruneResult:
    """Delete leftovers of killed processes in both directories, and findings that are reproducers.

    A finding with the name of a reproducer and other bytes stays, and so does one that may be a
    fixed fault again. Without ``really``, only report. Raises UsageError if something cannot be
    deleted.
    """
    kept, loose = scan_folder(folder), scan_folder(findings, findings=True)
    problems = [*kept.problems, *loose.problems]
    known = {entry.path.name: entry for entry in kept.entries}
    lines = [_delete_leftover(each, really=really) for each in problems if each.redundant]
    for entry in loose.entries:
        if other := known.get(entry.path.name):
            lines.append(_delete_known(entry, other, findings, really=really))
    lines += _update_index(folder, kept.entries, really=really)
    return PruneResult(tuple(lines), tuple(each for each in problems if not each.redundant))


def _delete_leftover(found: Problem, *, really: bool) -> str:
    if really:
        try:
            found.path.unlink(missing_ok=True)
        except OSError as error:
            raise UsageError(
                f"cannot delete {found.path}: {error.strerror}", "change its permissions"
            ) from error
    path, what = shorten_text(str(found.path)), shorten_text(found.what)
    return f"{_name_action(really=really)}  {path}  {what}"


def _delete_known(entry: Entry, other: Entry, findings: Path, *, really: bool) -> str:
    name, filed = shorten_text(str(entry.path)), shorten_text(str(other.path))
    if entry.case != other.case:
        return f"kept  {name}  has other bytes than {filed} ({other.metadata.status})"
    if is_fixed(other):
        return f"kept  {name}  is {filed}, which is fixed: replay says whether it fails again"
    if really:
        Store(findings).delete_finding(entry.path)
    return f"{_name_action(really=really)}  {name}  is on file as {filed}"


def _update_index(folder: Path, entries: tuple[Entry, ...], *, really: bool) -> list[str]:
    page = folder / "INDEX.md"
    stale = page.is_file() and page.read_bytes() != as_index(entries).encode()
    if stale and really:
        write_index(folder)
    return (
        [f"{'wrote' if really else 'would write'}  {shorten_text(str(page))}  anew"]
        if stale
        else []
    )


def _name_action(*, really: bool) -> str:
    return "deleted" if really else "would delete"
