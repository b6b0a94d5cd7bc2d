"""Add reproducers by hand: run a file against a target, and store what it shows.

The findings of this run are stored, with the installed versions, whatever was seen earlier.
"""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from wirefence.fuzz.crashes.classes import find_classes
from wirefence.fuzz.crashes.divergences import PARSERS
from wirefence.fuzz.crashes.minimize import MinimizeLimits, minimize_reproducer
from wirefence.fuzz.crashes.rerun import CaseRunners, Subject
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.store.metadata import Status, make_metadata
from wirefence.fuzz.store.scan import Entry, scan_folder
from wirefence.fuzz.store.status import is_fixed
from wirefence.fuzz.store.store import Store, locate_finding
from wirefence.oracles.records import Finding
from wirefence.strategies.records import Case
from wirefence.targets.command.records import Launch
from wirefence.targets.parsers.configs import BY_NAME, library_versions

__all__ = ["AddOptions", "AddResult", "add_classes", "add_reproducer"]


@dataclass(frozen=True, slots=True)
class AddOptions:
    """Which findings of a file are stored, and how.

    ``signature`` is a part of the wanted signatures (all, if empty); ``smaller`` asks for
    minimizing. ``versions`` are those of a server. ``sides`` are the two of a difference, with the
    interpreter of both in ``python`` (``""`` for the usual one).
    """

    target: str
    signature: str = ""
    status: Status = "open"
    note: str = ""
    smaller: bool = True
    patience: float = 60.0
    versions: Mapping[str, str] = field(default_factory=dict)
    sides: tuple[str, ...] = ()
    python: str = ""


@dataclass(frozen=True, slots=True)
class AddResult:
    """What was stored, and one sentence for each finding that was refused."""

    entries: tuple[Entry, ...]
    refused: tuple[str, ...]


def add_reproducer(
    case: Case, launch: Launch | None, wanted: AddOptions, store: Store
) -> AddResult:
    """Store what ``case`` shows, minimized; known findings are refused.

    Raises UsageError if nothing is shown or named, TargetError for a target that cannot start.
    """
    subject = _make_subject(launch, wanted)
    with CaseRunners(subject, patience=wanted.patience) as runners:
        (found,) = runners.run_cases([case])
    chosen = [each for each in found if wanted.signature in each.signature]
    if not chosen:
        seen = f"; it shows {'; '.join(f.signature for f in found[:5])}" if found else ""
        raise UsageError(f"{subject.target} shows no such finding{seen}", "try wirefence explain")
    store.check_writable()
    entries: dict[Path, Entry] = {}
    refused: list[str] = []
    for each in chosen:
        made = _add_finding(each, case, subject, wanted, store)
        if isinstance(made, str):
            refused.append(made)
        else:
            entries[made.path] = made
    return AddResult(tuple(entries.values()), tuple(refused))


def _make_subject(launch: Launch | None, wanted: AddOptions) -> Subject:
    if wanted.sides:
        options = {"python": wanted.python} if wanted.python else {}
        return Subject(" to ".join(wanted.sides), sides=wanted.sides, options=options)
    if launch is not None:
        # Importing the gate is slow, and only servers need it.
        from wirefence.fuzz.gate.replay import discover_name  # noqa: PLC0415

        return Subject(wanted.target or discover_name(launch), launch)
    if not wanted.target:
        raise UsageError("no target was named", "give --target or the command of a server")
    return Subject(wanted.target)


def _add_finding(
    found: Finding, case: Case, subject: Subject, wanted: AddOptions, store: Store
) -> Entry | str:
    """Return one finding as a reproducer, or the reason why it is refused."""
    if known := _find_known(found, case, scan_folder(store.folder).entries):
        return f"{found.signature} is known already, as {known.id} ({known.metadata.status})"
    metadata = make_metadata(
        found,
        case,
        versions={**_find_versions(found, subject), **wanted.versions},
        launch=subject.launch,
        options=subject.options,
        sides=subject.sides,
        status=wanted.status,
        note=wanted.note,
    )
    if not wanted.smaller:
        return Entry(store.write_reproducer(metadata, case.data), metadata, case)
    with tempfile.TemporaryDirectory(prefix="wirefence-") as place:
        aside = Store(Path(place))
        entry = Entry(aside.write_reproducer(metadata, case.data), metadata, case)
        said = minimize_reproducer(
            entry, aside, MinimizeLimits(patience=wanted.patience), lambda *_: None
        )
        if said.state == "gone":
            return f"{found.signature} does not show a second time"
        small = said.entry
    entries = scan_folder(store.folder).entries
    if known := _find_known(small.metadata.to_finding(), small.case, entries):
        return f"{found.signature} is known already, in its smallest form, as {known.id}"
    if known := _find_same_document(small.metadata.target, small.case, entries):
        return f"{found.signature} shows in the document of {known.id}"
    return replace(small, path=store.write_reproducer(small.metadata, small.case.data))


def _find_versions(found: Finding, subject: Subject) -> dict[str, str]:
    if subject.launch is not None:
        return {}
    if subject.sides:
        # Importing comparisons is slow, and only differences need them.
        from wirefence.fuzz.crashes.compared_sides import find_versions  # noqa: PLC0415

        return find_versions(subject.sides, subject.options)
    return _find_library_versions(found)


def _find_known(found: Finding, case: Case, entries: Iterable[Entry]) -> Entry | None:
    """Return the entry that has the same fault; a fixed one only if it has the same bytes."""
    alike = (each for each in entries if each.metadata.signature == found.signature)
    return next((each for each in alike if not is_fixed(each) or each.case == case), None)


def _find_same_document(target: str, case: Case, entries: Iterable[Entry]) -> Entry | None:
    """Return the entry that has the same document for all parsers: it shows several effects."""
    if target != PARSERS:
        return None
    alike = (each for each in entries if each.metadata.target == PARSERS)
    return next((each for each in alike if each.case.data == case.data), None)


def _find_library_versions(found: Finding) -> dict[str, str]:
    """Return the versions that a finding may depend on: of one parser's library, or of all."""
    here = {**library_versions(), "python": platform.python_version()}
    name = found.target.removeprefix("parser:")
    if name not in BY_NAME:
        return here
    library = BY_NAME[name].library
    return {each: version for each, version in here.items() if each in (library, "python")}


def add_classes(store: Store, generated: int = 3_000) -> AddResult:
    """Store the smallest document for each class of divergence, as ``upstream``, with versions."""
    store.check_writable()
    entries: list[Entry] = []
    refused: list[str] = []
    for found, case, size in find_classes(generated):
        path = store.folder / locate_finding(found)
        if path.exists():
            refused.append(f"{found.signature} is known already")
            continue
        if known := _find_same_document(found.target, case, scan_folder(store.folder).entries):
            refused.append(f"{found.signature} shows in the document of {known.id}")
            continue
        metadata = make_metadata(
            found, case, versions=_find_library_versions(found), status="upstream"
        )
        metadata = replace(metadata, original_size=size)
        entries.append(Entry(store.write_reproducer(metadata, case.data), metadata, case))
    return AddResult(tuple(entries), tuple(refused))
