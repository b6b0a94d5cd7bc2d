"""What tests of reproducers share: entries made by hand, and the command line in this process."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from wirefence.fuzz.cli import cli
from wirefence.fuzz.crashes.rerun import Subject, find_faults
from wirefence.fuzz.store.metadata import make_metadata
from wirefence.fuzz.store.scan import Entry
from wirefence.fuzz.store.store import Store, case_from_bytes

ROOT = Path(__file__).resolve().parents[2]
HANDSHAKE = (
    b'{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25",'
    b'"capabilities":{},"clientInfo":{"name":"n","version":"1"}}}\n'
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
)
CALL = (
    b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"record",'
    b'"arguments":{"action":"n-%d","note":"some words"}}}\n'
)
SUSPECT = r'''
"""Gateways with faults that planted ones do not have."""
import os
from pathlib import Path
from wirefence.targets.planted import HEALTHY

class Gateway:
    def __init__(self, act, contract, harm):
        self.act, self.harm, self.seen = act, harm, b""
    def feed(self, data):
        self.seen += data
        self.harm(self, data)
        return b""
    def eof(self):
        return b""

def _with(harm):
    return lambda act, contract: Gateway(act, contract, harm)

def _kill(gateway, data):
    if b"POISON" in gateway.seen:
        os._exit(9)

def _flaky(gateway, data):
    """Acts in every second session that holds the word."""
    if b"POISON" in gateway.seen:
        count = Path("count")
        number = int(count.read_text() or 0) if count.exists() else 0
        count.write_text(str(number + 1))
        if number % 2:
            gateway.act("record", {"action": "flaky"})

def _halves(gateway, data):
    """Acts if the word comes in two writes."""
    if b"POISON" in gateway.seen and b"POISON" not in data:
        gateway.act("record", {"action": "halves"})

kills, flaky, halves = map(_with, (_kill, _flaky, _halves))
'''


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended."""

    code: int
    out: str


Wirefence = Callable[..., Ran]
Git = Callable[..., str]


def noisy(poison: bytes, lines: int = 10) -> bytes:
    """A session of good calls with one line of ``poison`` in the middle."""
    calls = [CALL % (n, n) for n in range(lines)]
    return b"".join([HANDSHAKE, *calls[: lines // 2], poison, *calls[lines // 2 :]])


def filed(
    folder: Path, data: bytes, target: str, part: str = "", cuts: tuple[int, ...] = ()
) -> Entry:
    """File the first finding of ``data`` whose signature holds ``part``."""
    case = case_from_bytes(data, cuts=list(cuts))
    found = next(f for f in find_faults(case, Subject(target)) if part in f.signature)
    metadata = make_metadata(found, case, versions={"library": "1"})
    return Entry(Store(folder).write_reproducer(metadata, data), metadata, case)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder with a module ``suspect`` of odd targets."""
    (tmp_path / "suspect.py").write_text(SUSPECT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    places = (ROOT / "src", ROOT, tmp_path)  # child processes run this checkout, as tests do
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, places)))
    return tmp_path


@pytest.fixture
def wirefence(here: Path, capsys: pytest.CaptureFixture[str]) -> Wirefence:
    """Run a command; what it raises comes through."""

    def run(*words: str) -> Ran:
        code = cli.main(words, standalone_mode=False)
        return Ran(code, capsys.readouterr().out)

    return run


@pytest.fixture
def git(here: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """A repository with one commit in the working folder; runs git there."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    for name, value in (
        ("GIT_CONFIG_GLOBAL", os.devnull),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        *(
            (f"GIT_{who}_{what}", "x@example.org")
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        ),
    ):
        monkeypatch.setenv(name, value)

    def run(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    run("init", "-q", "-b", "main")
    (here / ".gitignore").write_text(".wirefence/\nsuspect.py\n__pycache__/\ncount\n")
    run("add", ".gitignore")
    run("commit", "-q", "-m", "first")
    return run
