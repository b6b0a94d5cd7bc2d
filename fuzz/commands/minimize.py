"""``wirefence minimize``: find the smallest input that shows the same fault."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import click
from rich.console import Console

from wirefence.fuzz.commands.options import LONG, PATIENCE_OPTION, SOURCE, Seconds, write_report
from wirefence.fuzz.crashes.minimize import (
    LIMIT,
    MinimizeLimits,
    MinimizeResult,
    minimize_reproducer,
)
from wirefence.fuzz.crashes.render import format_problem, shorten_text
from wirefence.fuzz.crashes.rerun import targets_of
from wirefence.fuzz.errors import FOUND, NOTHING, UsageError
from wirefence.fuzz.extras import require_for_targets
from wirefence.fuzz.store.scan import FINDINGS, GATE, REPRODUCERS, Entry, find_entries, scan_folder
from wirefence.fuzz.store.store import Store
from wirefence.targets.errors import TargetError

__all__ = ["command", "show_progress"]


@click.command("minimize")
@click.argument("names", nargs=-1, metavar="[FILE|ID]...")
@click.option("--all", "everything", is_flag=True, help="Minimize all findings in --from.")
@click.option(
    "--seconds",
    type=Seconds(most=LONG),
    help="Time limit for each finding; its first and last run come on top.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=LIMIT,
    show_default=True,
    help="Maximum number of inputs tried for each finding.",
)
@click.option(
    "--workers", type=click.IntRange(1, 256), default=os.cpu_count, help="Number of processes."
)
@PATIENCE_OPTION
@click.option(
    "--from",
    "folder",
    type=SOURCE,
    default=FINDINGS,
    show_default=True,
    help="The directory of findings.",
)
def command(  # noqa: PLR0913, PLR0917 - click passes one for each option
    names: tuple[str, ...],
    everything: bool,
    seconds: float | None,
    limit: int,
    workers: int,
    patience: float,
    folder: Path,
) -> int:
    """Shrink findings; each keeps the fault that it shows.

    FILE is a .frame file, ID a prefix of its hash. Minimizing removes lines first, then JSON
    values, tokens and bytes. After an interrupt the smallest form so far is kept. Exit 1 if a
    finding is no longer reproduced.
    """
    if bool(names) == everything:
        raise UsageError("give either names or --all", "name findings or give --all")
    terms = MinimizeLimits(seconds, workers, limit, patience)
    if everything:
        shelf = scan_folder(folder, findings=True)
        for each in shelf.problems:
            click.echo(format_problem(each), err=True)
        entries = list(shelf.entries)
        if not entries:
            write_report(f"There is nothing to minimize below {shorten_text(str(folder))}.")
    else:
        entries = find_entries(names, (folder, REPRODUCERS, GATE))
    require_for_targets(targets_of(entries))
    return _minimize_all(entries, terms)


def _minimize_all(entries: list[Entry], terms: MinimizeLimits) -> int:
    code = NOTHING
    for entry in entries:
        try:
            with (
                redirect_stdout(sys.stderr),
                show_progress(f"{entry.id} {shorten_text(entry.metadata.rule)}") as tell,
            ):
                said = minimize_reproducer(entry, Store(entry.path.parent.parent), terms, tell)
        except (UsageError, TargetError) as error:
            if len(entries) == 1:
                raise
            write_report(f"{entry.id}  ERROR  {shorten_text(str(error), 400)}")
            code = FOUND
            continue
        write_report(_format_result(said))
        code = FOUND if said.state == "gone" else code
    return code


def _format_result(said: MinimizeResult) -> str:
    entry = said.entry
    if said.state == "gone":
        return f"{entry.id}  does not show {shorten_text(entry.metadata.signature)} any more"
    notes = [
        "out of time or inputs: run it again to continue" if said.state == "early" else "",
        f"shows in {said.shown} of {said.trials} runs" if said.shown < said.trials else "",
        "same fault as a stored one: merged" if said.merged else "",
        "not shrunk: its bytes are a recording" if said.state == "whole" else "",
    ]
    note = "".join(f"; {each}" for each in notes if each)
    size = f"{said.before:,} -> {entry.metadata.size:,} bytes"
    return f"{entry.id}  {size} in {said.executions:,} runs{note}  {shorten_text(str(entry.path))}"


@contextmanager
def show_progress(label: str) -> Iterator[Callable[[int, int], None]]:
    """Show progress on stderr if that is a terminal; yield the function to call with it."""
    if not sys.stderr.isatty():
        yield lambda _runs, _size: None
        return
    with Console(stderr=True).status(label) as status:
        yield lambda runs, size: status.update(f"{label}  {runs:,} runs  {size:,} bytes")
