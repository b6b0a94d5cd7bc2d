"""Format the report for other tools: JUnit XML, SARIF 2.1.0, markdown.

A server's text is hostile to each of these formats: XML 1.0 forbids control characters, bars and
backticks end cells and code in markdown. So all text is redacted, then control characters are
escaped, then the format's own escapes are applied.
"""

from __future__ import annotations

import hashlib
import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from urllib.parse import quote

from wirefence.fuzz.gate.records import Flaw, Report
from wirefence.fuzz.gate.report.finding_details import describe_place, explain_rule, list_details
from wirefence.fuzz.store.redaction import PATTERNS_ONLY, Redactor
from wirefence.fuzz.text import printable

__all__ = ["format_junit", "format_markdown", "format_sarif"]

_HOME = "https://modelcontextprotocol.io/specification"
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_WHOLE = {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 2}
"""A reproducer is raw bytes, so the region is its first character."""


def _escape_text(text: str, hide: Redactor) -> str:
    """Return text of several lines without secrets and control characters."""
    return "\n".join(printable(line) for line in hide.text(text).split("\n"))


def _describe_finding(flaw: Flaw, report: Report, hide: Redactor) -> str:
    """Return the summary and details of a finding, line by line."""
    shown = (f"{name}: {text}" for name, text in list_details(flaw, report, hide))
    return _escape_text("\n".join((flaw.finding.summary, *shown)), hide)


# JUnit: as Jenkins, GitLab and GitHub's reporters read it.


def format_junit(report: Report, hide: Redactor = PATTERNS_ONLY) -> bytes:
    """Return JUnit XML: a test for each family of trials and place, and one for each finding.

    New findings are failures; those of the baseline are skipped, with the reason.
    """
    cases = [
        *_attempt_cases(report, hide),
        *(_finding_case(flaw, report, hide) for flaw in report.flaws),
    ]
    cases += _gap_case(report, hide)
    known = sum(flaw.known for flaw in report.flaws)
    counts = {
        "tests": str(len(cases)),
        "failures": str(len(report.flaws) - known),
        "errors": str(int(bool(report.gap))),
        "skipped": str(known),
        "time": f"{report.seconds:.3f}",
    }
    name = _escape_text(f"wirefence gate {report.facts.label}", hide)
    # The JUnit schema of Jenkins has no "skipped" on the root element.
    whole = {key: value for key, value in counts.items() if key != "skipped"}
    root = ET.Element("testsuites", {"name": name, **whole})
    suite = ET.SubElement(root, "testsuite", {"name": name, **counts})
    suite.extend(cases)
    ET.indent(root)
    text: bytes = ET.tostring(root, "utf-8", xml_declaration=True)
    return text + b"\n"


def _attempt_cases(report: Report, hide: Redactor) -> Iterator[ET.Element]:
    for (family, place), attempt in sorted(report.tally.attempts.items()):
        name = _escape_text(f"{family}, {describe_place(place)}: {attempt.sent} sent", hide)
        yield ET.Element("testcase", {"classname": "wirefence.trials", "name": name, "time": "0"})


def _finding_case(flaw: Flaw, report: Report, hide: Redactor) -> ET.Element:
    attributes = {
        "classname": f"wirefence.{flaw.finding.oracle}",
        "name": _escape_text(f"{flaw.finding.rule}: {flaw.finding.signature}", hide),
        "time": "0",
    }
    case = ET.Element("testcase", attributes)
    message = _escape_text(flaw.finding.summary, hide).replace("\n", " ")
    if flaw.known:
        ET.SubElement(case, "skipped", {"message": f"expected by the baseline: {message}"})
    else:
        failure = ET.SubElement(case, "failure", {"message": message, "type": flaw.finding.rule})
        failure.text = _describe_finding(flaw, report, hide)
    return case


def _gap_case(report: Report, hide: Redactor) -> Iterator[ET.Element]:
    """Yield an error for a run that is no pass: a file without failures would look like one."""
    if report.gap:
        case = ET.Element("testcase", {"classname": "wirefence", "name": "whole run", "time": "0"})
        ET.SubElement(
            case, "error", {"message": _escape_text(report.gap, hide), "type": "incomplete"}
        )
        yield case


# SARIF: https://docs.oasis-open.org/sarif/sarif/v2.1.0/


def format_sarif(report: Report, hide: Redactor = PATTERNS_ONLY) -> str:
    """Return a SARIF 2.1.0 log with one run; findings of the baseline are suppressed."""
    rules = list(dict.fromkeys(flaw.finding.rule for flaw in report.flaws))
    driver = {
        "name": "wirefence",
        "version": _own_version(),
        "informationUri": _HOME,
        "rules": [_sarif_rule(rule) for rule in rules],
    }
    invocation: dict[str, object] = {
        "executionSuccessful": not report.gap,
        "commandLine": _escape_text(report.command, hide),
    }
    if report.gap:
        told = {"level": "error", "message": {"text": _escape_text(report.gap, hide)}}
        invocation["toolExecutionNotifications"] = [told]
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(flaw, rules, report, hide) for flaw in report.flaws],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _own_version() -> str:
    try:
        return metadata.version("wirefence")
    except metadata.PackageNotFoundError:  # run from a checkout that is not installed
        return "0"


def _sarif_rule(rule: str) -> dict[str, object]:
    statement, source = explain_rule(rule)
    whole = f"{statement} Source: {source or 'house'}."
    return {
        "id": rule,
        "shortDescription": {"text": statement},
        "fullDescription": {"text": whole},
        "help": {"text": whole},
        "defaultConfiguration": {"level": "error"},
    }


def _sarif_result(
    flaw: Flaw, rules: list[str], report: Report, hide: Redactor
) -> dict[str, object]:
    place = {"artifactLocation": {"uri": _artifact_uri(flaw.path)}, "region": _WHOLE}
    signature = _escape_text(flaw.finding.signature, hide)
    digest = hashlib.sha256(signature.encode("utf-8", "replace")).hexdigest()[:16]
    result: dict[str, object] = {
        "ruleId": flaw.finding.rule,
        "ruleIndex": rules.index(flaw.finding.rule),
        "level": "error",
        "message": {"text": _describe_finding(flaw, report, hide)},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {
            "primaryLocationLineHash": f"{digest}:1",
            "wirefenceSignature/v1": signature,
        },
    }
    if flaw.known:
        result["suppressions"] = [{"kind": "external", "justification": "in the baseline"}]
    return result


def _artifact_uri(path: str) -> str:
    """Return a URI relative to the run's folder, as code scanning needs it, or an absolute one."""
    if Path(path).is_absolute():
        return Path(path).as_uri()
    return quote(Path(path).as_posix() if path else "stdin")


# Markdown: for a pull request or the summary of a job.


def format_markdown(report: Report, hide: Redactor = PATTERNS_ONLY) -> str:
    """Return a markdown report for people, findings first."""
    new = sum(not flaw.known for flaw in report.flaws)
    facts = report.facts
    version = f"{facts.name} {facts.release}".strip() or facts.label
    head = [
        f"# Gate: {_escape_markdown(facts.label, hide)}",
        "",
        f"**{new} new findings**, {len(report.flaws) - new} expected. "
        f"{_escape_markdown(version, hide)}, protocol {facts.version}, profile {report.profile}, "
        f"{report.tally.frames:,} frames in {report.tally.processes} processes, "
        f"{report.seconds:.0f} s ({report.reason}).",
        "",
        f"Command: {_code_span(report.command, hide)}",
        "",
        *([f"**No pass**: {_escape_markdown(report.gap, hide)}.", ""] if report.gap else []),
    ]
    fresh = (flaw for flaw in report.flaws if not flaw.known)
    body = [line for flaw in fresh for line in _finding_section(flaw, report, hide)]
    body += [
        *_baseline_section(report, hide),
        *_recorder_section(report, hide),
        *_attempt_section(report, hide),
    ]
    notes = [f"- {_escape_markdown(note, hide)}" for note in report.notes]
    return "\n".join([*head, *body, *notes])


def _escape_markdown(text: str, hide: Redactor) -> str:
    safe = _escape_text(text, hide).replace("\n", " ")
    return "".join(f"\\{c}" if c in "\\`*_[]<>|#" else c for c in safe)


def _code_span(text: str, hide: Redactor) -> str:
    """A code span whose fence is longer than any run of backticks in it (CommonMark 6.1)."""
    safe = _escape_text(text, hide).replace("\n", " ")
    fence = "`" * (1 + max((len(run) for run in _find_backticks(safe)), default=0))
    pad = " " if safe.startswith("`") or safe.endswith("`") else ""
    return f"{fence}{pad}{safe}{pad}{fence}"


def _find_backticks(text: str) -> list[str]:
    other = "".join(c if c == "`" else " " for c in text)
    return other.split()


def _finding_title(flaw: Flaw, hide: Redactor) -> str:
    found = flaw.finding
    return f"{_escape_markdown(found.rule, hide)}: {_escape_markdown(found.summary, hide)}"


def _finding_section(flaw: Flaw, report: Report, hide: Redactor) -> Iterator[str]:
    yield f"## {_finding_title(flaw, hide)}"
    yield ""
    for name, text in list_details(flaw, report, hide):
        shown = _escape_markdown(text, hide) if name == "rule" else _code_span(text, hide)
        yield f"- {name}: {shown}"
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
