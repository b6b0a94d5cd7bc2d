"""Expected findings of one server: a reviewed file beside its code.

The key insight: an expectation is a signature with a reason that a person wrote. It silences
exactly that fault and nothing near it; when the fault is gone, the entry is named as stale, so that
the file never grows into a carpet. It is worth nothing for another server, so it says whose it is.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.gate.records import Budget, Facts, Flaw, Report
from wirefence.fuzz.store.atomic_write import write_whole

__all__ = ["UNREVIEWED", "Baseline", "Compared", "Expected", "Server", "load", "store"]

UNREVIEWED = "not reviewed: say here why this is accepted, or fix it"
_FORM = 1
_MOST_BYTES = 16 << 20
_BUDGETS: tuple[str, ...] = get_args(Budget)


@dataclass(frozen=True, slots=True)
class Expected:
    """One accepted finding. ``releases`` are the server's releases that showed it, in order."""

    signature: str
    rule: str
    summary: str
    note: str
    first_seen: str
    releases: tuple[str, ...] = ()

    @property
    def reviewed(self) -> bool:
        return bool(self.note.strip()) and self.note != UNREVIEWED


@dataclass(frozen=True, slots=True)
class Compared:
    """A run beside a baseline: flaws that are new, those expected, and entries that nothing showed.

    ``stale`` are entries that are gone; ``unseen`` those of which a run that tried less than the
    baseline's own can't say so.
    """

    new: tuple[Flaw, ...]
    known: tuple[Flaw, ...]
    stale: tuple[Expected, ...]
    unseen: tuple[Expected, ...]
    unreviewed: tuple[Expected, ...]

    def notes(self) -> list[str]:
        """Sentences for the report."""
        stale = [f"stale in the baseline, no longer seen: {each.signature}" for each in self.stale]
        stale += [
            f"in the baseline and not seen, but not all of it was tried: {each.signature}"
            for each in self.unseen
        ]
        open_ = [f"in the baseline without a reason: {each.signature}" for each in self.unreviewed]
        return [*stale, *open_]


@dataclass(frozen=True, slots=True)
class Server:
    """Whose findings a baseline holds, and the longest budget that it was updated with."""

    label: str = ""
    name: str = ""
    release: str = ""
    budget: str = "quick"

    @classmethod
    def of(cls, report: Report) -> Server:
        return cls(report.facts.label, report.facts.name, report.facts.release, report.budget)

    def is_other(self, facts: Facts) -> bool:
        """Whether signatures of one can't be those of the other, or mean another program."""
        labels = self.label and self.label != facts.label
        return bool(labels or (self.name and facts.name and self.name != facts.name))

    def warnings(self, facts: Facts) -> list[str]:
        """What to say before anything is concluded from a baseline that is not of this server."""
        mine, its = _called(facts.label, facts.name), _called(self.label, self.name)
        if self.is_other(facts):
            return [f"the baseline is of another server: {its}, and this is {mine}"]
        if self.release and facts.release and self.release != facts.release:
            told = f"release {self.release} of {its}, and this is {facts.release}"
            return [f"the baseline was last updated with {told}"]
        return []


def _called(label: str, name: str) -> str:
    return f"{label} ({name})" if name and name != label else label


@dataclass(frozen=True, slots=True)
class Baseline:
    """All expected findings of a server."""

    expected: tuple[Expected, ...] = ()
    server: Server = Server()

    def compare(self, report: Report) -> Compared:
        """Sort the flaws of a run."""
        entries = {entry.signature: entry for entry in self.expected}
        seen = {flaw.finding.signature for flaw in report.flaws}
        absent = tuple(e for e in self.expected if e.signature not in seen)
        tried = report.reason == "done" and _rank(report.budget) >= _rank(self.server.budget)
        return Compared(
            tuple(flaw for flaw in report.flaws if flaw.finding.signature not in entries),
            tuple(flaw for flaw in report.flaws if flaw.finding.signature in entries),
            absent if tried else (),
            () if tried else absent,
            tuple(entry for entry in self.expected if not entry.reviewed),
        )

    def applied(self, report: Report) -> Report:
        """The report with expected flaws marked as known, and a note for each entry to look at."""
        entries = {entry.signature for entry in self.expected}
        flaws = tuple(
            replace(flaw, known=flaw.finding.signature in entries) for flaw in report.flaws
        )
        warned = [f"warning: {each}" for each in self.server.warnings(report.facts)]
        notes = (*report.notes, *warned, *self.compare(report).notes())
        return replace(report, flaws=flaws, notes=notes)

    def updated(self, report: Report, today: str | None = None) -> Baseline:
        """What the file should say after this run; notes of entries that stay are kept.

        An entry that was not seen goes only if the run tried all that the baseline's own did.
        Raises UsageError for the baseline of another server.
        """
        if self.server.is_other(report.facts):
            [why] = self.server.warnings(report.facts)
            raise UsageError(why, "choose another --baseline, or remove the file")
        day = today or datetime.now(UTC).date().isoformat()
        stale = {entry.signature for entry in self.compare(report).stale}
        kept = {e.signature: e for e in self.expected if e.signature not in stale}
        for flaw in report.flaws:
            entry = kept.get(flaw.finding.signature) or _first(flaw, day)
            kept[entry.signature] = _seen_in(entry, report.facts.release)
        longest = max(report.budget, self.server.budget, key=_rank)
        server = replace(Server.of(report), budget=longest)
        return Baseline(tuple(sorted(kept.values(), key=lambda entry: entry.signature)), server)


def _rank(budget: str) -> int:
    return _BUDGETS.index(budget)


def _first(flaw: Flaw, day: str) -> Expected:
    said = flaw.finding
    return Expected(said.signature, said.rule, said.summary, UNREVIEWED, day)


def _seen_in(entry: Expected, release: str) -> Expected:
    if not release or release in entry.releases:
        return entry
    return replace(entry, releases=(*entry.releases, release))


def load(path: Path) -> Baseline:
    """Read a baseline. Raises UsageError for a file that is missing, or is no baseline."""
    try:
        content = json.loads(_read(path))
    except FileNotFoundError as error:
        raise UsageError(f"there is no baseline {path}", "add --update-baseline") from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", "check the path") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON", "mend it, or make it anew") from error
    try:
        entries, server = _entries(content), _server(content.get("server", {}))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path} is no baseline", "mend it, or make it anew") from error
    _refuse_doubles(path, entries)
    return Baseline(entries, server)


def _read(path: Path) -> bytes:
    with path.open("rb") as stream:
        content = stream.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        told = f"{path} has more than {_MOST_BYTES >> 20} MiB"
        raise UsageError(f"{told}, which no baseline has", "choose another --baseline")
    return content


def _server(fields: dict[str, object]) -> Server:
    server = Server(**{name: str(value) for name, value in fields.items()})
    _rank(server.budget)
    return server


def _entries(content: dict[str, Any]) -> tuple[Expected, ...]:
    if content["wirefence-baseline"] != _FORM:
        raise ValueError("another form")
    return tuple(_entry(fields) for fields in content["expected"])


def _entry(fields: dict[str, object]) -> Expected:
    texts = {name: value for name, value in fields.items() if isinstance(value, str)}
    releases = fields.get("releases", [])
    if not isinstance(releases, list) or not all(isinstance(each, str) for each in releases):
        raise TypeError("releases")
    return Expected(**texts, releases=tuple(releases))


def _refuse_doubles(path: Path, entries: Sequence[Expected]) -> None:
    times = Counter(entry.signature for entry in entries)
    double = next((each for each, number in times.items() if number > 1), None)
    if double is not None:
        raise UsageError(f"{path} has {double} twice", "remove one of them")


def store(path: Path, baseline: Baseline) -> None:
    """Write a baseline so that it is either the old one or the new one. Raises UsageError."""
    content = {
        "wirefence-baseline": _FORM,
        "server": asdict(baseline.server),
        "expected": _plain(baseline.expected),
    }
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    # A name that is no UTF-8 is written as JSON's own escapes, which come to be the same.
    try:
        write_whole(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise UsageError(
            f"cannot write to {path}: {error.strerror}", "choose another --baseline"
        ) from error


def _plain(entries: Iterable[Expected]) -> list[dict[str, object]]:
    return [asdict(entry) for entry in entries]
