"""``wirefence nightly``: the round that cron and CI run."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from wirefence.fuzz.commands.options import LONG, PLACE, Seconds, with_progress, write
from wirefence.fuzz.crashes.nightly import nightly
from wirefence.fuzz.crashes.nightly_config import load

__all__ = ["command"]


@click.command("nightly")
@click.option(
    "--config",
    type=PLACE,
    default=Path("wirefence.toml"),
    show_default=True,
    help="Its table [nightly] says what to do.",
)
@click.option("--seconds", type=Seconds(1, LONG), help="Instead of the configured budget.")
@click.option("--commit", "branch", default="", metavar="BRANCH", help="Commit new faults there.")
@click.option("--check", is_flag=True, help="Only read the configuration, and show it.")
def command(config: Path, seconds: float | None, branch: str, *, check: bool) -> int:
    """Replay, run a campaign, minimize what is new, and commit it where asked.

    Prints one paragraph. Exit 0 if nothing is new and reproducers are as their status says, 1 if
    not, 2 where something could not be used. Killed, the next call goes on with the round.
    """
    settings = load(config)
    if seconds is not None:
        settings = msgspec.structs.replace(settings, seconds=seconds)
    if check:
        write(msgspec.json.format(msgspec.json.encode(settings)).decode())
        return 0

    def say(line: str) -> None:
        click.echo(line, err=True)

    report = with_progress(lambda listener: nightly(settings, listener, say, branch=branch))
    write(report.text())
    return report.code()
