"""Replaying reproducers: does each still show its fault?

The key insight: what is to be expected is written in the reproducer. An open fault that no longer
shows is news as much as a fixed one that does, and both fail until somebody says so in its status.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from wirefence.fuzz.crashes.rerun import Runners, Subject, subject_of
from wirefence.fuzz.crashes.same import elsewhere, same
from wirefence.fuzz.errors import FOUND, NOTHING, USAGE, UsageError
from wirefence.fuzz.store.scan import Entry
from wirefence.oracles.records import Finding
from wirefence.targets.errors import TargetError
from wirefence.targets.parsers.configs import library_versions

__all__ = ["CHANGED", "ERROR", "FIXED", "STILL", "Replayed", "exit_code", "replay", "replay_all"]

FIXED = "FIXED"
STILL = "STILL FAILING"
CHANGED = "CHANGED"
ERROR = "ERROR"
_TRIALS = 3


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a reproducer showed now.

    ``verdict`` is ``FIXED`` (nothing), ``STILL FAILING`` (its fault), ``CHANGED`` (other faults:
    ``seen``) or ``ERROR`` (it could not be run: ``detail``). ``expected`` says whether that is what
    its status calls for.
    """

    entry: Entry
    verdict: str
    expected: bool
    seen: tuple[Finding, ...] = ()
    detail: str = ""


def replay_all(
    entries: Iterable[Entry], *, target: str = "", patience: float = 60.0
) -> Iterator[Replayed]:
    """Replay reproducers, those of one subject in the same process.

    With ``target``, each is given to that instead of its own, and is expected to show nothing.
    """
    done: list[tuple[Entry, Subject]] = []
    for entry in entries:
        try:
            done.append((entry, Subject(target) if target else subject_of(entry.metadata)))
        except UsageError as error:
            yield Replayed(entry, ERROR, expected=False, detail=str(error))
    for subject, group in groupby(sorted(done, key=_by_subject), key=lambda pair: pair[1]):
        with Runners(subject, patience=patience) as runners:
            for entry, _ in group:
                yield replay(entry, runners, own=not target)


def _by_subject(pair: tuple[Entry, Subject]) -> tuple[str, str, str]:
    entry, subject = pair
    return subject.target, repr(subject), str(entry.path)


def replay(entry: Entry, runners: Runners, *, own: bool = True) -> Replayed:
    """Replay one reproducer with ``runners``, which are of its ``own`` target or of another."""
    test = (same if own else elsewhere)(entry.metadata.finding())
    try:
        seen = _seen(entry, runners, test)
    except (UsageError, TargetError) as error:
        return Replayed(entry, ERROR, expected=False, detail=f"{error.cause}; {error.hint}")
    except RuntimeError as error:  # a fault of ours in the process that ran it
        return Replayed(entry, ERROR, expected=False, detail=str(error))
    verdict = STILL if any(map(test, seen)) else CHANGED if seen else FIXED
    said = Replayed(entry, verdict, expected=True, seen=tuple(seen))
    return _held(said, own=own)


def _seen(entry: Entry, runners: Runners, test: Callable[[Finding], bool]) -> list[Finding]:
    """The findings of a run that shows the fault, or of the last of several that do not."""
    seen: list[Finding] = []
    for _ in range(_TRIALS):
        (seen,) = runners.run([entry.case])
        if any(map(test, seen)):
            break
    return seen


def _held(said: Replayed, *, own: bool) -> Replayed:
    """Hold the verdict to the status, and say what to do where they differ."""
    status, entry = said.entry.metadata.status, said.entry
    if status == "fixed" or not own:
        good = said.verdict == FIXED
        again = f": wirefence crashes mark {entry.id} open" if own else ""
        detail = "" if good else f"it must show nothing{again}"
    else:
        good = said.verdict == STILL
        detail = "" if good else _news(entry, said.verdict)
    return replace(said, expected=good, detail=detail)


def _news(entry: Entry, verdict: str) -> str:
    here = library_versions()
    moved = [
        f"{name} {then} then, {here[name]} now"
        for name, then in entry.metadata.versions.items()
        if name in here and here[name] != then
    ]
    said = f" ({'; '.join(moved)})" if moved else ""
    if verdict == FIXED:
        return f"it shows nothing any more{said}: wirefence crashes mark {entry.id} fixed"
    return f"it shows something else{said}: file that with wirefence crashes add, or mark this one"


def exit_code(results: Iterable[Replayed]) -> int:
    """0 if everything is as expected, 2 if something could not be run, else 1."""
    code = NOTHING
    for each in results:
        if each.verdict == ERROR:
            return USAGE
        code = code if each.expected else FOUND
    return code
