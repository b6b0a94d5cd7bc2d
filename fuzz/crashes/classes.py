"""Reproducers of divergence classes: on which documents the installed parsers differ.

Quirks are no findings, but an upgrade may change each of them. A document is kept if a parser shows
an effect on it that no smaller kept document explains.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from wirefence.fuzz.crashes.divergences import Divergence, find_divergences
from wirefence.fuzz.examination.quirk_probe import PROBES
from wirefence.fuzz.shrink.ordering import simplicity_key
from wirefence.fuzz.shrink.shrinker import shrink_input
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.oracles.agreement import is_known, name_divergence
from wirefence.oracles.records import Finding
from wirefence.oracles.traits import PLAIN
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
    """What the kept documents explain: effects and traits for each parser."""

    quirks: dict[str, set[str]] = field(default_factory=dict)

    def explains(self, found: Divergence) -> bool:
        # A difference on a plain document explains the same one on others.
        names = found.traits | {PLAIN}
        return all(
            is_known(effect, names, self.quirks.get(parser, ())) for effect, parser in found.effects
        )

    def add_divergence(self, found: Divergence) -> None:
        for effect, parser in found.effects:
            kind = name_divergence(effect, found.traits or {PLAIN})
            self.quirks.setdefault(parser, set()).add(kind)


def find_classes(generated: int = 3_000) -> list[tuple[Finding, Case, int]]:
    """Return the smallest document for each divergence class, and the size of the original.

    Documents come from the probes of quirks and ``generated`` ones of a fixed seed, the simplest
    first. Those that differ in a depth of the interpreter, and not of the parser, are skipped. A
    document that shows several classes stands for the one that most parsers show.
    """
    smallest: dict[str, tuple[bytes, int]] = {}
    for raw in sorted(set(_generate_documents(generated)), key=simplicity_key):
        found = find_divergences(raw)
        if any(map(_is_unstable, found)):
            continue
        for each in found:
            if each.finding.signature not in smallest:
                smallest[each.finding.signature] = _shrink_document(raw, each), len(raw)
    return _drop_explained(smallest)


def _drop_explained(
    smallest: Mapping[str, tuple[bytes, int]],
) -> list[tuple[Finding, Case, int]]:
    """Return the documents that show more than others with fewer traits explain."""
    known, kept = _KnownQuirks(), []
    sizes = dict(smallest.values())
    shown = {data: find_divergences(data) for data in sizes}
    for data, found in sorted(shown.items(), key=_plainness_key):
        new = [
            each
            for each in found
            if not known.explains(each) and smallest[each.finding.signature][0] == data
        ]
        if new:
            most = max(new, key=lambda each: len(each.effects))
            kept.append((most.finding, case_from_bytes(data), sizes[data]))
            for each in found:
                known.add_divergence(each)
    return kept


def _plainness_key(each: tuple[bytes, Sequence[Divergence]]) -> tuple[int, tuple[int, bytes]]:
    data, found = each
    return len(found[0].traits), simplicity_key(data)


def _is_unstable(found: Divergence) -> bool:
    return bool(found.traits & {"depth", "number-1001c"}) and any(
        parser.startswith(_UNSTABLE) and effect.startswith("escapes")
        for effect, parser in found.effects
    )


def _shrink_document(raw: bytes, found: Divergence) -> bytes:
    """Return the smallest document that the same parsers take in the same way.

    The parsers are no part of a signature, but a document that others take is no smaller form.
    """
    wanted = found.finding.signature, frozenset(found.effects)

    def hits(data: bytes) -> bool:
        made = ((e.finding.signature, frozenset(e.effects)) for e in find_divergences(data))
        return b"\n" not in data and wanted in made

    return shrink_input(raw, hits).data


def _generate_documents(generated: int) -> Iterator[bytes]:
    yield from (raw for raw in PROBES if len(raw) <= _MAX_SIZE and b"\n" not in raw)
    yield from (b'{"jsonrpc":"2.0","x":%s}' % raw for raw in PROBES if len(raw) <= _MAX_SIZE)
    source = RandomSource(random.Random(_SEED))
    for _ in range(generated):
        frames, _, _ = apply_damage(source, [Frame(json_text(source) + b"\n")], "2025-11-25")
        data = b"".join(frame.raw for frame in frames)
        yield from (line for line in data.split(b"\n") if len(line) <= _MAX_SIZE)
