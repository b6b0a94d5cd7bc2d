"""The C source of ``_json`` for the interpreter that runs.

An installed CPython has its headers but not its source, and the package index has
neither. What has it is a source tree that was kept, or the distribution's source package, which
has the same minor version and perhaps another patch release: good enough to build against these
headers, and said so wherever versions are shown.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import sysconfig
import tarfile
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.native.cache import Cache
from wirefence.fuzz.native.toolchain import plain_env, run_tool

__all__ = ["VARIABLE", "Source", "find_source", "sources_of"]

VARIABLE = "WIREFENCE_CPYTHON"
"""Environment variable that names a source tree of CPython."""

_MINOR = "{}.{}".format(*sys.version_info[:2])
_HINT = f"set {VARIABLE} to a source tree of CPython {_MINOR}, or leave out _json"
_DAY = 86_400
_WANTED = ("Modules/_json.c", "Modules/clinic/_json.c.h", "Include/patchlevel.h")
_VERSION = re.compile(r'#define\s+PY_VERSION\s+"([^"]+)"')
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_APT = Path("/etc/apt")


@dataclass(frozen=True, slots=True)
class Source:
    """A tree that has ``Modules/_json.c``, and the version that the tree says it is."""

    folder: Path
    version: str


def find_source(cache: Cache) -> Source:
    """Find ``_json``'s source: a named tree, a kept one, or the distribution's source package.

    Raises UsageError where there is none of this minor version.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return _check_source(Path(named))
    for folder in _list_kept_trees():
        if (folder / _WANTED[0]).is_file():
            return _check_source(folder)
    identity = {"python": platform.python_version(), "machine": platform.platform()}
    absent = cache.root / f".cpython-{_MINOR}-absent"
    fetch = partial(_fetch_source, absent=absent)
    return _check_source(cache.entry(f"cpython-{_MINOR}-source", identity, fetch))


def _list_kept_trees() -> Iterator[Path]:
    """Where the tree may be that this interpreter was built from."""
    version = platform.python_version()
    yield Path(str(sysconfig.get_config_var("abs_srcdir")))
    yield Path(sys.base_prefix).parent.parent / "sources" / version / f"Python-{version}"  # pyenv


def _check_source(folder: Path) -> Source:
    try:
        found = _VERSION.search((folder / "Include" / "patchlevel.h").read_text())
        (folder / _WANTED[0]).read_bytes()
    except OSError as error:
        raise UsageError(
            f"{folder} is no source tree of CPython ({error.strerror})", _HINT
        ) from error
    version = found[1] if found else "unknown"
    if not f"{version}.".startswith(f"{_MINOR}."):
        raise UsageError(f"{folder} is CPython {version}, and this is {_MINOR}", _HINT)
    return Source(folder, version)


def _fetch_source(into: Path, *, absent: Path) -> None:
    """Fetch the source package of this minor version and keep what ``_json`` needs of it.

    That every list was read and none has it is remembered for a day, in the file ``absent``.
    """
    if shutil.which("apt-get") is None:
        raise UsageError("the source of _json comes from apt-get, which is not here", _HINT)
    if absent.exists() and time.time() - absent.stat().st_mtime < _DAY:
        raise UsageError(f"no list of apt-get had CPython {_MINOR} today (see {absent})", _HINT)
    read = []
    for sources in _list_places():
        with tempfile.TemporaryDirectory() as name:
            archive, complete = _download_archive(Path(name), sources)
            if archive is not None:
                _extract_source(archive, into)
                return
        read.append(complete)
    if all(read):
        absent.touch()
    raise UsageError(f"apt-get reaches no source package of CPython {_MINOR}", _HINT)


def _list_places() -> Iterator[str]:
    """Lists of source packages: the machine's own distribution, then Debian's other releases."""
    files = [_APT / "sources.list", *sorted((_APT / "sources.list.d").glob("*"))]
    yield "\n\n".join(sources_of(path) for path in files if path.is_file())
    if _KEYRING.exists():
        for suite in ("stable", "unstable", "oldstable"):
            yield (
                f"Types: deb-src\nURIs: http://deb.debian.org/debian\nSuites: {suite}\n"
                f"Components: main\nSigned-By: {_KEYRING}\n"
            )


def sources_of(path: Path) -> str:
    """The source packages beside the packages that a file of apt's lists names (deb822 form)."""
    text = path.read_text(errors="replace")
    if path.suffix == ".sources":
        return re.sub(r"(?m)^Types:.*$", "Types: deb-src", text)
    if path.suffix != ".list":
        return ""
    lines = re.findall(r"(?m)^deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s*(.*)$", text)
    return "\n\n".join(_format_stanza(*parts) for parts in lines)


def _format_stanza(options: str, uri: str, suite: str, components: str) -> str:
    signed = re.search(r"signed-by=(\S+)", options)
    rest = f"\nSigned-By: {signed[1]}" if signed else ""
    return f"Types: deb-src\nURIs: {uri}\nSuites: {suite}\nComponents: {components}{rest}"


def _download_archive(work: Path, sources: str) -> tuple[Path | None, bool]:
    """Have apt fetch and verify the archive, in ``work`` and nowhere else; None where it fails.

    The second of the pair is whether all lists were read.
    """
    for folder in ("lists/partial", "cache/archives/partial", "parts"):
        (work / folder).mkdir(parents=True)
    (work / "parts" / "wirefence.sources").write_text(sources)
    options = {
        "Dir::Etc::SourceList": "/dev/null",
        "Dir::Etc::SourceParts": str(work / "parts"),
        "Dir::State::Lists": str(work / "lists"),
        "Dir::Cache": str(work / "cache"),
        "APT::Sandbox::User": "root",  # the folder is ours alone, and apt's own user can't enter
        "Acquire::Retries": "1",
        "Acquire::http::Timeout": "30",
    }
    apt = ["apt-get", "-q", *(f"-o{name}={value}" for name, value in options.items())]
    env = plain_env() | {"LC_ALL": "C"}
    update = run_tool([*apt, "--error-on=any", "update"], env=env)
    # One list of several may fail and the rest be enough.
    run_tool(
        [*apt, "--download-only", "--tar-only", "source", f"python{_MINOR}"], env=env, cwd=work
    )
    return next(iter(sorted(work.glob("python*.orig.tar.*z*"))), None), not update.returncode


def _extract_source(archive: Path, into: Path) -> None:
    with tarfile.open(archive) as packed:
        for member in packed:
            name = member.name.partition("/")[2]
            if name not in _WANTED or not member.isfile():
                continue
            stream = packed.extractfile(member)
            assert stream is not None
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            (into / name).write_bytes(stream.read())
