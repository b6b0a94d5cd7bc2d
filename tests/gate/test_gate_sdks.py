"""What the gate shows of the official SDKs by itself: servers that nobody here wrote.

These pin findings, not wishes: where an SDK mends one, the test names what is no longer seen.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SERVERS = Path(__file__).parent / "servers"
PATIENCE = 60.0


def shown(bench, argv: tuple[str, ...], trial: str, place: str, profile: str) -> set[str]:
    made = bench(command=argv, patience=PATIENCE, profile=profile)
    return made.shows(trial, place)


@pytest.fixture(scope="module")
def python_sdk() -> tuple[str, ...]:
    pytest.importorskip("mcp.server.mcpserver", reason="needs mcp 2 or later")
    return (sys.executable, str(SERVERS / "sdk.py"))


@pytest.fixture(scope="module")
def typescript_sdk() -> tuple[str, ...]:
    """The server beside an SDK that npm installed, once for each set of versions."""
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    wanted = (SERVERS / "package.json").read_bytes()
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    folder = cache / "wirefence" / f"gate-test-{hashlib.sha256(wanted).hexdigest()[:12]}"
    if not (folder / "node_modules" / "zod").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_bytes(wanted)
        words = ["npm", "install", "--no-audit", "--no-fund", "--silent"]
        done = subprocess.run(words, cwd=folder, capture_output=True, timeout=240, check=False)
        if done.returncode:
            pytest.skip(f"npm can't install the SDK: {done.stderr[-200:].decode()}")
    script = folder / "sdk.mjs"
    script.write_bytes((SERVERS / "sdk.mjs").read_bytes())
    return ("node", str(script))


@pytest.mark.parametrize(
    ("trial", "place", "rule"),
    [
        ("nested-cr", "after", "hidden in an accepted frame"),
        ("encoding-byte-ff", "after", "utf8-invalid"),
        ("danger-nan", "after", "json-syntax"),
        ("danger-hybrid", "after", "rpc-kind"),
        ("truncate-newline-eof", "end", "frame-unterminated"),
    ],
)
def test_what_the_python_sdk_acts_on_is_shown(bench, python_sdk, trial, place, rule):
    found = shown(bench, python_sdk, trial, place, "spec")
    assert f"non-action|act-rejected|{rule}" in found


def test_what_the_python_sdk_refuses_is_not_held_against_it(bench, python_sdk):
    assert shown(bench, python_sdk, "ugly-two-objects", "after", "strict") == set()


@pytest.mark.parametrize(
    ("trial", "profile", "rule"),
    [
        ("encoding-byte-ff", "spec", "utf8-invalid"),
        ("call-before-initialize", "spec", "life-not-initialized"),
        ("danger-id-fraction", "spec", "rpc-id"),
        ("duplicate-method-before", "strict", "json-duplicate-name"),
    ],
)
def test_what_the_typescript_sdk_acts_on_is_shown(bench, typescript_sdk, trial, profile, rule):
    found = shown(bench, typescript_sdk, trial, "after", profile)
    assert f"non-action|act-rejected|{rule}" in found


def test_what_the_typescript_sdk_refuses_is_not_held_against_it(bench, typescript_sdk):
    assert shown(bench, typescript_sdk, "danger-nan", "after", "strict") == set()
