"""Read the user's own inputs: files, JSON Lines, and transcripts of the gate.

The user's traffic matters most. So these inputs run first, run even if time is short, and are
counted separately.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.paths import is_file, is_folder, path_exists
from wirefence.fuzz.store.store import read_regular_file

__all__ = ["count_unreadable_lines", "read_reproducers", "read_traffic"]

_LINES = (".jsonl", ".ndjson", ".frame", ".log", ".txt")
_TRANSCRIPT = ".transcript"
_CUT = " bytes"
"""How a transcript ends a line that it does not show completely."""
_ESCAPE = re.compile(r"""\\(?:[\\'"nrt]|x[0-9a-f]{2})""")
"""Escapes that Python, and so the gate, writes for bytes that it does not print."""


def read_traffic(paths: Sequence[Path]) -> Iterator[bytes]:
    """Yield every document of every file below ``paths``, sorted by name.

    A file of lines (JSON Lines, a session's bytes) gives each line. A ``.transcript`` of the gate
    gives every frame that it shows completely. Any other file is one document, and each of its
    lines as well if it has several. Raises UsageError for a path that cannot be read.
    """
    for file in _list_files(paths):
        yield from _read_documents(file)


def count_unreadable_lines(paths: Sequence[Path]) -> int:
    """Return how many lines of transcripts :func:`read_traffic` skips, since the gate did not write
    them.
    """
    transcripts = (file for file in _list_files(paths) if file.suffix == _TRANSCRIPT)
    return sum(
        not _is_escaped(line) for file in transcripts for line in _read_transcript_lines(file)
    )


def _list_files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if not path_exists(path):
            raise UsageError(f"there is no corpus at {path}", "check the path")
        if not is_file(path) and not is_folder(path):
            raise UsageError(f"{path} is neither file nor folder", "name a corpus")
        for file in [path] if is_file(path) else sorted(path.rglob("*")):
            if file.is_file() and not file.name.startswith("."):
                yield file


def _read_file(file: Path) -> bytes:
    try:
        return read_regular_file(file)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(f"cannot read {file}: {reason}", "check the path") from error


def _read_documents(file: Path) -> Iterator[bytes]:
    if file.suffix == _TRANSCRIPT:
        yield from _read_frames(file)
        return
    raw = _read_file(file)
    lines = [line for line in raw.split(b"\n") if line.strip()]
    if file.suffix not in _LINES:
        yield raw
        if len(lines) < 2:
            return
    yield from lines


def _read_frames(file: Path) -> Iterator[bytes]:
    """Yield the frames of a transcript; lines that are not escaped like Python's bytes are
    skipped.
    """
    for line in _read_transcript_lines(file):
        if _is_escaped(line):
            yield codecs.escape_decode(line.encode())[0].removesuffix(b"\n")


def _is_escaped(line: str) -> bool:
    """Return whether each backslash of a line starts an escape as Python writes it."""
    return "\\" not in _ESCAPE.sub("", line)


def _read_transcript_lines(file: Path) -> Iterator[str]:
    """Yield the lines of a transcript after ``>`` and ``<``, if they are complete."""
    for line in _read_file(file).decode(errors="replace").split("\n"):
        if line.startswith(("> ", "< ")) and not (" ... " in line and line.endswith(_CUT)):
            yield line[2:].removesuffix(" (no LF)")


def read_reproducers(folder: Path) -> Iterator[bytes]:
    """Yield the bytes of every committed crash below ``folder``, and each of its lines.

    Raises UsageError for one that cannot be read.
    """
    if not is_folder(folder):
        return
    for path in sorted(folder.rglob("*.frame")):
        raw = _read_file(path)
        yield raw
        yield from raw.split(b"\n")
