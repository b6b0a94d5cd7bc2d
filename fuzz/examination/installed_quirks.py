"""The quirks of the installed parsers: stored ones, else probed once and cached.

The repository stores the quirks of one set of versions for each Python. With other versions
installed, the quirks are probed, since a difference that a parser always shows is no finding.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.examination.quirk_probe import probe_quirks
from wirefence.fuzz.store.atomic_write import write_atomically
from wirefence.oracles import quirks
from wirefence.oracles.quirks import Quirks
from wirefence.targets.parsers.configs import BY_NAME, library_versions

__all__ = ["changed_parsers", "installed_quirks", "other_versions", "stored_quirks"]

_ROOT = Path(__file__).resolve().parents[2]
_SOURCES = ("strategies", "targets/parsers", "oracles", "fuzz/examination")
"""Code that decides what a probe shows; a change of it makes a new cache entry."""


def stored_quirks() -> Quirks:
    """Return the quirks file of this Python, or of the nearest one. Raises UsageError."""
    try:
        return quirks.load_quirks()
    except (OSError, ValueError) as error:
        raise UsageError(
            f"the quirks file cannot be read ({error})", "run wirefence quirks --write"
        ) from error


def other_versions(stored: Quirks) -> list[str]:
    """Return the libraries, and Python, whose version differs from the stored one, with that
    version.
    """
    here = library_versions()
    return [f"{name} {here[name]}" for name in here if stored.versions.get(name) != here[name]]


def installed_quirks() -> Quirks:
    """Return the quirks of the installed parsers: stored, else cached, else probed now.

    A probe takes some ten seconds and is announced on stderr. It is cached for these versions and
    this code, if a cache folder can be written. Raises UsageError for a damaged quirks file.
    """
    stored = stored_quirks()
    other = other_versions(stored)
    if not other:
        return stored
    name = f"{_make_cache_key()}.json"
    folder = _find_cache_folder()
    if folder is not None:
        with suppress(OSError, ValueError):
            return quirks.load_quirks(folder / name)
    _print_progress(f"probing the parsers once, since no quirks are stored for {', '.join(other)}")
    begun = time.monotonic()
    found = probe_quirks()
    _print_progress(
        f"probed {len(BY_NAME)} parser configurations in {time.monotonic() - begun:.0f} s"
    )
    if folder is not None:
        with suppress(OSError):  # the next process probes again
            write_atomically(folder / name, quirks.dump_quirks(found).encode())
    return found


def changed_parsers(stored: Quirks, found: Quirks) -> list[str]:
    """Return the libraries with a configuration whose quirks differ from the stored ones."""
    names = {
        name
        for name in (*stored.known, *found.known)
        if name in BY_NAME and stored.known.get(name) != found.known.get(name)
    }
    return sorted({BY_NAME[name].library for name in names})


def _print_progress(text: str) -> None:
    print(f"wirefence: {text}", file=sys.stderr, flush=True)  # noqa: T201 - no click in workers


def _make_cache_key() -> str:
    """Return a file name for the installed versions and the code that probes them."""
    digest = hashlib.sha256(repr(sorted(library_versions().items())).encode())
    for place in map(_ROOT.joinpath, _SOURCES):
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:24]


def _find_cache_folder() -> Path | None:
    """Return a writable folder of this user: in the user's cache, else for temporary files."""
    given = os.environ.get("WIREFENCE_CACHE")
    places = [Path(given) / "quirks"] if given else []
    base = os.environ.get("XDG_CACHE_HOME")
    with suppress(RuntimeError):  # a user without a home
        places.append((Path(base) if base else Path.home() / ".cache") / "wirefence" / "quirks")
    places.append(Path(tempfile.gettempdir()) / f"wirefence-quirks-{os.getuid()}")
    return next((place for place in places if _is_private_folder(place)), None)


def _is_private_folder(folder: Path) -> bool:
    """Return whether the folder exists or was made, and no other user can have written to it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError:
        return False
    others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    ours = status.st_uid == os.getuid() and not others and not folder.is_symlink()
    return ours and os.access(folder, os.W_OK)
