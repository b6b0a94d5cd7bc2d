"""What a run did not reach, by name, and whether what it did reach is enough for a verdict.

The key insight: "nothing found" says something only of what was tried. So whatever was planned is
open until it was run, and a server passes only where the classic inputs were all sent to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from wirefence.fuzz.gate.records import Trial
from wirefence.fuzz.gate.trials.schedule import CLASSIC, FreshItem

__all__ = ["OpenTrials", "explain_gap", "join_names"]

_NAMED = 5


class OpenTrials:
    """What is planned and not yet run, in the order in which it was planned."""

    def __init__(self) -> None:
        self._open: dict[int | str, FreshItem] = {}

    def add_planned(self, items: Iterable[FreshItem]) -> None:
        """Take note of what is to be run."""
        self._open.update((_item_key(item), item) for item in items)

    def mark_done(self, item: FreshItem) -> None:
        """Take it off; what was never planned is let be."""
        self._open.pop(_item_key(item), None)

    def list_names(self) -> dict[str, tuple[str, ...]]:
        """Names of what is open, by ``"FAMILY PLACE"``."""
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
    """Why a run that found nothing is no pass, as a sentence without its stop; ``""`` for one.

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
    return f"the time was spent before {missing}: {join_names(classic, _NAMED)}"


def join_names(names: Sequence[str], most: int) -> str:
    """Names for a sentence: the first ones, and how many there are beside them."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
