"""What tests of campaigns share: hostile targets, and the command line in this process."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from wirefence.fuzz import cli

HOSTILE = r'''
"""Gateways that are healthy until a frame holds the word POISON."""
import os, signal, sys, time
from pathlib import Path
from wirefence.targets.planted import HEALTHY

class Gateway:
    def __init__(self, act, contract, harm):
        self.inner, self.harm = HEALTHY.factory(act, contract), harm
    def feed(self, data):
        if b"POISON" in data:
            self.harm()
        return self.inner.feed(data)
    def eof(self):
        return self.inner.eof()

def _with(harm):
    return lambda act, contract: Gateway(act, contract, harm)

def _hang():
    Path("hanging").touch()
    while True:
        time.sleep(0.01)

def _interrupt():
    raise KeyboardInterrupt

class Always(Gateway):
    def feed(self, data):
        self.harm()

kills = _with(lambda: os.kill(os.getpid(), signal.SIGKILL))
exits = _with(lambda: os._exit(0))
leaves = _with(lambda: sys.exit(5))
interrupts = _with(_interrupt)
closes = _with(lambda: os.closerange(3, 256))
hangs = _with(_hang)
hangs_always = lambda act, contract: Always(act, contract, _hang)
kills_always = lambda act, contract: Always(act, contract, lambda: os._exit(3))
number = 7

def prints(act, contract):
    print("LOUD")
    os.write(1, b"LOUD")
    return HEALTHY.factory(act, contract)

def acts(act, contract):
    act("tool\x1b[31m", {"action": "\x1b]0;title\x07"})
    return HEALTHY.factory(act, contract)

def raises(act, contract):
    raise RuntimeError("no luck today")

def ends(act, contract):
    raise SystemExit(4)

def nonsense(act, contract):
    return 5

class Text(Gateway):
    def feed(self, data):
        return "text"

text = lambda act, contract: Text(act, contract, None)
'''


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str

    def complaint(self) -> str:
        """Its only line on stderr, which is a sentence of ours and no traceback."""
        (line,) = self.err.strip().splitlines()
        assert line.startswith("wirefence: ")
        return line


Wirefence = Callable[..., Ran]


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of a stranger, with a module ``hostile`` full of bad targets."""
    (tmp_path / "hostile.py").write_text(HOSTILE)
    (tmp_path / "leaving.py").write_text("raise SystemExit(9)")
    (tmp_path / "failing.py").write_text("print('LOUD')\n1 / 0")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.fixture
def wirefence(
    hostile: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Wirefence:
    """Run the command line in this process, in the stranger's folder, with few cases."""
    monkeypatch.setattr("wirefence.fuzz.commands.campaign._HYPOTHESIS_CASES", 4)

    def run(*words: str, stdin: bytes | None = b"") -> Ran:
        monkeypatch.setattr(sys, "argv", ["wirefence", *words])
        stream = None if stdin is None else io.TextIOWrapper(io.BytesIO(stdin))
        monkeypatch.setattr(sys, "stdin", stream)
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Ran(ended.value.code, said.out, said.err)

    return run
