"""``wirefence compare``: what changes for readers of JSON when a parser is upgraded or swapped."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from wirefence.fuzz.commands.options import GLOSSARY, LONG, PLACE, Seconds, write
from wirefence.fuzz.compare.accept import Accepted, accepted, marked, record, writable
from wirefence.fuzz.compare.corpus import unreadable
from wirefence.fuzz.compare.formats import FORMATS
from wirefence.fuzz.compare.input_schedule import Origin
from wirefence.fuzz.compare.notation import parse
from wirefence.fuzz.compare.report import Report
from wirefence.fuzz.compare.run import Budget, Tally
from wirefence.fuzz.compare.session import Request, compare
from wirefence.fuzz.crashes.compared_sides import keep
from wirefence.fuzz.errors import FOUND, NOTHING, USAGE, UsageError
from wirefence.fuzz.paths import exists
from wirefence.fuzz.store.store import Store
from wirefence.targets.environments import Side, prepare

__all__ = ["command"]

_EVERY = 5.0


@click.command("compare", epilog=GLOSSARY)
@click.argument("specs", nargs=-1, metavar="OLD NEW [MORE...]")
@click.option("--python", help="Interpreter of all sides: a version such as 3.11, or a path.")
@click.option(
    "--corpus",
    multiple=True,
    type=PLACE,
    help="Your own inputs: files, folders, JSON Lines, transcripts of gate; repeatable.",
)
@click.option("--seconds", type=Seconds(most=LONG), default=120.0, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--workers", type=click.IntRange(1, 64), help="Number of processes for each side.")
@click.option(
    "--accept",
    type=PLACE,
    help="File of reviewed differences; created for review if it does not exist.",
)
@click.option(
    "--out",
    type=PLACE,
    help="Keep the smallest input of each class here, for wirefence crashes commit --from.",
)
@click.option(
    "--input",
    "only",
    multiple=True,
    help="Compare only this input: hexadecimal, as in 5b*995+5d*995.",
)
@click.option("--cache", type=PLACE, help="Directory for environments.")
@click.option(
    "--format", "form", type=click.Choice(list(FORMATS)), default="table", show_default=True
)
def command(  # noqa: PLR0913, PLR0917 - click passes one for each option
    specs: tuple[str, ...],
    python: str | None,
    corpus: tuple[Path, ...],
    seconds: float,
    seed: int,
    workers: int | None,
    accept: Path | None,
    out: Path | None,
    only: tuple[str, ...],
    cache: Path | None,
    form: str,
) -> int:
    """Compare parsers: does any input change its meaning from OLD to NEW?

    A side is a requirement (orjson==3.9.14), a library (json, simplejson), a wheel or directory,
    python:3.13, or node. Exit 0 if behaviour is equal (error messages may differ), 1 if it differs,
    2 if a side cannot be prepared or an interrupt comes before the first difference.
    """
    if len(specs) < 2:
        raise UsageError("a comparison takes two sides or more", "name OLD and NEW")
    inputs = [parse(text) for text in only]
    _tell_of_unreadable(corpus)
    known = _accepted(accept)
    if out is not None:
        Store(out).prepare()
    sides = [_prepared(spec, python, cache) for spec in specs]
    budget = Budget(seconds, workers or max(1, (os.cpu_count() or 2) // len(sides)))
    words = _command(specs, python, corpus, ["--seed", str(seed), "--seconds", f"{seconds:g}"])
    request = Request(tuple(sides), budget, Origin(seed, corpus), inputs, words)
    report = compare(request, _progress())
    report = report.with_pairs([marked(pair, known) for pair in report.pairs])
    write(FORMATS[form](report))
    if accept is not None and not exists(accept):
        _for_review(accept, report)
    if out is not None:
        _keep(out, report, python or "", cache)
    return _code(report)


def _code(report: Report) -> int:
    """1 for differences, whatever else; no difference is a verdict of a whole run only."""
    if report.different:
        return FOUND
    if not report.tally.interrupted:
        return NOTHING
    said = "interrupted before anything differed, which is no verdict; run it again"
    click.echo(f"wirefence: {said}", err=True)
    return USAGE


def _tell_of_unreadable(corpus: Sequence[Path]) -> None:
    """Say so where lines of transcripts are left out."""
    if count := unreadable(corpus):
        many, verb = ("1 line", "is") if count == 1 else (f"{count:,} lines", "are")
        click.echo(
            f"wirefence: {many} of transcripts {verb} not escaped as gate does it, and {verb} "
            "left out",
            err=True,
        )


def _accepted(path: Path | None) -> Accepted:
    if path is None:
        return frozenset()
    if exists(path):
        return accepted(path)
    writable(path)
    return frozenset()


def _prepared(spec: str, python: str | None, cache: Path | None) -> Side:
    click.echo(f"preparing {spec}", err=True)
    return prepare(spec, python=python, cache=cache)


def _command(
    specs: Sequence[str], python: str | None, corpus: Sequence[Path], others: Sequence[str]
) -> str:
    """The command line that asks for the same inputs again."""
    options = ["--python", python] if python else []
    folders = [word for path in corpus for word in ("--corpus", str(path))]
    return shlex.join(["wirefence", "compare", *specs, *options, *folders, *others])


def _keep(out: Path, report: Report, python: str, cache: Path | None) -> None:
    store = Store(out)
    count = 0
    for pair in report.pairs:
        raws = [parse(found.spelled) for found in pair.changed if found.spelled]
        count += keep(raws, (pair.old, pair.new), python, store, cache)
    click.echo(f"kept {count} findings below {out}", err=True)


def _for_review(path: Path, report: Report) -> None:
    count = record(path, report.pairs)
    if not count:
        click.echo(f"wrote {path}: nothing is accepted, as nothing differs", err=True)
        return
    click.echo(
        f"wrote {count} differences to {path}: take out what you do not accept, and keep the file",
        err=True,
    )


def _progress() -> Callable[[Tally, int], None]:
    start = last = time.monotonic()

    def told(tally: Tally, classes: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _EVERY:
            last = now
            said = f"{now - start:5.0f} s  {tally.comparisons:,} comparisons  {classes} classes"
            click.echo(said, err=True)

    return told
