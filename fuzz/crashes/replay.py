"""Replay reproducers: check whether each still shows its fault.

The status of a reproducer defines the expected result. An open fault that no longer shows is as
unexpected as a fixed one that does; both fail until the status is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from wirefence.fuzz.crashes.rerun import CaseRunners, Subject, make_subject
from wirefence.fuzz.errors import FOUND, NOTHING, USAGE, UsageError
from wirefence.fuzz.store.scan import Entry
from wirefence.oracles.records import Finding
from wirefence.targets.errors import TargetError
from wirefence.targets.parsers.configs import library_versions

__all__ = [
    "CHANGED",
    "ERROR",
    "FIXED",
    "STILL",
    "ReplayResult",
    "choose_exit_code",
    "replay_reproducer",
    "replay_reproducers",
]

FIXED = "FIXED"
STILL = "STILL FAILING"
CHANGED = "CHANGED"
ERROR = "ERROR"
_TRIALS = 3
"""Runs of a case until it shows its fault: some faults are unsteady."""


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What a reproducer showed now.

    ``verdict`` is ``FIXED`` (nothing), ``STILL FAILING`` (its fault), ``CHANGED`` (other faults:
    ``seen``) or ``ERROR`` (it could not be run: ``detail``). ``expected`` is whether that matches
    its status.
    """

    entry: Entry
    verdict: str
    expected: bool
    seen: tuple[Finding, ...] = ()
    detail: str = ""


def replay_reproducers(
    entries: Iterable[Entry], *, target: str = "", patience: float = 60.0
) -> Iterator[ReplayResult]:
    """Replay reproducers, those of one subject in the same process.

    With ``target``, each runs against that target and is expected to show nothing.
    """
    done: list[tuple[Entry, Subject]] = []
    for entry in entries:
        try:
            done.append((entry, Subject(target) if target else make_subject(entry.metadata)))
        except UsageError as error:
            yield ReplayResult(entry, ERROR, expected=False, detail=str(error))
    for subject, group in groupby(sorted(done, key=_by_subject), key=lambda pair: pair[1]):
        with CaseRunners(subject, patience=patience) as runners:
            for entry, _ in group:
                yield replay_reproducer(entry, runners, own=not target)


def _by_subject(pair: tuple[Entry, Subject]) -> tuple[str, str, str]:
    entry, subject = pair
    return subject.target, repr(subject), str(entry.path)


def replay_reproducer(entry: Entry, runners: CaseRunners, *, own: bool = True) -> ReplayResult:
    """Replay one reproducer with ``runners`` of its ``own`` target or of another one."""
    test = _make_test(entry.metadata.to_finding(), own=own)
    try:
        seen = _run_trials(entry, runners, test)
    except (UsageError, TargetError) as error:
        return ReplayResult(entry, ERROR, expected=False, detail=f"{error.cause}; {error.hint}")
    except RuntimeError as error:  # an internal error in the process that ran it
        return ReplayResult(entry, ERROR, expected=False, detail=str(error))
    verdict = STILL if any(map(test, seen)) else CHANGED if seen else FIXED
    said = ReplayResult(entry, verdict, expected=True, seen=tuple(seen))
    return _compare_with_status(said, own=own)


def _make_test(wanted: Finding, *, own: bool) -> Callable[[Finding], bool]:
    """Return a test for the same fault: of the ``own`` target by signature, else of any target."""
    if own:
        return lambda found: found.signature == wanted.signature
    return lambda found: (found.effect, found.deviation) == (wanted.effect, wanted.deviation)


def _run_trials(
    entry: Entry, runners: CaseRunners, test: Callable[[Finding], bool]
) -> list[Finding]:
    """Return the findings of the first run that shows the fault, else of the last run."""
    seen: list[Finding] = []
    for _ in range(_TRIALS):
        (seen,) = runners.run_cases([entry.case])
        if any(map(test, seen)):
            break
    return seen


def _compare_with_status(said: ReplayResult, *, own: bool) -> ReplayResult:
    """Compare the verdict with the status, and add what to do if they differ."""
    status, entry = said.entry.metadata.status, said.entry
    if status == "fixed" or not own:
        good = said.verdict == FIXED
        again = f": wirefence crashes mark {entry.id} open" if own else ""
        detail = "" if good else f"it must show nothing{again}"
    else:
        good = said.verdict == STILL
        detail = "" if good else _explain_change(entry, said.verdict)
    return replace(said, expected=good, detail=detail)


def _explain_change(entry: Entry, verdict: str) -> str:
    here = library_versions()
    moved = [
        f"{name} {then} then, {here[name]} now"
        for name, then in entry.metadata.versions.items()
        if name in here and here[name] != then
    ]
    said = f" ({'; '.join(moved)})" if moved else ""
    if verdict == FIXED:
        return f"it shows nothing any more{said}: wirefence crashes mark {entry.id} fixed"
    return f"it shows another fault{said}: add that with wirefence crashes add, or mark this one"


def choose_exit_code(results: Iterable[ReplayResult]) -> int:
    """Return 0 if everything is as expected, 2 if something could not be run, else 1."""
    code = NOTHING
    for each in results:
        if each.verdict == ERROR:
            return USAGE
        code = code if each.expected else FOUND
    return code
