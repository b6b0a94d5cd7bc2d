"""The baseline: a reviewed file with the expected findings of one server, kept beside its code.

An entry is a signature with a reason that a person wrote. It accepts exactly that signature. An
entry whose fault is gone is reported as stale, so the file does not grow without bound. A baseline
is valid for one server, so it names the server.
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
from wirefence.fuzz.gate.report.signs import explain_signs
from wirefence.fuzz.store.atomic_write import write_atomically
from wirefence.fuzz.store.metadata import MIGRATE

__all__ = [
    "UNREVIEWED",
    "Baseline",
    "BaselineComparison",
    "BaselineServer",
    "ExpectedFinding",
    "load_baseline",
    "store_baseline",
]

UNREVIEWED = "not reviewed: say here why this is accepted, or fix it"
_FORMAT_VERSION = 2
"""Version of the file format: signatures are target family, effect and deviation."""
_MOST_BYTES = 16 << 20
"""Bytes of a baseline file: thousands of entries; stops the reading of endless files."""
_BUDGETS: tuple[str, ...] = get_args(Budget)


@dataclass(frozen=True, slots=True)
class ExpectedFinding:
    """One accepted finding. ``releases`` are the server's releases that showed it, in order."""

    signature: str
    rule: str
    summary: str
    note: str
    first_seen: str
    releases: tuple[str, ...] = ()

    @property
    def is_reviewed(self) -> bool:
        """Whether a person wrote a reason."""
        return bool(self.note.strip()) and self.note != UNREVIEWED


@dataclass(frozen=True, slots=True)
class BaselineComparison:
    """A run compared with a baseline: new flaws, expected flaws, and entries that were not seen.

    ``stale`` are entries whose fault is gone; ``unseen`` are those that a shorter run than the
    baseline's own cannot judge.
    """

    new: tuple[Flaw, ...]
    known: tuple[Flaw, ...]
    stale: tuple[ExpectedFinding, ...]
    unseen: tuple[ExpectedFinding, ...]
    unreviewed: tuple[ExpectedFinding, ...]

    def make_notes(self) -> list[str]:
        """Return sentences for the report."""
        stale = [f"stale in the baseline, no longer seen: {each.signature}" for each in self.stale]
        stale += [
            f"in the baseline and not seen, but this run did not try everything: {each.signature}"
            for each in self.unseen
        ]
        open_ = [f"in the baseline without a reason: {each.signature}" for each in self.unreviewed]
        return [*stale, *open_]


@dataclass(frozen=True, slots=True)
class BaselineServer:
    """The server of a baseline, and the longest budget that updated it."""

    label: str = ""
    name: str = ""
    release: str = ""
    budget: str = "quick"

    @classmethod
    def of(cls, report: Report) -> BaselineServer:
        return cls(report.facts.label, report.facts.name, report.facts.release, report.budget)

    def is_other(self, facts: Facts) -> bool:
        """Whether this is another server than that of ``facts``."""
        labels = self.label and self.label != facts.label
        return bool(labels or (self.name and facts.name and self.name != facts.name))

    def make_warnings(self, facts: Facts) -> list[str]:
        """Return warnings if the baseline is of another server or release."""
        mine, its = _join_names(facts.label, facts.name), _join_names(self.label, self.name)
        if self.is_other(facts):
            return [f"the baseline is of another server: {its}, and this is {mine}"]
        if self.release and facts.release and self.release != facts.release:
            other = f"release {self.release} of {its}, and this is {facts.release}"
            return [f"the baseline was last updated with {other}"]
        return []


def _join_names(label: str, name: str) -> str:
    return f"{label} ({name})" if name and name != label else label


@dataclass(frozen=True, slots=True)
class Baseline:
    """All expected findings of a server."""

    expected: tuple[ExpectedFinding, ...] = ()
    server: BaselineServer = BaselineServer()

    def compare_report(self, report: Report) -> BaselineComparison:
        """Compare the flaws of a run with the entries."""
        entries = {entry.signature: entry for entry in self.expected}
        seen = {flaw.finding.signature for flaw in report.flaws} | report.tally.signs.keys()
        absent = tuple(e for e in self.expected if e.signature not in seen)
        tried = report.reason == "done" and _budget_rank(report.budget) >= _budget_rank(
            self.server.budget
        )
        return BaselineComparison(
            tuple(flaw for flaw in report.flaws if flaw.finding.signature not in entries),
            tuple(flaw for flaw in report.flaws if flaw.finding.signature in entries),
            absent if tried else (),
            () if tried else absent,
            tuple(entry for entry in self.expected if not entry.is_reviewed),
        )

    def mark_known(self, report: Report) -> Report:
        """Return the report with expected flaws marked, and a note for each entry to review."""
        entries = {entry.signature for entry in self.expected}
        flaws = tuple(
            replace(flaw, known=flaw.finding.signature in entries) for flaw in report.flaws
        )
        warned = [f"warning: {each}" for each in self.server.make_warnings(report.facts)]
        notes = (*report.notes, *warned, *self.compare_report(report).make_notes())
        before = report.tally.signs
        signs = {name: replace(sign, known=name in entries) for name, sign in before.items()}
        due = report.gap == explain_signs(before.values())
        gap = explain_signs(signs.values()) if due else report.gap
        tally = replace(report.tally, signs=signs)
        return replace(report, flaws=flaws, notes=notes, tally=tally, gap=gap)

    def update_from(self, report: Report, today: str | None = None) -> Baseline:
        """Return the baseline after this run; notes of remaining entries are kept.

        An unseen entry is removed only if the run tried all that the baseline's own did. Raises
        UsageError for the baseline of another server.
        """
        if self.server.is_other(report.facts):
            [why] = self.server.make_warnings(report.facts)
            raise UsageError(why, "choose another --baseline, or remove the file")
        day = today or datetime.now(UTC).date().isoformat()
        stale = {entry.signature for entry in self.compare_report(report).stale}
        kept = {e.signature: e for e in self.expected if e.signature not in stale}
        for flaw in report.flaws:
            entry = kept.get(flaw.finding.signature) or _make_entry(flaw, day)
            kept[entry.signature] = _add_release(entry, report.facts.release)
        longest = max(report.budget, self.server.budget, key=_budget_rank)
        server = replace(BaselineServer.of(report), budget=longest)
        return Baseline(tuple(sorted(kept.values(), key=lambda entry: entry.signature)), server)


def _budget_rank(budget: str) -> int:
    return _BUDGETS.index(budget)


def _make_entry(flaw: Flaw, day: str) -> ExpectedFinding:
    found = flaw.finding
    return ExpectedFinding(found.signature, found.rule, found.summary, UNREVIEWED, day)


def _add_release(entry: ExpectedFinding, release: str) -> ExpectedFinding:
    if not release or release in entry.releases:
        return entry
    return replace(entry, releases=(*entry.releases, release))


def load_baseline(path: Path) -> Baseline:
    """Read a baseline. Raises UsageError for a file that is missing or is no baseline."""
    try:
        content = json.loads(_read_limited(path))
    except FileNotFoundError as error:
        raise UsageError(f"there is no baseline {path}", "add --update-baseline") from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", "check the path") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{path} is not JSON", "correct it, or write a new one with --update-baseline"
        ) from error
    if isinstance(content, dict) and content.get("wirefence-baseline") == _FORMAT_VERSION - 1:
        raise UsageError(f"{path} is of another form", MIGRATE)
    try:
        entries, server = _parse_entries(content), _parse_server(content.get("server", {}))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{path} is no baseline", "correct it, or write a new one with --update-baseline"
        ) from error
    _reject_duplicates(path, entries)
    return Baseline(entries, server)


def _read_limited(path: Path) -> bytes:
    with path.open("rb") as stream:
        content = stream.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        problem = f"{path} has more than {_MOST_BYTES >> 20} MiB"
        raise UsageError(f"{problem}, so it is no baseline", "choose another --baseline")
    return content


def _parse_server(fields: dict[str, object]) -> BaselineServer:
    server = BaselineServer(**{name: str(value) for name, value in fields.items()})
    _budget_rank(server.budget)
    return server


def _parse_entries(content: dict[str, Any]) -> tuple[ExpectedFinding, ...]:
    if content["wirefence-baseline"] != _FORMAT_VERSION:
        raise ValueError("another form")
    return tuple(_parse_entry(fields) for fields in content["expected"])


def _parse_entry(fields: dict[str, object]) -> ExpectedFinding:
    texts = {name: value for name, value in fields.items() if isinstance(value, str)}
    releases = fields.get("releases", [])
    if not isinstance(releases, list) or not all(isinstance(each, str) for each in releases):
        raise TypeError("releases")
    return ExpectedFinding(**texts, releases=tuple(releases))


def _reject_duplicates(path: Path, entries: Sequence[ExpectedFinding]) -> None:
    times = Counter(entry.signature for entry in entries)
    double = next((each for each, number in times.items() if number > 1), None)
    if double is not None:
        raise UsageError(f"{path} has {double} twice", "remove one of them")


def store_baseline(path: Path, baseline: Baseline) -> None:
    """Write a baseline atomically: the file is the old or the new one. Raises UsageError."""
    content = {
        "wirefence-baseline": _FORMAT_VERSION,
        "server": asdict(baseline.server),
        "expected": _as_dicts(baseline.expected),
    }
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    # A name that is no UTF-8 is written as JSON escapes, which read back as the same string.
    try:
        write_atomically(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise UsageError(
            f"cannot write to {path}: {error.strerror}", "choose another --baseline"
        ) from error


def _as_dicts(entries: Iterable[ExpectedFinding]) -> list[dict[str, object]]:
    return [asdict(entry) for entry in entries]
