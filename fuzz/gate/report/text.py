"""Format the report as a table and as JSON, and print progress during the run.

The two verdicts stay separate: whether rejected bytes acted, and whether the server still served a
good request afterwards.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import TextIO

from wirefence.fuzz.gate.records import (
    Attempt,
    Event,
    Flaw,
    FlawFound,
    Progress,
    Report,
    RunStarted,
    Sign,
)
from wirefence.fuzz.gate.report.faults import ReportedFault, group_flaws, list_crash_lines
from wirefence.fuzz.gate.report.finding_details import (
    SHOWN,
    explain_rule,
    find_broken_rule,
    join_sent_bytes,
    list_details,
)
from wirefence.fuzz.gate.report.severity import summarize_counts
from wirefence.fuzz.gate.report.signs import describe_sign, list_signs
from wirefence.fuzz.store.redaction import PATTERNS_ONLY, Redactor
from wirefence.fuzz.text import escape_unprintable

__all__ = ["decide_verdict", "format_json", "format_table", "make_progress_printer"]

_MOST_NAMED = 6
"""Skipped trials that the table names: about one line of text."""
_PROGRESS_SECONDS, _TERMINAL_SECONDS = 10.0, 2.0
"""Seconds between progress lines: a log file needs fewer than a terminal."""


def make_progress_printer(
    stream: TextIO, hide: Redactor = PATTERNS_ONLY
) -> Callable[[Event], None]:
    """Return a listener that prints a line for each finding, and progress at intervals."""
    printed_at, planned = [time.monotonic()], [0]
    every = _TERMINAL_SECONDS if stream.isatty() else _PROGRESS_SECONDS

    def listen(event: Event) -> None:
        if isinstance(event, RunStarted):
            planned[0] = event.trials
            print(hide.redact_text(_describe_start(event)), file=stream, flush=True)
        elif isinstance(event, FlawFound):
            print(hide.redact_text(f"FOUND {_finding_title(event.flaw)}"), file=stream, flush=True)
        elif isinstance(event, Progress) and time.monotonic() - printed_at[0] >= every:
            printed_at[0] = time.monotonic()
            number = "1 finding" if event.flaws == 1 else f"{event.flaws} findings"
            whole = f"{event.trials:,} of {max(planned[0], event.trials):,} trials"
            print(f"{event.seconds:.0f} s, {whole}, {number}", file=stream, flush=True)

    return listen


def _describe_start(event: RunStarted) -> str:
    facts = event.facts
    return escape_unprintable(
        f"{facts.name or facts.label} {facts.release}, MCP {facts.version}, policy {facts.policy}, "
        f"{len(facts.tools)} tools, {event.trials} trials planned"
    )


def _finding_title(flaw: Flaw) -> str:
    found = flaw.finding
    mark = " (expected)" if flaw.known else ""
    return escape_unprintable(f"{found.oracle} {found.rule}: {found.summary}{mark}")


def decide_verdict(report: Report) -> str:
    """Return ``findings`` where any is new, ``none`` where too little was tried, else ``pass``."""
    if any(not flaw.known for flaw in report.flaws):
        return "findings"
    return "none" if report.gap else "pass"


def format_table(report: Report, hide: Redactor = PATTERNS_ONLY) -> str:
    """Return the report for people: verdict, findings, trials, and effect recorders."""
    lines = [*_verdict_lines(report), ""]
    for number, fault in enumerate(group_flaws(report.flaws, known=False), 1):
        lines += [*_fault_lines(number, fault, report, hide), ""]
    known = [f"  {_finding_title(flaw)}" for flaw in report.flaws if flaw.known]
    if known:
        lines += ["In the baseline:", *known, ""]
    lines += [*_attempt_lines(report), "", *_recorder_lines(report), *_note_lines(report, hide)]
    return hide.redact_text("\n".join(lines))


def _verdict_lines(report: Report) -> Iterator[str]:
    facts, tally = report.facts, report.tally
    known = sum(flaw.known for flaw in report.flaws)
    total = sum((a.sent for a in tally.attempts.values()), 0)
    also = f" ({known} more are expected)" if known else ""
    name = facts.name or facts.label
    outcome = "no verdict" if decide_verdict(report) == "none" else summarize_counts(report.flaws)
    yield escape_unprintable(f"{name} {facts.release}, MCP {facts.version}: {outcome}{also}")
    if report.gap:
        yield f"NO PASS: {report.gap}"
    yield (
        f"{total:,} {'trial' if total == 1 else 'trials'}, {tally.frames:,} frames, "
        f"{tally.processes} processes, "
        f"{report.seconds:.0f} s, budget {report.budget} ({report.reason}), "
        f"profile {report.profile}, policy {facts.policy}"
    )
    yield escape_unprintable(f"command: {report.command}")
    yield from (
        escape_unprintable(f"env: {name}={value}") for name, value in report.changes.items()
    )
    called = facts.nominee.name if facts.nominee else "none: name a safe one with --tool"
    if facts.tools:
        yield escape_unprintable(f"tool called: {called}")


def _fault_lines(
    number: int, fault: ReportedFault, report: Report, hide: Redactor
) -> Iterator[str]:
    yield f"{number}. {_finding_title(fault.title)}"
    for name, text in list_details(fault.title, report, hide):
        yield escape_unprintable(f"   {name:<11} {text}")
    for each in fault.list_lines():
        yield escape_unprintable(f"   {'also':<11} {each.describe_line()}")


def _attempt_lines(report: Report) -> Iterator[str]:
    yield f"{'trials':<30} {'sent':>6} {'acted':>6} {'unusable':>9}"
    for (family, place), each in sorted(report.tally.attempts.items()):
        yield _attempt_row(f"{family}, {place}", each)
    yield from _skipped_lines(report.tally.skipped)


def _skipped_lines(skipped: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Yield what was skipped, by name; the JSON format holds long lists completely."""
    if skipped:
        yield f"not run: {sum(map(len, skipped.values()))} trials"
    for where, names in sorted(skipped.items()):
        family, _, place = where.rpartition(" ")
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        yield f"  {family}, {place}: {', '.join(names[:_MOST_NAMED])}{more}"


def _attempt_row(name: str, each: Attempt) -> str:
    return f"{name:<30} {each.sent:>6} {each.acted:>6} {each.unusable:>9}"


def _recorder_lines(report: Report) -> Iterator[str]:
    yield "Effects were detected in replies, and by these recorders:"
    for name, blind in report.recorders.items():
        yield f"  {name}: does not see {blind}"
    for name, reason in report.absent.items():
        yield f"  {name}: off, {reason}"


def _note_lines(report: Report, hide: Redactor) -> Iterator[str]:
    signs = list_signs(report)
    if signs:
        yield ""
        yield "Not confirmed by a fresh process:"
    for sign in signs:
        for name, text in describe_sign(sign, hide):
            yield escape_unprintable(f"  {name:<11} {text}")
    uncounted = report.tally.uncounted
    if uncounted:
        yield ""
        yield "Seen in a shared server, which cannot tell, and not in a fresh process; not counted:"
        yield from (escape_unprintable(f"  {signature}") for signature in uncounted)
    yield from (escape_unprintable(note) for note in report.notes)


def format_json(report: Report, hide: Redactor = PATTERNS_ONLY) -> str:
    """Return the report for programs: one JSON object."""
    content = {
        "server": asdict(report.facts),
        "command": report.command,
        "environment": dict(report.changes),
        "profile": report.profile,
        "budget": report.budget,
        "reason": report.reason,
        "verdict": decide_verdict(report),
        "gap": report.gap,
        "seconds": round(report.seconds, 3),
        "new": sum(not flaw.known for flaw in report.flaws),
        "faults": [
            {"name": each.name, "signatures": [flaw.finding.signature for flaw in each.flaws]}
            for each in group_flaws(report.flaws)
        ],
        "findings": [_finding_as_dict(flaw, hide) for flaw in report.flaws],
        "attempts": [
            {"family": family, "place": place, **asdict(each)}
            for (family, place), each in sorted(report.tally.attempts.items())
        ],
        "frames": report.tally.frames,
        "processes": report.tally.processes,
        "skipped": report.tally.skipped,
        "unconfirmed": report.tally.unconfirmed,
        "not_confirmed_in_time": report.tally.pending,
        "signs": [_sign_as_dict(sign, hide) for sign in list_signs(report)],
        "not_counted": report.tally.uncounted,
        "recorders": dict(report.recorders),
        "recorders_off": dict(report.absent),
        "notes": list(report.notes),
    }
    # Redact before serializing: a rule that hides up to a quote would remove JSON's own quotes.
    return json.dumps(hide.redact_json(content), indent=1)


def _sign_as_dict(sign: Sign, hide: Redactor) -> dict[str, object]:
    return {
        **sign.finding.as_dict(),
        "trial": sign.trial,
        "count": sign.count,
        "pending": sign.pending,
        "known": sign.known,
        "sent_hex": hide.redact_bytes(sign.sent)[:SHOWN].hex(),
        "offending_hex": hide.redact_bytes(sign.finding.offending)[:SHOWN].hex(),
    }


def _finding_as_dict(flaw: Flaw, hide: Redactor) -> dict[str, object]:
    return {
        **flaw.finding.as_dict(),
        "broken": find_broken_rule(flaw),
        "source": explain_rule(find_broken_rule(flaw))[1],
        "trials": list(flaw.trials),
        "sent": [asdict(each) for each in list_crash_lines(flaw)],
        "place": flaw.place,
        "known": flaw.known,
        "sent_hex": hide.redact_bytes(join_sent_bytes(flaw))[:SHOWN].hex(),
        "offending_hex": hide.redact_bytes(flaw.offending)[:SHOWN].hex(),
        "path": flaw.path,
        "transcript": flaw.transcript,
        "stderr": flaw.stderr,
        "replay": flaw.replay,
    }
