"""The nightly round: replay, campaign, minimize, commit, and one paragraph about it.

The key insight: every step leaves its result on disk before the next begins, and the notes say how
far the round has come. A round that is killed goes on where it was; one that is started beside
another is refused by a lock that dies with its process.
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

from wirefence.fuzz.campaign.campaign import Budget, campaign
from wirefence.fuzz.crashes.commit import commit, sort_out, waiting
from wirefence.fuzz.crashes.git import Repository
from wirefence.fuzz.crashes.minimize import Minimized, Terms, minimize
from wirefence.fuzz.crashes.nightly_config import Nightly
from wirefence.fuzz.crashes.render import cut
from wirefence.fuzz.crashes.replay import ERROR, Replayed, exit_code, replay_all
from wirefence.fuzz.errors import FOUND, NOTHING, USAGE, UsageError
from wirefence.fuzz.examination.cases import corpus
from wirefence.fuzz.examination.events import Event, Finished, Listener, Progress, Tally
from wirefence.fuzz.examination.hypothesis_cases import hypothesis_cases
from wirefence.fuzz.examination.plan import Plan
from wirefence.fuzz.store.atomic_write import write_whole
from wirefence.fuzz.store.scan import Entry, Problem, Shelf, scan
from wirefence.fuzz.store.status import forget_fixed, is_fixed
from wirefence.fuzz.store.store import Store
from wirefence.fuzz.store.typed_records import Bounds, as_content, decode_record
from wirefence.targets.errors import TargetError

__all__ = ["Report", "nightly"]

_HYPOTHESIS_CASES = 100
_EVERY = 2.0
_STALE = 20 * 3600.0
_NAMED, _SAID = 4, 120

Say = Callable[[str], None]


@dataclass(slots=True)
class _Notes:
    """How far the round has come: when it began (Unix time), its seed, what is done of it."""

    began: float
    seed: int
    spent: Annotated[float, Bounds(least=0)] = 0.0
    attempt: Annotated[int, Bounds(least=0)] = 0
    minimized: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Report:
    """What a round did; :meth:`text` is a paragraph, :meth:`code` the exit code."""

    replayed: list[Replayed] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    seconds: float = 0.0
    seed: int = 0
    resumed: bool = False
    signatures: int = 0
    faults: list[Entry] = field(default_factory=list)
    minimized: list[Minimized] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    commit: str = ""
    branch: str = ""
    waiting: list[Entry] = field(default_factory=list)
    corpus_bytes: int = 0

    def code(self) -> int:
        """0 nothing new and all as expected, 1 if not, 2 where something could not be used."""
        replays = exit_code(self.replayed)
        if replays == USAGE or self.problems or self.troubles:
            return USAGE
        return FOUND if self.faults or replays else NOTHING

    def text(self) -> str:
        """The round in one paragraph."""
        said = self._past(), self._campaign(), self._new(), self._waiting(), self._rest()
        return " ".join(filter(None, said))

    def _past(self) -> str:
        odd = [each for each in self.replayed if not each.expected]
        if not self.replayed:
            return "There were no reproducers to replay."
        said = f"{len(self.replayed)} reproducers were replayed"
        if not odd:
            return f"{said}, all as their status says."
        named = ", ".join(f"{each.entry.id} {each.verdict}" for each in odd[:10])
        return f"{said}; {len(odd)} not as their status says: {named}."

    def _campaign(self) -> str:
        return (
            f"A campaign{' (resumed)' if self.resumed else ''} of {self.seconds:.0f} s with seed "
            f"{self.seed} ran {self.tally.cases:,} cases and {self.tally.comparisons:,} parses."
        )

    def _new(self) -> str:
        if not self.faults:
            return "It found nothing new."
        named = ", ".join(
            f"{each.id} ({cut(each.metadata.target, 40)} {each.metadata.rule}, "
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

    def _waiting(self) -> str:
        count = len(self.waiting)
        if not count:
            return ""
        what = "reproducer waits" if count == 1 else "reproducers wait"
        return f"{count} {what} on {self.branch} since earlier rounds."

    def _rest(self) -> str:
        odd = [*self.troubles, *(f"{each.path} {each.what}" for each in self.problems)]
        size = f"The corpus has {self.corpus_bytes / 1e6:.1f} MB."
        return f"{size} Not usable: {_gathered(odd)}." if odd else size


def _gathered(troubles: Sequence[str]) -> str:
    """A few troubles in a line: what was said of several things is said once, with the first."""
    kinds = Counter(each.partition(" ")[2] for each in troubles)
    first = {each.partition(" ")[2]: each for each in reversed(troubles)}
    said = [
        cut(first[kind], _SAID) + (f" (and {count - 1} more like it)" if count > 1 else "")
        for kind, count in kinds.most_common(_NAMED)
    ]
    rest = len(kinds) - len(said)
    return "; ".join([*said, *([f"{rest} other troubles"] if rest else [])])


def nightly(config: Nightly, listener: Listener, say: Say, *, branch: str = "") -> Report:
    """Run one round, or go on with one that was killed, and return its report.

    ``branch`` is committed to instead of the configured one. Raises UsageError if another round
    runs on the same directory, if the index is dirty where a commit is asked for, or where a
    directory cannot be used; TargetError where a target cannot be started.
    """
    work, branch = Path(config.work), branch or config.branch
    if branch:
        Repository.around(Path(config.reproducers)).refuse_dirty_index()
    with _only_one(work):
        notes, resumed = _notes(work, config)
        report = Report(seed=notes.seed, resumed=resumed, branch=branch)
        report.waiting += waiting(Path(config.reproducers), branch)
        _replay(config, report, say)
        _campaign(config, report, notes, listener)
        _minimize(config, report, notes, say)
        _file(config, report, branch)
        report.corpus_bytes = _bound(work / "corpus", config.corpus_megabytes * 1e6)
        (work / "nightly.json").unlink(missing_ok=True)
    return report


@contextmanager
def _only_one(work: Path) -> Iterator[None]:
    """Hold the lock of a work directory; it goes with the process, however that ends."""
    try:
        work.mkdir(parents=True, exist_ok=True)
        lock = (work / "nightly.lock").open("a+")
    except OSError as error:
        raise _unwritable(work, error) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            who = lock.read().strip() or "unknown"
            raise UsageError(
                f"another round runs on {work} (process {cut(who, 20)})", "wait for it"
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def _notes(work: Path, config: Nightly) -> tuple[_Notes, bool]:
    """The notes of the round that was killed, or of a new one."""
    try:
        notes = decode_record((work / "nightly.json").read_bytes(), _Notes)
    except (OSError, ValueError):
        notes = None
    if notes is None or not 0 <= time.time() - notes.began < _STALE:
        notes = _Notes(time.time(), _seed(config))
        _write(work, notes)
        return notes, False
    # The same cases again would find the same again.
    notes.attempt += 1
    _write(work, notes)
    return notes, True


def _write(work: Path, notes: _Notes) -> None:
    try:
        write_whole(work / "nightly.json", json.dumps(as_content(notes)).encode())
    except OSError as error:
        raise _unwritable(work / "nightly.json", error) from error


def _unwritable(path: Path, error: OSError) -> UsageError:
    reason = error.strerror or type(error).__name__
    return UsageError(f"cannot write to {path}: {reason}", "mend that, or choose another work")


def _seed(config: Nightly) -> int:
    if config.seed == "random":
        return secrets.randbits(32)
    return datetime.now(UTC).toordinal() if config.seed == "date" else config.seed


def _replay(config: Nightly, report: Report, say: Say) -> None:
    shelf = scan(Path(config.reproducers))
    report.problems += shelf.problems
    say(f"replaying {len(shelf.entries)} reproducers")
    report.replayed += replay_all(shelf.entries, patience=config.patience)
    report.troubles += [
        f"{each.entry.id} could not be run: {each.detail}"
        for each in report.replayed
        if each.verdict == ERROR
    ]


def _campaign(config: Nightly, report: Report, notes: _Notes, listener: Listener) -> None:
    """Spend what is left of the budget. Findings go to disk one by one.

    Raises KeyboardInterrupt where that ended it: the round is to be gone on with, not to be closed.
    """
    work, left = Path(config.work), config.seconds - notes.spent
    if left < 1:
        return
    before, told, reasons = notes.spent, [0.0], list[str]()

    def listen(event: Event) -> None:
        listener(event)
        if isinstance(event, Progress) and event.seconds - told[0] >= _EVERY:
            told[0] = event.seconds
            notes.spent = min(before + event.seconds, config.seconds)
            _write(work, notes)
        elif isinstance(event, Finished):
            report.tally, report.seconds = event.tally, event.seconds
            reasons.append(event.reason)
            notes.spent = config.seconds if event.reason == "done" else notes.spent
            _write(work, notes)

    report.seed = seed = notes.seed + (notes.attempt << 32)
    known = _known(config, report)
    given = [entry.case for entry in known]
    given += corpus([Path(each) for each in config.corpus])
    given += hypothesis_cases(seed, _HYPOTHESIS_CASES)
    plan = Plan(config.targets, seed, config.versions, config.profile)
    budget = Budget(left, None, config.workers, config.patience)
    forget_fixed(work / "findings", known)
    campaign(plan, budget, work / "findings", listen, given=given, known=_standing(known))
    if "interrupted" in reasons:
        raise KeyboardInterrupt


def _known(config: Nightly, report: Report) -> list[Entry]:
    """Reproducers, those that wait on the branch too."""
    return [*scan(Path(config.reproducers)).entries, *report.waiting]


def _standing(known: Sequence[Entry]) -> frozenset[str]:
    return frozenset(entry.metadata.signature for entry in known if not is_fixed(entry))


def _minimize(config: Nightly, report: Report, notes: _Notes, say: Say) -> None:
    """Reduce what is new, small ones first: their faults explain many of the larger ones."""
    work = Path(config.work)
    store = Store(work / "findings")
    entries = [each for each in _new(config, report).entries if each.id not in notes.minimized]
    terms = Terms(config.minimize_seconds, config.workers, patience=config.patience)
    for place, entry in enumerate(sorted(entries, key=lambda each: each.metadata.size), 1):
        say(f"minimizing {place} of {len(entries)}: {entry.id} {cut(entry.metadata.rule)}")
        try:
            said = minimize(entry, store, terms, lambda _runs, _size: None)
        except (UsageError, TargetError) as error:
            report.troubles.append(f"{entry.id} was not minimized: {error}")
            continue
        report.minimized.append(said)
        notes.minimized += {entry.id, said.entry.id}
        _write(work, notes)


def _new(config: Nightly, report: Report) -> Shelf:
    """Findings that are no reproducers yet, or are of faults that were fixed."""
    found = scan(Path(config.work) / "findings", findings=True)
    known = _standing(_known(config, report))
    report.problems += [each for each in found.problems if each not in report.problems]
    fresh = [each for each in found.entries if each.metadata.signature not in known]
    return Shelf(tuple(fresh), found.problems)


def _file(config: Nightly, report: Report, branch: str) -> None:
    """Divide what is new into faults and commit them, where that is asked for."""
    fresh = _new(config, report).entries
    report.signatures = len(fresh)
    report.faults, _ = sort_out(fresh, _known(config, report), patience=config.patience)
    if branch and report.faults:
        report.commit = commit(report.faults, Path(config.reproducers), branch=branch)


def _bound(folder: Path, most: float) -> int:
    """Keep a folder of inputs below ``most`` bytes; large inputs go first. Return its size."""
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
