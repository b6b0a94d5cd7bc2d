"""Detect findings that other processes write to a store.

A metadata file proves that its finding is complete. So a folder listing is enough, without any
connection between the processes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from wirefence.fuzz.examination.events import Found
from wirefence.fuzz.store.store import Store, read_case
from wirefence.oracles.records import Finding

__all__ = ["StoreWatch"]


@dataclass(slots=True)
class StoreWatch:
    """Returns findings that appear in a store, whichever process wrote them."""

    store: Store
    seen: set[Path] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.store.check_writable()
        self.store.read_signatures()
        self.seen.update(self.store.folder.glob("*/*.json"))

    def read_new(self) -> list[Found]:
        """Return findings that are complete and were not returned before."""
        fresh = sorted(set(self.store.folder.glob("*/*.json")) - self.seen)
        self.seen.update(fresh)
        return [_read_event(path) for path in fresh]


def _read_event(path: Path) -> Found:
    said = json.loads(path.read_bytes())
    names = ("oracle", "rule", "target", "signature", "summary")
    frame = path.with_suffix(".frame")
    return Found(Finding(*[said[name] for name in names]), read_case(frame), str(frame))
