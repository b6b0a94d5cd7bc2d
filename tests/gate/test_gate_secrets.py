"""Secrets are in nothing that is said of a run that fails at its start, nor in what is filed."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from wirefence.fuzz import cli
from wirefence.fuzz.crashes.replay import ERROR, replay_reproducers
from wirefence.fuzz.gate.confirm import Confirmed
from wirefence.fuzz.gate.records import Observation, Options
from wirefence.fuzz.gate.replay import examine_command
from wirefence.fuzz.gate.report.artifacts import ArtifactWriter
from wirefence.fuzz.gate.server.fresh import prepare_trial
from wirefence.fuzz.store.redaction import HIDDEN, Redactor
from wirefence.fuzz.store.scan import scan_folder
from wirefence.fuzz.store.store import Store, case_from_bytes
from wirefence.oracles.records import make_finding
from wirefence.targets.command.records import Launch

SECRET = "tok-abcdef-123-ghijkl-456"
SERVER = """\
import json, os, sys
token = os.environ["API_TOKEN"]
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], %s}), flush=True)
"""
HELLO = '"protocolVersion": "2025-11-25", "capabilities": {}, "tools": [{"name": token}]'


def server(member: str) -> list[str]:
    return [sys.executable, "-S", "-c", SERVER % member]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["sh", "-c", "echo $API_TOKEN >&2; exit 3"], "exited at once (exit code 3)"),
        (["sh", "-c", "printf %0165d$API_TOKEN 0 >&2; exit 3"], "exited at once (exit code 3)"),
        (["sh", "-c", "echo $API_TOKEN; exit 3"], "after printing b'***"),
        (["sh", "-c", "printf %060d$API_TOKEN 0; exit 3"], "after printing b'0000"),
        (["sh", "-c", "printf %060d$API_TOKEN 0; sleep 99"], "the server printed b'0000"),
        (server('"error": {"code": 1, "message": token}'), "refused server/discover (***)"),
        (server('"error": {"code": 1, "message": "-" * 185 + token}'), "refused server/discover"),
        (server('"result": {"protocolVersion": token}'), "the server speaks '***'"),
        (["--tool", "x", "--", *server(f'"result": {{{HELLO}}}')], "has no tool 'x'; it has: ***"),
        (["--client", "--", "sh", "-c", "echo $API_TOKEN >&2; exit 3"], "started no server"),
    ],
)
def test_a_start_that_fails_is_told_without_secrets(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    given = ("--env", f"API_TOKEN={SECRET}", "--effects", "http", "--start-patience", "2")
    line = words if "--" in words else ["--", *words]
    monkeypatch.setattr(sys, "argv", ["wirefence", "gate", *given, *line])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr()
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert (ended.value.code, said.out) == (2, "")
    assert told in said.err
    assert HIDDEN in said.err
    assert "tok-" not in said.err
    assert b"tok-" not in written


def test_a_summary_is_bounded_once_its_secrets_are_hidden(bench, tmp_path: Path) -> None:
    made = bench()
    prepared = prepare_trial(made.trial("good"), made.facts.make_contract("strict"))
    said = make_finding("reply", "reply-twice", "s", "ping", "-" * 290 + SECRET + "-" * 9_999)
    found = Confirmed(replace(said, offending=b"x"), prepared, Observation((b"x",)))
    hide = Redactor.for_launch(Launch(("s",), {"API_TOKEN": SECRET}), {})
    flaw = ArtifactWriter(Store(tmp_path), made.launch, Options(), made.facts, hide).write_finding(
        found, ("good",)
    )
    assert len(flaw.finding.summary) == 300
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"tok-" not in written
    assert b"-" * 999 not in written
    assert json.loads(Path(flaw.path).with_suffix(".json").read_text())["summary"].endswith("...")


def test_a_secret_of_the_environment_is_in_no_reproducer_and_replay_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", "swordfish")
    said = make_finding("reply", "reply-twice", "s", "ping", "at swordfish")
    launch = Launch(("server", "swordfish"))
    path = Store(tmp_path).save_finding(said, case_from_bytes(b"{}\n"), versions={}, launch=launch)
    assert "swordfish" not in path.with_suffix(".json").read_text()
    [shown] = replay_reproducers(scan_folder(tmp_path).entries)
    assert (shown.verdict, shown.expected) == (ERROR, False)
    assert "its command held a secret, which is not kept" in shown.detail
    assert "pass the secret in an environment variable" in shown.detail


def test_a_replay_says_nothing_of_a_secret_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", SECRET)
    dies = "    if 'ping' in line:\n        raise SystemExit('at ' * 97 + token)\n"
    program = (SERVER % f'"result": {{{HELLO}}}').replace("    asked =", f"{dies}    asked =", 1)
    launch = Launch((sys.executable, "-S", "-c", program))
    case = case_from_bytes(b'{"jsonrpc":"2.0","id":"x","method":"ping"}\n')
    settings = {"policy": "continue", "effects": "http", "protocol": "2025-11-25"}
    found = examine_command(case, launch, settings, target="s")
    crash = next(each for each in found if each.rule == "live-crash")
    assert "before its stdin ended: at at" in crash.summary
    assert "tok-" not in crash.summary + crash.signature
    assert len(crash.summary) == 300
