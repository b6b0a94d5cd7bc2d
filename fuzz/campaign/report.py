"""Listeners: what a campaign's events become for people and for programs.

The key insight: progress goes to stderr and the report to stdout, so that a pipe gets the report
alone; what was never exercised is said as plainly as what was found.
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
    Event,
    Explored,
    Finished,
    Found,
    Listener,
    Progress,
    Started,
    Tally,
)
from wirefence.fuzz.text import printable
from wirefence.oracles.rules import RULES
from wirefence.strategies.damage import FAMILIES, OPERATORS

__all__ = [
    "as_json",
    "as_table",
    "explored",
    "fan_out",
    "found_lines",
    "live",
    "plain",
]

_PLAIN_EVERY = 10.0
_CUT = {
    "interrupted": " (interrupted)",
    "hopeless": " (given up: case after case ended its process)",
}


def plain(stream: TextIO) -> Listener:
    """A listener that writes a line now and then, and one for each finding."""
    told = [0.0]

    def listen(event: Event) -> None:
        if isinstance(event, Started):
            print(_opening(event), file=stream, flush=True)
        elif isinstance(event, Found):
            print(found_lines(event), file=stream, flush=True)
        elif isinstance(event, Progress) and event.seconds - told[0] >= _PLAIN_EVERY:
            told[0] = event.seconds
            print(_status(event), file=stream, flush=True)
        elif isinstance(event, Explored) and event.seconds - told[0] >= _PLAIN_EVERY:
            told[0] = event.seconds
            print(explored(event), file=stream, flush=True)

    return listen


def live(console: Console) -> tuple[Bar, Listener]:
    """A progress display for a terminal, and the listener that feeds it."""
    bar = Bar(SpinnerColumn(), TextColumn("{task.description}"), console=console, transient=True)
    task = bar.add_task("starting")

    def listen(event: Event) -> None:
        if isinstance(event, Started):
            console.print(_opening(event), markup=False, highlight=False)
        elif isinstance(event, Found):
            console.print(found_lines(event), markup=False, highlight=False)
        elif isinstance(event, Progress):
            bar.update(task, description=_status(event))
        elif isinstance(event, Explored):
            bar.update(task, description=explored(event))

    return bar, listen


def _opening(event: Started) -> str:
    return (
        f"seed {event.seed}, {len(event.targets)} targets, {event.workers} workers, "
        f"{event.known} findings known, writing to {printable(event.out)}"
    )


def _status(event: Progress) -> str:
    rate = event.tally.cases / event.seconds if event.seconds > 0 else 0.0
    return (
        f"{event.seconds:5.0f} s  {event.tally.cases:,} cases ({rate:,.0f}/s)  "
        f"{event.tally.comparisons:,} parses  {event.found} new findings"
    )


def explored(event: Explored) -> str:
    """The figures of a coverage-guided target on one line."""
    return (
        f"{event.target}: {event.executions:,} inputs in {event.seconds:.0f} s "
        f"({event.rate:,.0f}/s), {event.edges:,} edges, {event.features:,} features, "
        f"corpus {event.corpus:,}, {event.found} new findings"
    )


def found_lines(event: Found) -> str:
    """A finding, and the command that shows it again."""
    found = event.finding
    return (
        f"FOUND {found.oracle} {found.rule} in {printable(found.target)}: "
        f"{printable(found.summary)}\n      {printable(_again(event))}"
    )


def _again(event: Found) -> str:
    """The command that shows the finding again; default targets need not be named."""
    target, _, terms = event.finding.target.partition("/")
    named = target == "reference" or (":" in target and not target.startswith("parser:"))
    target += "/spec" if terms.endswith("spec") else ""
    words = ["wirefence", "explain", event.path, *(["--target", target] if named else [])]
    return shlex.join(words)


def as_table(end: Finished, found: Iterable[Found]) -> str:
    """The report for people: verdict first, then findings, then what was exercised."""
    findings = list(found)
    lines = [_verdict(end), ""]
    lines += [found_lines(each) for each in findings]
    lines += [""] if findings else []
    if end.explored:
        lines += ["Coverage-guided:", *[f"  {explored(each)}" for each in end.explored], ""]
    lines += _coverage(end.tally)
    if end.peak_bytes:
        lines += ["", f"Memory: at most {end.peak_bytes / 1e6:,.0f} MB in a worker."]
    return "\n".join(lines)


def _verdict(end: Finished) -> str:
    tally = end.tally
    said = f"{end.found} new findings" if end.found else "Nothing new"
    cut = _CUT.get(end.reason, "")
    return (
        f"{said} in {_cases(tally)}, {tally.frames:,} judged frames, "
        f"{tally.comparisons:,} parses, {tally.effects:,} effects, {end.seconds:.0f} s{cut}."
    )


def _cases(tally: Tally) -> str:
    if not tally.given:
        return f"{tally.cases:,} cases"
    return f"{tally.cases - tally.given:,} generated and {tally.given:,} given cases"


def _coverage(tally: Tally) -> list[str]:
    rules = {"accepted": tally.rules.get("accepted", 0)}
    rules.update({rule.id: tally.rules.get(rule.id, 0) for rule in RULES})
    by_family = _families(tally)
    lines = ["Frames by the rule they break:", *_columns(rules)]
    lines += ["", "Cases by family of damage:", *_columns(by_family)]
    lines += ["", "Cases by target:", *_columns(dict(sorted(tally.targets.items())))]
    never = [name for name, count in rules.items() if not count]
    idle = [each.name for each in OPERATORS if not tally.operators.get(each.name)]
    lines += ["", _never("Rules", never), _never("Damage operators", idle)]
    return lines


def _families(tally: Tally) -> dict[str, int]:
    counts = dict.fromkeys(FAMILIES, 0)
    for each in OPERATORS:
        counts[each.family] += tally.operators.get(each.name, 0)
    return {str(family): count for family, count in counts.items()}


def _columns(counts: dict[str, int]) -> list[str]:
    width = max((len(name) for name in counts), default=0)
    cells = [f"{name:<{width}} {count:>10,}" for name, count in counts.items()]
    return [f"  {'    '.join(cells[i : i + 2])}" for i in range(0, len(cells), 2)]


def _never(what: str, names: list[str]) -> str:
    if not names:
        return f"{what} never exercised: none."
    said = f"{what} never exercised ({len(names)}): {', '.join(names)}."
    return textwrap.fill(said, 100, subsequent_indent="  ", break_on_hyphens=False)


def as_json(end: Finished, found: Iterable[Found]) -> str:
    """The report for programs: one JSON object."""
    content = {
        "found": [
            {"path": each.path, **asdict(each.finding), "damage": each.case.damages()}
            for each in found
        ],
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


def fan_out(*listeners: Callable[[Event], None]) -> Listener:
    """One listener that tells several."""

    def listen(event: Event) -> None:
        for each in listeners:
            each(event)

    return listen
