"""From the death of a libFuzzer process to a finding with a signature.

The key insight: addresses, ids and sizes differ between two deaths of one bug; the sort of the
error and the functions it happened in do not.
"""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass

from wirefence.fuzz.native.report import read_report
from wirefence.oracles.records import Finding, finding

__all__ = ["Death", "diagnose", "finding_of"]

_LIBFUZZER = re.compile(r"ERROR: libFuzzer: ([\w -]+)")
_FRAME = re.compile(r"^\s*#\d+ 0x[0-9a-f]+ (?:in )?\(?([A-Za-z_][^\s(+]*)", re.MULTILINE)
_PYTHON = re.compile(r"=== Uncaught Python exception: ===\n([\w.]+)(?:: ([^\n]*))?")
_NOISE = re.compile(
    r"^_*(?:asan|interceptor|sanitizer|fuzzer|libc_start|pthread|mem(?:cpy|set|move|cmp)|str\w+"
    r"|Py|_Py|cfunction|method_|vectorcall|object_|gsignal|abort|raise)"
)
_FRAMES = 3
_HOW = {"timeout": "live-hang", "out-of-memory": "live-memory"}


@dataclass(frozen=True, slots=True)
class Death:
    """What a log says: the rule broken, what tells this death from others, and a sentence."""

    rule: str
    kind: str
    summary: str


def diagnose(log: str, code: int) -> Death:
    """Read the end of a log; ``code`` is the exit code, or minus the signal."""
    if python := _PYTHON.search(log):
        return Death("live-crash", python[1], f"{python[1]} left the target: {python[2] or ''}")
    if report := read_report(log):
        return Death("live-crash", report.kind, report.sentence)
    if said := _LIBFUZZER.search(log):
        what = said[1].partition(" (")[0].strip().removesuffix(" after")
        rule = next((rule for word, rule in _HOW.items() if what.startswith(word)), "live-crash")
        kind = " < ".join((what, *_frames(log[said.end() :])))
        return Death(rule, kind, f"the process died ({kind})")
    end = _end(code)
    return Death("live-crash", end, f"the process died ({end})")


def _frames(log: str) -> list[str]:
    """The innermost functions that are not of the sanitizer, libFuzzer or the interpreter."""
    return [name for name in _FRAME.findall(log) if not _NOISE.match(name)][:_FRAMES]


def _end(code: int) -> str:
    if code >= 0:
        return f"exit {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def finding_of(target: str, death: Death) -> Finding:
    """The finding of a death of ``target``."""
    return finding("liveness", death.rule, target, death.kind, death.summary)
