"""Options and output that several commands share."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TypeVar

import click
from rich.console import Console

from fuzz.campaign import PATIENCE
from fuzz.events import Listener
from fuzz.report import live, plain

__all__ = ["FORMAT", "PATIENCE_OPTION", "PLACE", "TARGET", "told_to_end", "with_progress", "write"]

T = TypeVar("T")

_ENDS = (signal.SIGTERM, signal.SIGHUP)


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

    What targets print meanwhile goes to stderr too: stdout is for the report. SIGTERM and SIGHUP
    end ``run`` as Ctrl-C does, so that what it found is told and what it made is cleared away.
    """
    with redirect_stdout(sys.stderr), told_to_end():
        if not sys.stderr.isatty():
            return run(plain(sys.stderr))
        bar, listener = live(Console(stderr=True))
        with bar:
            return run(listener)


@contextmanager
def told_to_end() -> Iterator[None]:
    """In the block, SIGTERM and SIGHUP are what Ctrl-C is, where nobody else takes them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ends = [each for each in _ENDS if signal.getsignal(each) is signal.SIG_DFL]
    for each in ends:  # one that is ignored, as under nohup, stays so
        signal.signal(each, signal.default_int_handler)
    try:
        yield
    finally:
        for each in ends:
            signal.signal(each, signal.SIG_DFL)


def write(text: str) -> None:
    """Write the report, or a line of it. Raises UsageError where the command line cannot."""
    click.echo(text)
