"""The user's own inputs: files, JSON Lines, and transcripts of the release gate.

The key insight: what matters to a user first is traffic that already flows, so these inputs come
before any other, are never left out for lack of time, and are counted apart.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from pathlib import Path

from fuzz.errors import UsageError

__all__ = ["reproducers", "traffic"]

_LINES = (".jsonl", ".ndjson", ".frame", ".log", ".txt")
_CUT = " bytes"
"""How a transcript ends a line that it does not show as a whole."""


def traffic(paths: Sequence[Path]) -> Iterator[bytes]:
    """Every document of every file below ``paths``, in the order of their names.

    A file of lines (JSON Lines, a session's bytes) gives each line; a ``.transcript`` of gate gives
    every frame that went in or came out and is shown whole; any other file is a document as a whole
    and, if it has several lines, each of them as well. Raises UsageError for a path that cannot be
    read.
    """
    for path in paths:
        if not path.exists():
            raise UsageError(f"there is no corpus at {path}", "check the path")
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.is_file() and not file.name.startswith("."):
                yield from _documents(file)


def _documents(file: Path) -> Iterator[bytes]:
    try:
        raw = file.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(f"cannot read {file}: {reason}", "mend its permissions") from error
    if file.suffix == ".transcript":
        yield from _frames(raw.decode(errors="replace"))
        return
    lines = [line for line in raw.split(b"\n") if line.strip()]
    if file.suffix not in _LINES:
        yield raw
        if len(lines) < 2:
            return
    yield from lines


def _frames(transcript: str) -> Iterator[bytes]:
    """The frames of a transcript: lines behind ``>`` and ``<``, escaped as Python's bytes are."""
    for line in transcript.split("\n"):
        if line.startswith(("> ", "< ")) and not (" ... " in line and line.endswith(_CUT)):
            shown = line[2:].removesuffix(" (no LF)")
            yield codecs.escape_decode(shown.encode())[0].removesuffix(b"\n")


def reproducers(folder: Path) -> Iterator[bytes]:
    """Every committed crash below ``folder``: its bytes whole and each of its lines."""
    if not folder.is_dir():
        return
    for path in sorted(folder.rglob("*.frame")):
        raw = path.read_bytes()
        yield raw
        yield from raw.split(b"\n")
