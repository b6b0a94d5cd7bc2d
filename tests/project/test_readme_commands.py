"""What the pages tell people to type exists: each make target, each wirefence command line."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from wirefence.fuzz.cli import cli

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    *("README.md", "CONTRIBUTING.md", "tests/README.md"),
    *(str(page.relative_to(ROOT)) for page in sorted((ROOT / "docs").rglob("*.md"))),
)


def commands(text: str, program: str) -> list[str]:
    """The ``$ program ...`` lines of the console blocks, without comments and later pipes."""
    blocks = re.findall(r"^```console\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    line = rf"^\$ (?:.* \| |\w+=\S* )?({program}\b[^|\n]*)"
    typed = re.findall(line, "".join(blocks), flags=re.MULTILINE)
    return [re.sub(r"\s+#.*", "", line).strip() for line in typed]


def everywhere(program: str) -> list[str]:
    texts = [(ROOT / page).read_text(encoding="utf-8") for page in PAGES]
    return sorted({line for text in texts for line in commands(text, program)})


def parse(group: click.Group, line: str) -> None:
    """Parse a command line as click would, without running it; raises ``click.UsageError``."""
    _, *words = shlex.split(line)
    with group.make_context("wirefence", words) as context:
        name, command, rest = group.resolve_command(context, words)
        assert command is not None
        with command.make_context(name, rest, parent=context) as inner:
            if isinstance(command, click.Group):
                name, command, rest = command.resolve_command(inner, rest)
                assert command is not None
                command.make_context(name, rest, parent=inner).close()


@pytest.fixture(scope="module")
def group() -> click.Group:
    return cli


def test_the_two_commands_stand_before_the_first_heading():
    top = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## ")[0]
    assert commands(top, "make") == ["make campaign", "make test"]


@pytest.mark.parametrize("line", everywhere("make"))
def test_each_make_target_exists(line):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = [word for word in shlex.split(line)[1:] if "=" not in word]
    assert all(re.search(rf"^{target}:", makefile, flags=re.MULTILINE) for target in targets)


@pytest.mark.parametrize("line", everywhere("wirefence"))
def test_each_wirefence_line_parses(group, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in re.findall(r"--from (\S+)", line):  # which has to exist
        (tmp_path / folder).mkdir(parents=True)
    parse(group, line)


def test_a_line_with_an_unknown_option_or_command_does_not_parse():
    group = click.Group("wirefence", commands=[click.Command("quirks")])
    parse(group, "wirefence quirks")
    group.add_command(click.Group("crashes", commands=[click.Command("list")]))
    for line in ("wirefence quirks --fast", "wirefence quarks", "wirefence crashes lost"):
        with pytest.raises(click.UsageError):
            parse(group, line)


def test_commands_are_read_from_console_blocks_only():
    block = "$ printf x | wirefence explain -  # why\nout\n$ A=. wirefence quirks\n"
    text = f"$ wirefence no\n```console\n{block}```\n"
    assert commands(text, "wirefence") == ["wirefence explain -", "wirefence quirks"]
