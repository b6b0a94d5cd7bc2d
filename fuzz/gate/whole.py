"""Files that are the old one or the new one, and never half of either.

The key insight: what reads a report or a baseline takes a file that is cut short for the whole of
it, so the new content stands beside the old until it is complete.
"""

from __future__ import annotations

import os
from pathlib import Path

from fuzz.errors import UsageError

__all__ = ["may_write", "write_whole"]


def may_write(path: Path) -> bool:
    """Whether :func:`write_whole` may: in place of a file it needs the folder too."""
    written = not path.exists() or os.access(path, os.W_OK)
    return written and (_is_stream(path) or os.access(path.resolve().parent, os.W_OK))


def write_whole(path: Path, content: bytes, hint: str) -> None:
    """Put content in place of a file, or raise UsageError with ``hint`` and leave the old one.

    A link stays one. What is no file, such as ``/dev/stdout``, is written to as it is.
    """
    real = path.resolve()
    part = path if _is_stream(path) else real.with_name(f".{real.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        if part != path:
            part.replace(real)
    except OSError as error:
        if part != path:
            part.unlink(missing_ok=True)
        raise UsageError(f"cannot write to {path}: {error.strerror}", hint) from error


def _is_stream(path: Path) -> bool:
    """Also a descriptor, whatever it leads to: a shell has sent it there."""
    named = path.absolute().parts[1:2]
    return named in (("dev",), ("proc",)) or (path.exists() and not path.is_file())
