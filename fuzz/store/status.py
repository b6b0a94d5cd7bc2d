"""Open and fixed reproducers: change a status, and handle fixed faults that return.

``fixed`` promises that the bytes on file show nothing; replay checks that. The same fault with
other bytes is a new finding, so signatures of fixed reproducers are not known ones. A finding with
the very bytes of a fixed reproducer is deleted, since it would hide such a return.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.store.metadata import Status
from wirefence.fuzz.store.scan import Entry, scan_folder
from wirefence.fuzz.store.store import Store, locate_finding

__all__ = [
    "delete_copies_of_fixed",
    "is_fixed",
    "is_moved_aside",
    "read_unfixed_signatures",
    "set_status",
]


def is_fixed(entry: Entry) -> bool:
    """Return whether an entry is marked as fixed."""
    return entry.metadata.status == "fixed"


def is_moved_aside(entry: Entry) -> bool:
    """Return whether a fixed entry was moved to make room for the fault that returned."""
    aside = locate_finding(entry.metadata.to_finding(), entry.metadata.sha256)
    return entry.path.name == Path(aside).name


def read_unfixed_signatures(folder: Path) -> frozenset[str]:
    """Return the signatures of reproducers below ``folder`` that are not fixed. Raises
    UsageError.
    """
    return frozenset(Store(folder).read_signatures(fixed=False)) if folder.is_dir() else frozenset()


def delete_copies_of_fixed(findings: Path, reproducers: Iterable[Entry]) -> list[Path]:
    """Delete findings that are copies of fixed reproducers; return their paths. Raises UsageError.

    A signature in the findings directory counts as known, so a copy would hide that its fault
    returned. The reproducer keeps the bytes.
    """
    fixed = {each.path.name: each for each in reproducers if is_fixed(each)}
    if not fixed or not findings.is_dir():
        return []
    gone = []
    for entry in scan_folder(findings, findings=True).entries:
        other = fixed.get(entry.path.name)
        if other is not None and other.case == entry.case and not _is_same_file(entry, other):
            Store(findings).delete_finding(entry.path)
            gone.append(entry.path)
    return gone


def _is_same_file(entry: Entry, other: Entry) -> bool:
    """Return whether two entries are one file: both directories may be the same."""
    return other.path.exists() and entry.path.samefile(other.path)


def set_status(entry: Entry, status: Status) -> Entry:
    """Change the status of a reproducer; return it with its path afterwards.

    A fixed one that was moved aside returns to its usual path when it is fixed no longer. Raises
    UsageError if an unfixed reproducer is there.
    """
    store = Store(entry.path.parent.parent)
    changed = replace(entry.metadata, status=status)
    place = store.folder / locate_finding(changed.to_finding())
    aside = is_moved_aside(entry)
    if aside and status == "fixed":
        return entry
    if aside and place.exists() and (there := store.read_finding(place)[0]).status != "fixed":
        known = Entry(place, there, entry.case).id
        raise UsageError(
            f"its fault is already stored as {known} ({there.status})", "mark that one"
        )
    path = store.write_reproducer(changed, entry.case.data)
    if aside:
        store.delete_finding(entry.path)
    return Entry(path, changed, entry.case)
