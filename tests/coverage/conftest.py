"""What tests of running libFuzzer targets share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from wirefence.fuzz.coverage.process import find_executable
from wirefence.fuzz.coverage.target_settings import TargetSettings, encode_settings

HOSTILE = r'''
"""Gateways that are healthy until a line feed comes (every session has one)."""
import os, signal, sys, time
from wirefence.targets.planted import HEALTHY

class Gateway:
    def __init__(self, act, contract, harm):
        self.inner, self.harm = HEALTHY.factory(act, contract), harm
    def feed(self, data):
        if data.count(b"\n") > 3:
            self.harm()
        return self.inner.feed(data)
    def eof(self):
        return self.inner.eof()

def _with(harm):
    return lambda act, contract: Gateway(act, contract, harm)

def _interrupt():
    raise KeyboardInterrupt

kills = _with(lambda: os.kill(os.getpid(), signal.SIGKILL))
aborts = _with(os.abort)
leaves = _with(lambda: sys.exit(5))
interrupts = _with(_interrupt)
hangs = _with(lambda: time.sleep(600))
'''


@dataclass(frozen=True, slots=True)
class Ran:
    """How a libFuzzer target ended, and what it said."""

    code: int
    log: str


Target = Callable[..., Ran]


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module ``hostile``, which processes started from the test can import."""
    pytest.importorskip("atheris", reason="atheris has no wheel for this machine")
    (tmp_path / "hostile.py").write_text(HOSTILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


@pytest.fixture
def target(hostile: Path) -> Target:
    """Run a libFuzzer target as OSS-Fuzz would, in an empty folder."""

    def run(name: str, *arguments: str, orders: TargetSettings | None = None) -> Ran:
        variables = encode_settings(orders) if orders else {}
        done = subprocess.run(
            [sys.executable, str(find_executable(name)), *arguments],
            env={**os.environ, **variables},
            cwd=hostile,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=240,
            check=False,
        )
        return Ran(done.returncode, (done.stdout + done.stderr).decode(errors="replace"))

    return run
