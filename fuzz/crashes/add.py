"""Filing by hand: run a file against a target, and keep what it shows.

The key insight: what is filed is what was seen just now, with the versions of now, whatever the
person who hands it in believes to have seen.
"""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from wirefence.fuzz.crashes.classes import classes
from wirefence.fuzz.crashes.minimize import Terms, minimize
from wirefence.fuzz.crashes.rerun import Runners, Subject
from wirefence.fuzz.crashes.same import same
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.gate.server.server_name import label_of
from wirefence.fuzz.store.metadata import Status, describe
from wirefence.fuzz.store.scan import Entry, scan
from wirefence.fuzz.store.status import is_fixed
from wirefence.fuzz.store.store import Store, place_of
from wirefence.oracles.records import Finding
from wirefence.strategies.records import Case
from wirefence.targets.command.records import Launch
from wirefence.targets.parsers.configs import BY_NAME, library_versions

__all__ = ["Added", "Wanted", "add", "add_classes"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of a file's findings is filed, and as what.

    ``signature`` is a part of those wanted (all, if empty); ``smaller`` says whether to minimize.
    ``versions`` are those of a server, which cannot be told from here. ``sides`` are the two of a
    difference, with the interpreter of both in ``python`` (``""`` for the usual one).
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
class Added:
    """What was filed, and what was not: a sentence for each."""

    entries: tuple[Entry, ...]
    refused: tuple[str, ...]


def add(case: Case, launch: Launch | None, wanted: Wanted, store: Store) -> Added:
    """File what ``case`` shows, minimized; what is on file already is refused.

    Raises UsageError where nothing is shown or named, TargetError for a target that cannot start.
    """
    subject = _subject(launch, wanted)
    with Runners(subject, patience=wanted.patience) as runners:
        (found,) = runners.run([case])
    chosen = [each for each in found if wanted.signature in each.signature]
    if not chosen:
        seen = f"; it shows {'; '.join(f.signature for f in found[:5])}" if found else ""
        raise UsageError(f"{subject.target} shows no such finding{seen}", "try wirefence explain")
    store.prepare()
    entries: dict[Path, Entry] = {}
    refused: list[str] = []
    for each in chosen:
        made = _file(each, case, subject, wanted, store)
        if isinstance(made, str):
            refused.append(made)
        else:
            entries[made.path] = made
    return Added(tuple(entries.values()), tuple(refused))


def _subject(launch: Launch | None, wanted: Wanted) -> Subject:
    if wanted.sides:
        options = {"python": wanted.python} if wanted.python else {}
        return Subject(" to ".join(wanted.sides), sides=wanted.sides, options=options)
    if launch is not None:
        return Subject(wanted.target or label_of(launch), launch)
    if not wanted.target:
        raise UsageError("no target was named", "give --target or the command of a server")
    return Subject(wanted.target)


def _file(
    found: Finding, case: Case, subject: Subject, wanted: Wanted, store: Store
) -> Entry | str:
    """One finding as a reproducer, or the reason why it is none."""
    if known := _known(found, case, scan(store.folder).entries):
        return f"{found.signature} is known already, as {known.id} ({known.metadata.status})"
    metadata = describe(
        found,
        case,
        versions={**_here(found, subject), **wanted.versions},
        launch=subject.launch,
        options=subject.options,
        sides=subject.sides,
        status=wanted.status,
        note=wanted.note,
    )
    if not wanted.smaller:
        return Entry(store.put(metadata, case.data), metadata, case)
    with tempfile.TemporaryDirectory(prefix="wirefence-") as place:
        aside = Store(Path(place))
        entry = Entry(aside.put(metadata, case.data), metadata, case)
        said = minimize(entry, aside, Terms(patience=wanted.patience), lambda *_: None)
        if said.state == "gone":
            return f"{found.signature} does not show a second time"
        small = said.entry
    if known := _known(small.metadata.finding(), small.case, scan(store.folder).entries):
        return f"{found.signature} is known already, in its smallest form, as {known.id}"
    return replace(small, path=store.put(small.metadata, small.case.data))


def _here(found: Finding, subject: Subject) -> dict[str, str]:
    if subject.launch is not None:
        return {}
    if subject.sides:
        # Comparisons need much that nothing else here does.
        from wirefence.fuzz.crashes.compared_sides import versions_of  # noqa: PLC0415

        return versions_of(subject.sides, subject.options)
    return _versions(found)


def _known(found: Finding, case: Case, entries: Iterable[Entry]) -> Entry | None:
    """What is on file for a fault; of a fixed one, its very bytes only."""
    alike = (each for each in entries if same(found)(each.metadata.finding()))
    return next((each for each in alike if not is_fixed(each) or each.case == case), None)


def _versions(found: Finding) -> dict[str, str]:
    """The versions that a finding may depend on: of one parser's library, or of all."""
    here = {**library_versions(), "python": platform.python_version()}
    name = found.target.removeprefix("parser:")
    if name not in BY_NAME:
        return here
    library = BY_NAME[name].library
    return {each: version for each, version in here.items() if each in (library, "python")}


def add_classes(store: Store, generated: int = 3_000) -> Added:
    """File the smallest document for each class of divergence, as ``upstream``, with versions."""
    store.prepare()
    entries: list[Entry] = []
    refused: list[str] = []
    for found, case, size in classes(generated):
        path = store.folder / place_of(found)
        if path.exists():
            refused.append(f"{found.signature} is known already")
            continue
        metadata = describe(found, case, versions=_versions(found), status="upstream")
        metadata = replace(metadata, original_size=size)
        entries.append(Entry(store.put(metadata, case.data), metadata, case))
    return Added(tuple(entries), tuple(refused))
