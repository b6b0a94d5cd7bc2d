"""``wirefence replay``: check whether reproducers still show their faults."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path

import click

from wirefence.fuzz.commands.options import FORMAT, PATIENCE_OPTION, NonEmptyPath, write_report
from wirefence.fuzz.crashes.render import format_problem, format_replay
from wirefence.fuzz.crashes.replay import ReplayResult, choose_exit_code, replay_reproducers
from wirefence.fuzz.crashes.rerun import targets_of
from wirefence.fuzz.errors import USAGE, UsageError
from wirefence.fuzz.extras import require_for_targets
from wirefence.fuzz.paths import is_folder
from wirefence.fuzz.store.scan import (
    FINDINGS,
    GATE,
    REPRODUCERS,
    Entry,
    Problem,
    find_entries,
    scan_folder,
)

__all__ = ["command"]


@click.command("replay")
@click.argument("paths", nargs=-1, type=NonEmptyPath(), metavar="[PATH|ID]...")
@click.option("--target", default="", help="Run them against this target instead of their own.")
@PATIENCE_OPTION
@FORMAT
def command(paths: tuple[str, ...], target: str, patience: float, form: str) -> int:
    """Replay reproducers: FIXED, STILL FAILING, CHANGED or ERROR for each.

    PATH is a .frame file or a directory; default: crashes. Exit 0 if each is as its status says
    (open and upstream still fail, fixed ones show nothing), 1 if not, 2 if one cannot be run. With
    --target, each reproducer must show nothing.
    """
    entries, problems = _collect_entries(paths)
    if not entries and not problems:
        raise UsageError("there is nothing to replay", "name a .frame file or a directory of them")
    require_for_targets([target] if target else targets_of(entries))
    with redirect_stdout(sys.stderr):
        results = list(replay_reproducers(entries, target=target, patience=patience))
    write_report(_as_json(results, problems) if form == "json" else _as_lines(results, problems))
    return USAGE if problems else choose_exit_code(results)


def _collect_entries(paths: tuple[str, ...]) -> tuple[list[Entry], list[Problem]]:
    entries: list[Entry] = []
    problems: list[Problem] = []
    for name in paths or (str(REPRODUCERS),):
        if is_folder(Path(name)) or not paths:
            shelf = scan_folder(Path(name))
            entries += shelf.entries
            problems += shelf.problems
        else:
            entries += find_entries([name], (REPRODUCERS, FINDINGS, GATE))
    return entries, problems


def _as_lines(results: list[ReplayResult], problems: list[Problem]) -> str:
    odd = sum(not each.expected for each in results)
    last = f"{len(results)} replayed, {odd} do not match their status, {len(problems)} unusable."
    return "\n".join([*map(format_replay, results), *map(format_problem, problems), last])


def _as_json(results: list[ReplayResult], problems: list[Problem]) -> str:
    content = {
        "replayed": [
            {
                "id": each.entry.id,
                "path": str(each.entry.path),
                "status": each.entry.metadata.status,
                "verdict": each.verdict,
                "expected": each.expected,
                "seen": [asdict(found) for found in each.seen],
                "detail": each.detail,
            }
            for each in results
        ],
        "problems": [{"path": str(each.path), "what": each.what} for each in problems],
    }
    return json.dumps(content, indent=1)
