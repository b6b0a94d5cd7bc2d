"""What a path leads to, with a refusal of the system told apart from a path that leads nowhere.

The methods of ``pathlib.Path`` say no for a path that the system refuses (no permission, too long a
name) from Python 3.14 on. These functions raise OSError for it with each Python.
"""

from __future__ import annotations

import errno
import stat
from pathlib import Path

__all__ = ["is_file", "is_folder", "path_exists"]

_NOWHERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


def path_exists(path: Path) -> bool:
    """Whether there is something at ``path``. Raises OSError where the system refuses the path."""
    return _read_mode(path) != 0


def is_file(path: Path) -> bool:
    """Whether ``path`` leads to a regular file. Raises OSError like :func:`path_exists`."""
    return stat.S_ISREG(_read_mode(path))


def is_folder(path: Path) -> bool:
    """Whether ``path`` leads to a folder. Raises OSError like :func:`path_exists`."""
    return stat.S_ISDIR(_read_mode(path))


def _read_mode(path: Path) -> int:
    """The mode of what ``path`` leads to, 0 where it leads nowhere."""
    try:
        return path.stat().st_mode
    except ValueError:  # it holds a NUL
        return 0
    except OSError as error:
        if error.errno not in _NOWHERE:
            raise
        return 0
