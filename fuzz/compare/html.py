"""The report as one page: no script, nothing loaded from elsewhere, every text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from wirefence.fuzz.compare.report import Compared, Report, verdict
from wirefence.fuzz.compare.tables import again, class_rows, grid, notes, speed_rows, traffic_line
from wirefence.fuzz.text import printable

__all__ = ["as_html"]

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem}
table{border-collapse:collapse;margin:1rem 0}th,td{border:1px solid #8886;padding:.3rem .6rem;
text-align:left;vertical-align:top;overflow-wrap:anywhere}th{background:#8882}
td:nth-child(2),td:nth-child(3),td:nth-child(4),pre{font-family:ui-monospace,monospace;font-size:13px}
pre{white-space:pre-wrap;overflow-wrap:anywhere}
"""


def as_html(report: Report) -> str:
    """One self-contained page: verdict, grid, classes, what is counted apart, speed, commands."""
    parts = [f"<h1>{_text(verdict(report))}</h1>"]
    parts += [f"<p>{_text(line)}</p>" for line in traffic_line(report)]
    if len(report.pairs) > 1:
        parts.append(_table(grid(report)))
    parts += [_pair(pair) for pair in report.pairs if pair.found]
    items = "".join(f"<li>{_text(note)}</li>" for note in notes(report))
    parts.append(f"<ul>{items}</ul>")
    parts += [_table(speed_rows(report)), f"<pre>{_text_lines(again(report))}</pre>"]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        "<title>wirefence compare</title>"
        f"<style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>"
    )


def _pair(pair: Compared) -> str:
    return f"<h2>{_text(pair.old)} → {_text(pair.new)}</h2>{_table(class_rows(pair))}"


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *rest = rows
    top = "".join(f"<th>{_text(cell)}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{_text(c)}</td>' for c in row)}</tr>" for row in rest)
    return f"<table><tr>{top}</tr>{body}</table>"


def _text(text: str) -> str:
    return escape(printable(text))


def _text_lines(lines: Sequence[str]) -> str:
    return "\n".join(_text(line) for line in lines)
