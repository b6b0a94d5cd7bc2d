"""Record which planned trials were skipped, and whether the rest is enough for a verdict.

A run without findings proves something only about trials that ran. So every planned trial is open
until it ran, and a server passes only if all classic inputs were sent to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from wirefence.fuzz.gate.records import Trial
from wirefence.fuzz.gate.trials.schedule import CLASSIC, FreshItem

__all__ = ["OpenTrials", "explain_gap", "join_names"]

_MOST_NAMED = 5
"""Names of skipped trials in a sentence: about one line."""


class OpenTrials:
    """Planned trials that have not run, in the order of the plan."""

    def __init__(self) -> None:
        self._open: dict[int | str, FreshItem] = {}

    def add_planned(self, items: Iterable[FreshItem]) -> None:
        """Add trials that are to run."""
        self._open.update((_item_key(item), item) for item in items)

    def mark_done(self, item: FreshItem) -> None:
        """Remove a trial that ran; ignore one that was never planned."""
        self._open.pop(_item_key(item), None)

    def list_names(self) -> dict[str, tuple[str, ...]]:
        """Return the names of open trials by ``"FAMILY PLACE"``."""
        names: dict[str, tuple[str, ...]] = {}
        for item in self._open.values():
            where = f"{item.family} {item.place}" if isinstance(item, Trial) else "startup before"
            names[where] = (*names.get(where, ()), item.name)
        return names


def _item_key(item: FreshItem) -> int | str:
    return item.number if isinstance(item, Trial) else item.name


def explain_gap(
    reason: str, left: Mapping[str, tuple[str, ...]], seconds: float, cause: str = ""
) -> str:
    """Return why a run without findings is no pass, without a full stop; ``""`` if it is one.

    ``reason`` is how the run ended, after ``seconds``; ``cause`` says why it could not go on.
    """
    number = sum(map(len, left.values()))
    if reason == "interrupted":
        return f"the run was interrupted after {seconds:.0f} s, with {number} trials not run"
    if reason == "lost":
        return f"the run ended after {seconds:.0f} s, with {number} trials not run: {cause}"
    classic = [
        f"{name} {where.removeprefix(CLASSIC).strip()}"
        for where, names in left.items()
        if where.startswith(f"{CLASSIC} ")
        for name in names
    ]
    if not classic:
        return ""
    were = "was" if len(classic) == 1 else "were"
    missing = f"{len(classic)} of the classic inputs {were} sent"
    return f"the time was spent before {missing}: {join_names(classic, _MOST_NAMED)}"


def join_names(names: Sequence[str], most: int) -> str:
    """Return names for a sentence: the first ones, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
