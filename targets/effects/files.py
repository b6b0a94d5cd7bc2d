"""Files below watched folders: what is new, what grew, what changed, what is gone.

Of a file that grew only the new bytes are looked at, so that a log which holds
every earlier action name does not blame all of them on the latest frame.
"""

from __future__ import annotations

import os
import stat
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from wirefence.targets.command.records import Launch
from wirefence.targets.effects.records import Observed

__all__ = ["MAX_FILES", "FileRecorder"]

MAX_FILES = 20_000
_LIMIT = 1 << 20
_SETTLED = 0.05
_PRUNED = frozenset({b".git", b"node_modules", b"__pycache__"})


@dataclass(frozen=True, slots=True)
class _State:
    inode: int
    size: int
    changed: int


class FileRecorder:
    """Names and content of files that appear, change or go below some folders.

    It looks when :meth:`take` is called. Of one file, at most 1 MiB of new bytes are kept. Links
    are not followed; ``.git``, ``node_modules`` and ``__pycache__`` are not entered.
    """

    name = "files"
    blind = (
        "files outside the watched folders, and those that come and go, or are written with the "
        "same size within one tick of the clock, between two looks"
    )

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = tuple(folders)
        self._known: dict[bytes, _State] = {}
        self._sums: dict[bytes, int] = {}

    def unavailable(self, launch: Launch) -> str:  # noqa: ARG002 - the folders decide
        if not self._folders:
            return "no folder to watch was named"
        for folder in self._folders:
            if not folder.is_dir():
                return f"{folder} is no folder"
        count = sum(1 for _ in self._files(MAX_FILES + 1))
        return f"more than {MAX_FILES} files; name a smaller folder" if count > MAX_FILES else ""

    def wrap(self, launch: Launch) -> Launch:
        self._known = dict(self._files())
        return launch

    def idle(self) -> str:
        return ""

    def take(self) -> Sequence[Observed]:
        before, self._known = self._known, dict(self._files())
        at = time.monotonic()
        seen = [
            Observed(self.name, "write", path, self._new_bytes(path, before.get(path), state), at)
            for path, state in list(self._known.items())
            if before.get(path) != state
        ]
        gone = sorted(before.keys() - self._known.keys())
        for path in gone:
            self._sums.pop(path, None)
        return [*seen, *(Observed(self.name, "delete", path, b"", at) for path in gone)]

    def close(self) -> None:
        self._known = {}
        self._sums = {}

    def _new_bytes(self, path: bytes, before: _State | None, now: _State) -> bytes:
        """What was written since the last look."""
        if before is None or before.inode != now.inode or before.size > now.size:
            if not now.size:  # made, and about to be filled: that is one act
                grown = _wait_for_growth(path, now)
                if grown.inode == now.inode:
                    self._known[path] = now = grown
            return self._read(path, 0, now.size)
        if before.size < now.size:
            return self._read(path, before.size, now.size)
        known = self._sums.get(path)
        content = self._read(path, 0, now.size)
        if known is not None and known == self._sums.get(path):
            # A file system may show the time of a write before its size.
            grown = _wait_for_growth(path, now)
            if grown.inode == now.inode and grown.size > now.size:
                self._known[path] = grown
                return self._read(path, now.size, grown.size)
        return content

    def _read(self, path: bytes, start: int, end: int) -> bytes:
        """The bytes of a file from ``start`` to ``end``, and remember the sum of all up to there.

        What was written since the file was measured belongs to the next look.
        """
        content = _bytes_of(path, start, end)
        known = self._sums.pop(path, None) if start else 0
        if known is None and start <= _LIMIT:
            known = zlib.crc32(_bytes_of(path, 0, start))
        if known is not None and len(content) == end - start:
            self._sums[path] = zlib.crc32(content, known)
        return content

    def _files(self, limit: int | None = None) -> Iterator[tuple[bytes, _State]]:
        waiting = [os.fsencode(folder.absolute()) for folder in self._folders]
        while waiting:
            for path, status in _list_entries(waiting.pop()):
                if stat.S_ISDIR(status.st_mode):
                    if path.rpartition(b"/")[2] not in _PRUNED:
                        waiting.append(path)
                    continue
                yield path, _State(status.st_ino, status.st_size, status.st_mtime_ns)
                if limit is not None:
                    limit -= 1
                    if not limit:
                        return


def _list_entries(folder: bytes) -> Iterator[tuple[bytes, os.stat_result]]:
    try:
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                try:
                    yield entry.path, entry.stat(follow_symlinks=False)
                except FileNotFoundError:  # gone since it was listed
                    continue
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return


def _wait_for_growth(path: bytes, now: _State) -> _State:
    """The state of a file once it grew, or when it has had the time to since it was changed."""
    deadline = time.monotonic() + min(_SETTLED, now.changed / 1e9 + _SETTLED - time.time())
    while time.monotonic() < deadline:
        try:
            status = os.lstat(path)
        except OSError:
            break
        if (status.st_ino, status.st_size) != (now.inode, now.size):
            return _State(status.st_ino, status.st_size, status.st_mtime_ns)
        time.sleep(0.001)
    return now


def _bytes_of(path: bytes, start: int, end: int) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:  # gone, a link, or not ours to read: the name still counts
        return b""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        return os.pread(descriptor, min(_LIMIT, end - start), start)
    finally:
        os.close(descriptor)
