"""Make git commits of reproducers without touching the user's tree or index.

The commit is made in a temporary worktree. Then one git command, in a process group of its own,
moves the branch. So an interrupt at any moment leaves the repository unchanged or done.
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
    def find(cls, folder: Path) -> Repository:
        """Return the repository that contains ``folder``. Raises UsageError if there is none."""
        near = next(each for each in (folder.resolve(), *folder.resolve().parents) if each.exists())
        return cls(Path(_git_output(near, "rev-parse", "--show-toplevel")))

    def refuse_dirty_index(self) -> None:
        """Raise UsageError if something is staged, or a merge or rebase is in progress."""
        if _git_exit_code(self.root, "diff", "--cached", "--quiet"):
            raise UsageError("something is staged in git's index", "commit or unstage it first")
        for name in ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge"):
            if Path(self.root, _git_output(self.root, "rev-parse", "--git-path", name)).exists():
                raise UsageError("git is in the middle of a merge or the like", "finish it first")

    def commit(
        self, write: Callable[[Path], None], folder: Path, message: str, branch: str = ""
    ) -> str:
        """Commit what ``write`` writes to a fresh checkout; return the commit's hash.

        ``write`` gets the root of the checkout. Its changes below ``folder`` (relative) are
        committed, on ``branch`` if given (created if missing), else on the current one. Returns
        ``""`` if nothing changed. Raises UsageError, with nothing changed.
        """
        self.refuse_dirty_index()
        current = _git_output_or_empty(self.root, "symbolic-ref", "--quiet", "--short", "HEAD")
        aside = bool(branch) and branch != current
        if aside:
            _git_output(self.root, "check-ref-format", "--branch", branch)
        reference = f"refs/heads/{branch}"
        old = (
            _git_output_or_empty(self.root, "rev-parse", "--verify", "-q", reference)
            if aside
            else ""
        )
        base = old or _git_output(self.root, "rev-parse", "--verify", "HEAD")
        with self._temporary_worktree(base) as checkout:
            write(checkout)
            _git_output(checkout, "add", "--", str(folder))
            if not _git_exit_code(checkout, "diff", "--cached", "--quiet"):
                return ""
            _git_output(checkout, "commit", "--quiet", "--message", message)
            made = _git_output(checkout, "rev-parse", "HEAD")
        if aside:
            _git_output(self.root, "update-ref", reference, made, old or "0" * len(made))
        else:
            _git_output(self.root, "merge", "--quiet", "--ff-only", made)
        return made

    @contextmanager
    def check_out_branch(self, branch: str) -> Iterator[Path | None]:
        """Yield a temporary checkout of a branch; ``None`` if it is the current one or does not
        exist.

        Raises UsageError.
        """
        current = _git_output_or_empty(self.root, "symbolic-ref", "--quiet", "--short", "HEAD")
        base = _git_output_or_empty(
            self.root, "rev-parse", "--verify", "-q", f"refs/heads/{branch}"
        )
        if not base or branch == current:
            yield None
            return
        with self._temporary_worktree(base) as checkout:
            yield checkout

    @contextmanager
    def _temporary_worktree(self, base: str) -> Iterator[Path]:
        # Forget worktrees of killed processes first.
        _git_output(self.root, "worktree", "prune")
        with tempfile.TemporaryDirectory(prefix="wirefence-") as place:
            checkout = Path(place, "tree")
            _git_output(self.root, "worktree", "add", "--quiet", "--detach", str(checkout), base)
            try:
                yield checkout
            finally:
                _git_exit_code(self.root, "worktree", "remove", "--force", str(checkout))


def _run_git(where: Path, words: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    # GIT_DIR and others, which hooks set, would redirect every call to another repository.
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_DIR")}
    env = {name: value for name, value in env.items() if name not in _REDIRECTING}
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


_REDIRECTING = {"GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"}


def _git_output(where: Path, *words: str) -> str:
    done = _run_git(where, words)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        cause = said[0] if said else f"exit {done.returncode}"
        raise UsageError(f"git {words[0]} failed: {cause}", "fix that and try again")
    return done.stdout.strip()


def _git_output_or_empty(where: Path, *words: str) -> str:
    done = _run_git(where, words)
    return "" if done.returncode else done.stdout.strip()


def _git_exit_code(where: Path, *words: str) -> int:
    return _run_git(where, words).returncode
