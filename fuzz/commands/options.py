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
from wirefence.fuzz.campaign.report import live, plain
from wirefence.fuzz.examination.events import Listener
from wirefence.fuzz.paths import is_folder
from wirefence.fuzz.store.scan import REPRODUCERS, scan
from wirefence.fuzz.store.status import forget_fixed, standing

__all__ = [
    "FORMAT",
    "GLOSSARY",
    "LONG",
    "PATIENCE_OPTION",
    "PLACE",
    "SOURCE",
    "TARGET",
    "Place",
    "Seconds",
    "Source",
    "known_for",
    "with_progress",
    "write",
]

T = TypeVar("T")


class Place(click.Path):
    """A path that is not empty: an unset variable of a script does not mean the working folder."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        if value == "":
            self.fail("the path is empty", param, ctx)
        return super().convert(value, param, ctx)


class Source(Place):
    """A directory to be read: a new project need not have the usual one, but one that is named is
    there.
    """

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
    """A number of seconds, ``least`` or more, that every clock here can count: no NaN, no infinity.

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
            self.fail(f"{value!r} is no number of seconds {limits}", param, ctx)
        return seconds


LONG = 1e9
"""Seconds of the longest run: what is looked at now and then has no other limit."""

GLOSSARY = "Terms are explained in docs/glossary.md."
"""The last line of the help of commands whose reports use terms."""

PLACE = Place(path_type=Path)
SOURCE = Source(path_type=Path)
FORMAT = click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True
)
TARGET = click.option(
    "--target",
    "targets",
    multiple=True,
    help="parsers, gateway, reference, the name of a parser, planted:NAME or "
    "package.module:factory; append /spec to a gateway for that profile; repeatable.",
)
PATIENCE_OPTION = click.option(
    "--patience",
    type=Seconds(),
    default=PATIENCE,
    show_default=True,
    help="Seconds until a target counts as hung.",
)


def with_progress(run: Callable[[Listener], T]) -> T:
    """Give ``run`` a listener on stderr: live on a terminal, lines elsewhere.

    What targets print meanwhile goes to stderr too: stdout is for the report.
    """
    with redirect_stdout(sys.stderr):
        if not sys.stderr.isatty():
            return run(plain(sys.stderr))
        bar, listener = live(Console(stderr=True))
        with bar:
            return run(listener)


def known_for(out: Path) -> frozenset[str]:
    """Signatures of committed crashes that are no news to a search which keeps findings in ``out``.

    Those that are fixed are news. Raises UsageError.
    """
    known = standing(REPRODUCERS)
    past = forget_fixed(out, scan(REPRODUCERS).entries)
    for path in past:
        click.echo(f"deleted {path}: a copy of a fixed reproducer hides its return", err=True)
    return known


def write(text: str) -> None:
    """Write the report, or a line of it. Raises UsageError where the command line cannot."""
    click.echo(text)
