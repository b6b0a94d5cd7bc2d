"""The user's own inputs: files, JSON Lines, and transcripts of the release gate.

The key insight: what matters to a user first is traffic that already flows, so these inputs come
before any other, are never left out for lack of time, and are counted apart.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.paths import exists, is_file, is_folder
from wirefence.fuzz.store.store import content_of

__all__ = ["reproducers", "traffic", "unreadable"]

_LINES = (".jsonl", ".ndjson", ".frame", ".log", ".txt")
_TRANSCRIPT = ".transcript"
_CUT = " bytes"
"""How a transcript ends a line that it does not show as a whole."""
_ESCAPE = re.compile(r"""\\(?:[\\'"nrt]|x[0-9a-f]{2})""")
"""What Python, and gate, write for a byte that they do not show as it is."""


def traffic(paths: Sequence[Path]) -> Iterator[bytes]:
    """Every document of every file below ``paths``, in the order of their names.

    A file of lines (JSON Lines, a session's bytes) gives each line; a ``.transcript`` of gate gives
    every frame that went in or came out and is shown whole, in Python's escapes; any other file is
    a document as a whole and, if it has several lines, each of them as well. Raises UsageError for
    a path that cannot be read.
    """
    for file in _files(paths):
        yield from _documents(file)


def unreadable(paths: Sequence[Path]) -> int:
    """How many lines of transcripts :func:`traffic` leaves out, as gate did not write them."""
    transcripts = (file for file in _files(paths) if file.suffix == _TRANSCRIPT)
    return sum(not _is_escaped(line) for file in transcripts for line in _lines(file))


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if not exists(path):
            raise UsageError(f"there is no corpus at {path}", "check the path")
        if not is_file(path) and not is_folder(path):
            raise UsageError(f"{path} is neither file nor folder", "name a corpus")
        for file in [path] if is_file(path) else sorted(path.rglob("*")):
            if file.is_file() and not file.name.startswith("."):
                yield file


def _read(file: Path) -> bytes:
    try:
        return content_of(file)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(f"cannot read {file}: {reason}", "check the path") from error


def _documents(file: Path) -> Iterator[bytes]:
    if file.suffix == _TRANSCRIPT:
        yield from _frames(file)
        return
    raw = _read(file)
    lines = [line for line in raw.split(b"\n") if line.strip()]
    if file.suffix not in _LINES:
        yield raw
        if len(lines) < 2:
            return
    yield from lines


def _frames(file: Path) -> Iterator[bytes]:
    """The frames of a transcript; what is not escaped as Python's bytes are is left out."""
    for line in _lines(file):
        if _is_escaped(line):
            yield codecs.escape_decode(line.encode())[0].removesuffix(b"\n")


def _is_escaped(line: str) -> bool:
    """Whether each backslash of a line begins an escape as Python writes it."""
    return "\\" not in _ESCAPE.sub("", line)


def _lines(file: Path) -> Iterator[str]:
    """The lines of a transcript behind ``>`` and ``<``, as far as they are whole."""
    for line in _read(file).decode(errors="replace").split("\n"):
        if line.startswith(("> ", "< ")) and not (" ... " in line and line.endswith(_CUT)):
            yield line[2:].removesuffix(" (no LF)")


def reproducers(folder: Path) -> Iterator[bytes]:
    """Every committed crash below ``folder``: its bytes whole and each of its lines.

    Raises UsageError for one that cannot be read.
    """
    if not is_folder(folder):
        return
    for path in sorted(folder.rglob("*.frame")):
        raw = _read(path)
        yield raw
        yield from raw.split(b"\n")
