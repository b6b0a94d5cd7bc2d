"""Measure the rate of the gate against rates of the same server in the same run.

Servers and machines differ a hundredfold, so only ratios can be compared between machines. The rate
of pipelined good requests is the goal. The rate of the same bad frames, written without waiting for
anything ("blindly"), is the upper limit.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

from scripts.bench.gate_peer import PEER, calls_per_second
from wirefence.fuzz.gate.records import Facts, NominatedTool, Options, Trial
from wirefence.fuzz.gate.server.discovery import discover_server
from wirefence.fuzz.gate.server.fresh import FreshServers, PreparedTrial, prepare_trial
from wirefence.fuzz.gate.server.known_sessions import KnownSessions
from wirefence.fuzz.gate.server.pipelined import PipelinedServer
from wirefence.fuzz.gate.server.trial_payload import TrialPayload
from wirefence.fuzz.gate.trials.generate import TrialMaker
from wirefence.fuzz.gate.trials.messages import (
    INITIALIZED,
    ToolWording,
    TrialNames,
    make_initialize,
    stem_of,
    strip_names,
)
from wirefence.fuzz.gate.trials.schedule import make_warm_trials
from wirefence.targets.command.memory import cpu_of_group
from wirefence.targets.command.records import Launch

__all__ = ["measure"]

_ROUNDS = 2
_GROUPS = 30_000
"""Trials of one measurement at most, as servers grow faster for a while."""
_AHEAD = 6_000
"""Trials that are made ahead: a fast server gets through them in a measurement."""
_LONGEST = 3.0
"""Seconds of one measurement: slow servers get through less of the trials."""
_LOT = 1_000
"""Trials of one write: the next is ready before the pipe has run empty."""
_NOMINEE = NominatedTool("record", '{"action":"{nonce}"}')
_GATEWAY = ("-m", "wirefence.targets.gateway", "--policy", "continue")
_LOOP = """\
import json, sys
schema = {"type": "object", "properties": {"action": {"type": "string"}}}
tool = {"name": "record", "inputSchema": schema}
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
_NODE = """\
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";
const server = new McpServer({ name: "bench", version: "1" });
const done = async ({ action }) => ({ content: [{ type: "text", text: action }] });
server.registerTool("record", { inputSchema: { action: z.string() } }, done);
await server.connect(new StdioServerTransport());
"""


def measure() -> dict[str, object]:
    """Frames per second of wall time and their ratios, for each server at hand.

    ``good`` are calls and pings, pipelined. ``bad, blindly`` are frames of all damage operators,
    written without a look at the replies. ``in the pipe`` is the gate with trials that were
    generated before: sent, awaited, and assigned to their trials. ``judged`` is the gate as it
    runs: it generates, sends and judges trials. ``no bytes again`` is the share of trials whose
    bytes, but for names, no earlier one had: few operators have many results. The peer's rate is
    that of the calls which reach the server. Processor time is of gate and server together: a busy
    machine distorts ratios of wall time.
    """
    figures: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, launch in _find_servers(Path(folder)):
            figures |= {
                f"{name}: {what}": said for what, said in _measure_figures(launch, folder).items()
            }
    return figures


def _measure_figures(launch: Launch, folder: str) -> dict[str, object]:
    rates = _measure_rates(launch)
    peer = calls_per_second(launch, Path(folder))
    said: dict[str, object] = {
        "good frames/s, pipelined": round(rates.good),
        "bad frames/s, blindly": round(rates.blind),
        "gate, frames/s in the pipe": round(rates.piped),
        "gate, distinct frames/s judged": round(rates.judged),
        "gate, distinct trials/s judged": round(rates.trials),
        "of these with no bytes again": f"{rates.fresh:.0%}",
        "gate, processor us/frame": round(rates.cpu * 1e6),
        "in the pipe against good": round(rates.piped / rates.good, 2),
        "in the pipe against blindly": round(rates.piped / rates.blind, 2),
    }
    if isinstance(peer, str):
        said[PEER] = peer
    else:
        said[f"{PEER}, calls/s"] = round(peer)
        said[f"in the pipe against {PEER}"] = round(rates.piped / peer, 1)
        said[f"judged against {PEER}"] = round(rates.judged / peer, 1)
    return said


def _find_servers(folder: Path) -> Iterator[tuple[str, Launch]]:
    """Yield the servers that can run here; the TypeScript SDK needs ``node_modules``."""
    yield "loop", Launch((sys.executable, _write_script(folder, "loop.py", _LOOP)))
    yield "gateway", Launch((sys.executable, *_GATEWAY))
    # find_spec of a submodule imports its parents, which an older SDK has not.
    if importlib.util.find_spec("mcp") and importlib.util.find_spec("mcp.server.mcpserver"):
        yield "Python SDK", Launch((sys.executable, _write_script(folder, "sdk.py", _SDK)))
    node, modules = shutil.which("node"), Path("node_modules")
    if node and (modules / "@modelcontextprotocol" / "sdk").is_dir():
        (folder / "node_modules").symlink_to(modules.absolute())
        yield "TypeScript SDK", Launch((node, _write_script(folder, "sdk.mjs", _NODE)))


def _write_script(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


@dataclass(slots=True)
class _Rates:
    """Frames per second, each the best of some rounds; of the last, trials per second, the share
    of trials whose bytes none had before, and the processor seconds of one frame.
    """

    good: float = 0.0
    blind: float = 0.0
    piped: float = 0.0
    judged: float = 0.0
    trials: float = 0.0
    fresh: float = 0.0
    cpu: float = 0.0


def _measure_rates(launch: Launch) -> _Rates:
    """Measure one server, all ways in turn."""
    fresh_servers = FreshServers(
        launch, Options(nominee=_NOMINEE, effects=("http",), policy="continue"), ahead=1
    )
    try:
        facts = discover_server(fresh_servers)
        maker = TrialMaker(facts, ToolWording.of(_NOMINEE), facts.version)
        bads = _make_ahead(maker, facts)
        rates, made = _Rates(), [prepared for prepared, _ in bads]
        good = TrialPayload.of(
            prepare_trial(maker.make_good_session(1), facts.make_contract("strict")), facts.version
        )
        goods = [_rename_payload(good, number) for number in range(2, _GROUPS)]
        for _ in range(_ROUNDS):
            rates.good = max(rates.good, _measure_blind_writes(fresh_servers, maker, goods))
            rates.blind = max(
                rates.blind, _measure_blind_writes(fresh_servers, maker, [x for _, x in bads])
            )
            rates.piped = max(rates.piped, _measure_pipelined(fresh_servers, facts, made))
            _measure_judged(fresh_servers, facts, maker, rates)
        return rates
    finally:
        fresh_servers.close()


def _make_ahead(maker: TrialMaker, facts: Facts) -> list[tuple[PreparedTrial, TrialPayload]]:
    """Return damaged trials that can stay in the pipe, of one seed after the other."""
    contract = facts.make_contract("strict")
    made = (prepare_trial(trial, contract) for trial in _list_trials(maker, count(1)))
    pairs = ((each, TrialPayload.of(each, facts.version)) for each in made)
    stays = ((each, x) for each, x in pairs if not (x.alone or x.foreign or x.added))
    return list(islice(stays, _AHEAD))


def _list_trials(maker: TrialMaker, numbers: Iterator[int]) -> Iterator[Trial]:
    """Yield later rounds of trials; those with pauses, which only the first has, wait and idle."""
    for turn in count(1):
        yield from (each for each in make_warm_trials(maker, turn, numbers) if not each.case.cuts)


def _rename_payload(payload: TrialPayload, number: int) -> TrialPayload:
    """Return the payload of a good session under the names of another trial."""
    old, new = payload.stem, stem_of(number)
    data, ids = payload.data.replace(old, new), payload.ids.replace(old, new)
    return payload._replace(number=number, stem=new, data=data, ids=ids)


def _measure_blind_writes(
    fresh_servers: FreshServers, maker: TrialMaker, payloads: Sequence[TrialPayload]
) -> float:
    """Return frames per second where the pipe is kept full and only sentinels are awaited."""
    watched = fresh_servers.take_server()
    try:
        session = watched.session
        hello = TrialNames(0).request_id("h")
        version = b'"%b"' % maker.version.encode()
        session.send(make_initialize(version, hello).raw + INITIALIZED.raw)
        session.wait_for([hello.strip(b'"')], fresh_servers.options.start_patience)
        began = time.monotonic()
        late = began + _LONGEST
        last: list[bytes] = []
        for at in range(0, len(payloads), _LOT):
            lot = payloads[at : at + _LOT]
            session.send(b"".join(each.data for each in lot))
            session.wait_for(last, late - time.monotonic())
            last = [_sentinel_id(lot[-1])]
            if time.monotonic() > late:
                break
        session.wait_for(last, late - time.monotonic())
        spent = time.monotonic() - began
        done = (each for each in payloads if _sentinel_id(each) in session.answered)
        return sum(each.data.count(b"\n") for each in done) / spent
    finally:
        watched.stop()


def _sentinel_id(payload: TrialPayload) -> bytes:
    return TrialNames(payload.number).request_id("s").strip(b'"')


def _measure_pipelined(
    fresh_servers: FreshServers, facts: Facts, trials: Sequence[PreparedTrial]
) -> float:
    """Return frames per second of trials that are sent, awaited and assigned, without a judge.

    The clock stops with the last write: the time of the last replies is no part of the rate.
    """
    warm = PipelinedServer(fresh_servers, facts)
    try:
        warm.ensure_running()
        began = time.monotonic()
        late, frames = began + _LONGEST, 0
        rates: list[float] = []

        def source() -> Iterator[PreparedTrial]:
            yield from trials
            rates.append(frames / (time.monotonic() - began))

        def is_late() -> bool:
            now = time.monotonic()
            if now > late:
                rates.append(frames / (now - began))
            return now > late

        for prepared, _ in warm.screen_trials(source(), is_late):
            frames += _count_frames(prepared)
        return rates[0]
    finally:
        warm.close()


def _count_frames(prepared: PreparedTrial) -> int:
    return prepared.trial.case.data.count(b"\n", prepared.trial.opening)


def _measure_judged(
    fresh_servers: FreshServers, facts: Facts, maker: TrialMaker, rates: _Rates
) -> None:
    """Measure frames per second and processor time with the judge; keep the best in ``rates``."""
    warm, contract = PipelinedServer(fresh_servers, facts), facts.make_contract("strict")
    known = KnownSessions(facts, None)
    frames, sent = 0, list[bytes]()
    try:
        pid = warm.ensure_running()
        began, cpu = time.monotonic(), time.process_time() + cpu_of_group(pid)
        late = began + _LONGEST
        made = (prepare_trial(trial, contract) for trial in _list_trials(maker, count(1)))
        for prepared, seen in warm.screen_trials(made, lambda: time.monotonic() > late):
            known.judge_trial(prepared, seen)
            frames += _count_frames(prepared)
            sent.append(prepared.trial.case.data)
        seconds = time.monotonic() - began
        cpu = time.process_time() + cpu_of_group(pid) - cpu
        if frames / seconds > rates.judged:
            rates.judged, rates.trials = frames / seconds, len(sent) / seconds
            rates.fresh = len(set(map(strip_names, sent))) / len(sent)
            rates.cpu = cpu / frames
    finally:
        warm.close()
