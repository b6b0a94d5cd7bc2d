"""The report as one HTML page: no script, no external resources, all text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from wirefence.fuzz.compare.reports.report import Compared, Report, format_verdict
from wirefence.fuzz.compare.reports.tables import (
    format_commands,
    format_traffic,
    make_class_rows,
    make_grid,
    make_notes,
    make_speed_rows,
)
from wirefence.fuzz.text import escape_unprintable

__all__ = ["as_html"]

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem}
table{border-collapse:collapse;margin:1rem 0}th,td{border:1px solid #8886;padding:.3rem .6rem;
text-align:left;vertical-align:top;overflow-wrap:anywhere}th{background:#8882}
td:nth-child(2),td:nth-child(3),td:nth-child(4),pre{font-family:ui-monospace,monospace;font-size:13px}
pre{white-space:pre-wrap;overflow-wrap:anywhere}
"""


def as_html(report: Report) -> str:
    """Return one page: verdict, grid, classes, notes, speed and commands."""
    parts = [f"<h1>{_escape_text(format_verdict(report))}</h1>"]
    parts += [f"<p>{_escape_text(line)}</p>" for line in format_traffic(report)]
    if len(report.pairs) > 1:
        parts.append(_format_table(make_grid(report)))
    parts += [_format_pair(pair) for pair in report.pairs if pair.found]
    items = "".join(f"<li>{_escape_text(note)}</li>" for note in make_notes(report))
    parts.append(f"<ul>{items}</ul>")
    parts += [
        _format_table(make_speed_rows(report)),
        f"<pre>{_escape_lines(format_commands(report))}</pre>",
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        "<title>wirefence compare</title>"
        f"<style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>"
    )


def _format_pair(pair: Compared) -> str:
    title = f"{_escape_text(pair.old)} → {_escape_text(pair.new)}"
    return f"<h2>{title}</h2>{_format_table(make_class_rows(pair))}"


def _format_table(rows: Sequence[Sequence[str]]) -> str:
    head, *rest = rows
    top = "".join(f"<th>{_escape_text(cell)}</th>" for cell in head)
    body = "".join(
        f"<tr>{''.join(f'<td>{_escape_text(c)}</td>' for c in row)}</tr>" for row in rest
    )
    return f"<table><tr>{top}</tr>{body}</table>"


def _escape_text(text: str) -> str:
    return escape(escape_unprintable(text))


def _escape_lines(lines: Sequence[str]) -> str:
    return "\n".join(_escape_text(line) for line in lines)
