"""``wirefence explain``: one frame or session through everything."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import click

from wirefence.fuzz.commands.options import FORMAT, PATIENCE_OPTION, TARGET, Place, write
from wirefence.fuzz.errors import FOUND, NOTHING, UsageError
from wirefence.fuzz.examination.explain import explain_apart
from wirefence.fuzz.examination.plan import DEFAULT_TARGETS, Plan, build
from wirefence.fuzz.extras import require_for_targets
from wirefence.fuzz.store.store import case_from_bytes, read_case
from wirefence.strategies.records import VERSIONS, Case

__all__ = ["command"]

_EVERY = 5.0


@click.command("explain")
@click.argument("file", type=Place())
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
    case = _case(file, protocol)
    with redirect_stdout(sys.stderr):
        examiner = build(Plan(targets or DEFAULT_TARGETS))
    said = explain_apart(case, examiner, patience=patience, tell=_waiting())
    write(json.dumps(said.content, indent=1) if form == "json" else said.text)
    return FOUND if said.content["findings"] else NOTHING


def _waiting() -> Callable[[int], None]:
    """Tell whoever waits for a large input, now and then, that there is something to wait for."""
    began = told = time.monotonic()

    def tell(ends: int) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= _EVERY:
            told = now
            click.echo(f"{now - began:5.0f} s  {ends:,} readings done", err=True)

    return tell


def _case(file: str, protocol: str | None) -> Case:
    if file == "-":
        if sys.stdin is None:
            raise UsageError("stdin is closed", "name a file or pipe bytes in")
        return case_from_bytes(sys.stdin.buffer.read(), protocol=protocol or VERSIONS[-2])
    case = read_case(Path(file))
    return case_from_bytes(case.data, protocol=protocol, cuts=list(case.cuts)) if protocol else case
