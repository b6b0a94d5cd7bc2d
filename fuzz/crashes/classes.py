"""Reproducers of divergence classes: on which documents the installed parsers differ.

Quirks are no findings, but an upgrade may change each of them. A document is kept if a parser shows
an effect on it that no smaller kept document explains.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from wirefence.fuzz.crashes.same import divergences, same
from wirefence.fuzz.examination.quirk_probe import PROBES
from wirefence.fuzz.shrink.ordering import simplicity_key
from wirefence.fuzz.shrink.shrinker import shrink_input
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.oracles.agreement import is_known
from wirefence.oracles.records import Finding
from wirefence.strategies.damage import apply_damage
from wirefence.strategies.json_text import json_text
from wirefence.strategies.records import Case, Frame
from wirefence.strategies.source import RandomSource

__all__ = ["find_classes"]

_SEED = 5
_MAX_SIZE = 4_000
_UNSTABLE = ("json", "simplejson", "msgspec", "rapidjson")
"""Their limits of depth are those of the interpreter, and change with it."""


@dataclass(slots=True)
class _KnownQuirks:
    """What the kept documents explain: effects and features for each parser."""

    quirks: dict[str, set[str]] = field(default_factory=dict)

    def explains(self, found: Finding) -> bool:
        # A difference on a plain document explains the same one on others.
        names = {"plain", *_list_features(found)}
        return all(
            is_known(effect, names, self.quirks.get(parser, ()))
            for effect, parser in _list_effects(found)
        )

    def add_finding(self, found: Finding) -> None:
        for effect, parser in _list_effects(found):
            kind = f"{effect}: {'+'.join(_list_features(found))}"
            self.quirks.setdefault(parser, set()).add(kind)


def _list_features(found: Finding) -> list[str]:
    return found.signature.rpartition(": ")[2].split("+")


def _list_effects(found: Finding) -> Iterator[tuple[str, str]]:
    split = found.signature.rpartition(": ")[0].rpartition("|")[2]
    for group in split.split("; "):
        effect, _, names = group.partition("=")
        yield from ((effect, name) for name in names.split(","))


def find_classes(generated: int = 3_000) -> list[tuple[Finding, Case, int]]:
    """Return the smallest document for each divergence class, and the size of the original.

    Documents come from the probes of quirks and ``generated`` ones of a fixed seed. Differences in
    depth that depend on the interpreter, and not on the parser, are skipped.
    """
    smallest: dict[str, tuple[Finding, Case, int]] = {}
    for raw in _generate_documents(generated):
        for found in divergences(case_from_bytes(raw)):
            if found.signature not in smallest and not _is_unstable(found):
                made, case = _shrink_document(raw, found)
                kept = smallest.get(made.signature)
                if kept is None or simplicity_key(case.data) < simplicity_key(kept[1].data):
                    smallest[made.signature] = made, case, len(raw)
                smallest.setdefault(found.signature, smallest[made.signature])
    return _drop_explained({kept[0].signature: kept for kept in smallest.values()}.values())


def _drop_explained(
    found: Iterable[tuple[Finding, Case, int]],
) -> list[tuple[Finding, Case, int]]:
    """Return findings that are no combination of others, fewest features first."""
    known, kept = _KnownQuirks(), []
    for each in sorted(found, key=_plainness_key):
        if not known.explains(each[0]):
            known.add_finding(each[0])
            kept.append(each)
    return kept


def _plainness_key(each: tuple[Finding, Case, int]) -> tuple[bool, int, tuple[int, bytes]]:
    names = _list_features(each[0])
    return names != ["plain"], len(names), simplicity_key(each[1].data)


def _is_unstable(found: Finding) -> bool:
    deep = {"deep", "number-length"}.intersection(_list_features(found))
    return bool(deep) and any(
        parser.startswith(_UNSTABLE) and effect.startswith("escapes")
        for effect, parser in _list_effects(found)
    )


def _shrink_document(raw: bytes, found: Finding) -> tuple[Finding, Case]:
    test = same(found)

    def hit(data: bytes) -> Finding | None:
        return next(filter(test, divergences(case_from_bytes(data))), None)

    data = shrink_input(raw, lambda data: hit(data) is not None).data
    made = hit(data)
    assert made is not None
    return made, case_from_bytes(data)


def _generate_documents(generated: int) -> Iterator[bytes]:
    yield from (raw for raw in PROBES if len(raw) <= _MAX_SIZE and b"\n" not in raw)
    yield from (b'{"jsonrpc":"2.0","x":%s}' % raw for raw in PROBES if len(raw) <= _MAX_SIZE)
    source = RandomSource(random.Random(_SEED))
    for _ in range(generated):
        frames, _, _ = apply_damage(source, [Frame(json_text(source) + b"\n")], "2025-11-25")
        data = b"".join(frame.raw for frame in frames)
        yield from (line for line in data.split(b"\n") if len(line) <= _MAX_SIZE)
