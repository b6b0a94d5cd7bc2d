"""Oracle *liveness*: no crash, no hang, no memory without bound.

A reader that dies of one bad frame refuses service to every good one, so a crash
is a fault even where nothing acted.
"""

from __future__ import annotations

from wirefence.oracles.records import Finding, make_finding
from wirefence.targets.records import Trace

__all__ = ["check_liveness"]

MEMORY_SLACK = 64 * 1024 * 1024
MEMORY_PER_BYTE = 64
"""Bound on peak memory: a fixed slack and so many bytes for each byte of input (house)."""

HELD_SLACK = 1024 * 1024
HELD_PER_BYTE = 2
"""Bound on what is kept between two writes: so many bytes for each of the longest frame (house)."""


def check_liveness(data: bytes, trace: Trace, max_frame: int | None = None) -> list[Finding]:
    """Return a finding if the target of ``trace`` crashed, exited, hung or used too much memory.

    ``max_frame`` is the contract's bound on a frame, where one holds: no more may be buffered.
    """
    if trace.ending == "crashed":
        return [_make_finding(trace, "live-crash", trace.error, f"{trace.error} ended the reader")]
    if trace.ending == "exited":
        return [_make_finding(trace, "live-crash", "exit", "the target exited before stdin ended")]
    if trace.ending == "hung":
        return [_make_finding(trace, "live-hang", "", f"no answer within {trace.seconds:.1f} s")]
    bound = MEMORY_SLACK + MEMORY_PER_BYTE * len(data)
    if trace.peak_bytes > bound:
        summary = f"{trace.peak_bytes:,} bytes at peak for {len(data):,} bytes of input"
        return [_make_finding(trace, "live-memory", "", summary)]
    if max_frame is not None and trace.held_bytes > HELD_SLACK + HELD_PER_BYTE * max_frame:
        summary = f"{trace.held_bytes:,} bytes held where a frame has at most {max_frame:,}"
        return [_make_finding(trace, "live-memory", "", summary)]
    return []


def _make_finding(trace: Trace, rule: str, kind: str, summary: str) -> Finding:
    return make_finding("liveness", rule, trace.target, kind, summary)
