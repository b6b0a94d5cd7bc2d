"""Scan a directory of reproducers, and report every file that is not part of a valid pair.

No file is skipped silently: a reproducer that is not replayed lets its fault return unseen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.paths import is_folder, path_exists
from wirefence.fuzz.store.metadata import Metadata
from wirefence.fuzz.store.store import COMPANIONS, Store, locate_finding
from wirefence.strategies.records import Case

__all__ = [
    "FINDINGS",
    "GATE",
    "REPRODUCERS",
    "Entry",
    "Problem",
    "ScannedFolder",
    "find_entries",
    "scan_folder",
]

REPRODUCERS = Path("crashes")
FINDINGS = Path(".wirefence/findings")
GATE = Path(".wirefence/gate")
_PAGES = {"README.md", "INDEX.md"}


@dataclass(frozen=True, slots=True)
class Entry:
    """A valid reproducer or finding: path of its bytes, its metadata, and its case."""

    path: Path
    metadata: Metadata
    case: Case

    @property
    def id(self) -> str:
        """The hash in its file name, which names it on the command line."""
        return self.path.stem.rpartition("-")[2]


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that is not part of a valid pair, and what is wrong with it.

    ``redundant`` is true if nothing is lost when the file is deleted.
    """

    path: Path
    what: str
    redundant: bool = False


@dataclass(frozen=True, slots=True)
class ScannedFolder:
    """Everything found below a directory, sorted by name."""

    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...]

    def list_signatures(self) -> frozenset[str]:
        return frozenset(entry.metadata.signature for entry in self.entries)


def scan_folder(folder: Path, *, findings: bool = False) -> ScannedFolder:
    """Read a directory of reproducers. A missing one is empty. Raises UsageError.

    With ``findings``, several entries may have the same bytes; reproducers must have one file each.
    """
    entries, problems = [], []
    for path in _list_files(folder):
        found = _classify_file(folder, path)
        if isinstance(found, Entry):
            entries.append(found)
        elif found is not None:
            problems.append(found)
    doubles = [] if findings else _find_duplicates(entries)
    return ScannedFolder(tuple(entries), (*problems, *doubles))


def _list_files(folder: Path) -> list[Path]:
    try:
        if not is_folder(folder) and (path_exists(folder) or folder.is_symlink()):
            raise UsageError(f"{folder} is not a directory", "name the directory of reproducers")
        return sorted(path for path in folder.rglob("*") if not path.is_dir())
    except OSError as error:
        raise UsageError(f"cannot read {folder}: {error.strerror}", "check the path") from error


def _classify_file(folder: Path, path: Path) -> Entry | Problem | None:
    if path.suffix == ".frame":
        return _read_pair(folder, path)
    page = path.parent == folder and path.name in _PAGES
    return None if page else _check_companion(path)


def _check_companion(path: Path) -> Problem | None:
    """Return what is wrong with a file that does not hold the bytes of a reproducer."""
    if path.name.startswith(".") and path.suffix == ".part":
        return Problem(path, "is an unfinished write of a killed process", redundant=True)
    if path.suffix not in (".json", *COMPANIONS):
        return Problem(path, "is neither a .frame nor a .json file")
    if path.with_suffix(".frame").exists():
        return None
    if path.suffix == ".json":
        return Problem(path, "has no bytes (.frame) beside it: restore them")
    # It is written before its finding. Next to metadata it may be the only trace of lost bytes.
    alone = not path.with_suffix(".json").exists()
    return Problem(path, "has no bytes (.frame) beside it", redundant=alone)


def _read_pair(folder: Path, path: Path) -> Entry | Problem:
    if not path.with_suffix(".json").exists():
        return Problem(
            path, "has no metadata (.json) beside it: file it with wirefence crashes add"
        )
    try:
        metadata, case = Store(folder).read_finding(path)
    except UsageError as error:
        return Problem(path, f"cannot be used: {error.cause}: {error.hint}")
    found = metadata.to_finding()
    places = [locate_finding(found)]
    if metadata.status == "fixed":
        places.append(locate_finding(found, metadata.sha256))
    # The folder holds all oracles, or is that of one oracle.
    if all(path not in (folder / place, folder.parent / place) for place in places):
        return Problem(path, f"is in the wrong place: its signature belongs at {places[0]}")
    return Entry(path, metadata, case)


def _find_duplicates(entries: Iterable[Entry]) -> list[Problem]:
    """Return a problem for each entry with the same bytes and target as an earlier one."""
    groups = defaultdict(list)
    for entry in entries:
        key = entry.case.data, entry.case.cuts, entry.case.version, entry.metadata.target
        groups[key].append(entry)
    return [
        Problem(later.path, f"is a duplicate: {group[0].path.name} has the same bytes and target")
        for group in groups.values()
        for later in group[1:]
    ]


def find_entries(names: Iterable[str], folders: Iterable[Path]) -> list[Entry]:
    """Return the entries named by paths or beginnings of ids. Raises UsageError for other names."""
    shelves = [scan_folder(folder, findings=True) for folder in folders]
    entries = [entry for shelf in shelves for entry in shelf.entries]
    return [_find_entry(name, entries) for name in names]


def _find_entry(name: str, entries: list[Entry]) -> Entry:
    path = Path(name)
    if path.is_file():
        path = path.with_suffix(".frame")
        metadata, case = Store(path.parent.parent).read_finding(path)
        return Entry(path, metadata, case)
    hits = [entry for entry in entries if name and entry.id.startswith(name)]
    if len(hits) == 1:
        return hits[0]
    cause = f"{name!r} names {len(hits)} reproducers" if hits else f"no reproducer {name!r}"
    raise UsageError(cause, "give a path or the beginning of an id from wirefence crashes list")
