"""What was found of two sides: classes, each with its smallest input and how often it was seen.

The key insight: a difference is explained once. Its first input shrinks to the fewest traits that
still show the effect, and every later input of the same effect that has those traits is counted
there, so the work is bounded by the number of classes, not of differing inputs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from wirefence.fuzz.compare.classes import EFFECTS, MESSAGE, effect_of, needs_traits, subject
from wirefence.fuzz.compare.records import Item, Look
from wirefence.fuzz.compare.shrink import shrink
from wirefence.fuzz.compare.traits import traits
from wirefence.fuzz.shrink.ordering import order
from wirefence.targets.environments import Observation

__all__ = ["Entry", "Ledger"]


_SHRINK_SECONDS = 10.0
_ENDINGS = {"dies", "survives", "hangs", "recovers", "memory"}
_BROKEN = frozenset(("unclosed", "trailing", "syntax"))
"""What an input may become while it shrinks that ends a process anyway."""
_AGAIN = 2
_LEARNING = 64
"""So many inputs of a class by errors alone are read for the traits they share."""


@dataclass(slots=True)
class Entry:
    """One class while it is being counted; ``settled`` once its smallest input was shrunk."""

    effect: str
    needed: frozenset[str]
    item: Item
    old: Observation
    new: Observation
    count: int = 0
    traffic: int = 0
    forms: set[str] = field(default_factory=set)
    learned: int = 0
    settled: bool = False

    @property
    def name(self) -> str:
        """``subject: effect``, for errors alone with the pair of their types."""
        name = f"{subject(self.needed)}: {self.effect}"
        if needs_traits(self.effect):
            return name
        return f"{name} {self.old.error or self.old.kind} -> {self.new.error or self.new.kind}"


@dataclass(slots=True)
class Ledger:
    """The classes of one pair of sides.

    ``spare`` is the number of seconds left for shrinking. ``renew`` gives both sides new processes,
    at most ``renewals`` times. ``unsteady`` counts differences that did
    not show again when their input was read alone: no classes, but worth a word.
    """

    look: Look
    spare: float = 60.0
    renew: Callable[[], None] = lambda: None
    renewals: int = 20
    entries: list[Entry] = field(default_factory=list)
    messages: int = 0
    unsteady: int = 0
    message_item: Item | None = None
    _known: dict[tuple[str, frozenset[str]], Entry] = field(default_factory=dict)

    def note(
        self, item: Item, old: Observation, new: Observation, *, traffic: bool = False
    ) -> Entry | None:
        """Count one differing input; return its class, ``None`` if only a message differs."""
        effect = effect_of(old, new)
        if not effect:
            return None
        if effect == MESSAGE:
            self._message(item)
            return None
        entry = self._entry(effect, item, old, new)
        if entry is None:
            self.unsteady += 1
            return None
        self.count(entry, item, traffic=traffic)
        if order(item.raw) < order(entry.item.raw) and self._fits(entry, effect, item, old, new):
            entry.item, entry.old, entry.new, entry.settled = item, old, new, False
        return entry

    def count(self, entry: Entry, item: Item, *, traffic: bool = False) -> None:
        """Count one more input of a class."""
        entry.count += 1
        entry.traffic += traffic
        entry.forms.add(item.form)
        if not needs_traits(entry.effect) and entry.learned < _LEARNING:
            found = traits(item.raw)
            entry.needed = entry.needed & found if entry.learned else found
            entry.learned += 1

    def _message(self, item: Item) -> None:
        self.messages += 1
        if self.message_item is None or order(item.raw) < order(self.message_item.raw):
            self.message_item = item

    @staticmethod
    def _fits(entry: Entry, effect: str, item: Item, old: Observation, new: Observation) -> bool:
        if not needs_traits(effect):
            return (entry.old.error, entry.new.error) == (old.error, new.error)
        return traits(item.raw) == entry.needed

    def _entry(self, effect: str, item: Item, old: Observation, new: Observation) -> Entry | None:
        if not needs_traits(effect):
            return self._by_errors(effect, item, old, new)
        found = traits(item.raw)
        key = (effect, found)
        entry = self._known.get(key) or self._explained(effect, found)
        if entry is None:
            if not self._again(effect, item):
                return None
            entry = self._new(effect, found, item, old, new)
        self._known[key] = entry
        return entry

    def _again(self, effect: str, item: Item) -> bool:
        """Whether an input shows the effect alone too, and not only beside others or by chance.

        A reader that remembers strings answers by what it has read before, so new processes have
        the last word.
        """
        if self._shows(effect, item):
            return True
        if self.renewals <= 0:
            return False
        self.renewals -= 1
        self.renew()
        return self._shows(effect, item)

    def _shows(self, effect: str, item: Item) -> bool:
        return all(effect_of(*self.look([item.raw], item.form)[0]) == effect for _ in range(_AGAIN))

    def _by_errors(
        self, effect: str, item: Item, old: Observation, new: Observation
    ) -> Entry | None:
        key = (effect, frozenset((f"old {old.error}", f"new {new.error}")))
        entry = self._known.get(key)
        if entry is None and self._again(effect, item):
            entry = self._known[key] = Entry(effect, frozenset(), item, old, new)
            self.entries.append(entry)
        return entry

    def _explained(self, effect: str, found: frozenset[str]) -> Entry | None:
        """The class of the same effect that needs some, and no more, of what the input holds."""
        fitting = [
            entry
            for entry in self.entries
            if entry.effect == effect and entry.needed and entry.needed <= found
        ]
        return min(fitting, key=lambda entry: len(entry.needed), default=None)

    def _new(
        self, effect: str, found: frozenset[str], item: Item, old: Observation, new: Observation
    ) -> Entry:
        small, old, new = self._shrunk(effect, found, item, old, new)
        needed = traits(small.raw)
        entry = self._known.get((effect, needed)) or self._explained(effect, needed)
        if entry is None:
            entry = Entry(effect, needed, small, old, new, settled=self.spare > 0)
            self.entries.append(entry)
            self._known[effect, needed] = entry
        elif needed == entry.needed and order(small.raw) < order(entry.item.raw):
            entry.item, entry.old, entry.new = small, old, new
        return entry

    def _shrunk(
        self, effect: str, within: frozenset[str], item: Item, old: Observation, new: Observation
    ) -> tuple[Item, Observation, Observation]:
        """The smallest item of the same effect and form that has no trait beyond ``within``."""
        if self.spare <= 0:
            return item, old, new
        best = {item.raw: (old, new)}
        within |= _BROKEN if effect in _ENDINGS else frozenset()

        def keeps_many(raws: Sequence[bytes]) -> list[bool]:
            pairs = self.look(raws, item.form)
            kept = []
            for raw, pair in zip(raws, pairs, strict=True):
                kept.append(effect_of(*pair) == effect and traits(raw) <= within)
                if kept[-1]:
                    best[raw] = pair
            return kept

        start = time.monotonic()
        seconds = min(self.spare, _SHRINK_SECONDS)
        small = shrink(item.raw, keeps_many, seconds=seconds, costly=effect in _ENDINGS)
        self.spare -= time.monotonic() - start
        return Item(small, item.form), *best[small]

    def ordered(self) -> list[Entry]:
        """Classes, one for each name, gravest effect first, then the most frequent."""
        merged: dict[str, Entry] = {}
        for entry in sorted(self.entries, key=lambda each: order(each.item.raw)):
            first = merged.setdefault(entry.name, replace(entry, forms=set(entry.forms)))
            if first.item != entry.item:
                first.count += entry.count
                first.traffic += entry.traffic
                first.forms |= entry.forms
        grave = list(EFFECTS)
        return sorted(merged.values(), key=lambda e: (grave.index(e.effect), -e.count, e.name))

    def polish(self, seconds: float) -> None:
        """Spend up to ``seconds`` on inputs that were not shrunk before: smaller ones met since,
        and those of classes by errors alone.
        """
        self.spare = seconds
        for entry in self.entries:
            if entry.settled or self.spare <= 0:
                continue
            if needs_traits(entry.effect):
                entry.item, entry.old, entry.new = self._shrunk(
                    entry.effect, entry.needed, entry.item, entry.old, entry.new
                )
            else:
                self._polish(entry)

    def _polish(self, entry: Entry) -> None:
        kinds = (entry.old.kind, entry.old.error, entry.new.kind, entry.new.error)
        best = {entry.item.raw: (entry.old, entry.new)}

        def keeps_many(raws: Sequence[bytes]) -> list[bool]:
            pairs = self.look(raws, entry.item.form)
            for raw, pair in zip(raws, pairs, strict=True):
                best[raw] = pair
            return [(a.kind, a.error, b.kind, b.error) == kinds for a, b in pairs]

        start = time.monotonic()
        small = shrink(entry.item.raw, keeps_many, seconds=min(self.spare, _SHRINK_SECONDS))
        self.spare -= time.monotonic() - start
        entry.item = Item(small, entry.item.form)
        entry.old, entry.new = best[small]
