"""What becomes a commit, what is refused, and that a kill leaves the tree as it was."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.crashes.conftest import Git, Wirefence, filed, noisy
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.store.scan import scan_folder
from wirefence.fuzz.store.store import Store, case_from_bytes
from wirefence.oracles.records import make_finding

FINDINGS = Path(".wirefence/findings")


def test_findings_become_one_commit_with_an_index(here, git: Git, wirefence: Wirefence):
    one = filed(here / FINDINGS, b"NaN", "parser:ujson", "nan")
    two = filed(here / FINDINGS, b"-", "parser:ujson", "bare-minus")
    ran = wirefence("crashes", "commit")
    assert ran.code == 0
    assert git("status", "--porcelain") == ""
    assert git("rev-list", "--count", "HEAD") == "2"
    message = git("log", "-1", "--format=%B")
    assert message.startswith("Reproduce 2 faults")
    assert one.id in message
    assert {e.id for e in scan_folder(here / "crashes").entries} == {one.id, two.id}
    assert two.id in (here / "crashes/INDEX.md").read_text()
    assert wirefence("crashes", "list").code == 0


def test_a_named_branch_is_committed_to_and_nothing_else_moves(
    here, git: Git, wirefence: Wirefence
):
    filed(here / FINDINGS, b"NaN", "parser:ujson", "nan")
    before = git("rev-parse", "main")
    assert wirefence("crashes", "commit", "--branch", "found").code == 0
    assert git("rev-parse", "main") == before
    assert not (here / "crashes").exists()
    assert "INDEX.md" in git("ls-tree", "--name-only", "found:crashes")
    filed(here / FINDINGS, b"-", "parser:ujson", "bare-minus")
    wirefence("crashes", "commit", "--branch", "found")
    assert git("rev-list", "--count", "found") == "3"
    assert git("status", "--porcelain") == ""


def test_what_is_known_is_refused(here, git: Git, wirefence: Wirefence):
    filed(here / FINDINGS, b"NaN", "parser:ujson", "nan")
    wirefence("crashes", "commit")
    ran = wirefence("crashes", "commit")
    assert ran.code == 1
    assert "is known already" in ran.out
    assert git("rev-list", "--count", "HEAD") == "2"


def test_what_does_not_replay_is_refused(here, git: Git, wirefence: Wirefence):
    found = make_finding("agreement", "agree-accept", "parser:ujson", "accepts: nan", "x")
    Store(here / FINDINGS).save_finding(found, case_from_bytes(b"1"), versions={})
    ran = wirefence("crashes", "commit")
    assert ran.code == 1
    assert "does not replay in a fresh process" in ran.out
    assert git("rev-list", "--count", "HEAD") == "1"


def test_a_dirty_index_is_refused_and_left_alone(here, git: Git, wirefence: Wirefence):
    filed(here / FINDINGS, b"NaN", "parser:ujson", "nan")
    (here / "mine").write_text("staged")
    git("add", "mine")
    with pytest.raises(UsageError, match="staged"):
        wirefence("crashes", "commit")
    assert git("status", "--porcelain") == "A  mine"


def test_work_that_is_not_staged_is_left_alone(here, git: Git, wirefence: Wirefence):
    filed(here / FINDINGS, b"NaN", "parser:ujson", "nan")
    (here / ".gitignore").write_text(".wirefence/\nsuspect.py\n__pycache__/\nmine\n")
    assert wirefence("crashes", "commit").code == 0
    assert git("status", "--porcelain") == "M .gitignore"


def test_a_hook_that_refuses_is_told_and_nothing_changes(here, git: Git, wirefence: Wirefence):
    filed(here / FINDINGS, b"NaN", "parser:ujson", "nan")
    hook = here / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\necho not today >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(UsageError, match="not today"):
        wirefence("crashes", "commit")
    assert git("status", "--porcelain") == ""
    assert git("worktree", "list").count("\n") == 0


def test_without_a_repository_it_says_so_before_any_work(here, wirefence: Wirefence, monkeypatch):
    filed(here / FINDINGS, b"NaN", "parser:ujson", "nan")
    monkeypatch.setattr(
        "wirefence.fuzz.commands.crashes.select_for_commit", lambda *_, **__: pytest.fail("worked")
    )
    with pytest.raises(UsageError, match="git"):
        wirefence("crashes", "commit")


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_killed_at_any_moment_the_tree_is_clean_and_the_next_call_commits(
    here, git: Git, share: float, wirefence: Wirefence
):
    filed(here / FINDINGS, b"NaN", "parser:ujson", "nan")
    command = [sys.executable, "-m", "wirefence", "crashes", "commit", "--branch", "timing"]
    begun = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    whole = time.monotonic() - begun
    process = subprocess.Popen(command[:-2], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(whole * share)
    process.kill()
    process.communicate()
    time.sleep(0.5)  # git goes on with the step that it was in
    assert git("status", "--porcelain") == ""
    wirefence("crashes", "commit")
    assert git("status", "--porcelain") == ""
    assert git("rev-list", "--count", "HEAD") == "2"
    assert len(scan_folder(here / "crashes").entries) == 1


def test_a_file_handed_in_is_minimized_filed_and_committed(here, git: Git, wirefence: Wirefence):
    (here / "handed.bin").write_bytes(noisy(b'[1,{"a":NaN}]\n'))
    ran = wirefence(
        "crashes", "add", "handed.bin", "--target", "parser:ujson", "--status", "upstream"
    )
    assert ran.code == 0
    (entry,) = scan_folder(here / "crashes").entries
    assert (entry.case.data, entry.metadata.status) == (b"NaN", "upstream")
    assert "ujson" in entry.metadata.versions
    again = wirefence("crashes", "add", "handed.bin", "--target", "parser:ujson")
    assert (again.code, "refused" in again.out) == (1, True)
    with pytest.raises(UsageError, match="shows no such finding"):
        wirefence("crashes", "add", "handed.bin", "--target", "parser:orjson[strict]")


def test_a_document_with_two_effects_is_filed_once(here, wirefence: Wirefence):
    pytest.importorskip("simdjson", reason="it rejects what others read as another value")
    (here / "x").write_bytes(b"[18446744073709551616]")
    ran = wirefence("crashes", "add", "x", "--target", "parsers", "--status", "upstream")
    shelf = scan_folder(here / "crashes")
    assert shelf.problems == ()
    (entry,) = shelf.entries
    assert entry.metadata.signature == "parsers|agree-accept:rejects|int>=2^64"
    assert f"agree-value|int>=2^64 shows in the document of {entry.id}" in ran.out


def test_how_all_parsers_split_is_filed_as_one(here, wirefence: Wirefence):
    (here / "x").write_bytes(b'{"a": 1, "b": [1,]}')
    assert wirefence("crashes", "add", "x", "--target", "parsers", "--status", "upstream").code == 0
    (entry,) = scan_folder(here / "crashes").entries
    assert entry.case.data == b"[0,]"
    assert entry.metadata.signature == "parsers|agree-accept|trailing-comma"
    assert entry.metadata.summary.endswith("accepts=rapidjson[relaxed]")
