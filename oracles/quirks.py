"""Known differences of each parser, as probed from the installed libraries.

Quirks are measured, never typed in. ``wirefence quirks --write`` makes the file
anew; a test compares it with reality.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "QUIRKS_FILE",
    "Quirks",
    "dump_quirks",
    "list_differences",
    "load_quirks",
    "nearest_file",
    "quirks_file",
]

_FOLDER = Path(__file__).parent


def quirks_file(version: tuple[int, ...] = sys.version_info[:2]) -> Path:
    """Where the quirks under an interpreter of ``version`` are stored: ``quirks-3.11.json``.

    Interpreters differ on depth and digits, and so do the builds of a library for each of them.
    """
    major, minor = version[:2]
    return _FOLDER / f"quirks-{major}.{minor}.json"


def nearest_file(version: tuple[int, ...] = sys.version_info[:2]) -> Path:
    """The file of an interpreter, or of the one nearest to it where none was probed."""
    wanted = quirks_file(version)
    stored = {int(path.stem.rpartition(".")[2]): path for path in _FOLDER.glob("quirks-3.*.json")}
    if wanted.exists() or not stored:
        return wanted
    return stored[min(stored, key=lambda minor: abs(minor - version[1]))]


QUIRKS_FILE = quirks_file()


@dataclass(frozen=True, slots=True)
class Quirks:
    """The versions that were probed and, for each parser configuration, its divergences."""

    versions: Mapping[str, str]
    known: Mapping[str, frozenset[str]]


def load_quirks(path: Path | None = None) -> Quirks:
    """Read a quirks file, by default the :func:`nearest_file`.

    Raises OSError or ValueError where it is absent or damaged.
    """
    path = path or nearest_file()
    try:
        content = json.loads(path.read_bytes())
        versions, known = content["versions"], content["quirks"]
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{path.name} holds no quirks") from error
    if not _is_table(versions, str) or not _is_table(known, list):
        raise ValueError(f"{path.name} holds no quirks")
    if not all(isinstance(quirk, str) for found in known.values() for quirk in found):
        raise ValueError(f"{path.name} holds quirks that are no text")
    return Quirks(versions, {name: frozenset(found) for name, found in known.items()})


def _is_table(value: object, kind: type) -> bool:
    return isinstance(value, dict) and all(isinstance(each, kind) for each in value.values())


def dump_quirks(quirks: Quirks) -> str:
    """Write quirks as text that a diff shows well: sorted, a line each."""
    known = {name: sorted(found) for name, found in sorted(quirks.known.items())}
    content = {"versions": dict(sorted(quirks.versions.items())), "quirks": known}
    return json.dumps(content, indent=1) + "\n"


def list_differences(stored: Quirks, probed: Quirks) -> list[str]:
    """Say line by line how what was probed differs from what is stored; empty if it does not."""
    lines = []
    for name in sorted(stored.known.keys() | probed.known.keys()):
        before = stored.known.get(name, frozenset())
        now = probed.known.get(name, frozenset())
        lines += [f"{name}: no longer {quirk}" for quirk in sorted(before - now)]
        lines += [f"{name}: new {quirk}" for quirk in sorted(now - before)]
    return lines
