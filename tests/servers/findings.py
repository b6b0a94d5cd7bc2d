"""Run the gate on every server of the catalogue and write the tables of docs/findings.md.

``scripts/findings [NAME...]``. Reports are kept below ``.wirefence/servers/found``; ``--again``
writes the tables from those that are there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click

from tests.servers.catalogue import BY_NAME, ROOT, SERVERS, Server
from tests.servers.page import rewritten
from tests.servers.prepare import prepare
from wirefence.targets.errors import TargetError

FOUND = ROOT / ".wirefence" / "servers" / "found"
PAGE = ROOT / "docs" / "findings.md"


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(BY_NAME)), metavar="[NAME]...")
@click.option("--seconds", type=float, default=150.0, show_default=True, help="For each server.")
@click.option("--again", is_flag=True, help="Run nothing; write the tables from kept reports.")
def command(names: tuple[str, ...], seconds: float, again: bool) -> None:
    """Run the gate on servers of others (default: all) and write docs/findings.md anew."""
    os.chdir(ROOT)
    chosen = [server for server in SERVERS if server.name in names or not names]
    for server in chosen if not again else ():
        run(server, seconds)
    reports = {s.name: kept(s).read_text("utf-8") for s in SERVERS if kept(s).exists()}
    PAGE.write_text(rewritten(PAGE.read_text("utf-8"), reports), encoding="utf-8")
    click.echo(f"wrote {PAGE.relative_to(ROOT)} from {len(reports)} reports", err=True)


def kept(server: Server) -> Path:
    """Where the report on a server is kept."""
    return FOUND / f"{server.name}.json"


def run(server: Server, seconds: float) -> None:
    """One gate; its report is kept if it could be made, its progress goes to stderr."""
    try:
        prepare(server.place)
    except TargetError as error:
        sys.exit(f"{server.name}: {error}")
    folder = FOUND / server.name / "folder"
    server.make(folder)
    click.echo(f"== {server.name} {server.version}", err=True)
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = words(server, folder, seconds)
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, check=False)
    if done.returncode > 1 and not done.stdout:  # a report that is no pass is one all the same
        sys.exit(f"{server.name}: the gate ended with exit code {done.returncode}")
    kept(server).write_bytes(done.stdout)


def words(server: Server, folder: Path, seconds: float) -> list[str]:
    """The command line of the gate."""
    launch, options = server.launch(folder), server.options(folder)
    gate = [sys.executable, "-m", "wirefence", "gate", "--format", "json", "--label", server.name]
    gate += ["--out", str(FOUND / server.name), "--seconds", f"{seconds:g}"]
    gate += ["--patience", "15", "--start-patience", "60"]
    gate += ["--tool", server.tool, "--args", options.nominee.arguments if options.nominee else ""]
    gate += [word for path in options.watch for word in ("--watch", str(path))]
    gate += [word for name, value in launch.env.items() for word in ("--env", f"{name}={value}")]
    return [*gate, "--", *launch.argv]


if __name__ == "__main__":
    command()
