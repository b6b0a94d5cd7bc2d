"""Options and output that several commands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import TypeVar

import click
from rich.console import Console

from fuzz.campaign import PATIENCE
from fuzz.events import Listener
from fuzz.report import live, plain

__all__ = ["FORMAT", "PATIENCE_OPTION", "TARGET", "with_progress", "write"]

T = TypeVar("T")

FORMAT = click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True
)
TARGET = click.option(
    "--target",
    "targets",
    multiple=True,
    help="parsers, gateway, a parser's name, planted:NAME or package.module:factory; repeatable.",
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
    """Write the report; a reader that went away, as ``head`` does, changes no exit code."""
    try:
        click.echo(text)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
