"""Findings that other processes put into a store.

The key insight: a metadata file proves its finding to be whole, so a folder listing is a message
queue that survives both of its ends.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from wirefence.fuzz.examination.events import Found
from wirefence.fuzz.store.store import Store, read_case
from wirefence.oracles.records import Finding

__all__ = ["Watch"]


@dataclass(slots=True)
class Watch:
    """Tells of findings that appear in a store, whoever put them there."""

    store: Store
    seen: set[Path] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.store.prepare()
        self.store.signatures()
        self.seen.update(self.store.folder.glob("*/*.json"))

    def new(self) -> list[Found]:
        """Findings that are complete on disk and were not told of yet."""
        fresh = sorted(set(self.store.folder.glob("*/*.json")) - self.seen)
        self.seen.update(fresh)
        return [_found(path) for path in fresh]


def _found(path: Path) -> Found:
    said = json.loads(path.read_bytes())
    names = ("oracle", "rule", "target", "signature", "summary")
    frame = path.with_suffix(".frame")
    return Found(Finding(*[said[name] for name in names]), read_case(frame), str(frame))
