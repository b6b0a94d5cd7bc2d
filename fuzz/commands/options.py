"""Options and output that several commands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import TypeVar

import click
from rich.console import Console

from fuzz.campaign import PATIENCE
from fuzz.events import Listener
from fuzz.report import live, plain

__all__ = ["FORMAT", "PATIENCE_OPTION", "PLACE", "TARGET", "with_progress", "write"]

T = TypeVar("T")


class _Place(click.Path):
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


PLACE = _Place(path_type=Path)
FORMAT = click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True
)
TARGET = click.option(
    "--target",
    "targets",
    multiple=True,
    help="parsers, gateway, reference, a parser's name, planted:NAME or package.module:factory, "
    "each gateway with /spec behind it for that profile; repeatable.",
)
PATIENCE_OPTION = click.option(
    "--patience",
    type=click.FloatRange(min=0.1),
    default=PATIENCE,
    show_default=True,
    help="Seconds until a target is said to hang.",
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


def write(text: str) -> None:
    """Write the report, or a line of it. Raises UsageError where the command line cannot."""
    click.echo(text)
