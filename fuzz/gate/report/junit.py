"""Write the report as JUnit XML, as the report readers of Jenkins, GitLab and GitHub accept it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator

from wirefence.fuzz.gate.records import Flaw, Report
from wirefence.fuzz.gate.report.finding_details import (
    describe_finding,
    describe_place,
    escape_text,
)
from wirefence.fuzz.store.redaction import PATTERNS_ONLY, Redactor

__all__ = ["format_junit"]


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
    name = escape_text(f"wirefence gate {report.facts.label}", hide)
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
        name = escape_text(f"{family}, {describe_place(place)}: {attempt.sent} sent", hide)
        yield ET.Element("testcase", {"classname": "wirefence.trials", "name": name, "time": "0"})


def _finding_case(flaw: Flaw, report: Report, hide: Redactor) -> ET.Element:
    attributes = {
        "classname": f"wirefence.{flaw.finding.oracle}",
        "name": escape_text(f"{flaw.finding.rule}: {flaw.finding.signature}", hide),
        "time": "0",
    }
    case = ET.Element("testcase", attributes)
    message = escape_text(flaw.finding.summary, hide).replace("\n", " ")
    if flaw.known:
        ET.SubElement(case, "skipped", {"message": f"expected by the baseline: {message}"})
    else:
        failure = ET.SubElement(case, "failure", {"message": message, "type": flaw.finding.rule})
        failure.text = describe_finding(flaw, report, hide)
    return case


def _gap_case(report: Report, hide: Redactor) -> Iterator[ET.Element]:
    """Yield an error for a run that is no pass: a file without failures would look like one."""
    if report.gap:
        case = ET.Element("testcase", {"classname": "wirefence", "name": "whole run", "time": "0"})
        ET.SubElement(
            case, "error", {"message": escape_text(report.gap, hide), "type": "incomplete"}
        )
        yield case
