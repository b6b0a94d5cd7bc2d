"""The user's own inputs: files, JSON Lines, and transcripts of the release gate.

The key insight: what matters to a user first is traffic that already flows, so these inputs come
before any other, are never left out for lack of time, and are counted apart.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from fuzz.errors import UsageError

__all__ = ["reproducers", "traffic"]

_LINES = (".jsonl", ".ndjson", ".frame", ".log", ".txt")
_HEX_KEYS = ("raw", "data", "bytes", "line", "frame")


def traffic(paths: Sequence[Path]) -> Iterator[bytes]:
    """Every document of every file below ``paths``, in the order of their names.

    A file of lines (JSON Lines, a session's bytes) gives each line; any other file is a document as
    a whole and, if it has several lines, each of them as well. Lines of a gate transcript give the
    frame that they hold. Raises UsageError for a path that cannot be read.
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
    lines = [line for line in raw.split(b"\n") if line.strip()]
    if file.suffix not in _LINES:
        yield raw
        if len(lines) < 2 or b"\n" not in raw.strip():
            return
    for line in lines:
        yield _frame(line)


def _frame(line: bytes) -> bytes:
    """The frame inside a line of a transcript; the line itself where it is none."""
    if not line.startswith(b'{"'):
        return line
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return line
    if not isinstance(entry, dict) or "jsonrpc" in entry:
        return line
    return _held(entry) or line


def _held(entry: dict[str, object]) -> bytes:
    for key in _HEX_KEYS:
        for name, decode in ((f"{key}_hex", bytes.fromhex), (f"{key}_base64", base64.b64decode)):
            value = entry.get(name)
            if isinstance(value, str):
                try:
                    return decode(value)
                except (ValueError, binascii.Error):
                    return b""
    return b""


def reproducers(folder: Path) -> Iterator[bytes]:
    """Every committed crash below ``folder``: its bytes whole and each of its lines."""
    if not folder.is_dir():
        return
    for path in sorted(folder.rglob("*.frame")):
        raw = path.read_bytes()
        yield raw
        yield from raw.split(b"\n")
