"""Turn the death of a libFuzzer process into a finding with a signature.

Addresses, ids and sizes differ between two deaths of one fault; the kind of error and the innermost
functions do not. So those make the signature.
"""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass

from wirefence.fuzz.native.report import read_report
from wirefence.oracles.liveness import make_death
from wirefence.oracles.records import Finding

__all__ = ["Death", "diagnose_death", "make_death_finding"]

_LIBFUZZER = re.compile(r"ERROR: libFuzzer: ([\w -]+)")
_FRAME = re.compile(r"^\s*#\d+ 0x[0-9a-f]+ (?:in )?\(?([A-Za-z_][^\s(+]*)", re.MULTILINE)
_PYTHON = re.compile(r"=== Uncaught Python exception: ===\n([\w.]+)(?:: ([^\n]*))?")
_NOISE = re.compile(
    r"^_*(?:asan|interceptor|sanitizer|fuzzer|libc_start|pthread|mem(?:cpy|set|move|cmp)|str\w+"
    r"|Py|_Py|cfunction|method_|vectorcall|object_|gsignal|abort|raise)"
)
_MAX_FRAMES = 3
"""Stack frames in a signature; further ones differ between inputs of one fault."""
_RULES = {"timeout": "live-hang", "out-of-memory": "live-memory"}


@dataclass(frozen=True, slots=True)
class Death:
    """What a log reports: the rule broken, the kind that identifies the death, and a sentence."""

    rule: str
    kind: str
    summary: str


def diagnose_death(log: str, code: int) -> Death:
    """Diagnose a death from the end of a log; ``code`` is the exit code, or minus the signal."""
    if python := _PYTHON.search(log):
        return Death("live-crash", python[1], f"{python[1]} left the target: {python[2] or ''}")
    if report := read_report(log):
        return Death("live-crash", report.kind, report.sentence)
    if said := _LIBFUZZER.search(log):
        what = said[1].partition(" (")[0].strip().removesuffix(" after")
        rule = next((rule for word, rule in _RULES.items() if what.startswith(word)), "live-crash")
        kind = " < ".join((what, *_find_stack_frames(log[said.end() :])))
        return Death(rule, kind, f"the process died ({kind})")
    end = _describe_exit(code)
    return Death("live-crash", end, f"the process died ({end})")


def _find_stack_frames(log: str) -> list[str]:
    """Return the innermost functions outside of the sanitizer, libFuzzer and the interpreter."""
    return [name for name in _FRAME.findall(log) if not _NOISE.match(name)][:_MAX_FRAMES]


def _describe_exit(code: int) -> str:
    if code >= 0:
        return f"exit {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def make_death_finding(target: str, death: Death) -> Finding:
    """Return the finding for a death of ``target``."""
    return make_death(target, death.kind, death.summary, death.rule)
