"""Measure how fast the parts are: ``python -m scripts.bench [WHAT]``, from a checkout."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import click

from scripts.bench import coverage, gate, parts, planted_stages
from wirefence.fuzz.commands.options import FORMAT, LONG, Seconds
from wirefence.fuzz.errors import FOUND, NOTHING


@click.command("python -m scripts.bench")
@click.argument("what", type=click.Choice(["parts", "fuzz", "gate", "planted"]), default="parts")
@click.option(
    "--seconds",
    type=Seconds(1, LONG),
    default=60.0,
    show_default=True,
    help="For fuzz: of each of its four runs.",
)
@FORMAT
def command(what: str, seconds: float, form: str) -> int:
    """Measure the grammar, the parser loop, the judge and the gateway, in CPU time.

    With 'fuzz': the tree mutator and libFuzzer's own side by side, each from an empty corpus. With
    'planted': how many inputs each libFuzzer target takes to find each planted fault of its stage;
    exit 1 if one is missed. With 'gate': bad frames against good ones, in wall time, by each stdio
    server that is installed.
    """
    if what == "fuzz":
        rows = coverage.measure(seconds)
        said = [{**asdict(row), "rate": row.rate} for row in rows]
        click.echo(json.dumps(said, indent=1) if form == "json" else coverage.as_table(rows))
        return NOTHING
    if what == "planted":
        return _measure_planted(form)
    figures = gate.measure() if what == "gate" else parts.measure()
    click.echo(parts.as_text(figures) if form == "json" else parts.as_table(figures))
    return NOTHING


def _measure_planted(form: str) -> int:
    """Hunt for every planted fault; a missed one is a finding about ourselves."""
    hunts = []
    for each in planted_stages.sweep():
        hunts.append(each)
        click.echo(f"{each.fault} by {each.name}: {each.inputs:,} inputs", err=True)
    said = [asdict(each) for each in hunts]
    click.echo(json.dumps(said, indent=1) if form == "json" else planted_stages.as_table(hunts))
    return NOTHING if all(each.rules for each in hunts) else FOUND


if __name__ == "__main__":
    sys.exit(command(standalone_mode=False))
