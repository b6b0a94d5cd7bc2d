"""Write the report as a SARIF 2.1.0 log for code scanning.

The format: https://docs.oasis-open.org/sarif/sarif/v2.1.0/
"""

from __future__ import annotations

import hashlib
import json
from importlib import metadata
from pathlib import Path
from urllib.parse import quote

from wirefence.fuzz.gate.records import Report
from wirefence.fuzz.gate.report.faults import ReportedFault, group_flaws
from wirefence.fuzz.gate.report.finding_details import (
    describe_fault,
    escape_text,
    explain_rule,
)
from wirefence.fuzz.gate.report.signs import describe_sign, list_signs
from wirefence.fuzz.store.redaction import PATTERNS_ONLY, Redactor

__all__ = ["format_sarif"]

_HOME = "https://modelcontextprotocol.io/specification"
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_WHOLE = {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 2}
"""A reproducer is raw bytes, so the region is its first character."""


def format_sarif(report: Report, hide: Redactor = PATTERNS_ONLY) -> str:
    """Return a SARIF 2.1.0 log with one run and a result for each fault.

    Findings of the baseline are suppressed, as faults of their own: a result is one or the other.
    """
    faults = [*group_flaws(report.flaws, known=False), *group_flaws(report.flaws, known=True)]
    rules = list(dict.fromkeys(fault.title.finding.rule for fault in faults))
    driver = {
        "name": "wirefence",
        "version": _own_version(),
        "informationUri": _HOME,
        "rules": [_sarif_rule(rule) for rule in rules],
    }
    invocation: dict[str, object] = {
        "executionSuccessful": not report.gap,
        "commandLine": escape_text(report.command, hide),
    }
    told = [("error", report.gap)] if report.gap else []
    for sign in list_signs(report):
        lines = (f"{name}: {text}" for name, text in describe_sign(sign, hide))
        told.append(("note" if sign.known else "warning", "\n".join(lines)))
    if told:
        invocation["toolExecutionNotifications"] = [
            {"level": level, "message": {"text": escape_text(text, hide)}} for level, text in told
        ]
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(fault, rules, report, hide) for fault in faults],
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
    fault: ReportedFault, rules: list[str], report: Report, hide: Redactor
) -> dict[str, object]:
    flaw = fault.title
    place = {"artifactLocation": {"uri": _artifact_uri(flaw.path)}, "region": _WHOLE}
    signature = escape_text(flaw.finding.signature, hide)
    digest = hashlib.sha256(signature.encode("utf-8", "replace")).hexdigest()[:16]
    result: dict[str, object] = {
        "ruleId": flaw.finding.rule,
        "ruleIndex": rules.index(flaw.finding.rule),
        "level": "error",
        "message": {"text": describe_fault(fault, report, hide)},
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
