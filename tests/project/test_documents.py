"""Links and paths in the pages lead somewhere, and the glossary has each term once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.project.documents import anchors, broken_links, missing_paths, pages
from wirefence.fuzz.cli import cli

ROOT = Path(__file__).resolve().parents[2]

TERMS = (
    *("frame", "message", "damage operator", "given cases", "trial", "sentinel", "crowd"),
    *("classic input", "target", "policy", "profile", "house rule", "strict sibling", "quirk"),
    *("trace", "judge", "oracle", "non-action", "act-unfounded", "resync", "smoke-lost"),
    *("escapes", "survives", "signs", "finding", "signature", "reproducer", "baseline", "budget"),
    *("place", "gateway", "adapter", "planted fault", "control session", "class"),
)


@pytest.mark.parametrize("rule", [broken_links, missing_paths], ids=lambda rule: rule.__name__)
def test_the_pages_name_what_is_there(rule):
    assert rule(ROOT) == []


def test_all_pages_are_read():
    names = {str(page.relative_to(ROOT)) for page in pages(ROOT)}
    assert {"README.md", "docs/gate.md", "docs/internals/figures.md", "tests/README.md"} <= names


def test_a_link_or_a_path_that_leads_nowhere_is_named(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text(
        "# First part, again\n[a](#first-part-again) [b](#second) [c](b.md) [d](https://x.example)\n"
        "`docs/a.md` `docs/*.md` `fuzz/gone.py` `tests/gone tests/gone.py`\n"
        "```\n[e](c.md) `fuzz/other.py`\n```\n"
    )
    assert anchors(tmp_path / "docs/a.md") == {"first-part-again"}
    assert broken_links(tmp_path) == ["docs/a.md links to #second", "docs/a.md links to b.md"]
    assert missing_paths(tmp_path) == [
        "docs/a.md names fuzz/gone.py",
        "docs/a.md names tests/gone",
        "docs/a.md names tests/gone.py",
    ]


def test_the_glossary_has_each_term_once_in_two_lines_with_an_example():
    text = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    entries = re.findall(r"^\*\*(.+?)\*\* - (.+)\n(.+)\n(?:\n|\Z)", text, re.MULTILINE)
    names = [name for name, _, _ in entries]
    assert len(names) == len(set(names)) == text.count("**") // 2
    assert set(TERMS) <= set(names)
    assert all(example.startswith("Example: ") for _, _, example in entries)


@pytest.mark.parametrize("name", ["gate", "campaign", "compare"])
def test_the_help_of_commands_with_reports_ends_with_the_glossary(name):
    with cli.make_context("wirefence", [name]) as context:
        command = cli.get_command(context, name)
        assert command is not None
        last = command.get_help(context).splitlines()[-1]
    assert "docs/glossary.md" in last
