"""Reproducers of divergence classes: how the installed parsers are known to split.

The key insight: quirks are no findings, yet each class is what an upgrade may change. A document is
worth keeping if it shows a parser doing what no smaller document kept so far explains.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from wirefence.fuzz.crashes.same import divergences, same
from wirefence.fuzz.examination.quirk_probe import PROBES
from wirefence.fuzz.shrink.ordering import order
from wirefence.fuzz.shrink.shrinker import reduce
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.oracles.agreement import is_known
from wirefence.oracles.records import Finding
from wirefence.strategies.damage import apply_damage
from wirefence.strategies.json_text import json_text
from wirefence.strategies.records import Case, Frame
from wirefence.strategies.source import RandomSource

__all__ = ["classes"]

_SEED = 5
_LONGEST = 4_000
_UNSTABLE = ("json", "simplejson", "msgspec", "rapidjson")
"""Their limits of depth are the interpreter's, and move with it."""


@dataclass(slots=True)
class _Known:
    """What documents kept so far explain: effects and features for each parser."""

    quirks: dict[str, set[str]] = field(default_factory=dict)

    def explains(self, found: Finding) -> bool:
        # What differs over a plain document differs over others for the same reason.
        names = {"plain", *_features(found)}
        return all(
            is_known(effect, names, self.quirks.get(parser, ())) for effect, parser in _pairs(found)
        )

    def learn(self, found: Finding) -> None:
        for effect, parser in _pairs(found):
            kind = f"{effect}: {'+'.join(_features(found))}"
            self.quirks.setdefault(parser, set()).add(kind)


def _features(found: Finding) -> list[str]:
    return found.signature.rpartition(": ")[2].split("+")


def _pairs(found: Finding) -> Iterator[tuple[str, str]]:
    split = found.signature.rpartition(": ")[0].rpartition("|")[2]
    for group in split.split("; "):
        effect, _, names = group.partition("=")
        yield from ((effect, name) for name in names.split(","))


def classes(generated: int = 3_000) -> list[tuple[Finding, Case, int]]:
    """The smallest document found for each divergence class, with the size it was found at.

    Documents come from the probes of quirks and ``generated`` ones of a fixed seed. Differences in
    depth that depend on the interpreter, and not on the parser, are left out.
    """
    smallest: dict[str, tuple[Finding, Case, int]] = {}
    for raw in _documents(generated):
        for found in divergences(case_from_bytes(raw)):
            if found.signature not in smallest and not _unstable(found):
                made, case = _smaller(raw, found)
                kept = smallest.get(made.signature)
                if kept is None or order(case.data) < order(kept[1].data):
                    smallest[made.signature] = made, case, len(raw)
                smallest.setdefault(found.signature, smallest[made.signature])
    return _unexplained({kept[0].signature: kept for kept in smallest.values()}.values())


def _unexplained(
    found: Iterable[tuple[Finding, Case, int]],
) -> list[tuple[Finding, Case, int]]:
    """Without combinations of others: fewest features first, then the smallest documents."""
    known, kept = _Known(), []
    for each in sorted(found, key=_plainest):
        if not known.explains(each[0]):
            known.learn(each[0])
            kept.append(each)
    return kept


def _plainest(each: tuple[Finding, Case, int]) -> tuple[bool, int, tuple[int, bytes]]:
    names = _features(each[0])
    return names != ["plain"], len(names), order(each[1].data)


def _unstable(found: Finding) -> bool:
    deep = {"deep", "number-length"}.intersection(_features(found))
    return bool(deep) and any(
        parser.startswith(_UNSTABLE) and effect.startswith("escapes")
        for effect, parser in _pairs(found)
    )


def _smaller(raw: bytes, found: Finding) -> tuple[Finding, Case]:
    test = same(found)

    def hit(data: bytes) -> Finding | None:
        return next(filter(test, divergences(case_from_bytes(data))), None)

    data = reduce(raw, lambda data: hit(data) is not None).data
    made = hit(data)
    assert made is not None
    return made, case_from_bytes(data)


def _documents(generated: int) -> Iterator[bytes]:
    yield from (raw for raw in PROBES if len(raw) <= _LONGEST and b"\n" not in raw)
    yield from (b'{"jsonrpc":"2.0","x":%s}' % raw for raw in PROBES if len(raw) <= _LONGEST)
    source = RandomSource(random.Random(_SEED))
    for _ in range(generated):
        frames, _, _ = apply_damage(source, [Frame(json_text(source) + b"\n")], "2025-11-25")
        data = b"".join(frame.raw for frame in frames)
        yield from (line for line in data.split(b"\n") if len(line) <= _LONGEST)
