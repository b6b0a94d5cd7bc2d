"""Oracle *liveness*: no crash, no hang, no memory without bound.

A reader that dies of one bad frame refuses service to every good one, so a crash is a fault even
where nothing acted. A crash is named by how the target ended, whatever was sent: one line that
raises at a dozen kinds of bad frames is one fault.
"""

from __future__ import annotations

from collections.abc import Iterator

from wirefence.oracles.crash_names import name_crash
from wirefence.oracles.deviation_table import NONE
from wirefence.oracles.evidence import Evidence
from wirefence.oracles.records import Finding, make_finding

__all__ = [
    "HELD_PER_BYTE",
    "HELD_SLACK",
    "MEMORY_PER_BYTE",
    "MEMORY_SLACK",
    "check_liveness",
    "make_death",
    "make_hang",
]

MEMORY_SLACK = 64 * 1024 * 1024
MEMORY_PER_BYTE = 64
"""Bound on peak memory: a fixed slack and so many bytes for each byte of input (house)."""

HELD_SLACK = 1024 * 1024
HELD_PER_BYTE = 6
"""Bound on what is kept between two writes: so many bytes for each of the longest frame (house).

A parser may remember its last document: as bytes, as text, and both again with other spellings.
"""


def check_liveness(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if the target crashed, exited, hung or used too much memory."""
    rejected = evidence.list_rejected()
    first = rejected[0] if rejected else None
    closed = evidence.contract.policy == "close" and bool(rejected) and not evidence.exact
    if evidence.ending == "crashed" or (evidence.ending == "exited" and not closed):
        how = evidence.status or "exit"
        text = f"the target ended ({how}) before its stdin ended"
        words = f": {evidence.last_words}" if evidence.last_words else ""
        name = name_crash(evidence.status, evidence.last_words)
        yield evidence.make_finding("liveness", "live-crash", name, text + words)
    elif evidence.ending == "hung" and not closed:
        lost = next((each.frame for each in evidence.owed if not each.replies), None)
        before = [each for each in rejected if lost and each.start < lost.start]
        about = first if evidence.exact or not before else before[-1]
        asked = lost.method if lost else "the last request"
        text = f"no answer to {asked} within {evidence.seconds:.1f} s"
        yield evidence.make_finding("liveness", "live-hang", about, text)
    yield from _check_memory(evidence)


def _check_memory(evidence: Evidence) -> Iterator[Finding]:
    rejected = evidence.list_rejected()
    first = rejected[0] if rejected else None
    peak, size = evidence.peak_bytes, len(evidence.data)
    if peak > evidence.memory_bound:
        text = f"{peak:,} bytes at peak for {size:,} bytes of input"
        yield evidence.make_finding("liveness", "live-memory:peak", first, text)
    elif evidence.held_bound is not None and evidence.held_bytes > evidence.held_bound:
        most = evidence.contract.max_frame
        text = f"{evidence.held_bytes:,} bytes held where a frame has at most {most:,}"
        yield evidence.make_finding("liveness", "live-memory:held", first, text)


def make_death(target: str, status: str, text: str = "", rule: str = "live-crash") -> Finding:
    """Return the finding of a process that a case ended. ``status`` says how, ``text`` why.

    ``rule`` is another than ``live-crash`` where a tool that watched the process ended it, for its
    time or its memory.
    """
    text = text or f"the process died ({status})"
    return make_finding("liveness", rule, target, name_crash(status, ""), text)


def make_hang(target: str, seconds: float) -> Finding:
    """Return the finding of a case that did not end within ``seconds``."""
    text = f"the case did not end within {seconds:g} s"
    return make_finding("liveness", "live-hang:process", target, NONE, text)
