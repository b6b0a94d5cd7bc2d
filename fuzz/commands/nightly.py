"""``wirefence nightly``: the round that cron or CI runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click

from wirefence.fuzz.commands.options import LONG, PLACE, Seconds, run_with_progress, write_report
from wirefence.fuzz.crashes.nightly import run_nightly
from wirefence.fuzz.crashes.nightly_config import load_config
from wirefence.fuzz.extras import require_for_targets
from wirefence.fuzz.store.typed_records import as_content

__all__ = ["command"]


@click.command("nightly")
@click.option(
    "--config",
    type=PLACE,
    default=Path("wirefence.toml"),
    show_default=True,
    help="File with the table [nightly].",
)
@click.option("--seconds", type=Seconds(1, LONG), help="Replaces the configured budget.")
@click.option(
    "--commit", "branch", default="", metavar="BRANCH", help="Commit new faults to this branch."
)
@click.option("--check", is_flag=True, help="Show the configuration and run nothing.")
def command(config: Path, seconds: float | None, branch: str, *, check: bool) -> int:
    """Replay reproducers, run a campaign, and minimize new findings; can commit them.

    Prints one paragraph. Exit 0 if nothing is new and each reproducer is as its status says, 1 if
    not, 2 if a target or a path cannot be used. The next call continues a round that was killed.
    """
    settings = load_config(config)
    if seconds is not None:
        settings = replace(settings, seconds=seconds)
    if check:
        write_report(json.dumps(as_content(settings), indent=2))
        return 0

    require_for_targets(settings.targets)

    def say(line: str) -> None:
        click.echo(line, err=True)

    report = run_with_progress(lambda listener: run_nightly(settings, listener, say, branch=branch))
    write_report(report.format_text())
    return report.choose_exit_code()
