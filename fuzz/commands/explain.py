"""``wirefence explain``: show what every target makes of one frame or session."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import click

from wirefence.fuzz.commands.options import (
    FORMAT,
    PATIENCE_OPTION,
    TARGET,
    NonEmptyPath,
    write_report,
)
from wirefence.fuzz.errors import FOUND, NOTHING, UsageError
from wirefence.fuzz.examination.explain import explain_in_child
from wirefence.fuzz.examination.plan import DEFAULT_TARGETS, Plan, build_examiner
from wirefence.fuzz.extras import require_for_targets
from wirefence.fuzz.store.store import case_from_bytes, read_case
from wirefence.strategies.records import VERSIONS, Case

__all__ = ["command"]

_PROGRESS_INTERVAL = 5.0
"""Seconds between two progress lines."""


@click.command("explain")
@click.argument("file", type=NonEmptyPath())
@click.option("--protocol", type=click.Choice(VERSIONS), help="MCP version of the session.")
@TARGET
@PATIENCE_OPTION
@FORMAT
def command(
    file: str, protocol: str | None, targets: tuple[str, ...], patience: float, form: str
) -> int:
    """Show how the judge, each parser and the gateway read FILE ('-' for stdin).

    FILE holds raw stdin bytes: one frame or a session. Exit 1 for findings.
    """
    require_for_targets(targets or DEFAULT_TARGETS)
    case = _read_input(file, protocol)
    with redirect_stdout(sys.stderr):
        examiner = build_examiner(Plan(targets or DEFAULT_TARGETS))
    said = explain_in_child(case, examiner, patience=patience, tell=_make_progress_printer())
    write_report(json.dumps(said.content, indent=1) if form == "json" else said.text)
    return FOUND if said.content["findings"] else NOTHING


def _make_progress_printer() -> Callable[[int], None]:
    """Return a function that prints progress now and then: a large input takes long."""
    began = told = time.monotonic()

    def tell(ends: int) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= _PROGRESS_INTERVAL:
            told = now
            click.echo(f"{now - began:5.0f} s  {ends:,} targets done", err=True)

    return tell


def _read_input(file: str, protocol: str | None) -> Case:
    if file == "-":
        if sys.stdin is None:
            raise UsageError("stdin is closed", "name a file or pipe bytes in")
        return case_from_bytes(sys.stdin.buffer.read(), protocol=protocol or VERSIONS[-2])
    case = read_case(Path(file))
    return case_from_bytes(case.data, protocol=protocol, cuts=list(case.cuts)) if protocol else case
