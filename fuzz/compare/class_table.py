"""The classes of differences between two sides, each with its smallest input and a count.

Each class is explained once. Its first input is shrunk to the fewest traits that still show the
effect, and later inputs with the same effect and these traits are only counted. So the work is
bounded by the number of classes, not of inputs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from wirefence.fuzz.compare.classes import EFFECTS, MESSAGE, choose_subject, effect_of, needs_traits
from wirefence.fuzz.compare.records import Item, Look
from wirefence.fuzz.compare.repetitions import find_input_traits
from wirefence.fuzz.compare.shrink import shrink_difference
from wirefence.fuzz.shrink.ordering import simplicity_key
from wirefence.targets.environments import Observation

__all__ = ["ClassEntry", "ClassTable"]


_SHRINK_SECONDS = 10.0
"""Seconds for shrinking one input; most need less than one."""
_ENDINGS = {"dies", "survives", "hangs", "recovers", "memory"}
_BROKEN = frozenset(("unclosed", "trailing", "syntax"))
"""Traits that an input may gain while it shrinks, if it ends a process anyway."""
_REPEATS = 2
"""Runs of an input that must all show a difference."""
_MAX_LEARNED = 64
"""Inputs of a class by errors alone whose shared traits are computed."""


@dataclass(slots=True)
class ClassEntry:
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
        """``subject: effect``; for errors alone also the types of both errors."""
        name = f"{choose_subject(self.needed)}: {self.effect}"
        if needs_traits(self.effect):
            return name
        return f"{name} {self.old.error or self.old.kind} -> {self.new.error or self.new.kind}"


@dataclass(slots=True)
class ClassTable:
    """The classes of one pair of sides.

    ``spare`` is the number of seconds left for shrinking. ``renew`` gives both sides new processes,
    at most ``renewals`` times. ``unsteady`` counts differences that did not repeat when their input
    ran alone: they are reported, but have no class.
    """

    look: Look
    spare: float = 60.0
    renew: Callable[[], None] = lambda: None
    renewals: int = 20
    entries: list[ClassEntry] = field(default_factory=list)
    messages: int = 0
    unsteady: int = 0
    message_item: Item | None = None
    _known: dict[tuple[str, frozenset[str]], ClassEntry] = field(default_factory=dict)

    def add_difference(
        self, item: Item, old: Observation, new: Observation, *, traffic: bool = False
    ) -> ClassEntry | None:
        """Count one differing input; return its class, ``None`` if only a message differs."""
        effect = effect_of(old, new)
        if not effect:
            return None
        if effect == MESSAGE:
            self._count_message(item)
            return None
        entry = self._find_or_add(effect, item, old, new)
        if entry is None:
            self.unsteady += 1
            return None
        self.count_input(entry, item, traffic=traffic)
        if simplicity_key(item.raw) < simplicity_key(entry.item.raw) and self._has_same_class(
            entry, effect, item, old, new
        ):
            entry.item, entry.old, entry.new, entry.settled = item, old, new, False
        return entry

    def count_input(self, entry: ClassEntry, item: Item, *, traffic: bool = False) -> None:
        """Count one more input of a class."""
        entry.count += 1
        entry.traffic += traffic
        entry.forms.add(item.form)
        if not needs_traits(entry.effect) and entry.learned < _MAX_LEARNED:
            found = find_input_traits(item.raw)
            entry.needed = entry.needed & found if entry.learned else found
            entry.learned += 1

    def _count_message(self, item: Item) -> None:
        self.messages += 1
        if self.message_item is None or simplicity_key(item.raw) < simplicity_key(
            self.message_item.raw
        ):
            self.message_item = item

    @staticmethod
    def _has_same_class(
        entry: ClassEntry, effect: str, item: Item, old: Observation, new: Observation
    ) -> bool:
        if not needs_traits(effect):
            return (entry.old.error, entry.new.error) == (old.error, new.error)
        return find_input_traits(item.raw) == entry.needed

    def _find_or_add(
        self, effect: str, item: Item, old: Observation, new: Observation
    ) -> ClassEntry | None:
        if not needs_traits(effect):
            return self._find_or_add_by_errors(effect, item, old, new)
        found = find_input_traits(item.raw)
        key = (effect, found)
        entry = self._known.get(key) or self._find_explaining(effect, found)
        if entry is None:
            if not self._is_repeatable(effect, item):
                return None
            entry = self._add_class(effect, found, item, old, new)
        self._known[key] = entry
        return entry

    def _is_repeatable(self, effect: str, item: Item) -> bool:
        """Return whether an input shows the effect again when it runs alone.

        A parser with a cache of strings may depend on earlier inputs, so the last try uses new
        processes.
        """
        if self._shows_effect(effect, item):
            return True
        if self.renewals <= 0:
            return False
        self.renewals -= 1
        self.renew()
        return self._shows_effect(effect, item)

    def _shows_effect(self, effect: str, item: Item) -> bool:
        return all(
            effect_of(*self.look([item.raw], item.form)[0]) == effect for _ in range(_REPEATS)
        )

    def _find_or_add_by_errors(
        self, effect: str, item: Item, old: Observation, new: Observation
    ) -> ClassEntry | None:
        key = (effect, frozenset((f"old {old.error}", f"new {new.error}")))
        entry = self._known.get(key)
        if entry is None and self._is_repeatable(effect, item):
            entry = self._known[key] = ClassEntry(effect, frozenset(), item, old, new)
            self.entries.append(entry)
        return entry

    def _find_explaining(self, effect: str, found: frozenset[str]) -> ClassEntry | None:
        """Return the class of the same effect whose needed traits are a subset of the input's
        traits.
        """
        fitting = [
            entry
            for entry in self.entries
            if entry.effect == effect and entry.needed and entry.needed <= found
        ]
        return min(fitting, key=lambda entry: len(entry.needed), default=None)

    def _add_class(
        self, effect: str, found: frozenset[str], item: Item, old: Observation, new: Observation
    ) -> ClassEntry:
        small, old, new = self._shrink_item(effect, found, item, old, new)
        needed = find_input_traits(small.raw)
        entry = self._known.get((effect, needed)) or self._find_explaining(effect, needed)
        if entry is None:
            entry = ClassEntry(effect, needed, small, old, new, settled=self.spare > 0)
            self.entries.append(entry)
            self._known[effect, needed] = entry
        elif needed == entry.needed and simplicity_key(small.raw) < simplicity_key(entry.item.raw):
            entry.item, entry.old, entry.new = small, old, new
        return entry

    def _shrink_item(
        self, effect: str, within: frozenset[str], item: Item, old: Observation, new: Observation
    ) -> tuple[Item, Observation, Observation]:
        """Return the smallest item of the same effect and form with no trait beyond ``within``."""
        if self.spare <= 0:
            return item, old, new
        best = {item.raw: (old, new)}
        within |= _BROKEN if effect in _ENDINGS else frozenset()

        def keeps_many(raws: Sequence[bytes]) -> list[bool]:
            pairs = self.look(raws, item.form)
            kept = []
            for raw, pair in zip(raws, pairs, strict=True):
                kept.append(effect_of(*pair) == effect and find_input_traits(raw) <= within)
                if kept[-1]:
                    best[raw] = pair
            return kept

        start = time.monotonic()
        seconds = min(self.spare, _SHRINK_SECONDS)
        small = shrink_difference(item.raw, keeps_many, seconds=seconds, costly=effect in _ENDINGS)
        self.spare -= time.monotonic() - start
        return Item(small, item.form), *best[small]

    def sort_classes(self) -> list[ClassEntry]:
        """Return classes, one for each name, by severity of the effect, then by count."""
        merged: dict[str, ClassEntry] = {}
        for entry in sorted(self.entries, key=lambda each: simplicity_key(each.item.raw)):
            first = merged.setdefault(entry.name, replace(entry, forms=set(entry.forms)))
            if first.item != entry.item:
                first.count += entry.count
                first.traffic += entry.traffic
                first.forms |= entry.forms
        grave = list(EFFECTS)
        return sorted(merged.values(), key=lambda e: (grave.index(e.effect), -e.count, e.name))

    def shrink_rest(self, seconds: float) -> None:
        """Spend up to ``seconds`` on shrinking inputs that were not shrunk before: smaller ones
        found since, and those of classes by errors alone.
        """
        self.spare = seconds
        for entry in self.entries:
            if entry.settled or self.spare <= 0:
                continue
            if needs_traits(entry.effect):
                entry.item, entry.old, entry.new = self._shrink_item(
                    entry.effect, entry.needed, entry.item, entry.old, entry.new
                )
            else:
                self._shrink_by_errors(entry)

    def _shrink_by_errors(self, entry: ClassEntry) -> None:
        kinds = (entry.old.kind, entry.old.error, entry.new.kind, entry.new.error)
        best = {entry.item.raw: (entry.old, entry.new)}

        def keeps_many(raws: Sequence[bytes]) -> list[bool]:
            pairs = self.look(raws, entry.item.form)
            for raw, pair in zip(raws, pairs, strict=True):
                best[raw] = pair
            return [(a.kind, a.error, b.kind, b.error) == kinds for a, b in pairs]

        start = time.monotonic()
        small = shrink_difference(
            entry.item.raw, keeps_many, seconds=min(self.spare, _SHRINK_SECONDS)
        )
        self.spare -= time.monotonic() - start
        entry.item = Item(small, entry.item.form)
        entry.old, entry.new = best[small]
