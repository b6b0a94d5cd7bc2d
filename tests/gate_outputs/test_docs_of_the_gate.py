"""What the pages and examples of the gate say is what the code has."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from wirefence.fuzz.cli import cli
from wirefence.fuzz.gate.client.attacks import ATTACKS
from wirefence.fuzz.gate.trials.startup_variants import TOGETHER, VARIANTS, find_variant
from wirefence.oracles.rules import ORACLE_RULES
from wirefence.targets.command.records import Launch
from wirefence.targets.effects.available import NAMES, Recording

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("docs/gate.md", "docs/gate-client.md", "examples/gate-client/python_sdk_client.py")
OWN_PLACE = "$RUNNER_TEMP/wirefence/bin"
WORKFLOW = ROOT / "examples" / "github-actions" / "gate.yml"


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def gate_lines() -> list[str]:
    typed = [re.findall(r"^\s*\$? ?(wirefence gate .*)$", text(page), re.M) for page in PAGES]
    return sorted({line for lines in typed for line in lines})


def parse(line: str) -> click.Context:
    _, name, *words = shlex.split(line)
    with cli.make_context("wirefence", [name]) as context:
        command = cli.get_command(context, name)
        assert command is not None
        return command.make_context(name, words, parent=context)


@pytest.mark.parametrize("line", gate_lines())
def test_each_line_to_type_parses(line: str) -> None:
    assert parse(line).params["words"]


def test_the_workflow_s_command_parses_with_every_file_it_uploads() -> None:
    workflow = WORKFLOW.read_text(encoding="utf-8")
    start, end = workflow.index(f"{OWN_PLACE}/wirefence"), workflow.index(" > .wirefence-summary")
    block = workflow[start:end].replace(f'{OWN_PLACE}/wirefence"', "wirefence")
    line = block.replace("\\\n", " ").replace("$budget", "quick").replace("$ARGS", "{}")
    params = parse(line).params
    for name in ("junit", "sarif", "out"):
        assert f"            {params[name]}\n" in workflow
    assert params["form"] == "markdown"


def test_the_workflow_installs_wirefence_apart_from_the_server() -> None:
    """Its dependencies would decide what the server runs with, and so what is tested."""
    installs = re.findall(r"(\S+) -m pip install (.*)", WORKFLOW.read_text(encoding="utf-8"))
    assert installs == [("python", "."), (f'"{OWN_PLACE}/python"', '"$WIREFENCE"')]


def test_actions_are_pinned_to_a_commit() -> None:
    used = re.findall(r"uses: (\S+)(.*)", WORKFLOW.read_text(encoding="utf-8"))
    assert len(used) == 4
    for action, version in used:
        assert re.fullmatch(r"[\w/.-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", version), action


def test_every_cause_of_noise_is_on_the_page_in_its_order() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", text("docs/gate.md"), re.M)
    assert [row for row in rows if find_variant(row[0])] == [
        (cause.name, cause.about) for cause in (*VARIANTS, TOGETHER)
    ]


def test_every_recorder_is_on_the_page_in_its_order_and_with_its_blind_spots() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", text("docs/effects.md"), re.M)
    assert tuple(rows) == NAMES
    with Recording.of(Launch(("server",), {}, ROOT / "docs")) as recording:
        for recorder in recording.recorders:
            assert len(recorder.blind) > 20


def test_the_page_of_client_mode_names_the_rules_and_counts_the_attacks() -> None:
    page = text("docs/gate-client.md")
    assert all(f"`{rule}`" in page for rule in ORACLE_RULES["client"])
    assert "some seventy" in page
    assert 65 <= len(ATTACKS) <= 75
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)
