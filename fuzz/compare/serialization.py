"""Compare writing: what each side writes for a value, and what the sides then read in it.

Different spellings of the same value are counted, but are no change. A change is a value that only
one side writes, or a text that the sides read differently.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from wirefence.fuzz.compare.classes import MESSAGE, effect_of
from wirefence.fuzz.compare.sides import Team
from wirefence.targets.environments import Observation
from wirefence.targets.parsers.canonical import encode_value

__all__ = ["FAMILIES", "WritingClass", "WritingResult", "compare_writing"]

_FLOATS = 1_000
_SEED = 1_618_033


@dataclass(slots=True)
class WritingClass:
    """One class of differences: the first value that shows it, and both outcomes.

    ``what`` names what differs: writing, or reading what a side wrote.
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
class WritingResult:
    """The result for one pair: classes, and how many texts differ in spelling only."""

    values: int = 0
    spelled: int = 0
    classes: dict[str, WritingClass] = field(default_factory=dict)

    def count_difference(self, found: WritingClass) -> None:
        """Count one difference."""
        self.classes.setdefault(found.name, found).count += 1


def _generate_floats() -> Iterator[object]:
    rng = random.Random(_SEED)
    yield from (0.1, -0.0, 1.0, 1e15, 1e16, 1e17, 1e21, 1e22, 5e-324, 2.2250738585072014e-308)
    yield from (1.7976931348623157e308, 1e-7, 1e-5, 123456789012345680.0, 0.30000000000000004)
    for _ in range(_FLOATS):
        (value,) = struct.unpack("<d", rng.getrandbits(64).to_bytes(8, "little"))
        if value - value == 0:
            yield value


def _generate_texts() -> Iterator[object]:
    yield from (chr(point) for point in (*range(0x20), 0x22, 0x2F, 0x5C, 0x7F, 0x80, 0xA0, 0xE9))
    yield from map(chr, (0x2028, 0x2029, 0xD7FF, 0xE000, 0xFEFF, 0xFFFD, 0xFFFF, 0x1D11E, 0x10FFFF))
    yield from ("", "</script>", "<!--", "&amp;", "a" * 100_000, "\u00e9" * 1_000, "'", "\x00a")


def _make_nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


def _generate_integers() -> Iterator[object]:
    for power in (31, 32, 53, 63, 64, 65, 128, 1_100):
        yield from (sign * (2**power + by) for sign in (1, -1) for by in (-1, 0, 1))
    yield from (0, -1, 10**20, 10**308, 10**400)


FAMILIES: dict[str, tuple[object, ...]] = {
    "reemit-nonfinite": (float("nan"), float("inf"), float("-inf"), [1, float("nan")]),
    "reemit-surrogate": ("\ud800", "\udfff", "a\udc00b", {"\ud800": 1}, "\udc00\ud800", ["\udbff"]),
    "reemit-bigint": tuple(_generate_integers()),
    "reemit-float": tuple(_generate_floats()),
    "reemit-text": tuple(_generate_texts()),
    "reemit-name": ({"": 1}, {"\x00": 1}, {"\u00e9": 1}, {"2": 0, "1": 0}, {"__proto__": 1}),
    "reemit-plain": (None, True, False, [], {}, [[]], {"a": {"b": [1, "x", None]}}),
    "reemit-depth": tuple(
        _make_nested(depth) for depth in (100, 127, 128, 250, 254, 255, 500, 900, 990)
    ),
}
"""Values on which writers and readers are known to differ; the names are part of class names."""


def compare_writing(team: Team, old: int, new: int) -> WritingResult | None:
    """Write every value with two sides and read the results; ``None`` if a side cannot write."""
    writers = _choose_writers(team, old, new)
    if writers is None:
        return None
    look, form, found = team.make_look(old, new), team.forms[0].name, WritingResult()
    for family, values in FAMILIES.items():
        encoded = [encode_value(value) for value in values]
        found.values += len(encoded)
        texts = [
            team.lookers[at].serialize(encoded, writer=writer)
            for at, writer in zip((old, new), writers, strict=True)
        ]
        for value, one, other in zip(encoded, *texts, strict=True):
            for each in _find_differences(lambda raws: look(raws, form), one, other):
                found.count_difference(WritingClass(family, value, *each))
            found.spelled += one.kind == other.kind == "accept" and one.value != other.value
    return found


def _choose_writers(team: Team, old: int, new: int) -> tuple[str, str] | None:
    mine, theirs = team.sides[old].writers, team.sides[new].writers
    common = [name for name in mine if name in theirs]
    if common:
        return common[0], common[0]
    return (mine[0], theirs[0]) if mine and theirs else None


_Read = Callable[[Sequence[bytes]], Sequence[tuple[Observation, Observation]]]


def _find_differences(
    read: _Read, one: Observation, other: Observation
) -> Iterator[tuple[str, str, Observation, Observation]]:
    """Yield what differs for one value: its writing, and the reading of each text by both sides."""
    texts = [seen.value for seen in (one, other) if seen.kind == "accept"]
    if len(texts) < 2:
        yield from _find_difference("writing", one, other)
    readings = read(list(dict.fromkeys(texts)))
    for seen, words in ((one, "reading of old's text"), (other, "reading of new's text")):
        if seen.kind == "accept":
            yield from _find_difference(
                words, *readings[min(texts.index(seen.value), len(readings) - 1)]
            )
    if len(readings) > 1:
        (first, _), (second, _) = readings
        if first.kind == second.kind == "accept":
            yield from _find_difference("meaning of the text", first, second)


def _find_difference(
    what: str, one: Observation, other: Observation
) -> Iterator[tuple[str, str, Observation, Observation]]:
    effect = effect_of(one, other)
    if effect and effect != MESSAGE:
        yield what, effect, one, other
