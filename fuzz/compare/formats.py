"""The report in each format by its name."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict

from wirefence.fuzz.compare.html import as_html
from wirefence.fuzz.compare.report import Report, verdict
from wirefence.fuzz.compare.tables import as_markdown, as_table

__all__ = ["FORMATS", "as_json"]


def as_json(report: Report) -> str:
    """The report for programs: one JSON object, ASCII only."""
    content = {
        "verdict": verdict(report),
        "different": report.different,
        **asdict(report),
    }
    content["tally"]["inputs"] = report.tally.inputs
    return json.dumps(content, indent=1)


FORMATS: Mapping[str, Callable[[Report], str]] = {
    "table": as_table,
    "json": as_json,
    "markdown": as_markdown,
    "html": as_html,
}
"""What ``--format`` takes."""
