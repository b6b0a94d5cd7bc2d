"""Listeners that print a campaign's events, and its final report as text and as JSON.

Progress goes to stderr and the report to stdout, so that a pipe receives only the report. The
report also lists what was never exercised.
"""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import TextIO

from rich.console import Console
from rich.progress import Progress as Bar
from rich.progress import SpinnerColumn, TextColumn

from wirefence.fuzz.examination.events import (
    CoverageProgress,
    Event,
    Finished,
    Found,
    Listener,
    Progress,
    Started,
    Tally,
)
from wirefence.fuzz.text import escape_unprintable
from wirefence.oracles.faults import Fault, group_findings
from wirefence.oracles.rules import RULES
from wirefence.strategies.damage import FAMILIES, OPERATORS

__all__ = [
    "as_json",
    "as_table",
    "fan_out",
    "format_count",
    "format_coverage_progress",
    "format_faults",
    "format_finding",
    "list_faults",
    "make_line_listener",
    "make_live_listener",
]

_LINE_INTERVAL = 10.0
"""Seconds between two progress lines in a log."""
_END_NOTES = {
    "interrupted": " (interrupted)",
    "hopeless": " (stopped early: case after case ended its process)",
}


def make_line_listener(stream: TextIO) -> Listener:
    """Return a listener that prints a progress line now and then, and each finding."""
    told = [0.0]

    def listen(event: Event) -> None:
        if isinstance(event, Started):
            print(_format_start(event), file=stream, flush=True)
        elif isinstance(event, Found):
            print(format_finding(event), file=stream, flush=True)
        elif isinstance(event, Progress) and event.seconds - told[0] >= _LINE_INTERVAL:
            told[0] = event.seconds
            print(_format_progress(event), file=stream, flush=True)
        elif isinstance(event, CoverageProgress) and event.seconds - told[0] >= _LINE_INTERVAL:
            told[0] = event.seconds
            print(format_coverage_progress(event), file=stream, flush=True)

    return listen


def make_live_listener(console: Console) -> tuple[Bar, Listener]:
    """Return a progress display for a terminal, and the listener that updates it."""
    bar = Bar(SpinnerColumn(), TextColumn("{task.description}"), console=console, transient=True)
    task = bar.add_task("starting")

    def listen(event: Event) -> None:
        if isinstance(event, Started):
            console.print(_format_start(event), markup=False, highlight=False)
        elif isinstance(event, Found):
            console.print(format_finding(event), markup=False, highlight=False)
        elif isinstance(event, Progress):
            bar.update(task, description=_format_progress(event))
        elif isinstance(event, CoverageProgress):
            bar.update(task, description=format_coverage_progress(event))

    return bar, listen


def _format_start(event: Started) -> str:
    return (
        f"seed {event.seed}, {len(event.targets)} targets, {event.workers} workers, "
        f"{event.known} findings known, writing to {escape_unprintable(event.out)}"
    )


def _format_progress(event: Progress) -> str:
    rate = event.tally.cases / event.seconds if event.seconds > 0 else 0.0
    return (
        f"{event.seconds:5.0f} s  {event.tally.cases:,} cases ({rate:,.0f}/s)  "
        f"{event.tally.comparisons:,} parses  {event.found} new findings"
    )


def format_coverage_progress(event: CoverageProgress) -> str:
    """Return the figures of a coverage-guided target on one line."""
    return (
        f"{event.target}: {event.executions:,} inputs in {event.seconds:.0f} s "
        f"({event.rate:,.0f}/s), {event.edges:,} edges, {event.features:,} features, "
        f"corpus {event.corpus:,}, {event.found} new findings"
    )


def format_finding(event: Found) -> str:
    """Return a finding, and the command that shows it again."""
    found = event.finding
    command = escape_unprintable(_format_explain_command(event))
    return (
        f"FOUND {found.oracle} {found.rule} in {escape_unprintable(found.target)}: "
        f"{escape_unprintable(found.summary)}\n      {command}"
    )


def _format_explain_command(event: Found) -> str:
    """Return the command that shows the finding again; default targets need no --target."""
    target, _, terms = event.finding.target.partition("/")
    named = target == "reference" or (":" in target and not target.startswith("parser:"))
    target += "/spec" if terms.endswith("spec") else ""
    words = ["wirefence", "explain", event.path, *(["--target", target] if named else [])]
    return shlex.join(words)


def as_table(end: Finished, found: Iterable[Found]) -> str:
    """Return the report as text: verdict first, then faults, then what was exercised."""
    findings = list(found)
    faults = group_findings(each.finding for each in findings)
    lines = [_format_verdict(end, len(faults)), ""]
    lines += format_faults(faults, findings)
    lines += [""] if findings else []
    if end.explored:
        lines += [
            "Coverage-guided:",
            *[f"  {format_coverage_progress(each)}" for each in end.explored],
            "",
        ]
    lines += _format_coverage(end.tally)
    if end.peak_bytes:
        lines += ["", f"Memory: at most {end.peak_bytes / 1e6:,.0f} MB in a worker."]
    return "\n".join(lines)


def format_faults(faults: Iterable[Fault], found: Iterable[Found]) -> list[str]:
    """Return each fault as its gravest finding, with a line for each further signature."""
    events = {each.finding.signature: each for each in found}
    lines = []
    for fault in faults:
        first, *others = (events[each.signature] for each in fault.findings)
        lines += [format_finding(first), *map(_format_further_signature, others)]
    return lines


def _format_further_signature(event: Found) -> str:
    found = event.finding
    return f"      also {found.effect}, {found.deviation}: {escape_unprintable(event.path)}"


def format_count(findings: int, faults: int) -> str:
    """Return how many new findings there are, and of how many faults."""
    if not findings:
        return "Nothing new"
    plural = "finding" if findings == 1 else "findings"
    return f"{findings} new {plural} of {faults} {'fault' if faults == 1 else 'faults'}"


def _format_verdict(end: Finished, faults: int) -> str:
    tally = end.tally
    said = format_count(end.found, faults)
    cut = _END_NOTES.get(end.reason, "")
    return (
        f"{said} in {_format_case_count(tally)}, {tally.frames:,} judged frames, "
        f"{tally.comparisons:,} parses, {tally.effects:,} effects, {end.seconds:.0f} s{cut}."
    )


def _format_case_count(tally: Tally) -> str:
    if not tally.given:
        return f"{tally.cases:,} cases"
    return f"{tally.cases - tally.given:,} generated and {tally.given:,} given cases"


def _format_coverage(tally: Tally) -> list[str]:
    rules = {"accepted": tally.rules.get("accepted", 0)}
    rules.update({rule.id: tally.rules.get(rule.id, 0) for rule in RULES})
    by_family = _count_by_family(tally)
    lines = ["Frames by the rule they break:", *_format_columns(rules)]
    lines += ["", "Cases by family of damage:", *_format_columns(by_family)]
    lines += ["", "Cases by target:", *_format_columns(dict(sorted(tally.targets.items())))]
    never = [name for name, count in rules.items() if not count]
    idle = [each.name for each in OPERATORS if not tally.operators.get(each.name)]
    lines += ["", _format_never("Rules", never), _format_never("Damage operators", idle)]
    return lines


def _count_by_family(tally: Tally) -> dict[str, int]:
    counts = dict.fromkeys(FAMILIES, 0)
    for each in OPERATORS:
        counts[each.family] += tally.operators.get(each.name, 0)
    return {str(family): count for family, count in counts.items()}


def _format_columns(counts: dict[str, int]) -> list[str]:
    width = max((len(name) for name in counts), default=0)
    cells = [f"{name:<{width}} {count:>10,}" for name, count in counts.items()]
    return [f"  {'    '.join(cells[i : i + 2])}" for i in range(0, len(cells), 2)]


def _format_never(what: str, names: list[str]) -> str:
    if not names:
        return f"{what} never exercised: none."
    said = f"{what} never exercised ({len(names)}): {', '.join(names)}."
    return textwrap.fill(said, 100, subsequent_indent="  ", break_on_hyphens=False)


def as_json(end: Finished, found: Iterable[Found]) -> str:
    """Return the report as one JSON object; ``faults`` groups the signatures in ``found``."""
    findings = list(found)
    content = {
        "found": [
            {"path": each.path, **each.finding.as_dict(), "damage": each.case.damages()}
            for each in findings
        ],
        "faults": list_faults(findings),
        "new": end.found,
        "peak_bytes": end.peak_bytes,
        "reason": end.reason,
        "seconds": round(end.seconds, 3),
        "tally": asdict(end.tally),
        "explored": [{**asdict(each), "rate": each.rate} for each in end.explored],
        "rules_never_exercised": [r.id for r in RULES if not end.tally.rules.get(r.id)],
        "operators_never_exercised": [
            each.name for each in OPERATORS if not end.tally.operators.get(each.name)
        ],
    }
    return json.dumps(content, indent=1)


def list_faults(found: Iterable[Found]) -> list[dict[str, object]]:
    """Return name and signatures of each fault, the gravest first, as plain values."""
    faults = group_findings(each.finding for each in found)
    return [
        {"name": each.name, "signatures": [finding.signature for finding in each.findings]}
        for each in faults
    ]


def fan_out(*listeners: Callable[[Event], None]) -> Listener:
    """Return one listener that passes each event to several."""

    def listen(event: Event) -> None:
        for each in listeners:
            each(event)

    return listen
