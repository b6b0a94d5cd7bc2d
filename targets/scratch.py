"""Folders for what lasts no longer than a process: what one that was killed has left is taken away.

A lock ends with its holder, however that ends, and its number can't be taken by
somebody else. So each folder is locked by its maker, and a folder that anybody can lock is nobody's
any more. All of them are in one folder of the user, so that others' are never touched.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["Scratch"]

_swept: set[str] = set()


class Scratch:
    """A new folder, at :attr:`path`, until :meth:`close`. Raises OSError where none can be made.

    It is below ``wirefence-UID`` in the system's folder for temporary files (``TMPDIR``), its name
    begins with ``kind``, and nobody else may look into it.
    """

    def __init__(self, kind: str) -> None:
        home = _user_folder()
        if home is not None and home not in _swept:
            _swept.add(home)
            _sweep_dead(Path(home))
        self._lock: int | None
        self.path, self._lock = _make_locked_folder(kind, home)

    def close(self) -> None:
        """Remove the folder with all that is in it. May be called twice."""
        if self._lock is not None:
            # Before the lock ends: by then others may remove it as well, and make a new one.
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _user_folder() -> str | None:
    """The user's folder; ``None`` where somebody else has taken its name or may write into it."""
    home = Path(tempfile.gettempdir()) / f"wirefence-{os.geteuid()}"
    with suppress(FileExistsError):
        home.mkdir(0o700)
    held = home.lstat()
    ours = stat.S_ISDIR(held.st_mode) and held.st_uid == os.geteuid()
    return str(home) if ours and not held.st_mode & 0o022 else None


def _make_locked_folder(kind: str, home: str | None) -> tuple[Path, int]:
    """Make a folder and lock it; one that was taken for a dead one's meanwhile is made again."""
    prefix = f"{kind}-" if home else f"wirefence-{kind}-"
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=home))
        try:
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        with suppress(OSError):  # a file system without locks: then nobody else gets one either
            fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():
            return path, lock
        os.close(lock)


def _sweep_dead(home: Path) -> None:
    for folder in home.iterdir():
        with suppress(OSError):
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
