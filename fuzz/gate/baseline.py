"""Expected findings of one server: a reviewed file beside its code.

The key insight: an expectation is a signature with a reason that a person wrote. It silences
exactly that fault and nothing near it; when the fault is gone, the entry is named as stale, so that
the file never grows into a carpet.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fuzz.errors import UsageError
from fuzz.gate.records import Flaw, Report

__all__ = ["UNREVIEWED", "Baseline", "Compared", "Expected", "load", "store"]

UNREVIEWED = "not reviewed: say here why this is accepted, or fix it"
_FORM = 1


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

    ``stale`` is empty where the run did not try everything, since then absence says nothing.
    """

    new: tuple[Flaw, ...]
    known: tuple[Flaw, ...]
    stale: tuple[Expected, ...]
    unreviewed: tuple[Expected, ...]

    def notes(self) -> list[str]:
        """Sentences for the report."""
        stale = [f"stale in the baseline, no longer seen: {each.signature}" for each in self.stale]
        open_ = [f"in the baseline without a reason: {each.signature}" for each in self.unreviewed]
        return [*stale, *open_]


@dataclass(frozen=True, slots=True)
class Baseline:
    """All expected findings of a server."""

    expected: tuple[Expected, ...] = ()

    def compare(self, report: Report) -> Compared:
        """Sort the flaws of a run."""
        entries = {entry.signature: entry for entry in self.expected}
        seen = {flaw.finding.signature for flaw in report.flaws}
        return Compared(
            tuple(flaw for flaw in report.flaws if flaw.finding.signature not in entries),
            tuple(flaw for flaw in report.flaws if flaw.finding.signature in entries),
            tuple(e for e in self.expected if e.signature not in seen and report.reason == "done"),
            tuple(entry for entry in self.expected if not entry.reviewed),
        )

    def applied(self, report: Report) -> Report:
        """The report with expected flaws marked as known, and a note for each entry to look at."""
        entries = {entry.signature for entry in self.expected}
        flaws = tuple(
            replace(flaw, known=flaw.finding.signature in entries) for flaw in report.flaws
        )
        notes = (*report.notes, *self.compare(report).notes())
        return replace(report, flaws=flaws, notes=notes)

    def updated(self, report: Report, today: str | None = None) -> Baseline:
        """What the file should say after this run; notes of entries that stay are kept.

        An entry that was not seen goes only if the run tried everything.
        """
        day = today or datetime.now(UTC).date().isoformat()
        stale = {entry.signature for entry in self.compare(report).stale}
        kept = {e.signature: e for e in self.expected if e.signature not in stale}
        for flaw in report.flaws:
            entry = kept.get(flaw.finding.signature) or _first(flaw, day)
            kept[entry.signature] = _seen_in(entry, report.facts.release)
        return Baseline(tuple(sorted(kept.values(), key=lambda entry: entry.signature)))


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
        content = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise UsageError(f"there is no baseline {path}", "add --update-baseline") from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", "check the path") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON", "mend it, or make it anew") from error
    try:
        entries = _entries(content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path} is no baseline", "mend it, or make it anew") from error
    _refuse_doubles(path, entries)
    return Baseline(entries)


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
    signatures = [entry.signature for entry in entries]
    double = next((each for each in signatures if signatures.count(each) > 1), None)
    if double is not None:
        raise UsageError(f"{path} has {double} twice", "remove one of them")


def store(path: Path, baseline: Baseline) -> None:
    """Write a baseline so that it is either the old one or the new one. Raises UsageError."""
    content = {"wirefence-baseline": _FORM, "expected": _plain(baseline.expected)}
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise UsageError(
            f"cannot write to {path}: {error.strerror}", "choose another --baseline"
        ) from error


def _plain(entries: Iterable[Expected]) -> list[dict[str, object]]:
    return [asdict(entry) for entry in entries]
