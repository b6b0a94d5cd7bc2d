"""Write the report as markdown, for a pull request or the summary of a CI job."""

from __future__ import annotations

from collections.abc import Iterator

from wirefence.fuzz.gate.records import Flaw, Report
from wirefence.fuzz.gate.report.faults import ReportedFault, group_flaws
from wirefence.fuzz.gate.report.finding_details import escape_text, list_details
from wirefence.fuzz.gate.report.signs import describe_sign, list_signs
from wirefence.fuzz.store.redaction import PATTERNS_ONLY, Redactor

__all__ = ["format_markdown"]


def format_markdown(report: Report, hide: Redactor = PATTERNS_ONLY) -> str:
    """Return a markdown report for people, findings first."""
    new = group_flaws(report.flaws, known=False)
    known = sum(flaw.known for flaw in report.flaws)
    facts = report.facts
    version = f"{facts.name} {facts.release}".strip() or facts.label
    head = [
        f"# Gate: {_escape_markdown(facts.label, hide)}",
        "",
        f"**{len(new)} new faults**, {known} expected findings. "
        f"{_escape_markdown(version, hide)}, protocol {facts.version}, profile {report.profile}, "
        f"{report.tally.frames:,} frames in {report.tally.processes} processes, "
        f"{report.seconds:.0f} s ({report.reason}).",
        "",
        f"Command: {_code_span(report.command, hide)}",
        "",
        *([f"**No pass**: {_escape_markdown(report.gap, hide)}.", ""] if report.gap else []),
    ]
    body = [line for fault in new for line in _fault_section(fault, report, hide)]
    body += [
        *_sign_section(report, hide),
        *_baseline_section(report, hide),
        *_recorder_section(report, hide),
        *_attempt_section(report, hide),
    ]
    notes = [f"- {_escape_markdown(note, hide)}" for note in report.notes]
    return "\n".join([*head, *body, *notes])


def _escape_markdown(text: str, hide: Redactor) -> str:
    safe = escape_text(text, hide).replace("\n", " ")
    return "".join(f"\\{c}" if c in "\\`*_[]<>|#" else c for c in safe)


def _code_span(text: str, hide: Redactor) -> str:
    """A code span whose fence is longer than any run of backticks in it (CommonMark 6.1)."""
    safe = escape_text(text, hide).replace("\n", " ")
    fence = "`" * (1 + max((len(run) for run in _find_backticks(safe)), default=0))
    pad = " " if safe.startswith("`") or safe.endswith("`") else ""
    return f"{fence}{pad}{safe}{pad}{fence}"


def _find_backticks(text: str) -> list[str]:
    other = "".join(c if c == "`" else " " for c in text)
    return other.split()


def _finding_title(flaw: Flaw, hide: Redactor) -> str:
    found = flaw.finding
    return f"{_escape_markdown(found.rule, hide)}: {_escape_markdown(found.summary, hide)}"


def _fault_section(fault: ReportedFault, report: Report, hide: Redactor) -> Iterator[str]:
    yield f"## {_finding_title(fault.title, hide)}"
    yield ""
    for name, text in list_details(fault.title, report, hide):
        shown = _escape_markdown(text, hide) if name == "rule" else _code_span(text, hide)
        yield f"- {name}: {shown}"
    for each in fault.list_lines():
        yield f"- also: {_code_span(each.describe_line(), hide)}"
    yield ""


def _sign_section(report: Report, hide: Redactor) -> Iterator[str]:
    signs = list_signs(report)
    if signs:
        yield from ("## Not confirmed", "")
    for sign in signs:
        for name, text in describe_sign(sign, hide):
            yield f"{'' if name == 'sign' else '  '}- {name}: {_code_span(text, hide)}"
    if signs:
        yield ""


def _baseline_section(report: Report, hide: Redactor) -> Iterator[str]:
    known = [f"- {_finding_title(flaw, hide)}" for flaw in report.flaws if flaw.known]
    if known:
        yield from ("## In the baseline", "", *known, "")


def _recorder_section(report: Report, hide: Redactor) -> Iterator[str]:
    yield from ("## Effect recorders", "", "| recorder | |", "|---|---|")
    for name, blind in report.recorders.items():
        yield f"| {name} | on; cannot see {_escape_markdown(blind, hide)} |"
    for name, reason in report.absent.items():
        yield f"| {name} | off: {_escape_markdown(reason, hide)} |"
    yield ""


def _attempt_section(report: Report, hide: Redactor) -> Iterator[str]:
    yield from ("## What was tried", "", "| family | place | sent | acted | unusable after |")
    yield "|---|---|---:|---:|---:|"
    for (family, place), attempt in sorted(report.tally.attempts.items()):
        row: tuple[object, ...] = (
            _escape_markdown(family, hide),
            place,
            attempt.sent,
            attempt.acted,
            attempt.unusable,
        )
        yield f"| {' | '.join(map(str, row))} |"
    yield ""
    for where, names in sorted(report.tally.skipped.items()):
        named = _escape_markdown(", ".join(names), hide)
        yield f"- not run, {_escape_markdown(where, hide)}: {named}"
    yield ""
