"""The name of a server in signatures: its own, else what its command runs, and never a secret."""

from __future__ import annotations

import shlex
import sys

import pytest

from tests.gate.test_gate_malformed import HELLO, facts_of
from wirefence.fuzz.gate.server.server_name import name_server
from wirefence.targets.command.records import Launch


def name(command: str, own: str = "") -> str:
    return name_server(Launch(tuple(shlex.split(command))), own)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("mcp-server-time --local-timezone UTC", "mcp-server-time"),
        ("./target/release/server -m gpt", "server"),
        ("npx -y @scope/pkg /data", "npx"),
        ("uv run server.py", "uv"),
        ("python -m mcp_server_time --local-timezone UTC", "mcp_server_time"),
        ("python -Xdev -um a.b", "a.b"),
        (".venv/bin/python server.py", "server"),
        ("python3.12 -X dev -W error path/server.py x.txt", "server"),
        ("node path/server.js /data", "server"),
        ("node --env-file .env -r dotenv/config server.min.mjs", "server.min"),
        ("nodejs dist/server", "server"),
        ("PYTHON.EXE server", "server"),
        ("bash -lc 'exec server'", "bash"),
        ("python -c 'import json'", "python"),
        ("pythonic conf.json", "pythonic"),
    ],
)
def test_a_server_without_a_name_is_named_by_its_command(command: str, expected: str) -> None:
    assert name(command) == expected


def test_the_name_of_the_server_is_used_before_that_of_its_command() -> None:
    assert name("node server.js", "notes") == "notes"
    assert name("node server.js", " a\n b ") == "a b"
    assert name("node server.js", " ") == "server"


def test_discovery_prefers_the_label_to_the_name_of_the_server() -> None:
    named, unnamed = {"initialize": {"result": HELLO}}, {"initialize": {"result": {**HELLO}}}
    unnamed["initialize"]["result"]["serverInfo"] = {}
    assert facts_of(named).label == "s"
    assert facts_of(named, label="mine").label == "mine"
    assert facts_of(unnamed).label == name(sys.executable)


@pytest.mark.parametrize(
    ("command", "own", "expected"),
    [
        ("swordfish", "", "command"),
        ("python -m swordfish", "", "python"),
        ("python swordfish.py", "", "python"),
        ("sh -c 'API_KEY=hunter2hunter2 exec node server.js'", "", "sh"),
        ("pkg --token swordfish", "srv-***", "pkg"),
    ],
)
def test_a_secret_is_no_name(
    command: str, own: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", "swordfish")
    assert name(command, own) == expected


def test_what_parts_a_signature_is_in_no_name() -> None:
    assert name("'a|b'") == "a-b"
    assert name("server", "@scope/notes|x\udcff") == "@scope-notes-x?"
