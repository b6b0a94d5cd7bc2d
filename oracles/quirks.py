"""Known differences of each parser, as probed from the installed libraries.

The key insight: quirks are measured, never typed in. ``wirefence quirks --write`` makes the file
anew; a test compares it with reality.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["QUIRKS_FILE", "Quirks", "difference", "dump", "load"]

QUIRKS_FILE = Path(__file__).with_name("quirks.json")


@dataclass(frozen=True, slots=True)
class Quirks:
    """The versions that were probed and, for each parser configuration, its divergences."""

    versions: Mapping[str, str]
    known: Mapping[str, frozenset[str]]


def load(path: Path = QUIRKS_FILE) -> Quirks:
    """Read a quirks file. Raises OSError or ValueError where it is absent or damaged."""
    content = json.loads(path.read_bytes())
    known = {name: frozenset(quirks) for name, quirks in content["quirks"].items()}
    return Quirks(content["versions"], known)


def dump(quirks: Quirks) -> str:
    """Write quirks as text that a diff shows well: sorted, a line each."""
    known = {name: sorted(found) for name, found in sorted(quirks.known.items())}
    content = {"versions": dict(sorted(quirks.versions.items())), "quirks": known}
    return json.dumps(content, indent=1) + "\n"


def difference(stored: Quirks, probed: Quirks) -> list[str]:
    """Say line by line how what was probed differs from what is stored; empty if it does not."""
    lines = []
    for name in sorted(stored.known.keys() | probed.known.keys()):
        before = stored.known.get(name, frozenset())
        now = probed.known.get(name, frozenset())
        lines += [f"{name}: no longer {quirk}" for quirk in sorted(before - now)]
        lines += [f"{name}: new {quirk}" for quirk in sorted(now - before)]
    return lines
