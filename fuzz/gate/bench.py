"""How fast is the gate? Bad frames against good ones, by the same server in the same run.

The key insight: servers and machines differ a hundredfold, so the only figure that travels is a
ratio: what the server does with good requests that are simply pipelined is all it can do.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Iterator
from itertools import count, islice

from fuzz.gate.cases import Maker
from fuzz.gate.lab import Lab, ready
from fuzz.gate.learn import learn
from fuzz.gate.records import Facts, Nominee, Options, Trial
from fuzz.gate.warm import Warm
from fuzz.gate.wire import INITIALIZED, Names, Wording, initialize
from targets.command.records import Launch

__all__ = ["measure"]

_ROUNDS = 2
_GROUPS = 600
_TRIALS = 600
_SDK = (
    "from mcp.server.mcpserver import MCPServer\n"
    "app = MCPServer('bench')\n"
    "@app.tool()\n"
    "def record(name: str) -> str:\n"
    "    return name\n"
    "app.run()\n"
)


def measure() -> dict[str, object]:
    """Frames per second of wall time, and the ratio of bad to good, for each server at hand."""
    figures: dict[str, object] = {}
    for name, launch, nominee in _servers():
        good, bad = _rates(launch, nominee)
        figures[f"{name}: good frames/s, pipelined"] = round(good)
        figures[f"{name}: gate, frames/s"] = round(bad)
        figures[f"{name}: gate against good frames"] = round(bad / good, 2)
    return figures


def _servers() -> Iterator[tuple[str, Launch, Nominee]]:
    gateway = (sys.executable, "-m", "targets.gateway", "--policy", "continue")
    yield "gateway", Launch(gateway), Nominee("record", '{"action":"{nonce}"}')
    # find_spec of a submodule imports its parents, which an older SDK has not.
    if importlib.util.find_spec("mcp") and importlib.util.find_spec("mcp.server.mcpserver"):
        argv = (sys.executable, "-c", _SDK)
        yield "mcp SDK", Launch(argv), Nominee("record", '{"name":"{nonce}"}')


def _rates(launch: Launch, nominee: Nominee) -> tuple[float, float]:
    """The best rates of several rounds, good and bad in turn."""
    options = Options(nominee=nominee, effects=("http",), policy="continue")
    lab = Lab(launch, options)
    try:
        facts = learn(lab)
        maker = Maker(facts, Wording.of(nominee), facts.version)
        good, bad = 0.0, 0.0
        for turn in range(_ROUNDS):
            good = max(good, _good(lab, maker))
            bad = max(bad, _bad(lab, facts, maker, turn))
        return good, bad
    finally:
        lab.close()


def _good(lab: Lab, maker: Maker) -> float:
    """Calls and pings, all in the pipe at once."""
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
        session.wait_for([last], lab.options.start_patience)
        return blob.count(b"\n") / (time.monotonic() - began)
    finally:
        watched.stop()


def _bad(lab: Lab, facts: Facts, maker: Maker, turn: int) -> float:
    """The whole screen: making trials, judging them, sending, sorting what comes back."""
    warm = Warm(lab, facts)
    contract = facts.contract(lab.options.profile)
    try:
        warm.open()
        before = warm.frames
        trials = islice(_vocabulary(maker, turn), _TRIALS)
        began = time.monotonic()
        for _ in warm.screen((ready(trial, contract) for trial in trials), lambda: False):
            pass
        return (warm.frames - before) / (time.monotonic() - began)
    finally:
        warm.close()


def _vocabulary(maker: Maker, turn: int) -> Iterator[Trial]:
    numbers = count(1)
    for again in count(turn):
        yield from (t for t in maker.damage(numbers, times=1 + again % 2) if t.warm)
