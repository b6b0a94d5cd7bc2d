"""What a command does not use it does not import: starting costs more than a short campaign."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from wirefence.fuzz import cli

ROOT = Path(cli.__file__).resolve().parent.parent
THEN = """
import sys
print(*sys.modules, file=sys.stderr)
"""


def imported(folder: Path, code: str) -> set[str]:
    """The modules that a fresh interpreter has imported after ``code``."""
    ran = subprocess.run(
        [sys.executable, "-c", f"{code}{THEN}"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(ran.stderr.split())


def invoking(*words: str) -> str:
    return f"from wirefence.fuzz.cli import cli\ncli.main({list(words)}, standalone_mode=False)\n"


def test_help_imports_no_command(tmp_path: Path) -> None:
    seen = imported(tmp_path, invoking("--help"))
    assert "wirefence.fuzz.cli" in seen
    assert not [
        name
        for name in seen
        if name.startswith(("wirefence.fuzz.commands.", "rich", "wirefence.oracles"))
    ]


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_help_says_of_each_command_what_its_own_help_says(name: str) -> None:
    command = cli.cli.get_command(click.Context(cli.cli), name)
    assert command is not None
    assert cli.COMMANDS[name] == command.get_short_help_str(limit=200)
    assert name in (command.name, command.callback.__name__)


def test_a_counted_campaign_imports_nothing_of_the_coverage_guided_part(tmp_path: Path) -> None:
    words = ("campaign", "--cases", "1", "--workers", "1", "--target", "planted:healthy")
    seen = imported(tmp_path, invoking(*words))
    assert "wirefence.fuzz.campaign.worker" in seen
    assert not [name for name in seen if name.startswith(("wirefence.fuzz.coverage", "atheris"))]


def test_a_worker_imports_neither_hypothesis_nor_a_command_line(tmp_path: Path) -> None:
    seen = imported(tmp_path, "import wirefence.fuzz.campaign.worker\n")
    assert "wirefence.fuzz.examination.examiner" in seen
    assert not seen & {"hypothesis", "click", "rich", "wirefence.fuzz.commands"}
