"""Generate the cases of a campaign, and read the cases of a corpus.

Case number *n* of a seed is a function of seed and *n* alone. So any number of workers, in any
order, generates the same cases.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.paths import is_file, is_folder, path_exists
from wirefence.fuzz.store.store import read_case
from wirefence.strategies.damage import OPERATORS, Operator, apply_damage
from wirefence.strategies.json_text import json_text
from wirefence.strategies.records import VERSIONS, Case, Frame, Version
from wirefence.strategies.server_sessions import server_session
from wirefence.strategies.sessions import session
from wirefence.strategies.source import RandomSource, Source

__all__ = ["BLOCK", "generate_block", "read_corpus"]

BLOCK = 64
"""Cases of one block. Seeding a generator costs more than generating a case, so each block seeds
once.
"""

_TURN = 4
"""One case in this many applies the damage operator whose turn it is."""
_HEAVY_TURN = 20
"""One block in this many applies a heavy operator: its inputs of megabytes take seconds."""

_HEAVY = [operator for operator in OPERATORS if operator.heavy]
_LIGHT = [operator for operator in OPERATORS if not operator.heavy]
_MIX = 0x9E3779B97F4A7C15
"""Odd 64-bit constant (golden ratio) that spreads seeds, so that blocks of two seeds never
coincide.
"""


def generate_block(
    seed: int, number: int, versions: Sequence[Version] = VERSIONS
) -> Iterator[Case]:
    """Generate the :data:`BLOCK` cases of one block of a seed, in order.

    One case in four applies the operator whose turn it is, in the version whose turn it is among
    those that the operator is for, so that every operator is exercised in a known number of cases.
    The others are chosen at random.
    """
    source = RandomSource(random.Random((seed * _MIX + number) & (1 << 64) - 1))
    for place in range(BLOCK):
        prefix = f"b{number}c{place}-"
        if place % _TURN:
            yield _generate_case(source, prefix, source.choice(versions))
        else:
            operator, version = _choose_operator(number, place, versions)
            damage = partial(apply_damage, operator=operator)
            yield session(source, version, damage=damage, prefix=prefix, always=True)


def _choose_operator(
    number: int, place: int, versions: Sequence[Version]
) -> tuple[Operator, Version]:
    """Return the operator and version whose turn it is.

    Heavy operators have turns of their own. They take none of the others', which would lose the
    same one in each round.
    """
    heavy = number // _HEAVY_TURN + 1
    table, turn = _LIGHT, (number * BLOCK + place) // _TURN - heavy
    if not place and not number % _HEAVY_TURN:
        table, turn = _HEAVY, heavy - 1
    round_, at = divmod(turn, len(table))
    fitting = [version for version in versions if version in table[at].versions] or versions
    return table[at], fitting[round_ % len(fitting)]


def _generate_case(source: Source, prefix: str, version: Version) -> Case:
    kind = source.integer(0, 9)
    if kind == 0:
        return session(source, version, damage=None, prefix=prefix)
    if kind <= 7:
        return session(source, version, damage=apply_damage, prefix=prefix)
    if kind == 8:
        return server_session(source, version, damage=apply_damage)
    return _generate_document(source, version)


def _generate_document(source: Source, version: Version) -> Case:
    """Return a case with one JSON text as its frame, damaged in half of the cases."""
    frames: Sequence[Frame] = (Frame(json_text(source) + b"\n"),)
    cuts: tuple[int, ...] = ()
    damage: tuple[str, ...] = ()
    if source.chance(1, 2):
        frames, cuts, damage = apply_damage(source, list(frames), version)
    return Case(tuple(frames), cuts, version, damage=damage)


def read_corpus(folders: Sequence[Path]) -> Iterator[Case]:
    """Yield every file below ``folders`` as a case, sorted by name.

    Metadata files (``.json`` beside a ``.frame``) and hidden files are skipped. Raises UsageError
    for a folder or file that cannot be read.
    """
    for folder in folders:
        if is_file(folder):
            yield read_case(folder)
            continue
        if not is_folder(folder):
            if path_exists(folder):
                raise UsageError(f"{folder} is neither file nor folder", "name a corpus")
            raise UsageError(f"there is no corpus at {folder}", "check the path")
        for path in sorted(folder.rglob("*")):
            beside = path.suffix == ".json" and path.with_suffix(".frame").exists()
            if path.is_file() and not beside and not path.name.startswith("."):
                yield read_case(path)
