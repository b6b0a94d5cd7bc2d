"""Write files atomically: a reader sees the old content or the new, never a part.

The new content goes to a file beside the old one, is synced, and replaces it in one rename.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["can_write_atomically", "write_atomically"]


def can_write_atomically(path: Path) -> bool:
    """Return whether :func:`write_atomically` may write ``path``: it needs the folder as well."""
    written = not path.exists() or os.access(path, os.W_OK)
    return written and (_is_stream(path) or os.access(path.resolve().parent, os.W_OK))


def write_atomically(path: Path, content: bytes) -> None:
    """Replace the content of a file atomically. Raises OSError, and then keeps the old content.

    A symbolic link stays one. What is not a regular file, such as ``/dev/stdout``, is written
    directly.
    """
    if _is_stream(path):
        path.write_bytes(content)
        return
    path = path.resolve()
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    except BaseException:  # Ctrl-C as well
        part.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _is_stream(path: Path) -> bool:
    """Return whether ``path`` is not a regular file, or is a descriptor, which a shell may
    redirect.
    """
    named = path.absolute().parts[1:2]
    return named in (("dev",), ("proc",)) or (path.exists() and not path.is_file())
