"""Commits of reproducers, made aside and then taken over in one step.

The key insight: the commit is made in a worktree of its own, in a temporary folder. Until git
itself moves the branch, in one command that a kill of ours does not reach, nothing of the user's
tree or index has been touched.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from wirefence.fuzz.errors import UsageError

__all__ = ["Repository"]


@dataclass(frozen=True, slots=True)
class Repository:
    """A git checkout; ``root`` is its top folder."""

    root: Path

    @classmethod
    def around(cls, folder: Path) -> Repository:
        """The repository that holds ``folder``. Raises UsageError where there is none."""
        near = next(each for each in (folder.resolve(), *folder.resolve().parents) if each.exists())
        return cls(Path(_git(near, "rev-parse", "--show-toplevel")))

    def refuse_dirty_index(self) -> None:
        """Raise UsageError if something is staged, or a merge or the like is going on."""
        if _code(self.root, "diff", "--cached", "--quiet"):
            raise UsageError("something is staged in git's index", "commit or unstage it first")
        for name in ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge"):
            if Path(self.root, _git(self.root, "rev-parse", "--git-path", name)).exists():
                raise UsageError("git is in the middle of a merge or the like", "finish it first")

    def commit(
        self, write: Callable[[Path], None], folder: Path, message: str, branch: str = ""
    ) -> str:
        """Commit what ``write`` puts into a fresh checkout; return the commit's hash.

        ``write`` is given the root of the checkout; what it changes below ``folder`` (relative) is
        committed, on ``branch`` if given (made if need be), else on the current one. ``""`` is
        returned where it changed nothing. Raises UsageError, with nothing changed.
        """
        self.refuse_dirty_index()
        current = _optional(self.root, "symbolic-ref", "--quiet", "--short", "HEAD")
        aside = bool(branch) and branch != current
        if aside:
            _git(self.root, "check-ref-format", "--branch", branch)
        reference = f"refs/heads/{branch}"
        old = _optional(self.root, "rev-parse", "--verify", "-q", reference) if aside else ""
        base = old or _git(self.root, "rev-parse", "--verify", "HEAD")
        with self._worktree(base) as checkout:
            write(checkout)
            _git(checkout, "add", "--", str(folder))
            if not _code(checkout, "diff", "--cached", "--quiet"):
                return ""
            _git(checkout, "commit", "--quiet", "--message", message)
            made = _git(checkout, "rev-parse", "HEAD")
        if aside:
            _git(self.root, "update-ref", reference, made, old or "0" * len(made))
        else:
            _git(self.root, "merge", "--quiet", "--ff-only", made)
        return made

    @contextmanager
    def elsewhere(self, branch: str) -> Iterator[Path | None]:
        """A checkout of a branch, for reading; ``None`` if it is the current one or there is none.

        Raises UsageError.
        """
        current = _optional(self.root, "symbolic-ref", "--quiet", "--short", "HEAD")
        base = _optional(self.root, "rev-parse", "--verify", "-q", f"refs/heads/{branch}")
        if not base or branch == current:
            yield None
            return
        with self._worktree(base) as checkout:
            yield checkout

    @contextmanager
    def _worktree(self, base: str) -> Iterator[Path]:
        # What a kill left behind of an earlier one is forgotten first.
        _git(self.root, "worktree", "prune")
        with tempfile.TemporaryDirectory(prefix="wirefence-") as place:
            checkout = Path(place, "tree")
            _git(self.root, "worktree", "add", "--quiet", "--detach", str(checkout), base)
            try:
                yield checkout
            finally:
                _code(self.root, "worktree", "remove", "--force", str(checkout))


def _run(where: Path, words: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    # GIT_DIR and its like, as hooks set them, would point every call at another repository.
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_DIR")}
    env = {name: value for name, value in env.items() if name not in _ELSEWHERE}
    try:
        return subprocess.run(  # noqa: S603 - words of our own
            ["git", *words],  # noqa: S607 - the user's git
            cwd=where,
            env=env,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            # A kill of our process group must not stop git in the middle of a step.
            start_new_session=True,
        )
    except OSError as error:
        raise UsageError(f"cannot start git: {error.strerror}", "install git") from error


_ELSEWHERE = {"GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"}


def _git(where: Path, *words: str) -> str:
    done = _run(where, words)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        cause = said[0] if said else f"exit {done.returncode}"
        raise UsageError(f"git {words[0]} failed: {cause}", "mend that and try again")
    return done.stdout.strip()


def _optional(where: Path, *words: str) -> str:
    done = _run(where, words)
    return "" if done.returncode else done.stdout.strip()


def _code(where: Path, *words: str) -> int:
    return _run(where, words).returncode
