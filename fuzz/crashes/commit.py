"""Commit findings as reproducers: select them, write them, and make the git commit.

Everybody who runs the tests relies on a reproducer. So it is accepted only if a fresh process shows
the fault again from the file alone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path

from wirefence.fuzz.crashes.git import Repository
from wirefence.fuzz.crashes.render import as_index, shorten_text
from wirefence.fuzz.crashes.replay import STILL, replay_reproducer
from wirefence.fuzz.crashes.rerun import CaseRunners, make_subject
from wirefence.fuzz.crashes.selection import Refusal, select_findings
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.store.atomic_write import write_atomically
from wirefence.fuzz.store.scan import Entry, scan_folder
from wirefence.fuzz.store.status import is_fixed, is_moved_aside
from wirefence.fuzz.store.store import Store
from wirefence.oracles.records import Finding

__all__ = ["Refusal", "commit_reproducers", "list_waiting", "select_for_commit", "write_index"]


def select_for_commit(
    entries: Collection[Entry],
    known: Sequence[Entry],
    *,
    each: bool = False,
    patience: float = 60.0,
) -> tuple[list[Entry], list[Refusal]]:
    """Divide findings into those to commit, one for each fault, and those refused.

    Refused: known signatures, further findings of a fault that is known or selected (unless
    ``each``), and findings that do not show in a fresh process. Of a ``fixed`` reproducer only the
    same bytes are refused. Give minimized findings: others may be wrong in several ways.
    """
    show = partial(_replay_in_fresh_process, patience=patience)
    return select_findings(entries, known, show, each=each)


def _replay_in_fresh_process(entry: Entry, patience: float) -> Collection[Finding] | str:
    try:
        with CaseRunners(
            make_subject(entry.metadata), patience=patience, method="spawn"
        ) as runners:
            said = replay_reproducer(entry, runners)
    except UsageError as error:
        return f"cannot be replayed: {error}"
    if said.verdict != STILL:
        return f"does not replay in a fresh process: {said.verdict} {said.detail}".rstrip()
    return said.seen


def commit_reproducers(
    entries: Sequence[Entry], folder: Path, *, branch: str = "", message: str = ""
) -> str:
    """Commit reproducers below ``folder`` with its index page; return the commit's hash.

    A fixed reproducer whose fault returned is kept beside the new one. Nothing is pushed. Raises
    UsageError for a dirty index or an error of git, with nothing changed.
    """
    repository = Repository.find(folder)
    place = _find_place(repository, folder)
    wanted = {entry.metadata.signature for entry in entries}
    mended = [
        each
        for each in scan_folder(folder).entries
        if is_fixed(each) and not is_moved_aside(each) and each.metadata.signature in wanted
    ]

    def write(checkout: Path) -> None:
        store = Store(checkout / place)
        for entry in (*mended, *entries):  # on the branch it may not be marked as fixed yet
            store.write_reproducer(entry.metadata, entry.case.data)
        write_index(checkout / place)

    made = repository.commit(write, place, message or _make_message(entries, mended), branch)
    if not made:
        raise UsageError("there is nothing to commit", "see wirefence crashes list")
    return made


def list_waiting(folder: Path, branch: str) -> list[Entry]:
    """Return reproducers that earlier rounds committed to ``branch`` and that ``folder`` lacks.

    This includes fixed faults that returned with other bytes. Only the names of their paths are
    valid. Raises UsageError.
    """
    if not branch:
        return []
    repository = Repository.find(folder)
    with repository.check_out_branch(branch) as checkout:
        if checkout is None:
            return []
        there = scan_folder(checkout / _find_place(repository, folder)).entries
    here = scan_folder(folder).entries
    stand = {each.metadata.signature for each in here if not is_fixed(each)}
    mended = {(each.metadata.signature, each.case) for each in here if is_fixed(each)}
    return [
        each
        for each in there
        if each.metadata.signature not in stand
        and (each.metadata.signature, each.case) not in mended
    ]


def _find_place(repository: Repository, folder: Path) -> Path:
    try:
        return folder.resolve().relative_to(repository.root.resolve())
    except ValueError:
        raise UsageError(f"{folder} is outside of the repository", "choose one inside") from None


def write_index(folder: Path) -> bool:
    """Write ``INDEX.md``; return whether it changed. Raises UsageError."""
    page, text = folder / "INDEX.md", as_index(scan_folder(folder).entries).encode()
    try:
        if page.is_file() and page.read_bytes() == text:
            return False
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(page, text)
    except OSError as error:
        raise UsageError(
            f"cannot write to {page}: {error.strerror}", "check its permissions"
        ) from error
    return True


def _make_message(entries: Sequence[Entry], mended: Collection[Entry]) -> str:
    back = {each.metadata.signature for each in mended}
    count = len(entries)
    if count == 1:
        title = f"Reproduce {entries[0].metadata.rule} in {entries[0].metadata.target}"
    else:
        title = f"Reproduce {count} faults"
    lines = [
        f"- {entry.id} {m.target}: {m.rule} ({m.status}, {m.size:,} bytes"
        f"{'; came back after it was fixed' * (m.signature in back)}): "
        f"{shorten_text(m.summary, 120)}"
        for entry in entries
        for m in (entry.metadata,)
    ]
    return "\n".join([shorten_text(title, 72), "", *lines, ""])
