"""Serialization: what each side writes for a value, and what the sides then read in it.

The key insight: two writers may spell a value differently and mean the same, which is counted and
no change; what matters is whether a text is written at all, and whether what one side wrote is the
same value to the other.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from wirefence.fuzz.compare.classes import MESSAGE, effect_of
from wirefence.fuzz.compare.sides import Team
from wirefence.targets.environments import Observation
from wirefence.targets.parsers.canonical import encode

__all__ = ["FAMILIES", "Writings", "Written", "written"]

_FLOATS = 1_000
_SEED = 1_618_033


@dataclass(slots=True)
class Written:
    """One class of differences: the first value that shows it, and both outcomes.

    ``what`` differs: the writing itself, or the reading of what a side wrote.
    """

    family: str
    value: bytes
    what: str
    effect: str
    old: Observation
    new: Observation
    count: int = 0

    @property
    def name(self) -> str:
        """The family of values, and what differs."""
        return f"{self.family}: {self.effect} ({self.what})"


@dataclass(slots=True)
class Writings:
    """What was found of one pair: classes, and how many texts differ in spelling alone."""

    values: int = 0
    spelled: int = 0
    classes: dict[str, Written] = field(default_factory=dict)

    def note(self, found: Written) -> None:
        """Count one difference."""
        self.classes.setdefault(found.name, found).count += 1


def _floats() -> Iterator[object]:
    rng = random.Random(_SEED)
    yield from (0.1, -0.0, 1.0, 1e15, 1e16, 1e17, 1e21, 1e22, 5e-324, 2.2250738585072014e-308)
    yield from (1.7976931348623157e308, 1e-7, 1e-5, 123456789012345680.0, 0.30000000000000004)
    for _ in range(_FLOATS):
        (value,) = struct.unpack("<d", rng.getrandbits(64).to_bytes(8, "little"))
        if value - value == 0:
            yield value


def _texts() -> Iterator[object]:
    yield from (chr(point) for point in (*range(0x20), 0x22, 0x2F, 0x5C, 0x7F, 0x80, 0xA0, 0xE9))
    yield from map(chr, (0x2028, 0x2029, 0xD7FF, 0xE000, 0xFEFF, 0xFFFD, 0xFFFF, 0x1D11E, 0x10FFFF))
    yield from ("", "</script>", "<!--", "&amp;", "a" * 100_000, "\u00e9" * 1_000, "'", "\x00a")


def _nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


def _integers() -> Iterator[object]:
    for power in (31, 32, 53, 63, 64, 65, 128, 1_100):
        yield from (sign * (2**power + by) for sign in (1, -1) for by in (-1, 0, 1))
    yield from (0, -1, 10**20, 10**308, 10**400)


FAMILIES: dict[str, tuple[object, ...]] = {
    "reemit-nonfinite": (float("nan"), float("inf"), float("-inf"), [1, float("nan")]),
    "reemit-surrogate": ("\ud800", "\udfff", "a\udc00b", {"\ud800": 1}, "\udc00\ud800", ["\udbff"]),
    "reemit-bigint": tuple(_integers()),
    "reemit-float": tuple(_floats()),
    "reemit-text": tuple(_texts()),
    "reemit-name": ({"": 1}, {"\x00": 1}, {"\u00e9": 1}, {"2": 0, "1": 0}, {"__proto__": 1}),
    "reemit-plain": (None, True, False, [], {}, [[]], {"a": {"b": [1, "x", None]}}),
    "reemit-depth": tuple(
        _nested(depth) for depth in (100, 127, 128, 250, 254, 255, 500, 900, 990)
    ),
}
"""Values by what writers and readers are known to part on; their names are the classes'."""


def written(team: Team, old: int, new: int) -> Writings | None:
    """Write every value on two sides and read what they wrote; ``None`` where a side only reads."""
    writers = _writers(team, old, new)
    if writers is None:
        return None
    look, form, found = team.pair(old, new), team.forms[0].name, Writings()
    for family, values in FAMILIES.items():
        encoded = [encode(value) for value in values]
        found.values += len(encoded)
        texts = [
            team.lookers[at].serialize(encoded, writer=writer)
            for at, writer in zip((old, new), writers, strict=True)
        ]
        for value, one, other in zip(encoded, *texts, strict=True):
            for each in _differences(lambda raws: look(raws, form), one, other):
                found.note(Written(family, value, *each))
            found.spelled += one.kind == other.kind == "accept" and one.value != other.value
    return found


def _writers(team: Team, old: int, new: int) -> tuple[str, str] | None:
    mine, theirs = team.sides[old].writers, team.sides[new].writers
    common = [name for name in mine if name in theirs]
    if common:
        return common[0], common[0]
    return (mine[0], theirs[0]) if mine and theirs else None


_Read = Callable[[Sequence[bytes]], Sequence[tuple[Observation, Observation]]]


def _differences(
    read: _Read, one: Observation, other: Observation
) -> Iterator[tuple[str, str, Observation, Observation]]:
    """What differs of one value: its writing, and the reading of each text by both sides."""
    texts = [seen.value for seen in (one, other) if seen.kind == "accept"]
    if len(texts) < 2:
        yield from _differing("writing", one, other)
    readings = read(list(dict.fromkeys(texts)))
    for seen, words in ((one, "reading of old's text"), (other, "reading of new's text")):
        if seen.kind == "accept":
            yield from _differing(words, *readings[min(texts.index(seen.value), len(readings) - 1)])
    if len(readings) > 1:
        (first, _), (second, _) = readings
        if first.kind == second.kind == "accept":
            yield from _differing("meaning of the text", first, second)


def _differing(
    what: str, one: Observation, other: Observation
) -> Iterator[tuple[str, str, Observation, Observation]]:
    effect = effect_of(one, other)
    if effect and effect != MESSAGE:
        yield what, effect, one, other
