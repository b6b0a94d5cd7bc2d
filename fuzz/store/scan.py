"""What lies in a directory of reproducers, sound or not.

The key insight: every file there is either half of a sound pair or a problem with a name. Nothing
is skipped, because a reproducer that is quietly not replayed is a fault that may quietly return.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.paths import exists, is_folder
from wirefence.fuzz.store.metadata import Metadata
from wirefence.fuzz.store.store import COMPANIONS, Store, place_of
from wirefence.strategies.records import Case

__all__ = ["FINDINGS", "GATE", "REPRODUCERS", "Entry", "Problem", "Shelf", "pick", "scan"]

REPRODUCERS = Path("crashes")
FINDINGS = Path(".wirefence/findings")
GATE = Path(".wirefence/gate")
_PAGES = {"README.md", "INDEX.md"}


@dataclass(frozen=True, slots=True)
class Entry:
    """A sound reproducer: where its bytes are, what they show, and the case they make."""

    path: Path
    metadata: Metadata
    case: Case

    @property
    def id(self) -> str:
        """The hash in its name: enough to name it on the command line."""
        return self.path.stem.rpartition("-")[2]


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that is no half of a sound pair: what is wrong, and whether it may go.

    ``redundant`` is true where nothing is lost when the file is deleted.
    """

    path: Path
    what: str
    redundant: bool = False


@dataclass(frozen=True, slots=True)
class Shelf:
    """Everything found below a directory, in the order of names."""

    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...]

    def signatures(self) -> frozenset[str]:
        return frozenset(entry.metadata.signature for entry in self.entries)


def scan(folder: Path, *, findings: bool = False) -> Shelf:
    """Read a directory of reproducers. An absent one is empty. Raises UsageError.

    Among ``findings``, one input may show several: only reproducers are to have one file each.
    """
    entries, problems = [], []
    for path in _files(folder):
        found = _look(folder, path)
        if isinstance(found, Entry):
            entries.append(found)
        elif found is not None:
            problems.append(found)
    doubles = [] if findings else _doubles(entries)
    return Shelf(tuple(entries), (*problems, *doubles))


def _files(folder: Path) -> list[Path]:
    try:
        if not is_folder(folder) and (exists(folder) or folder.is_symlink()):
            raise UsageError(f"{folder} is no directory", "name the directory of reproducers")
        return sorted(path for path in folder.rglob("*") if not path.is_dir())
    except OSError as error:
        raise UsageError(f"cannot read {folder}: {error.strerror}", "check the path") from error


def _look(folder: Path, path: Path) -> Entry | Problem | None:
    if path.suffix == ".frame":
        return _pair(folder, path)
    page = path.parent == folder and path.name in _PAGES
    return None if page else _beside(path)


def _beside(path: Path) -> Problem | None:
    """What is wrong with a file that does not hold the bytes of a reproducer."""
    if path.name.startswith(".") and path.suffix == ".part":
        return Problem(path, "was being written when a process was killed", redundant=True)
    if path.suffix not in (".json", *COMPANIONS):
        return Problem(path, "is neither bytes (.frame) nor metadata (.json)")
    if path.with_suffix(".frame").exists():
        return None
    if path.suffix == ".json":
        return Problem(path, "has no bytes (.frame) beside it: restore them")
    # It is written before its finding; where there is metadata, it may be all that tells of bytes.
    alone = not path.with_suffix(".json").exists()
    return Problem(path, "has no bytes (.frame) beside it", redundant=alone)


def _pair(folder: Path, path: Path) -> Entry | Problem:
    if not path.with_suffix(".json").exists():
        return Problem(
            path, "has no metadata (.json) beside it: file it with wirefence crashes add"
        )
    try:
        metadata, case = Store(folder).get(path)
    except UsageError as error:
        return Problem(path, f"is unusable: {error.cause}: {error.hint}")
    found = metadata.finding()
    places = [place_of(found)]
    if metadata.status == "fixed":
        places.append(place_of(found, metadata.sha256))
    # All, or those of one oracle.
    if all(path not in (folder / place, folder.parent / place) for place in places):
        return Problem(path, f"is misplaced: by its signature it belongs at {places[0]}")
    return Entry(path, metadata, case)


def _doubles(entries: Iterable[Entry]) -> list[Problem]:
    """Entries that show the same bytes to the same target: one fault filed under two names."""
    groups = defaultdict(list)
    for entry in entries:
        key = entry.case.data, entry.case.cuts, entry.case.version, entry.metadata.target
        groups[key].append(entry)
    return [
        Problem(later.path, f"is a duplicate: {group[0].path.name} has the same bytes and target")
        for group in groups.values()
        for later in group[1:]
    ]


def pick(names: Iterable[str], folders: Iterable[Path]) -> list[Entry]:
    """The entries that paths, or beginnings of ids, name. Raises UsageError for any other word."""
    shelves = [scan(folder, findings=True) for folder in folders]
    entries = [entry for shelf in shelves for entry in shelf.entries]
    return [_named(name, entries) for name in names]


def _named(name: str, entries: list[Entry]) -> Entry:
    path = Path(name)
    if path.is_file():
        path = path.with_suffix(".frame")
        metadata, case = Store(path.parent.parent).get(path)
        return Entry(path, metadata, case)
    hits = [entry for entry in entries if name and entry.id.startswith(name)]
    if len(hits) == 1:
        return hits[0]
    cause = f"{name!r} names {len(hits)} reproducers" if hits else f"nothing is called {name!r}"
    raise UsageError(cause, "give a path or the beginning of an id from wirefence crashes list")
