"""Write the report as JUnit XML, as the report readers of Jenkins, GitLab and GitHub accept it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator

from wirefence.fuzz.gate.records import Flaw, Report
from wirefence.fuzz.gate.report.faults import ReportedFault, group_flaws
from wirefence.fuzz.gate.report.finding_details import (
    describe_fault,
    describe_place,
    escape_text,
)
from wirefence.fuzz.gate.report.signs import describe_sign, list_signs
from wirefence.fuzz.store.redaction import PATTERNS_ONLY, Redactor

__all__ = ["format_junit"]


def format_junit(report: Report, hide: Redactor = PATTERNS_ONLY) -> bytes:
    """Return JUnit XML: a test for each family of trials and place, and one for each fault.

    New faults are failures; findings of the baseline are skipped, with the reason.
    """
    new = group_flaws(report.flaws, known=False)
    cases = [
        *_attempt_cases(report, hide),
        *(_fault_case(fault, report, hide) for fault in new),
        *(_known_case(flaw, hide) for flaw in report.flaws if flaw.known),
    ]
    cases += _gap_case(report, hide)
    known = sum(flaw.known for flaw in report.flaws)
    counts = {
        "tests": str(len(cases)),
        "failures": str(len(new)),
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


def _fault_case(fault: ReportedFault, report: Report, hide: Redactor) -> ET.Element:
    case, flaw = _make_case(fault.title, hide), fault.title
    message = escape_text(flaw.finding.summary, hide).replace("\n", " ")
    failure = ET.SubElement(case, "failure", {"message": message, "type": flaw.finding.rule})
    failure.text = describe_fault(fault, report, hide)
    return case


def _known_case(flaw: Flaw, hide: Redactor) -> ET.Element:
    case = _make_case(flaw, hide)
    message = escape_text(flaw.finding.summary, hide).replace("\n", " ")
    ET.SubElement(case, "skipped", {"message": f"expected by the baseline: {message}"})
    return case


def _make_case(flaw: Flaw, hide: Redactor) -> ET.Element:
    attributes = {
        "classname": f"wirefence.{flaw.finding.oracle}",
        "name": escape_text(f"{flaw.finding.rule}: {flaw.finding.signature}", hide),
        "time": "0",
    }
    return ET.Element("testcase", attributes)


def _gap_case(report: Report, hide: Redactor) -> Iterator[ET.Element]:
    """Yield an error for a run that is no pass: a file without failures would look like one."""
    if report.gap:
        case = ET.Element("testcase", {"classname": "wirefence", "name": "whole run", "time": "0"})
        message = escape_text(report.gap, hide)
        error = ET.SubElement(case, "error", {"message": message, "type": "incomplete"})
        signs = (describe_sign(sign, hide) for sign in list_signs(report))
        lines = [f"{name}: {text}" for sign in signs for name, text in sign]
        error.text = escape_text("\n".join(lines), hide) if lines else None
        yield case
