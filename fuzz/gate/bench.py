"""How fast is the gate? Bad frames against good ones, by the same server in the same run.

The key insight: servers and machines differ a hundredfold, so the only figure that travels is a
ratio: what the server does with good requests that are simply pipelined is all it can do.
"""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

from fuzz.gate.cases import Maker
from fuzz.gate.lab import Lab, Ready, ready
from fuzz.gate.learn import learn
from fuzz.gate.records import Facts, Nominee, Options, Trial
from fuzz.gate.verdicts import judge
from fuzz.gate.warm import Warm
from fuzz.gate.wire import INITIALIZED, Names, Wording, initialize
from targets.command.records import Launch

__all__ = ["measure"]

_ROUNDS = 2
_TRIALS = 600
_GROUPS = 600
_LONGEST = 4.0
"""Seconds of one measurement; slow servers get through less of the same trials."""
_PEER = "mcp-fuzzer"
_PEER_RUNS = (20, 1020)
_NOMINEE = Nominee("record", '{"action":"{nonce}"}')
_LOOP = """\
import json, sys
tool = {"name": "record", "inputSchema": {"properties": {"action": {"type": "string"}}}}
results = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                   "serverInfo": {"name": "loop", "version": "1"}},
    "tools/list": {"tools": [tool]},
    "tools/call": {"content": [{"type": "text", "text": "done"}]},
    "ping": {},
}
for line in sys.stdin.buffer:
    try:
        asked = json.loads(line)
        reply = {"jsonrpc": "2.0", "id": asked["id"], "result": results[asked["method"]]}
    except (ValueError, LookupError, TypeError, RecursionError):
        continue
    sys.stdout.write(json.dumps(reply) + "\\n")
    sys.stdout.flush()
"""
_SDK = """\
from mcp.server.mcpserver import MCPServer
app = MCPServer("bench")
@app.tool()
def record(action: str) -> str:
    return action
app.run()
"""


def measure() -> dict[str, object]:
    """Frames per second of wall time, and the ratio of bad to good, for each server at hand.

    ``in the pipe`` is what the gate sends and sorts, with trials made before as its plan does;
    ``judged`` has the making and the judging of each trial in it as well.
    """
    figures: dict[str, object] = {}
    for name, launch in _servers():
        good, bad, whole = _rates(launch)
        figures[f"{name}: good frames/s, pipelined"] = round(good)
        figures[f"{name}: gate, frames/s in the pipe"] = round(bad)
        figures[f"{name}: gate, frames/s judged"] = round(whole)
        figures[f"{name}: in the pipe against good"] = round(bad / good, 2)
    if shutil.which(_PEER):
        figures[f"loop: {_PEER}, calls/s"] = round(_peer(), 1)
    return figures


def _servers() -> Iterator[tuple[str, Launch]]:
    yield "loop", Launch((sys.executable, "-c", _LOOP))
    yield "gateway", Launch((sys.executable, "-m", "targets.gateway", "--policy", "continue"))
    # find_spec of a submodule imports its parents, which an older SDK has not.
    if importlib.util.find_spec("mcp") and importlib.util.find_spec("mcp.server.mcpserver"):
        yield "mcp SDK", Launch((sys.executable, "-c", _SDK))


def _rates(launch: Launch) -> tuple[float, float, float]:
    """The best rates of several rounds in turn: good, bad in the pipe, bad with all work."""
    lab = Lab(launch, Options(nominee=_NOMINEE, effects=("http",), policy="continue"), ahead=1)
    try:
        facts = learn(lab)
        maker = Maker(facts, Wording.of(_NOMINEE), facts.version)
        good = bad = whole = 0.0
        for turn in range(_ROUNDS):
            good = max(good, _good(lab, maker))
            made = [*_vocabulary(maker, facts, turn)]
            bad = max(bad, _screened(lab, facts, iter(made)))
            whole = max(whole, _screened(lab, facts, _vocabulary(maker, facts, turn), judged=True))
        return good, bad, whole
    finally:
        lab.close()


def _good(lab: Lab, maker: Maker) -> float:
    """Calls and pings, all in the pipe at once; what was answered in time counts."""
    watched = lab.fresh()
    try:
        session = watched.session
        hello = Names(0).ident("h")
        version = b'"%b"' % maker.version.encode()
        session.send(initialize(version, hello).raw + INITIALIZED.raw)
        session.wait_for([hello.strip(b'"')], lab.options.start_patience)
        trials = [maker.good(number) for number in range(1, _GROUPS)]
        blob = b"".join(trial.case.data[trial.opening :] for trial in trials)
        last = Names(_GROUPS - 1).ident("s").strip(b'"')
        began = time.monotonic()
        session.send(blob)
        session.wait_for([last], _LONGEST)
        return (len(session.lines) - 1) / (time.monotonic() - began)
    finally:
        watched.stop()


def _screened(lab: Lab, facts: Facts, trials: Iterator[Ready], *, judged: bool = False) -> float:
    """Frames per second of the screen: sent, waited for, and led back to their trials."""
    warm = Warm(lab, facts)
    frames = 0
    try:
        warm.open()
        began = time.monotonic()
        for prepared, seen in warm.screen(trials, lambda: time.monotonic() - began > _LONGEST):
            frames += len(prepared.trial.case.frames)
            frames -= prepared.trial.case.data[: prepared.trial.opening].count(b"\n")
            if judged:
                judge(prepared, seen, facts)
        return frames / (time.monotonic() - began)
    finally:
        warm.close()


def _vocabulary(maker: Maker, facts: Facts, turn: int) -> Iterator[Ready]:
    contract = facts.contract("strict")
    return (ready(trial, contract) for trial in islice(_trials(maker, turn), _TRIALS))


def _trials(maker: Maker, turn: int) -> Iterator[Trial]:
    numbers = count(1)
    for again in count(turn):
        yield from (t for t in maker.damage(numbers, times=1 + again % 2) if t.warm)


def _peer() -> float:
    """Calls per second of a public fuzzer on the plain loop, without its start: the slope."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "loop.py")
        script.write_text(_LOOP, encoding="utf-8")
        endpoint = shlex.join((sys.executable, str(script)))
        few, many = (_peer_seconds(endpoint, runs, folder) for runs in _PEER_RUNS)
        return (_PEER_RUNS[1] - _PEER_RUNS[0]) / max(many - few, 0.001)


def _peer_seconds(endpoint: str, runs: int, folder: str) -> float:
    began = time.monotonic()
    words = ("--mode", "tools", "--protocol", "stdio", "--endpoint", endpoint, "--runs", str(runs))
    subprocess.run((_PEER, *words), cwd=folder, capture_output=True, timeout=60, check=False)  # noqa: S603
    return time.monotonic() - began
