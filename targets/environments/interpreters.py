"""Interpreters that are here already: found, asked what they are, never downloaded.

A name on PATH is a promise (a shim may point nowhere), so every candidate is run
and believed only for what it says of itself.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from wirefence.targets.errors import TargetError

__all__ = ["Interpreter", "find_interpreter"]

_VERSION = re.compile(r"(?:python)?(\d+(?:\.\d+){0,2})")
_ASK = """
import json, platform, sys
try:
    from importlib import metadata
    pip = metadata.version("pip")
except ImportError:
    pip = ""
name, version = platform.python_implementation(), platform.python_version()
print(json.dumps([name, version, sys.version, platform.machine(), pip]))
"""
_OLDEST = (3, 8)
_SECONDS = 30.0
_HINT = "install it, or give the path of its executable"


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python: ``executable`` is a path, ``build`` its ``sys.version`` in full, ``pip`` a version.

    ``pip`` is empty where it has none.
    """

    executable: str
    implementation: str
    version: str
    build: str
    machine: str
    pip: str = ""

    @property
    def label(self) -> str:
        return f"{self.implementation} {self.version}"

    @property
    def installs_elsewhere(self) -> bool:
        """Whether its pip has ``--python``, so that environments need none of their own."""
        return _parse_numbers(self.pip)[:2] >= [22, 3]


def find_interpreter(wanted: str | None) -> Interpreter:
    """The interpreter for a version (``3.8``, ``python3.8``), a name, or a path; None for this one.

    Versions are looked for on PATH, among those of pyenv and those of uv. Raises TargetError.
    """
    if wanted is None:
        return _require_supported(_require_interpreter(sys.executable), "this Python")
    version = _VERSION.fullmatch(wanted)
    candidates = _list_candidates(version.group(1)) if version else iter([_find_named(wanted)])
    for executable in candidates:
        found = _ask_interpreter(executable) if executable else None
        if found is not None and (
            version is None or _matches_version(found.version, version.group(1))
        ):
            return _require_supported(found, wanted)
    if version is None:
        raise TargetError(f"{wanted} is no Python interpreter that runs here", _HINT)
    name = f"python{_cut_to_minor(version.group(1))}"
    tried = f"{name} on PATH, pyenv" + (" and uv" if _find_uv() else "")
    raise TargetError(f"no Python {version.group(1)} was found; tried {tried}", _HINT)


def _list_candidates(version: str) -> Iterator[str | None]:
    yield sys.executable
    yield shutil.which(f"python{_cut_to_minor(version)}")
    roots = {os.environ.get("PYENV_ROOT", ""), str(Path.home() / ".pyenv")} - {""}
    homes = [
        home for root in sorted(roots) for home in (Path(root) / "versions").glob(f"{version}*")
    ]
    for home in sorted(homes, key=lambda home: _parse_numbers(home.name), reverse=True):
        yield str(home / "bin" / "python")
    if uv := _find_uv():
        yield _found_by(uv, version)


def _found_by(uv: str, version: str) -> str | None:
    command = [uv, "python", "find", "--no-project", "--system", version]
    try:
        asked = subprocess.run(  # noqa: S603 - our own words and a version of digits
            command, capture_output=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return os.fsdecode(asked.stdout.strip()) or None


def _find_named(name: str) -> str | None:
    path = Path(name).expanduser()
    return str(path.absolute()) if path.is_file() else shutil.which(name)


def _find_uv() -> str | None:
    return shutil.which("uv")


def _cut_to_minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _parse_numbers(text: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", text)]


def _matches_version(version: str, wanted: str) -> bool:
    return _parse_numbers(version)[: wanted.count(".") + 1] == _parse_numbers(wanted)


@cache
def _ask_interpreter(executable: str) -> Interpreter | None:
    try:
        asked = subprocess.run(  # noqa: S603 - an interpreter that the user named or has on PATH
            [executable, "-I", "-c", _ASK],
            capture_output=True,
            timeout=_SECONDS,
            check=True,
            stdin=subprocess.DEVNULL,
        )
        return Interpreter(executable, *map(str, json.loads(asked.stdout)))
    except (OSError, subprocess.SubprocessError, ValueError, TypeError):
        return None


def _require_interpreter(executable: str) -> Interpreter:
    found = _ask_interpreter(executable)
    if found is None:
        raise TargetError(f"{executable} does not run", _HINT)
    return found


def _require_supported(found: Interpreter, wanted: str) -> Interpreter:
    if tuple(_parse_numbers(found.version)[:2]) < _OLDEST:
        raise TargetError(
            f"{wanted} is {found.label}, and a worker needs Python 3.8 or later",
            "choose a later one",
        )
    return found
