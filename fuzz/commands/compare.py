"""``wirefence compare``: what changes when a JSON parser is upgraded or replaced."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from wirefence.fuzz.commands.options import GLOSSARY, LONG, PLACE, Seconds, write_report
from wirefence.fuzz.compare.accept import (
    Accepted,
    check_writable,
    mark_accepted,
    read_accepted,
    write_for_review,
)
from wirefence.fuzz.compare.inputs.corpus import count_unreadable_lines
from wirefence.fuzz.compare.inputs.input_schedule import Origin
from wirefence.fuzz.compare.reports.formats import FORMATS
from wirefence.fuzz.compare.reports.notation import parse_hex
from wirefence.fuzz.compare.reports.report import Report
from wirefence.fuzz.compare.run import Budget, Tally
from wirefence.fuzz.compare.session import CompareRequest, compare_sides
from wirefence.fuzz.crashes.compared_sides import save_differences
from wirefence.fuzz.errors import FOUND, NOTHING, USAGE, UsageError
from wirefence.fuzz.paths import path_exists
from wirefence.fuzz.store.store import Store
from wirefence.targets.environments import Side, prepare_side

__all__ = ["command"]

_PROGRESS_INTERVAL = 5.0
"""Seconds between two progress lines."""


@click.command("compare", epilog=GLOSSARY)
@click.argument("specs", nargs=-1, metavar="OLD NEW [MORE...]")
@click.option("--python", help="Interpreter for all sides: a version such as 3.11, or a path.")
@click.option(
    "--corpus",
    multiple=True,
    type=PLACE,
    help="Your own inputs: files, folders, JSON Lines, transcripts of gate; repeatable.",
)
@click.option(
    "--seconds",
    type=Seconds(most=LONG),
    default=120.0,
    show_default=True,
    help="Time for reading and shrinking.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Another seed gives other random inputs."
)
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
        raise UsageError("a comparison needs two sides or more", "name OLD and NEW")
    inputs = [parse_hex(text) for text in only]
    _warn_unreadable_lines(corpus)
    known = _read_accepted(accept)
    if out is not None:
        Store(out).check_writable()
    sides = [_prepare_side(spec, python, cache) for spec in specs]
    budget = Budget(seconds, workers or max(1, (os.cpu_count() or 2) // len(sides)))
    words = _format_command(
        specs, python, corpus, ["--seed", str(seed), "--seconds", f"{seconds:g}"]
    )
    request = CompareRequest(tuple(sides), budget, Origin(seed, corpus), inputs, words)
    report = compare_sides(request, _make_progress_printer())
    report = report.with_pairs([mark_accepted(pair, known) for pair in report.pairs])
    write_report(FORMATS[form](report))
    if accept is not None and not path_exists(accept):
        _write_for_review(accept, report)
    if out is not None:
        _save_findings(out, report, python or "", cache)
    return _choose_exit_code(report)


def _choose_exit_code(report: Report) -> int:
    """Return 1 for differences; 0 for none, if the run was complete."""
    if report.different:
        return FOUND
    if not report.tally.interrupted:
        return NOTHING
    said = "interrupted before any difference, so there is no verdict; run it again"
    click.echo(f"wirefence: {said}", err=True)
    return USAGE


def _warn_unreadable_lines(corpus: Sequence[Path]) -> None:
    """Print how many lines of transcripts are skipped, if any."""
    if count := count_unreadable_lines(corpus):
        many, verb = ("1 line", "is") if count == 1 else (f"{count:,} lines", "are")
        click.echo(
            f"wirefence: {many} of transcripts {verb} not escaped as gate does it, and {verb} "
            "skipped",
            err=True,
        )


def _read_accepted(path: Path | None) -> Accepted:
    if path is None:
        return frozenset()
    if path_exists(path):
        return read_accepted(path)
    check_writable(path)
    return frozenset()


def _prepare_side(spec: str, python: str | None, cache: Path | None) -> Side:
    click.echo(f"preparing {spec}", err=True)
    return prepare_side(spec, python=python, cache=cache)


def _format_command(
    specs: Sequence[str], python: str | None, corpus: Sequence[Path], others: Sequence[str]
) -> str:
    """Return the command line that compares the same inputs again."""
    options = ["--python", python] if python else []
    folders = [word for path in corpus for word in ("--corpus", str(path))]
    return shlex.join(["wirefence", "compare", *specs, *options, *folders, *others])


def _save_findings(out: Path, report: Report, python: str, cache: Path | None) -> None:
    store = Store(out)
    count = 0
    for pair in report.pairs:
        raws = [parse_hex(found.spelled) for found in pair.changed if found.spelled]
        count += save_differences(raws, (pair.old, pair.new), python, store, cache)
    click.echo(f"wrote {count} findings below {out}", err=True)


def _write_for_review(path: Path, report: Report) -> None:
    count = write_for_review(path, report.pairs)
    if not count:
        click.echo(f"wrote {path}: it accepts nothing, since nothing differs", err=True)
        return
    click.echo(
        f"wrote {count} differences to {path}: delete those that you do not accept, and keep it",
        err=True,
    )


def _make_progress_printer() -> Callable[[Tally, int], None]:
    start = last = time.monotonic()

    def told(tally: Tally, classes: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _PROGRESS_INTERVAL:
            last = now
            said = f"{now - start:5.0f} s  {tally.comparisons:,} comparisons  {classes} classes"
            click.echo(said, err=True)

    return told
