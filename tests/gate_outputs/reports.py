"""A small report with hostile text in it."""

from __future__ import annotations

from dataclasses import replace

from wirefence.fuzz.gate.records import Attempt, Facts, Flaw, Report, Tally
from wirefence.oracles.records import make_finding
from wirefence.strategies.records import Case, Frame

FACTS = Facts(
    "srv",
    "srv",
    "1.2",
    "2025-11-25",
    ("2025-11-25",),
    ("record",),
    None,
    None,
    policy="close",
    startup=0.1,
    peak_bytes=0,
)
CASE = Case((Frame(b'{"x"\n'),))


def flaw(rule: str = "act-rejected", kind: str = "frame-cr", summary: str = "acted") -> Flaw:
    said = make_finding("non-action", rule, "srv", kind, summary)
    return Flaw(
        said,
        "cr-frame",
        "after",
        CASE,
        b"\x00\xff|`]]>",
        "out/a b.frame",
        "out/a.txt",
        "",
        "wirefence replay",
    )


def report(*flaws: Flaw, **changes: object) -> Report:
    made = Report(
        FACTS,
        "server --token ***",
        {"API_KEY": "***"},
        "strict",
        "quick",
        flaws,
        Tally({("framing", "after"): Attempt(7, 1, 0)}, 70, 3),
        {"files": "files elsewhere"},
        {"strace": "strace is not installed"},
        1.5,
    )
    return replace(made, **changes)
