"""How good a comparison is: known changes of real libraries, found without being told of them.

``python -m scripts.bench.known_changes CHANGES.json [--seconds 120]`` runs every pair of
versions in the file and says for each listed change whether a class of the same kind was found,
under which name, and how long its smallest input is beside the listed one.

A listed input is read by both sides only after the search, to learn which effect
and traits it has; a class found explains it if it has the same effect and needs no other traits.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

import click

from wirefence.fuzz.compare.class_table import ClassEntry
from wirefence.fuzz.compare.classes import effect_of
from wirefence.fuzz.compare.inputs.input_schedule import Origin
from wirefence.fuzz.compare.repetitions import find_input_traits
from wirefence.fuzz.compare.run import Budget, Comparison
from wirefence.fuzz.compare.sides import Team, start_team
from wirefence.targets.environments import prepare_side
from wirefence.targets.errors import TargetError

__all__ = ["Change", "Result", "load", "run_pair"]

_WORDS = 400


@dataclass(frozen=True, slots=True)
class Change:
    """One verified change: two sides, and an input whose outcome differs between them."""

    old: str
    new: str
    python: str | None
    raw: bytes
    outcomes: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one change: the class that explains it, and its smallest input's size."""

    change: Change
    name: str
    size: int

    @property
    def ok(self) -> bool:
        """Whether it was found with an input no longer than the listed one."""
        return bool(self.name) and self.size <= len(self.change.raw)


def load(path: Path) -> list[Change]:
    """Read a file of changes. Raises OSError, ValueError or KeyError."""
    return [_make_change(row) for row in json.loads(path.read_bytes())]


def _make_change(row: Mapping[str, str]) -> Change:
    outcomes = row["old_outcome"], row["new_outcome"]
    if row["pkg"].startswith("json"):
        old, new, python = f"python:{row['old']}", f"python:{row['new']}", None
    else:
        old, new = (f"{row['pkg']}=={row[side]}" for side in ("old", "new"))
        python = row["python"]
    return Change(old, new, python, _make_input(row), outcomes)


def _make_input(row: Mapping[str, str]) -> bytes:
    """The listed input; long ones are told by their first bytes, length and outcome."""
    if row.get("input_hex") is not None:
        return bytes.fromhex(row["input_hex"])
    size = int(row["input_desc"].rpartition("len=")[2])
    if row["input_desc"].startswith("b'["):
        return b"[" * (size // 2) + b"]" * (size // 2)
    if row["old_outcome"].startswith("f:"):
        return b"1" * (size - 8) + b".0e-%d" % (size - 9)
    return b"1" * size


def run_pair(changes: Sequence[Change], budget: Budget, origin: Origin) -> list[Result]:
    """Compare the two sides that the changes share, then look each change up in what was found."""
    first = changes[0]
    sides = [prepare_side(spec, python=first.python) for spec in (first.old, first.new)]
    words = chain.from_iterable(islice(side.strings(), _WORDS) for side in sides)
    with start_team(sides, budget.lanes) as hired:
        explorer = Comparison(hired, budget)
        explorer.run(replace(origin, words=tuple(dict.fromkeys(words))))
        (pair,) = explorer.pairs
        hired.restart_lookers()  # a reader may remember strings, and answer by them
        return [_make_result(change, hired, pair.ledger.entries) for change in changes]


def _make_result(change: Change, hired: Team, entries: Sequence[ClassEntry]) -> Result:
    fitting = [entry for entry in entries if _explains_change(entry, change, hired)]
    best = min(fitting, key=lambda entry: len(entry.item.raw), default=None)
    return Result(change, best.name, len(best.item.raw)) if best else Result(change, "", 0)


def _explains_change(entry: ClassEntry, change: Change, hired: Team) -> bool:
    """Whether an entry is of the effect that the listed input shows, and needs nothing else."""
    look = hired.make_look(0, 1)
    shown = [(form, look([change.raw], form.name)[0]) for form in hired.forms]
    if entry.effect == "error-type":
        pairs = [(old.error, new.error) for _, (old, new) in shown]
        return (entry.old.error, entry.new.error) in pairs
    effects = {effect_of(*pair) for _, pair in shown}
    return entry.effect in effects and entry.needed <= find_input_traits(change.raw)


def _group_by_versions(changes: Sequence[Change]) -> Iterator[list[Change]]:
    keys = dict.fromkeys((c.old, c.new, c.python) for c in changes)
    for key in keys:
        yield [c for c in changes if (c.old, c.new, c.python) == key]


@click.command()
@click.argument("path", type=click.Path(path_type=Path, exists=True))
@click.option("--seconds", type=float, default=120.0)
@click.option("--seed", type=int, default=0)
@click.option("--only", default="", help="Pairs whose specification has this text.")
def main(path: Path, seconds: float, seed: int, only: str) -> None:
    """Run every pair of versions in PATH and print what became of each listed change."""
    missed = total = 0
    for changes in _group_by_versions(load(path)):
        first = changes[0]
        if only not in f"{first.old} {first.new}":
            continue
        start = time.monotonic()
        try:
            results = run_pair(changes, Budget(seconds), Origin(seed))
        except TargetError as error:
            click.echo(f"{first.old} -> {first.new}: {error}")
            missed += len(changes)
            continue
        click.echo(f"{first.old} -> {first.new} ({time.monotonic() - start:.0f} s)")
        for result in results:
            total += 1
            missed += not result.ok
            click.echo(_format_result(result))
    click.echo(f"{total - missed} of {total} changes found, each no longer than listed")
    sys.exit(bool(missed))


def _format_result(result: Result) -> str:
    mark = "ok  " if result.ok else "MISS"
    listed = " -> ".join(outcome[:40] for outcome in result.change.outcomes)
    sizes = f"{result.size} bytes, listed {len(result.change.raw)}"
    return f"  {mark} {result.name or 'not found':<60} {sizes:<32} {listed}"


if __name__ == "__main__":
    main()
