"""Another fuzzer's rate is that of the calls which its server received, or none."""

from __future__ import annotations

import sys

import pytest

from scripts.bench import gate_peer
from scripts.bench.gate_peer import calls_per_second, rate_of
from wirefence.targets.command.records import Launch

FUZZER = """\
#!{python}
import json, shlex, subprocess, sys, time
endpoint = shlex.split(sys.argv[sys.argv.index("--endpoint") + 1])
server = subprocess.Popen(endpoint, stdin=subprocess.PIPE)
for method in ["initialize", "tools/list"] + ["tools/call"] * {calls}:
    server.stdin.write(json.dumps({{"id": 1, "method": method}}).encode() + b"\\n")
    server.stdin.flush()
    time.sleep(0.002 if method == "tools/call" else 0.5)
server.stdin.close()
server.wait()
"""
SERVER = Launch((sys.executable, "-S", "-c", "import sys; sys.stdin.read()"))


@pytest.fixture
def fuzzer(tmp_path, monkeypatch):
    """A fuzzer on PATH that makes so many calls, one each 2 ms, after a start of a second."""

    def make(calls: int) -> None:
        program = tmp_path / gate_peer.PEER
        program.write_text(FUZZER.format(python=sys.executable, calls=calls))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))

    return make


def test_a_start_is_no_part_of_the_rate(fuzzer, tmp_path):
    fuzzer(60)
    rate = calls_per_second(SERVER, tmp_path)
    assert isinstance(rate, float)
    assert rate < 1 / 0.002  # nobody is said to be faster than what it waits


def test_who_sends_next_to_nothing_has_no_rate(fuzzer, tmp_path):
    fuzzer(3)
    assert str(calls_per_second(SERVER, tmp_path)).startswith("only 3 of its calls reached")


def test_a_fuzzer_that_is_not_there_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "not on PATH" in str(calls_per_second(SERVER, tmp_path))


def test_a_rate_is_of_intervals_and_needs_time():
    assert rate_of([at / 100 for at in range(101)]) == pytest.approx(100)
    assert "at once" in str(rate_of([1.0] * 100))
