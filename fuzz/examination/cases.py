"""Where the cases of a campaign come from: committed files first, then the grammar, for ever.

The key insight: case number *n* of a seed is a function of seed and *n* alone, so that any number
of workers, in any order, makes the same cases.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.paths import exists, is_file, is_folder
from wirefence.fuzz.store.store import read_case
from wirefence.strategies.damage import OPERATORS, Operator, apply_damage
from wirefence.strategies.json_text import json_text
from wirefence.strategies.records import VERSIONS, Case, Frame, Version
from wirefence.strategies.server_sessions import server_session
from wirefence.strategies.sessions import session
from wirefence.strategies.source import RandomSource, Source

__all__ = ["BLOCK", "block", "corpus"]

BLOCK = 64
"""Cases of one block: seeding a generator costs more than making a case."""

_TURN = 4
_HEAVY_TURN = 24
"""Every so many cases damage is done in turn, and every so many blocks heavy damage."""

_HEAVY = [operator for operator in OPERATORS if operator.heavy]
_LIGHT = [operator for operator in OPERATORS if not operator.heavy]
_MIX = 0x9E3779B97F4A7C15


def block(seed: int, number: int, versions: Sequence[Version] = VERSIONS) -> Iterator[Case]:
    """Make the :data:`BLOCK` cases of one block of a seed, in order.

    One case in four does the damage whose turn it is, in the version whose turn it is, so that
    every operator is exercised in a known number of cases; chance makes the others.
    """
    source = RandomSource(random.Random((seed * _MIX + number) & (1 << 64) - 1))
    for place in range(BLOCK):
        prefix = f"b{number}c{place}-"
        if place % _TURN:
            yield _case(source, prefix, source.choice(versions))
        else:
            operator, version = _whose_turn(number, place, versions)
            damage = partial(apply_damage, operator=operator)
            yield session(source, version, damage=damage, prefix=prefix, always=True)


def _whose_turn(number: int, place: int, versions: Sequence[Version]) -> tuple[Operator, Version]:
    table, turn = _LIGHT, (number * BLOCK + place) // _TURN
    if not place and not number % _HEAVY_TURN:
        table, turn = _HEAVY, number // _HEAVY_TURN
    round_, at = divmod(turn, len(table))
    return table[at], versions[round_ % len(versions)]


def _case(source: Source, prefix: str, version: Version) -> Case:
    kind = source.integer(0, 9)
    if kind == 0:
        return session(source, version, damage=None, prefix=prefix)
    if kind <= 7:
        return session(source, version, damage=apply_damage, prefix=prefix)
    if kind == 8:
        return server_session(source, version, damage=apply_damage)
    return _document(source, version)


def _document(source: Source, version: Version) -> Case:
    """A JSON text as the only frame: for the parsers, any text is as good as a message."""
    frames: Sequence[Frame] = (Frame(json_text(source) + b"\n"),)
    cuts: tuple[int, ...] = ()
    damage: tuple[str, ...] = ()
    if source.chance(1, 2):
        frames, cuts, damage = apply_damage(source, list(frames), version)
    return Case(tuple(frames), cuts, version, damage=damage)


def corpus(folders: Sequence[Path]) -> Iterator[Case]:
    """Every file below ``folders`` as a case, in the order of their names.

    Metadata files (``.json`` beside a ``.frame``) and hidden files are left out. Raises UsageError
    for a folder or file that cannot be read.
    """
    for folder in folders:
        if is_file(folder):
            yield read_case(folder)
            continue
        if not is_folder(folder):
            if exists(folder):
                raise UsageError(f"{folder} is neither file nor folder", "name a corpus")
            raise UsageError(f"there is no corpus at {folder}", "check the path")
        for path in sorted(folder.rglob("*")):
            beside = path.suffix == ".json" and path.with_suffix(".frame").exists()
            if path.is_file() and not beside and not path.name.startswith("."):
                yield read_case(path)
