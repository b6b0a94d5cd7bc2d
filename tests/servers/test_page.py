"""The tables of docs/findings.md say what a report says, and the page is of the pinned versions."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.servers.catalogue import BY_NAME, ROOT, SERVERS
from tests.servers.page import rewritten, told
from tests.servers.test_servers_of_others import expected
from wirefence.fuzz.gate.trials.messages import INITIALIZED
from wirefence.fuzz.store.scan import scan_folder
from wirefence.oracles.rules import ORACLE_OF

PAGE = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
CALL = b'{"id":"wf00aac000007%bi","method":"tools/call","x":"wf00aac000007%b"}\n'
TRANSCRIPT = """\
> {"id":"wf00aac000008ti"}
! files write FOLDER/acts wf00aac000008t\\nwf00aac000008p\\n
! python write FOLDER/acts
! node http GET /wf00aac000008p
"""


HELLO = b'{"id":"wf00aac000007hi","method":"initialize"}\n'
SESSION = CALL % (b"t", b"t") + CALL % (b"p", b"p") + CALL % (b"s", b"s")


def finding(folder: Path, signature: str, name: str, summary: str, trials: list[str]):
    path = folder / "non-action" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(HELLO + INITIALIZED.raw + SESSION)
    path.with_suffix(".transcript").write_text(TRANSCRIPT)
    _, effect, deviation = signature.split("|")
    rule, broken = effect.partition(":")[0], deviation.partition(":")[0]
    return {
        "oracle": ORACLE_OF[rule], "rule": rule, "signature": signature, "summary": summary,
        "broken": broken, "trials": trials, "path": str(path), "offending_hex": "00",
        "transcript": str(path.with_suffix(".transcript")),
    }  # fmt: skip


@pytest.fixture
def report(tmp_path):
    acted = "s|act-rejected|json-syntax:nan"
    silent = "s|session-resync|frame-cr:separator"
    return {
        "server": {"version": "2025-11-25"},
        "attempts": [
            {"sent": 30, "acted": 3, "unusable": 2},
            {"sent": 5, "acted": 0, "unusable": 0},
        ],
        "skipped": {"startup before": ["a", "b", "c", "d"]},
        "recorders": {"files": "x", "node": "y"},
        "findings": [
            finding(tmp_path, acted, "a.frame", "a result for it", ["ugly-two-objects", "x"]),
            finding(tmp_path, silent, "b.frame", "no reply to it", ["ugly-banner-glued"]),
        ],
    }


@pytest.fixture
def said(report):
    return told(BY_NAME["mcp-2"], json.dumps(report))


def test_the_two_verdicts_on_a_classic_input_are_told_apart(said):
    assert said.classic("ugly-debug-line") == "no effect, usable"
    assert said.classic("ugly-two-objects") == "**acted**, usable"
    assert said.classic("ugly-banner-glued") == "no effect, **not usable**"


def test_what_was_not_tried_is_not_called_harmless(report):
    report["skipped"]["ugly before"] = ["ugly-debug-line", "ugly-two-objects"]
    some = told(BY_NAME["mcp-2"], json.dumps(report))
    assert some.classic("ugly-debug-line") == "not run whole"
    assert some.classic("ugly-two-objects") == "**acted**, not run whole"
    assert some.classic("ugly-malformed-params") == "no effect, usable"


def test_witnesses_are_the_reply_and_who_saw_the_name_of_the_bad_frame(said):
    assert said.shown[0].witnesses == ("reply", "files")
    assert said.shown[1].witnesses == ()


def test_only_the_bad_frame_is_shown_with_its_names_cut_down(said):
    assert said.shown[0].sent == r'`{"id":"ti","method":"tools/call","x":"t"}\n`'


def test_a_handshake_that_is_not_whole_is_shown(report):
    Path(report["findings"][0]["path"]).write_bytes(INITIALIZED.raw + SESSION)
    some = told(BY_NAME["mcp-2"], json.dumps(report))
    assert some.shown[0].sent.startswith('`{"jsonrpc":"2.0","method":"notifications/initialized"}')


def test_a_page_is_made_of_all_reports_that_there_are(report):
    marks = ("servers", "commands", "classic", "further", "each")
    page = "\n".join(f"<!-- {mark} -->\nold | text\n<!-- end -->" for mark in marks)
    made = rewritten(page, {"mcp-2": json.dumps(report)})
    assert "old" not in made
    assert (
        "| Python SDK 2.x | mcp 2.3.0 | 2025-11-25 | reply, files, node | 35 | 3 | 2 | 4 |" in made
    )
    assert "| json-syntax | acted: reply, files |" in made
    assert "| frame-cr (*strict*) | shown |" in made
    assert rewritten(made, {"mcp-2": json.dumps(report)}) == made


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
def test_the_page_is_of_the_pinned_versions(server):
    """Where this fails, versions were changed: call ``scripts/findings``."""
    assert f"| {server.title} | {server.package} {server.version} |" in PAGE


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
def test_the_page_has_what_the_tests_pin(server):
    part = PAGE.split(f"### {server.title} (")[1].split("\n#")[0]
    for rule in set(expected(server).values()) - {"none"}:
        assert f"| {rule} | " in part


def test_the_page_names_every_committed_reproducer_of_a_server():
    of_servers = [e for e in scan_folder(ROOT / "crashes").entries if e.metadata.command]
    named = re.findall(r"\[([0-9a-f]{12})\]\(\.\./crashes/", PAGE.split("## Committed")[1])
    assert sorted(named) == sorted(entry.id for entry in of_servers)
