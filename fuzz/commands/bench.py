"""``wirefence bench``: how fast the parts are."""

from __future__ import annotations

import click

from fuzz import bench as benchmarks
from fuzz.commands.options import FORMAT
from fuzz.errors import NOTHING

__all__ = ["command"]


@click.command("bench")
@FORMAT
def command(form: str) -> int:
    """Measure the grammar, the parser loop, the judge and the gateway, in CPU time."""
    figures = benchmarks.measure()
    click.echo(benchmarks.as_text(figures) if form == "json" else benchmarks.as_table(figures))
    return NOTHING
