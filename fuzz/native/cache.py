"""Builds kept by what they were made of: interpreter, library, compiler and flags.

A build happens in a folder of its own and gets its name by one rename, after
everything in it is on disk. So a name proves a whole build, whoever was killed meanwhile, and a
lock that ends with its process lets two runs share one build.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from wirefence.fuzz.errors import UsageError

__all__ = ["Cache", "default_root"]

_MANIFEST = "build.json"


def default_root() -> Path:
    """``wirefence/native`` in the user's cache directory (XDG base directories)."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    # The specification: a relative path in the variable is to be ignored.
    base = Path(home) if home.startswith("/") else Path.home() / ".cache"
    return base / "wirefence" / "native"


@dataclass(frozen=True, slots=True)
class Cache:
    """A folder of builds, one folder for each, shared by any number of processes."""

    root: Path

    def entry(self, label: str, identity: Mapping[str, str], make: Callable[[Path], None]) -> Path:
        """Return the folder of what ``identity`` names; ``make`` fills it when it is not there.

        Whatever ``make`` raises leaves no entry. A damaged entry is made anew. Raises UsageError
        where the folder cannot be written.
        """
        text = json.dumps(dict(sorted(identity.items())))
        key = f"{label}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        entry = self.root / key
        if _is_whole(entry):
            return entry
        try:
            with self._locked(key):
                if not _is_whole(entry):  # another process may have built it while this one waited
                    self._make(entry, identity, make)
        except OSError as error:
            raise UsageError(
                f"cannot keep builds in {self.root}: {error.strerror or type(error).__name__}",
                "set XDG_CACHE_HOME to a folder that can be written",
            ) from error
        return entry

    @contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / f".{key}.lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _make(self, entry: Path, identity: Mapping[str, str], make: Callable[[Path], None]) -> None:
        for stale in self.root.glob(f".{entry.name}.*.part"):
            shutil.rmtree(stale, ignore_errors=True)  # under the lock: its builder is dead
        part = Path(tempfile.mkdtemp(dir=self.root, prefix=f".{entry.name}.", suffix=".part"))
        try:
            make(part)
            _seal_build(part, identity)
            shutil.rmtree(entry, ignore_errors=True)
            part.rename(entry)
            _sync_path(self.root)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def _list_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _hash_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _seal_build(folder: Path, identity: Mapping[str, str]) -> None:
    """Say in the folder what it holds, and have all of it on disk."""
    digests = {str(path.relative_to(folder)): _hash_file(path) for path in _list_files(folder)}
    content = {"identity": dict(identity), "files": digests}
    (folder / _MANIFEST).write_text(json.dumps(content, indent=1) + "\n")
    for path in [*folder.rglob("*"), folder]:
        _sync_path(path)


def _sync_path(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _is_whole(folder: Path) -> bool:
    """Whether every file of a build is there as it was built."""
    try:
        files = json.loads((folder / _MANIFEST).read_bytes())["files"]
        return all(_hash_file(folder / name) == digest for name, digest in files.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
