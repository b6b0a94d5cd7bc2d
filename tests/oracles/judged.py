"""Judge hand-written sessions: bytes that were sent, and what a gateway did with them."""

from __future__ import annotations

from collections.abc import Iterable

from wirefence.oracles.evidence import Evidence
from wirefence.oracles.records import Finding
from wirefence.oracles.session import judge_session
from wirefence.oracles.session_findings import judge_evidence
from wirefence.oracles.trace_evidence import read_trace
from wirefence.strategies.contract import Contract
from wirefence.strategies.records import Case, Frame
from wirefence.targets.records import Trace

__all__ = ["judge_trace", "make_case", "read_session"]


def make_case(data: bytes, contract: Contract, names: Iterable[str] = ()) -> Case:
    """Return a case of one frame for each line; ``names`` are the action names that lines hold."""
    known = tuple(names)
    frames = tuple(
        Frame(raw, next((name for name in known if name.encode() in raw), ""))
        for raw in data.splitlines(keepends=True)
    )
    return Case(frames, version=contract.version)


def read_session(
    data: bytes,
    trace: Trace,
    contract: Contract,
    names: Iterable[str] = (),
    control: Evidence | None = None,
) -> Evidence:
    """Return the evidence of a session in which ``data`` was sent."""
    case = make_case(data, contract, names)
    return read_trace(case, judge_session(data, contract), trace, contract, control)


def judge_trace(
    data: bytes,
    trace: Trace,
    contract: Contract,
    names: Iterable[str] = (),
    control: Evidence | None = None,
) -> list[Finding]:
    """Return every finding of a session in which ``data`` was sent."""
    return judge_evidence(read_session(data, trace, contract, names, control))
