"""Options and output that several commands share."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from wirefence.fuzz.campaign.campaign import PATIENCE
from wirefence.fuzz.campaign.report import make_line_listener, make_live_listener
from wirefence.fuzz.examination.events import Listener
from wirefence.fuzz.paths import is_folder
from wirefence.fuzz.store.scan import REPRODUCERS, scan_folder
from wirefence.fuzz.store.status import delete_copies_of_fixed, read_unfixed_signatures

__all__ = [
    "FORMAT",
    "GLOSSARY",
    "LONG",
    "PATIENCE_OPTION",
    "PLACE",
    "SOURCE",
    "TARGET",
    "ExistingFolder",
    "NonEmptyPath",
    "Seconds",
    "read_known_signatures",
    "run_with_progress",
    "write_report",
]

T = TypeVar("T")


class NonEmptyPath(click.Path):
    """A path that is not empty, so an unset shell variable does not mean the working folder."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        if value == "":
            self.fail("the path is empty", param, ctx)
        return super().convert(value, param, ctx)


class ExistingFolder(NonEmptyPath):
    """A directory to read: the default one may be missing, but one that is given must exist."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        path = super().convert(value, param, ctx)
        usual = param is not None and path == param.default
        if not usual and not is_folder(Path(os.fsdecode(path))):
            self.fail(f"there is no directory {os.fsdecode(path)!r}", param, ctx)
        return path


class Seconds(click.types.FloatParamType):
    """A number of seconds from ``least`` to ``most``; no NaN, no infinity.

    ``most`` is by default what poll(2) takes in milliseconds, with room to spare.
    """

    name = "seconds"

    def __init__(self, least: float = 0.1, most: float = 1e6) -> None:
        self._least, self._most = least, most

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            seconds = float(value)
        except ValueError:
            seconds = math.nan
        if not self._least <= seconds <= self._most:  # which NaN is not either
            limits = f"from {self._least:g} to {self._most:,.0f}"
            self.fail(f"{value!r} is not a number of seconds {limits}", param, ctx)
        return seconds


LONG = 1e9
"""Seconds of the longest run, for options that only set a deadline."""

GLOSSARY = "Terms are explained in docs/glossary.md."
"""The last line of the help of commands whose reports use terms."""

PLACE = NonEmptyPath(path_type=Path)
SOURCE = ExistingFolder(path_type=Path)
FORMAT = click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True
)
TARGET = click.option(
    "--target",
    "targets",
    multiple=True,
    help="parsers (all), gateway (the reference gateway with each strict parser), reference (with "
    "its own), the name of a parser, planted:NAME (a gateway with a known fault) or "
    "package.module:factory (yours); append /spec to a gateway for that profile; repeatable.",
)
PATIENCE_OPTION = click.option(
    "--patience",
    type=Seconds(),
    default=PATIENCE,
    show_default=True,
    help="Seconds until a target counts as hung.",
)


def run_with_progress(run: Callable[[Listener], T]) -> T:
    """Call ``run`` with a listener on stderr: a live display on a terminal, lines elsewhere.

    stdout of targets goes to stderr meanwhile, since stdout is for the report.
    """
    with redirect_stdout(sys.stderr):
        if not sys.stderr.isatty():
            return run(make_line_listener(sys.stderr))
        bar, listener = make_live_listener(Console(stderr=True))
        with bar:
            return run(listener)


def read_known_signatures(out: Path) -> frozenset[str]:
    """Return signatures of committed crashes that are not fixed; they are no new findings.

    Deletes copies of fixed reproducers from ``out``. Raises UsageError.
    """
    known = read_unfixed_signatures(REPRODUCERS)
    past = delete_copies_of_fixed(out, scan_folder(REPRODUCERS).entries)
    for path in past:
        click.echo(f"deleted {path}: a copy of a fixed reproducer hides its return", err=True)
    return known


def write_report(text: str) -> None:
    """Print the report, or a line of it, to stdout. Raises UsageError if that fails."""
    click.echo(text)
