"""From findings to committed reproducers: what is let in, and what the commit says.

The key insight: a reproducer is a promise to everybody who runs the tests, so it is only let in if
a process that knows nothing but the file shows the fault again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import ExitStack
from pathlib import Path

from wirefence.fuzz.crashes.bucket import Refusal, sort
from wirefence.fuzz.crashes.git import Repository
from wirefence.fuzz.crashes.render import as_index, cut
from wirefence.fuzz.crashes.replay import STILL, replay
from wirefence.fuzz.crashes.rerun import Runners, subject_of
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.store.atomic_write import write_whole
from wirefence.fuzz.store.scan import Entry, scan
from wirefence.fuzz.store.status import is_aside, is_fixed
from wirefence.fuzz.store.store import Store
from wirefence.oracles.records import Finding
from wirefence.strategies.records import Case
from wirefence.targets.errors import TargetError

__all__ = ["Refusal", "commit", "sort_out", "waiting", "write_index"]


def sort_out(
    entries: Collection[Entry],
    known: Sequence[Entry],
    *,
    each: bool = False,
    patience: float = 60.0,
) -> tuple[list[Entry], list[Refusal]]:
    """Divide findings into those to commit, one for each fault, and those refused.

    Refused is what is known by its signature, what is another symptom of a fault that is known or
    taken (unless ``each``), and what does not show its finding in a fresh process. Of what is known
    as ``fixed``, only the very bytes are refused. Give minimized findings: in others the cause
    cannot be told.
    """
    with ExitStack() as stack:
        kept: dict[str, Runners] = {}

        def run(entry: Entry, cases: Sequence[Case]) -> Sequence[Collection[Finding]]:
            try:
                subject = subject_of(entry.metadata)
                key = repr(subject)
                if key not in kept:
                    kept[key] = stack.enter_context(Runners(subject, patience=patience))
                return kept[key].run(cases)
            except (UsageError, TargetError):  # what cannot be run is refused for that
                return [[] for _ in cases]

        return sort(entries, known, lambda entry: _shown(entry, patience), None if each else run)


def _shown(entry: Entry, patience: float) -> Collection[Finding] | str:
    try:
        with Runners(subject_of(entry.metadata), patience=patience, method="spawn") as runners:
            said = replay(entry, runners)
    except UsageError as error:
        return f"cannot be replayed: {error}"
    if said.verdict != STILL:
        return f"does not replay in a fresh process: {said.verdict} {said.detail}".rstrip()
    return said.seen


def commit(entries: Sequence[Entry], folder: Path, *, branch: str = "", message: str = "") -> str:
    """Commit reproducers below ``folder`` with its index page; return the commit's hash.

    A fixed reproducer whose fault came back is kept beside what takes its place. Nothing is pushed.
    Raises UsageError for a dirty index or what git says, with nothing changed.
    """
    repository = Repository.around(folder)
    place = _place(repository, folder)
    wanted = {entry.metadata.signature for entry in entries}
    mended = [
        each
        for each in scan(folder).entries
        if is_fixed(each) and not is_aside(each) and each.metadata.signature in wanted
    ]

    def write(checkout: Path) -> None:
        store = Store(checkout / place)
        for entry in (*mended, *entries):  # the branch may not know yet that it was fixed
            store.put(entry.metadata, entry.case.data)
        write_index(checkout / place)

    made = repository.commit(write, place, message or _message(entries, mended), branch)
    if not made:
        raise UsageError("there is nothing to commit", "see wirefence crashes list")
    return made


def waiting(folder: Path, branch: str) -> list[Entry]:
    """Reproducers of ``folder`` that are on a branch only, committed there by earlier rounds.

    A fault that is fixed here waits there where it came back by other bytes.
    Of their paths only the names mean anything. Raises UsageError.
    """
    if not branch:
        return []
    repository = Repository.around(folder)
    with repository.elsewhere(branch) as checkout:
        if checkout is None:
            return []
        there = scan(checkout / _place(repository, folder)).entries
    here = scan(folder).entries
    stand = {each.metadata.signature for each in here if not is_fixed(each)}
    mended = {(each.metadata.signature, each.case) for each in here if is_fixed(each)}
    return [
        each
        for each in there
        if each.metadata.signature not in stand
        and (each.metadata.signature, each.case) not in mended
    ]


def _place(repository: Repository, folder: Path) -> Path:
    try:
        return folder.resolve().relative_to(repository.root.resolve())
    except ValueError:
        raise UsageError(f"{folder} is outside of the repository", "choose one inside") from None


def write_index(folder: Path) -> bool:
    """Write ``INDEX.md`` anew; return whether that changed it. Raises UsageError."""
    page, text = folder / "INDEX.md", as_index(scan(folder).entries).encode()
    try:
        if page.is_file() and page.read_bytes() == text:
            return False
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(page, text)
    except OSError as error:
        raise UsageError(f"cannot write to {page}: {error.strerror}", "mend that") from error
    return True


def _message(entries: Sequence[Entry], mended: Collection[Entry]) -> str:
    back = {each.metadata.signature for each in mended}
    count = len(entries)
    if count == 1:
        title = f"Reproduce {entries[0].metadata.rule} in {entries[0].metadata.target}"
    else:
        title = f"Reproduce {count} faults"
    lines = [
        f"- {entry.id} {m.target}: {m.rule} ({m.status}, {m.size:,} bytes"
        f"{'; came back after it was fixed' * (m.signature in back)}): {cut(m.summary, 120)}"
        for entry in entries
        for m in (entry.metadata,)
    ]
    return "\n".join([cut(title, 72), "", *lines, ""])
