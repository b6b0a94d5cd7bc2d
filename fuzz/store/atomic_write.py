"""Files that are the old one or the new one, and never half of either.

The key insight: what reads a file that was cut short takes it for the whole of it, so the new
content stands beside the old until it is complete and on disk.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["may_write", "write_whole"]


def may_write(path: Path) -> bool:
    """Whether :func:`write_whole` may: in place of a file it needs the folder too."""
    written = not path.exists() or os.access(path, os.W_OK)
    return written and (_is_stream(path) or os.access(path.resolve().parent, os.W_OK))


def write_whole(path: Path, content: bytes) -> None:
    """Put content in place of a file. Raises OSError, and leaves the old one then.

    A link stays one. What is no file, such as ``/dev/stdout``, is written to as it is.
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
    """Also a descriptor, whatever it leads to: a shell has sent it there."""
    named = path.absolute().parts[1:2]
    return named in (("dev",), ("proc",)) or (path.exists() and not path.is_file())
