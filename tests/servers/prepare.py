"""Environments of other people's servers: installed once from pinned lists, whole or absent.

A mark is written last and names everything that was asked for, so what was
interrupted, or made from other lists or by another Python, is made anew. Whoever comes while an
installation runs waits for it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

from tests.servers.catalogue import HERE, ROOT, Place, folder_of
from wirefence.targets.environments.installers import Request, choose_installer
from wirefence.targets.environments.interpreters import find_interpreter
from wirefence.targets.errors import TargetError

__all__ = ["npm_error", "prepare"]

_SECONDS = 600.0
_OLDEST_NODE = 20
_AWAY = re.compile(r"\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|E?TIMEDOUT)\b")


def prepare(place: Place) -> Path:
    """The folder of an environment that is ready, made now if need be. Raises TargetError."""
    folder = ROOT / folder_of(place)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.with_suffix(".lock")) as held:
        mark, wanted = folder / "wirefence-mark", _wanted(place)
        if not mark.exists() or mark.read_text(encoding="ascii") != wanted:
            shutil.rmtree(folder, ignore_errors=True)
            _node(folder) if place == "node" else _python(folder, place, held)
            mark.write_text(wanted, encoding="ascii")
    return folder


def _lists(place: Place) -> tuple[Path, ...]:
    names = ("package.json", "package-lock.json") if place == "node" else (f"{place}.txt",)
    return tuple(HERE / name for name in names)


def _wanted(place: Place) -> str:
    """A digest of what is to be installed, and of the place and the Python it is for."""
    parts = [path.read_bytes() for path in _lists(place)]
    parts += [str(ROOT).encode(), b"" if place == "node" else sys.version.encode()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    held = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield held
    finally:
        os.close(held)


def _python(folder: Path, place: Place, held: int) -> None:
    interpreter, installer = find_interpreter(None), choose_installer()
    (pins,) = _lists(place)
    installer.create(folder, interpreter, held)
    asked = Request(f"--requirement={pins}", f"the servers of {pins.name}")
    installer.install(folder, asked, interpreter, held)


def _node(folder: Path) -> None:
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None or _too_old(node):
        raise TargetError("there is no node with npm on PATH that is fit", "install Node.js 20")
    folder.mkdir(parents=True)
    for path in _lists("node"):
        shutil.copy(path, folder)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=_SECONDS
    )
    if done.returncode:
        raise npm_error(done.stderr)


def _too_old(node: str) -> bool:
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.", said)
    return found is None or int(found[1]) < _OLDEST_NODE


def npm_error(said: str) -> TargetError:
    """The sentence for an installation that failed, from the words of npm."""
    what = "the servers of package.json"
    if _AWAY.search(said):
        return TargetError(
            f"no package index could be reached for {what} (tried with npm)", "check the network"
        )
    first = next((line for line in said.splitlines() if "npm error" in line), said[:200])
    return TargetError(f"npm could not install {what}: {first.strip()}")


if __name__ == "__main__":  # for scripts, before they start what they don't want to wait for
    try:
        for word in sys.argv[1:]:
            prepare(next(place for place in get_args(Place) if place == word))
    except TargetError as error:
        sys.exit(str(error))
