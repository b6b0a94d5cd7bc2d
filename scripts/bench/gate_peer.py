"""How fast is another fuzzer on the same server? By what the server was really sent.

What a fuzzer prints of itself, and how long it runs as a whole, say little. So a
relay stands before the server and writes down each request and when it came: calls that were
really received, over the time from the first to the last of them, which no start is part of.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from wirefence.targets.command.records import Launch

__all__ = ["PEER", "calls_per_second", "rate_of"]

PEER = "mcp-fuzzer"
_RUNS = 1_000
"""Calls of each tool; slow servers get through less of them."""
_LONGEST = 20.0
_ENOUGH = 50
"""Calls below which a rate is none."""
_RELAY = """\
import os, subprocess, sys, time
log = open(sys.argv[1], "ab", buffering=0)
server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE)
pipe = server.stdin.fileno()
while block := os.read(0, 1 << 16):
    log.write(b"%d %d\\n" % (time.monotonic_ns(), len(block)) + block)
    while block:
        block = block[os.write(pipe, block):]
server.stdin.close()
server.wait()
"""


def calls_per_second(launch: Launch, folder: Path) -> float | str:
    """Calls of tools per second of a public fuzzer that is at hand; a sentence where it has none.

    It sends one call at a time and judges its reply. The relay costs each call two more switches
    between processes, some tens of microseconds.
    """
    if not shutil.which(PEER):
        return f"not on PATH; install {PEER} into an environment of its own"
    relay, log = folder / "relay.py", folder / "relay.log"
    relay.write_text(_RELAY, encoding="utf-8")
    log.write_bytes(b"")
    endpoint = shlex.join((sys.executable, str(relay), str(log), *launch.argv))
    _run_peer(endpoint, folder)
    return rate_of([at for at, line in _read_received(log.read_bytes()) if _is_call(line)])


def rate_of(times: list[float]) -> float | str:
    """Intervals per second between the first and the last of some times, given in order."""
    if len(times) < _ENOUGH:
        return f"only {len(times)} of its calls reached the server within {_LONGEST:.0f} s: no rate"
    spent = times[-1] - times[0]
    if spent <= 0:
        return f"all of its {len(times)} calls reached the server at once: no rate"
    return (len(times) - 1) / spent


def _run_peer(endpoint: str, folder: Path) -> None:
    """Let it run until its calls are made or the time is up."""
    words = ("--mode", "tools", "--protocol", "stdio", "--endpoint", endpoint, "--runs", str(_RUNS))
    running = subprocess.Popen(
        (PEER, *words),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        running.wait(_LONGEST)
    except subprocess.TimeoutExpired:
        pass
    finally:
        # What it started in sessions of their own sees the end of stdin and ends.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()


def _read_received(log: bytes) -> Iterator[tuple[float, bytes]]:
    """What the relay has written: each complete line, and the seconds at which its LF came."""
    at, begun = 0, b""
    while at < len(log):
        end = log.index(b"\n", at)
        when, size = map(int, log[at:end].split())
        *lines, begun = (begun + log[end + 1 : end + 1 + size]).split(b"\n")
        for line in lines:
            yield when / 1e9, line
        at = end + 1 + size


def _is_call(line: bytes) -> bool:
    try:
        asked = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(asked, dict) and asked.get("method") == "tools/call"
