"""Reports of a coverage-guided run, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from wirefence.fuzz.campaign.report import (
    format_count,
    format_coverage_progress,
    format_faults,
    list_faults,
)
from wirefence.fuzz.examination.events import CoverageProgress, Finished, Found
from wirefence.oracles.faults import group_findings

__all__ = ["as_json", "as_table"]


def as_table(end: Finished, found: Sequence[Found]) -> str:
    """Return verdict, figures and findings as text."""
    faults = group_findings(each.finding for each in found)
    said = format_count(end.found, len(faults))
    cut = " (interrupted)" if end.reason == "interrupted" else ""
    lines = [f"{said} in {end.seconds:.0f} s{cut}."]
    for each in end.explored:
        lines += ["", format_coverage_progress(each), *_format_shares(each)]
    if found:
        lines += ["", *format_faults(faults, found)]
    return "\n".join(lines)


def _format_shares(figures: CoverageProgress) -> list[str]:
    if not figures.executions:
        return []
    share = figures.valid / figures.executions
    return [f"  {share:.0%} of inputs JSON, {figures.calls:,} with an accepted call"]


def as_json(end: Finished, found: Sequence[Found]) -> str:
    """Return one JSON object."""
    content = {
        "found": [{"path": each.path, **each.finding.as_dict()} for each in found],
        "faults": list_faults(found),
        "new": end.found,
        "reason": end.reason,
        "seconds": round(end.seconds, 3),
        "explored": [{**asdict(each), "rate": each.rate} for each in end.explored],
    }
    return json.dumps(content, indent=1)
