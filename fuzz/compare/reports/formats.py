"""The formats of the report, by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict

from wirefence.fuzz.compare.reports.html import as_html
from wirefence.fuzz.compare.reports.report import Report, format_verdict
from wirefence.fuzz.compare.reports.tables import as_markdown, as_table

__all__ = ["FORMATS", "as_json"]


def as_json(report: Report) -> str:
    """Return the report as one JSON object, ASCII only."""
    content = {
        "verdict": format_verdict(report),
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
"""The values of ``--format``."""
