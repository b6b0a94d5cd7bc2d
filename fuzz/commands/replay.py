"""``wirefence replay``: do reproducers still show their faults?"""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path

import click

from wirefence.fuzz.commands.options import FORMAT, PATIENCE_OPTION, Place, write
from wirefence.fuzz.crashes.render import problem, replayed
from wirefence.fuzz.crashes.replay import Replayed, exit_code, replay_all
from wirefence.fuzz.crashes.rerun import targets_of
from wirefence.fuzz.errors import USAGE, UsageError
from wirefence.fuzz.extras import require_for_targets
from wirefence.fuzz.paths import is_folder
from wirefence.fuzz.store.scan import FINDINGS, GATE, REPRODUCERS, Entry, Problem, pick, scan

__all__ = ["command"]


@click.command("replay")
@click.argument("paths", nargs=-1, type=Place(), metavar="[PATH|ID]...")
@click.option("--target", default="", help="Run them against this target instead of their own.")
@PATIENCE_OPTION
@FORMAT
def command(paths: tuple[str, ...], target: str, patience: float, form: str) -> int:
    """Replay reproducers: FIXED, STILL FAILING, CHANGED or ERROR for each.

    PATH is a .frame file or a directory; default: crashes. Exit 0 if each is as its status says
    (open and upstream still fail, fixed ones show nothing), 1 if not, 2 if one cannot be run. With
    --target, each reproducer must show nothing.
    """
    entries, problems = _gather(paths)
    if not entries and not problems:
        raise UsageError("there is nothing to replay", "name a .frame file or a directory of them")
    require_for_targets([target] if target else targets_of(entries))
    with redirect_stdout(sys.stderr):
        results = list(replay_all(entries, target=target, patience=patience))
    write(_as_json(results, problems) if form == "json" else _as_lines(results, problems))
    return USAGE if problems else exit_code(results)


def _gather(paths: tuple[str, ...]) -> tuple[list[Entry], list[Problem]]:
    entries: list[Entry] = []
    problems: list[Problem] = []
    for name in paths or (str(REPRODUCERS),):
        if is_folder(Path(name)) or not paths:
            shelf = scan(Path(name))
            entries += shelf.entries
            problems += shelf.problems
        else:
            entries += pick([name], (REPRODUCERS, FINDINGS, GATE))
    return entries, problems


def _as_lines(results: list[Replayed], problems: list[Problem]) -> str:
    odd = sum(not each.expected for each in results)
    last = f"{len(results)} replayed, {odd} not as their status says, {len(problems)} unusable."
    return "\n".join([*map(replayed, results), *map(problem, problems), last])


def _as_json(results: list[Replayed], problems: list[Problem]) -> str:
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
