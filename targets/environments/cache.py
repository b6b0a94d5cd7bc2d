"""Environments on disk: built once, whole or absent, whoever builds and whoever is killed.

A rename is the only step that makes an environment count. Whatever happens
before it leaves a folder with another name, which the next holder of the lock removes; and an
installer that outlives its killed parent still holds the lock, so nobody builds beside it.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from wirefence.targets.environments.installers import (
    Installer,
    Request,
    choose_installer,
    full_disk,
)
from wirefence.targets.environments.interpreters import Interpreter
from wirefence.targets.environments.specs import Spec, normalize_name
from wirefence.targets.errors import TargetError

__all__ = ["Environment", "default_cache", "get_environment"]

_MARK = "environment.json"
_SKIPPED = {".git", "__pycache__", ".venv", "target", "build", "dist", "node_modules"}
_LIST = """
import json
from importlib import metadata
print(json.dumps([[d.metadata["Name"], d.version, d.read_text("direct_url.json") or ""]
                  for d in metadata.distributions()]))
"""


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment that is ready: ``python`` runs it, ``library`` is what was asked for."""

    python: str
    library: str
    version: str
    installer: str


def default_cache() -> Path:
    """``$WIREFENCE_CACHE``, or ``wirefence`` in the user's cache folder."""
    given = os.environ.get("WIREFENCE_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(given) if given else Path(base) / "wirefence" / "environments"


def get_environment(spec: Spec, interpreter: Interpreter, cache: Path | None = None) -> Environment:
    """The environment for a specification, from the cache or built now. Raises TargetError.

    One that names no version is asked of the index each time, and kept under the version it gave.
    """
    folder = (cache or default_cache()).expanduser().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        content = _hash_content(Path(spec.wanted)) if spec.source == "path" else ""
        with _lock_key(folder, _make_key(spec, interpreter, content)) as (key, held):
            lasting = spec.source == "path" or bool(spec.pinned)
            known = _find_known(folder / key) if lasting else None
            return known or _build_environment(folder / key, held, spec, interpreter)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise full_disk(folder) from error
        reason = error.strerror or type(error).__name__
        raise TargetError(
            f"the cache {folder} cannot be used: {reason}", "choose another cache folder"
        ) from error


def _build_environment(final: Path, held: int, spec: Spec, interpreter: Interpreter) -> Environment:
    part = final.with_name(f"{final.name}.part")
    shutil.rmtree(part, ignore_errors=True)  # of a run that was killed
    try:
        made = _fill_environment(part, held, spec, interpreter, choose_installer())
        if spec.source == "path" or spec.pinned:
            return _keep_environment(part, final, made)
        exact = Spec("index", spec.name, f"=={made.version}")
        with _lock_key(final.parent, _make_key(exact, interpreter, "")) as (key, _):
            return _find_known(final.with_name(key)) or _keep_environment(
                part, final.with_name(key), made
            )
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _fill_environment(
    part: Path, held: int, spec: Spec, interpreter: Interpreter, installer: Installer
) -> Environment:
    local = spec.source == "path"
    label = Path(spec.wanted).name if local else spec.name
    target = spec.wanted if local else f"{spec.name}{spec.wanted}"
    request = Request(target, label, spec.pinned, local)
    installer.create(part, interpreter, held)
    installer.install(part, request, interpreter, held)
    name, version = _find_installed(part / "bin" / "python", spec)
    made = Environment(str(part / "bin" / "python"), name, version, installer.name)
    (part / _MARK).write_text(json.dumps(asdict(made)))
    return made


def _find_installed(python: Path, spec: Spec) -> tuple[str, str]:
    """Name and version of what was installed; a local one is known by where it came from."""
    command = [str(python), "-I", "-c", _LIST]
    try:
        asked = subprocess.run(command, capture_output=True, check=True)  # noqa: S603 - our own words
        rows = json.loads(asked.stdout)
    except (subprocess.SubprocessError, ValueError) as error:
        raise TargetError("the new environment does not run", "try again") from error
    for name, version, url in rows:
        if normalize_name(name) == spec.name or (spec.source == "path" and url):
            return normalize_name(name), version
    raise TargetError(f"{spec.name or spec.wanted} installed nothing that can be found by its name")


def _keep_environment(part: Path, final: Path, made: Environment) -> Environment:
    """Make it count: contents first, then the name, then the folder that holds the name."""
    _sync_tree(part)
    shutil.rmtree(final, ignore_errors=True)  # one whose interpreter is gone
    part.rename(final)
    _sync_folder(final.parent)
    return Environment(str(final / "bin" / "python"), made.library, made.version, made.installer)


def _find_known(final: Path) -> Environment | None:
    """What the cache holds under a name, if it is still fit to run."""
    python = final / "bin" / "python"
    try:
        made = json.loads((final / _MARK).read_bytes())
        known = Environment(str(python), made["library"], made["version"], made["installer"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return known if python.exists() else None


@contextmanager
def _lock_key(folder: Path, key: str) -> Iterator[tuple[str, int]]:
    """The key, held by one process at a time; lock files stay, so that all lock the same one."""
    held = os.open(folder / f"{key}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield key, held
    finally:
        os.close(held)


def _make_key(spec: Spec, interpreter: Interpreter, content: str) -> str:
    """A readable name that differs for each interpreter build, requirement and content."""
    wanted = re.sub(r"\s+", "", spec.wanted)
    runtime = (interpreter.executable, interpreter.build, interpreter.machine)
    parts = (spec.source, spec.name, wanted, content, *runtime)
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
    name = spec.name or Path(spec.wanted).name.partition("-")[0]
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", f"{name}-{spec.pinned or 'any'}").strip("-.")
    return f"{slug}-py{interpreter.version}-{digest}"


def _hash_content(path: Path) -> str:
    """A hash over a wheel or over the sources of a directory, by name and content."""
    found = hashlib.sha256()
    for file in [path] if path.is_file() else sorted(_list_sources(path)):
        found.update(f"{file.relative_to(path.parent)}\0{file.stat().st_size}\0".encode())
        found.update(file.read_bytes())
    return found.hexdigest()


def _list_sources(folder: Path) -> Iterator[Path]:
    for inner in folder.iterdir():
        if inner.is_dir() and not inner.is_symlink():
            if inner.name not in _SKIPPED and inner.suffix != ".egg-info":
                yield from _list_sources(inner)
        elif inner.is_file():
            yield inner


def _sync_tree(folder: Path) -> None:
    for here, _, names in os.walk(folder):
        for name in names:
            path = Path(here, name)
            if not path.is_symlink():
                with path.open("rb") as stream:
                    os.fsync(stream.fileno())
        _sync_folder(Path(here))


def _sync_folder(folder: Path) -> None:
    held = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(held)
    finally:
        os.close(held)
