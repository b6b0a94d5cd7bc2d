"""The nightly round: replay, campaign, minimize, commit, and a report of one paragraph.

Every step writes its result to disk before the next starts, and notes record the progress. So a
killed round is continued by the next call. A lock, which the system releases with the process,
refuses a second round at the same time.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from wirefence.fuzz.campaign.campaign import Budget, run_campaign
from wirefence.fuzz.crashes.commit import commit_reproducers, list_waiting, select_for_commit
from wirefence.fuzz.crashes.git import Repository
from wirefence.fuzz.crashes.minimize import MinimizeLimits, MinimizeResult, minimize_reproducer
from wirefence.fuzz.crashes.nightly_config import NightlyConfig
from wirefence.fuzz.crashes.render import shorten_text
from wirefence.fuzz.crashes.replay import ERROR, ReplayResult, choose_exit_code, replay_reproducers
from wirefence.fuzz.errors import FOUND, NOTHING, USAGE, UsageError
from wirefence.fuzz.examination.cases import read_corpus
from wirefence.fuzz.examination.events import Event, Finished, Listener, Progress, Tally
from wirefence.fuzz.examination.hypothesis_cases import hypothesis_cases
from wirefence.fuzz.examination.plan import Plan
from wirefence.fuzz.store.atomic_write import write_atomically
from wirefence.fuzz.store.scan import Entry, Problem, ScannedFolder, scan_folder
from wirefence.fuzz.store.status import delete_copies_of_fixed, is_fixed
from wirefence.fuzz.store.store import Store
from wirefence.fuzz.store.typed_records import Bounds, as_content, decode_record
from wirefence.targets.errors import TargetError

__all__ = ["NightlyReport", "run_nightly"]

_HYPOTHESIS_CASES = 100
"""Cases; generating them takes about two seconds."""
_NOTES_INTERVAL = 2.0
"""Seconds between two writes of the notes."""
_STALE = 20 * 3600.0
"""Seconds after which a killed round is not continued: the next night starts a new one."""
_NAMED, _SAID = 4, 120

Say = Callable[[str], None]


@dataclass(slots=True)
class _Notes:
    """Progress of the round: start (Unix time), seed, and what is done."""

    began: float
    seed: int
    spent: Annotated[float, Bounds(least=0)] = 0.0
    attempt: Annotated[int, Bounds(least=0)] = 0
    minimized: list[str] = field(default_factory=list)


@dataclass(slots=True)
class NightlyReport:
    """The results of a round; :meth:`format_text` is a paragraph."""

    replayed: list[ReplayResult] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    seconds: float = 0.0
    seed: int = 0
    resumed: bool = False
    signatures: int = 0
    faults: list[Entry] = field(default_factory=list)
    minimized: list[MinimizeResult] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    commit: str = ""
    branch: str = ""
    waiting: list[Entry] = field(default_factory=list)
    corpus_bytes: int = 0

    def choose_exit_code(self) -> int:
        """Return 0 if nothing is new and all is as expected, 2 if something could not be used,
        else 1.
        """
        replays = choose_exit_code(self.replayed)
        if replays == USAGE or self.problems or self.troubles:
            return USAGE
        return FOUND if self.faults or replays else NOTHING

    def format_text(self) -> str:
        """Return the round in one paragraph."""
        said = (
            self._format_replays(),
            self._format_campaign(),
            self._format_new(),
            self._format_waiting(),
            self._format_troubles(),
        )
        return " ".join(filter(None, said))

    def _format_replays(self) -> str:
        odd = [each for each in self.replayed if not each.expected]
        if not self.replayed:
            return "There were no reproducers to replay."
        said = f"{len(self.replayed)} reproducers were replayed"
        if not odd:
            return f"{said}; all match their status."
        named = ", ".join(f"{each.entry.id} {each.verdict}" for each in odd[:10])
        return f"{said}; {len(odd)} do not match their status: {named}."

    def _format_campaign(self) -> str:
        return (
            f"A campaign{' (resumed)' if self.resumed else ''} of {self.seconds:.0f} s with seed "
            f"{self.seed} ran {self.tally.cases:,} cases and {self.tally.comparisons:,} parses."
        )

    def _format_new(self) -> str:
        if not self.faults:
            return "It found nothing new."
        named = ", ".join(
            f"{each.id} ({shorten_text(each.metadata.target, 40)} {each.metadata.rule}, "
            f"{each.metadata.size:,} bytes)"
            for each in self.faults[:10]
        )
        where = f" on {self.branch}" if self.branch else ""
        kept = f"committed as {self.commit[:12]}{where}" if self.commit else "not committed"
        count = len(self.faults)
        return (
            f"{self.signatures} new signatures are {count} new fault{'s' * (count != 1)}, "
            f"{kept}: {named}."
        )

    def _format_waiting(self) -> str:
        count = len(self.waiting)
        if not count:
            return ""
        what = "reproducer waits" if count == 1 else "reproducers wait"
        return f"{count} {what} on {self.branch} since earlier rounds."

    def _format_troubles(self) -> str:
        odd = [*self.troubles, *(f"{each.path} {each.what}" for each in self.problems)]
        size = f"The corpus has {self.corpus_bytes / 1e6:.1f} MB."
        return f"{size} Not usable: {_summarize_troubles(odd)}." if odd else size


def _summarize_troubles(troubles: Sequence[str]) -> str:
    """Return a few troubles in a line; equal ones are named once, with a count."""
    kinds = Counter(each.partition(" ")[2] for each in troubles)
    first = {each.partition(" ")[2]: each for each in reversed(troubles)}
    said = [
        shorten_text(first[kind], _SAID) + (f" (and {count - 1} more like it)" if count > 1 else "")
        for kind, count in kinds.most_common(_NAMED)
    ]
    rest = len(kinds) - len(said)
    return "; ".join([*said, *([f"{rest} other troubles"] if rest else [])])


def run_nightly(
    config: NightlyConfig, listener: Listener, say: Say, *, branch: str = ""
) -> NightlyReport:
    """Run one round, or continue one that was killed, and return its report.

    ``branch`` replaces the configured one. Raises UsageError if another round runs on the same
    directory, if the index is dirty and a commit is asked for, or if a directory cannot be used;
    TargetError if a target cannot be started.
    """
    work, branch = Path(config.work), branch or config.branch
    if branch:
        Repository.find(Path(config.reproducers)).refuse_dirty_index()
    with _hold_lock(work):
        notes, resumed = _load_notes(work, config)
        report = NightlyReport(seed=notes.seed, resumed=resumed, branch=branch)
        report.waiting += list_waiting(Path(config.reproducers), branch)
        _replay_reproducers(config, report, say)
        _run_campaign(config, report, notes, listener)
        _minimize_new(config, report, notes, say)
        _commit_new(config, report, branch)
        report.corpus_bytes = _limit_folder_size(work / "corpus", config.corpus_megabytes * 1e6)
        (work / "nightly.json").unlink(missing_ok=True)
    return report


@contextmanager
def _hold_lock(work: Path) -> Iterator[None]:
    """In the block, hold the lock of a work directory; it ends with the process."""
    try:
        work.mkdir(parents=True, exist_ok=True)
        lock = (work / "nightly.lock").open("a+")
    except OSError as error:
        raise _make_write_error(work, error) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            who = lock.read().strip() or "unknown"
            raise UsageError(
                f"another round runs on {work} (process {shorten_text(who, 20)})", "wait for it"
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def _load_notes(work: Path, config: NightlyConfig) -> tuple[_Notes, bool]:
    """Return the notes of the round that was killed, or new ones; and whether it is continued."""
    try:
        notes = decode_record((work / "nightly.json").read_bytes(), _Notes)
    except (OSError, ValueError):
        notes = None
    if notes is None or not 0 <= time.time() - notes.began < _STALE:
        notes = _Notes(time.time(), _choose_seed(config))
        _save_notes(work, notes)
        return notes, False
    # A new attempt gets new cases.
    notes.attempt += 1
    _save_notes(work, notes)
    return notes, True


def _save_notes(work: Path, notes: _Notes) -> None:
    try:
        write_atomically(work / "nightly.json", json.dumps(as_content(notes)).encode())
    except OSError as error:
        raise _make_write_error(work / "nightly.json", error) from error


def _make_write_error(path: Path, error: OSError) -> UsageError:
    reason = error.strerror or type(error).__name__
    return UsageError(f"cannot write to {path}: {reason}", "mend that, or choose another work")


def _choose_seed(config: NightlyConfig) -> int:
    if config.seed == "random":
        return secrets.randbits(32)
    return datetime.now(UTC).toordinal() if config.seed == "date" else config.seed


def _replay_reproducers(config: NightlyConfig, report: NightlyReport, say: Say) -> None:
    shelf = scan_folder(Path(config.reproducers))
    report.problems += shelf.problems
    say(f"replaying {len(shelf.entries)} reproducers")
    report.replayed += replay_reproducers(shelf.entries, patience=config.patience)
    report.troubles += [
        f"{each.entry.id} could not be run: {each.detail}"
        for each in report.replayed
        if each.verdict == ERROR
    ]


def _run_campaign(
    config: NightlyConfig, report: NightlyReport, notes: _Notes, listener: Listener
) -> None:
    """Spend the rest of the budget. Findings are saved one by one.

    Raises KeyboardInterrupt if that ended it, so that the next call continues the round.
    """
    work, left = Path(config.work), config.seconds - notes.spent
    if left < 1:
        return
    before, told, reasons = notes.spent, [0.0], list[str]()

    def listen(event: Event) -> None:
        listener(event)
        if isinstance(event, Progress) and event.seconds - told[0] >= _NOTES_INTERVAL:
            told[0] = event.seconds
            notes.spent = min(before + event.seconds, config.seconds)
            _save_notes(work, notes)
        elif isinstance(event, Finished):
            report.tally, report.seconds = event.tally, event.seconds
            reasons.append(event.reason)
            notes.spent = config.seconds if event.reason == "done" else notes.spent
            _save_notes(work, notes)

    report.seed = seed = notes.seed + (notes.attempt << 32)
    known = _list_known(config, report)
    given = [entry.case for entry in known]
    given += read_corpus([Path(each) for each in config.corpus])
    given += hypothesis_cases(seed, _HYPOTHESIS_CASES)
    plan = Plan(config.targets, seed, config.versions, config.profile)
    budget = Budget(left, None, config.workers, config.patience)
    delete_copies_of_fixed(work / "findings", known)
    run_campaign(
        plan, budget, work / "findings", listen, given=given, known=_list_unfixed_signatures(known)
    )
    if "interrupted" in reasons:
        raise KeyboardInterrupt


def _list_known(config: NightlyConfig, report: NightlyReport) -> list[Entry]:
    """Return reproducers, including those that wait on the branch."""
    return [*scan_folder(Path(config.reproducers)).entries, *report.waiting]


def _list_unfixed_signatures(known: Sequence[Entry]) -> frozenset[str]:
    return frozenset(entry.metadata.signature for entry in known if not is_fixed(entry))


def _minimize_new(config: NightlyConfig, report: NightlyReport, notes: _Notes, say: Say) -> None:
    """Minimize new findings, small ones first: their faults explain many of the larger ones."""
    work = Path(config.work)
    store = Store(work / "findings")
    entries = [each for each in _scan_new(config, report).entries if each.id not in notes.minimized]
    terms = MinimizeLimits(config.minimize_seconds, config.workers, patience=config.patience)
    for place, entry in enumerate(sorted(entries, key=lambda each: each.metadata.size), 1):
        say(f"minimizing {place} of {len(entries)}: {entry.id} {shorten_text(entry.metadata.rule)}")
        try:
            said = minimize_reproducer(entry, store, terms, lambda _runs, _size: None)
        except (UsageError, TargetError) as error:
            report.troubles.append(f"{entry.id} was not minimized: {error}")
            continue
        report.minimized.append(said)
        notes.minimized += {entry.id, said.entry.id}
        _save_notes(work, notes)


def _scan_new(config: NightlyConfig, report: NightlyReport) -> ScannedFolder:
    """Return findings that are no reproducers yet, or whose fault was marked as fixed."""
    found = scan_folder(Path(config.work) / "findings", findings=True)
    known = _list_unfixed_signatures(_list_known(config, report))
    report.problems += [each for each in found.problems if each not in report.problems]
    fresh = [each for each in found.entries if each.metadata.signature not in known]
    return ScannedFolder(tuple(fresh), found.problems)


def _commit_new(config: NightlyConfig, report: NightlyReport, branch: str) -> None:
    """Group new findings into faults and commit them, if asked for."""
    fresh = _scan_new(config, report).entries
    report.signatures = len(fresh)
    report.faults, _ = select_for_commit(
        fresh, _list_known(config, report), patience=config.patience
    )
    if branch and report.faults:
        report.commit = commit_reproducers(report.faults, Path(config.reproducers), branch=branch)


def _limit_folder_size(folder: Path, most: float) -> int:
    """Delete the largest files until a folder has at most ``most`` bytes; return its size."""
    files = sorted(
        ((path.stat().st_size, path) for path in folder.rglob("*") if path.is_file()),
        key=lambda each: (-each[0], str(each[1])),
    )
    total = sum(size for size, _ in files)
    for size, path in files:
        if total <= most:
            break
        path.unlink(missing_ok=True)
        total -= size
    return total
