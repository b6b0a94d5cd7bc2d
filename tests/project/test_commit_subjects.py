"""Subjects of commits are imperatives of at most 72 characters, as CONTRIBUTING.md says."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.project.commits import BASE, subjects_since, wrong_with

ROOT = Path(__file__).resolve().parents[2]


def test_the_subjects_of_new_commits_keep_the_rule() -> None:
    found = subjects_since(ROOT, BASE)
    if isinstance(found, str):
        pytest.skip(found)
    said = [f"{name} {subject!r} {wrong_with(subject)}" for name, subject in found]
    assert [
        line for line, (_, subject) in zip(said, found, strict=True) if wrong_with(subject)
    ] == []


@pytest.mark.parametrize(
    "subject",
    [
        "Reject a lone CR inside a frame",
        "Order the modules of fuzz in layers, and move benchmarks to scripts",
        "Re-read the quirks file",
        "Feed the judge in pieces",
        "X" + "a" * 60 + " " + "b" * 10,
    ],
)
def test_an_imperative_of_72_characters_keeps_the_rule(subject: str) -> None:
    assert wrong_with(subject) is None


@pytest.mark.parametrize(
    "subject",
    [
        "A screen without end is told by the servers it starts",
        "The comment stands before what it speaks of",
        "What is in doubt goes to a server that has not had its ids",
        "Who asks is told",
        "No start is waited for longer than the run was given",
        "Nothing is lost",
        "There is one way to write a file",
        "It works",
        "One way to write a file whole: five places had their own",
        "README: figures of today's runs",
        "Fixed the prune command",
        "Adding a test",
        "reject a lone CR",
        "`frame-cr` is a rule",
        "Update",
        "",
        "X" + "a" * 60 + " " + "b" * 11,
    ],
)
def test_a_statement_or_a_long_subject_breaks_the_rule(subject: str) -> None:
    assert wrong_with(subject)


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_a_history_that_does_not_reach_back_is_named(tmp_path: Path) -> None:
    assert subjects_since(tmp_path, BASE) == "there is no git history here"
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], [*identity, "commit", "-q", "--allow-empty", "-m", "Begin it"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    assert "does not reach back" in subjects_since(tmp_path, BASE)
    subprocess.run(
        ["git", *identity, "commit", "-q", "--allow-empty", "-m", "The end"],
        cwd=tmp_path,
        check=True,
    )
    found = subjects_since(tmp_path, "HEAD~1")
    assert [subject for _, subject in found] == ["The end"]
