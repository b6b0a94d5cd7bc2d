"""What was stored before there was one package is still read, from any folder."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import pytest

from tests.package.conftest import ROOT, Environment, run_in
from wirefence.fuzz.store.metadata import PYTHON, Command

TWO_IDS = b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}\n'
HANDSHAKE = b"""\
{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",\
"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
"""
ANSWERS_ALL = """
import json, sys

for line in sys.stdin:
    message = json.loads(line)
    result = {"protocolVersion": "2025-11-25", "capabilities": {},
              "serverInfo": {"name": "s", "version": "1"}}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def store(folder: Path, status: str, *argv: str) -> str:
    """A reproducer as the gate wrote it; its file is named by its signature."""
    signature = "server|reply-to-rejected|json-duplicate-name:duplicate-name"
    data = HANDSHAKE + TWO_IDS
    content = {
        "format": 2,
        "oracle": "reply",
        "rule": "reply-to-rejected",
        "signature": signature,
        "summary": "a result for a frame that breaks json-duplicate-name",
        "target": "server",
        "status": status,
        "first_seen": "2026-11-30",
        "protocol": "2025-11-25",
        "damage": [],
        "cuts": [],
        "size": len(data),
        "original_size": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "versions": {},
        "command": {"argv": list(argv), "env": {}, "cwd": None},
        "options": {"profile": "strict", "policy": "continue"},
    }
    digest = hashlib.sha256(signature.encode()).hexdigest()[:12]
    path = folder / "crashes" / "reply" / f"reply-to-rejected-server-{digest}.frame"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    path.with_suffix(".json").write_text(json.dumps(content))
    return str(path)


def test_a_script_is_started_by_the_interpreter_that_replays(
    base: Environment, tmp_path: Path
) -> None:
    (tmp_path / "server.py").write_text(ANSWERS_ALL)
    path = store(tmp_path, "open", PYTHON, "server.py")
    ran = run_in(tmp_path, base.command("wirefence"), "replay", path)
    assert ran.code == 0, ran.out + ran.err
    assert "STILL FAILING" in ran.out


def test_our_gateway_is_started_by_its_old_name(base: Environment, tmp_path: Path) -> None:
    path = store(tmp_path, "fixed", PYTHON, "-m", "targets.gateway", "--policy", "continue")
    ran = run_in(tmp_path, base.command("wirefence"), "replay", path)
    assert ran.code == 0, ran.out + ran.err
    assert "FIXED" in ran.out


@pytest.mark.parametrize(
    ("argv", "module"),
    [
        ((PYTHON, "-m", "targets.gateway"), "wirefence.targets.gateway"),
        ((PYTHON, "-u", "-m", "targets.gateway"), "wirefence.targets.gateway"),
        (("python3", "-m", "targets.gateway"), "targets.gateway"),
        ((PYTHON, "serve.py", "targets.gateway"), "targets.gateway"),
        ((PYTHON, "-m", "targets.gateways"), "targets.gateways"),
    ],
)
def test_the_old_name_is_replaced_where_it_names_our_module(
    argv: tuple[str, ...], module: str, tmp_path: Path
) -> None:
    assert Command(argv, cwd=str(tmp_path)).to_launch().argv[-1] == module


def test_a_project_s_own_module_of_that_name_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "targets").mkdir()
    launch = Command((PYTHON, "-m", "targets.gateway"), cwd=str(tmp_path)).to_launch()
    assert launch.argv == (sys.executable, "-m", "targets.gateway")


def test_the_old_name_works_in_the_checkout(full: Environment) -> None:
    """There it is still that of a folder."""
    ran = run_in(ROOT, full.python, "-m", "targets.gateway", stdin=TWO_IDS.decode())
    assert (ran.code, ran.out.count("Parse error")) == (0, 1)


def test_a_baseline_knows_its_findings_again(base: Environment, tmp_path: Path) -> None:
    server = str(ROOT / "tests" / "gate_startup" / "noisy_server.py")
    entry = {
        "signature": "noisy|out-not-json:text|none",
        "rule": "out-not-json",
        "summary": "'listening'",
        "note": "accepted",
        "first_seen": "2026-11-30",
        "releases": ["1"],
    }
    origin = {"label": "noisy", "name": "noisy", "release": "1", "budget": "quick"}
    content = {"wirefence-baseline": 2, "server": origin, "expected": [entry]}
    (tmp_path / "gate.json").write_text(json.dumps(content))
    words = ("gate", "--seconds", "0.3", "--baseline", "gate.json", "--", base.python, server)
    ran = run_in(tmp_path, base.command("wirefence"), *words, "always")
    assert "(1 more are expected)" in ran.out, ran.out + ran.err
    assert ran.code == 2  # no verdict: the time was too short for one
