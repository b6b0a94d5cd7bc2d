"""Faults that stand, and those that are mended: a mended one that shows again is news.

The key insight: ``fixed`` promises that the bytes on file show nothing, and replay holds them to
that. Of other bytes it says nothing. So its signature counts as known to nobody who looks for
faults, and a finding that is no more than the fixed reproducer itself is not kept in their way.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.store.metadata import Status
from wirefence.fuzz.store.scan import Entry, scan
from wirefence.fuzz.store.store import Store, place_of

__all__ = ["forget_fixed", "is_aside", "is_fixed", "mark", "standing"]


def is_fixed(entry: Entry) -> bool:
    """Whether somebody has said that an entry shows nothing any more."""
    return entry.metadata.status == "fixed"


def is_aside(entry: Entry) -> bool:
    """Whether an entry is fixed and has left its place to what came back."""
    aside = place_of(entry.metadata.finding(), entry.metadata.sha256)
    return entry.path.name == Path(aside).name


def standing(folder: Path) -> frozenset[str]:
    """Signatures of the reproducers below ``folder`` that are not fixed. Raises UsageError."""
    return frozenset(Store(folder).signatures(fixed=False)) if folder.is_dir() else frozenset()


def forget_fixed(findings: Path, reproducers: Iterable[Entry]) -> list[Path]:
    """Take away findings that fixed reproducers are copies of; return where they were.

    What is in a directory of findings is no news there, and so would hide that its fault came back.
    Its bytes are kept in the reproducer. Raises UsageError.
    """
    fixed = {each.path.name: each for each in reproducers if is_fixed(each)}
    if not fixed or not findings.is_dir():
        return []
    gone = []
    for entry in scan(findings, findings=True).entries:
        other = fixed.get(entry.path.name)
        if other is not None and other.case == entry.case and not _one_file(entry, other):
            Store(findings).drop(entry.path)
            gone.append(entry.path)
    return gone


def _one_file(entry: Entry, other: Entry) -> bool:
    """Whether the directory of findings is that of the reproducers."""
    return other.path.exists() and entry.path.samefile(other.path)


def mark(entry: Entry, status: Status) -> Entry:
    """Change the status of a reproducer; return it where it is then.

    A fixed one that is kept beside what came back has its place again when it is fixed no longer.
    Raises UsageError where that place is taken by a fault that stands.
    """
    store = Store(entry.path.parent.parent)
    changed = replace(entry.metadata, status=status)
    place = store.folder / place_of(changed.finding())
    aside = is_aside(entry)
    if aside and status == "fixed":
        return entry
    if aside and place.exists() and (there := store.get(place)[0]).status != "fixed":
        known = Entry(place, there, entry.case).id
        raise UsageError(f"its fault is on file as {known} ({there.status})", "mark that one")
    path = store.put(changed, entry.case.data)
    if aside:
        store.drop(entry.path)
    return Entry(path, changed, entry.case)
