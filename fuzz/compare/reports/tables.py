"""The report as text for a terminal, and as markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from wirefence.fuzz.compare.reports.report import (
    Compared,
    Found,
    Report,
    format_ratio,
    format_verdict,
)
from wirefence.fuzz.text import escape_unprintable

__all__ = [
    "as_markdown",
    "as_table",
    "format_traffic",
    "make_grid",
    "make_notes",
    "make_speed_rows",
]

_NAME = 44


def as_table(report: Report) -> str:
    """Verdict, classes, what is counted apart, speed, and how to see it again."""
    lines = [format_verdict(report), *format_traffic(report), ""]
    if len(report.pairs) > 1:
        lines += [*_format_columns(make_grid(report)), ""]
    for pair in report.pairs:
        lines += _format_pair(pair, titled=len(report.pairs) > 1)
    lines += [*make_notes(report), "", *_format_columns(make_speed_rows(report)), ""]
    return join_printable([*lines, *format_commands(report)])


def join_printable(lines: Sequence[str]) -> str:
    """Lines joined, with control characters escaped."""
    return "\n".join(escape_unprintable(line) for line in lines)


def _format_pair(pair: Compared, *, titled: bool) -> list[str]:
    lines = [f"{pair.old} -> {pair.new}", ""] if titled and pair.found else []
    for each in pair.found:
        lines += [*_format_class(each, pair), ""]
    return lines


def _format_class(found: Found, pair: Compared) -> Iterator[str]:
    mark = "  (accepted)" if found.accepted else ""
    yield f"{found.name}{mark}"
    yield f"  {found.why}"
    if found.spelled:
        yield f"  smallest {found.input}  ({found.size:,} bytes, {', '.join(found.forms)})"
    else:
        yield f"  value    {found.input}  (in memory; each side was told to write it as JSON)"
    width = max(len(pair.old), len(pair.new))
    yield f"  {pair.old:<{width}}  {found.old}"
    yield f"  {pair.new:<{width}}  {found.new}"
    yours = f", {found.traffic:,} of them on your traffic" if found.traffic else ""
    yield f"  seen {found.count:,} times{yours}"


def format_traffic(report: Report) -> list[str]:
    """What the comparison says of the user's own inputs; empty where there were none."""
    inputs = report.tally.stages.get("traffic", 0)
    if not inputs:
        return []
    classes = [f for pair in report.pairs for f in pair.changed if f.traffic]
    count = len(classes)
    shows = "1 class shows" if count == 1 else f"{count} classes show"
    said = shows if classes else "no difference"
    return [f"On your traffic: {said} in {inputs:,} {'input' if inputs == 1 else 'inputs'}."]


def make_grid(report: Report) -> list[list[str]]:
    """All pairs: how many classes each row's side shows against each column's."""
    names = [side.name for side in report.sides]
    counts: dict[tuple[int, int], str] = {}
    for (row, column), pair in zip(combinations(range(len(names)), 2), report.pairs, strict=True):
        counts[row, column] = counts[column, row] = str(len(pair.changed))
    cells = [[counts.get((a, b), ".") for b in range(len(names))] for a in range(len(names))]
    return [["classes", *names], *([name, *row] for name, row in zip(names, cells, strict=True))]


def make_notes(report: Report) -> list[str]:
    """What is counted apart, and how much was run."""
    lines = []
    for pair in report.pairs:
        named = f"{pair.old} -> {pair.new}: " if len(report.pairs) > 1 else ""
        if pair.sampled:
            example = f", for example {pair.message_example}" if pair.messages else ""
            lines.append(
                f"{named}message text alone differs in {pair.messages:,} of {pair.sampled:,} "
                f"compared rejections{example} (no change of behaviour)."
            )
        if pair.unlooked:
            lines.append(
                f"{named}{pair.unlooked:,} more inputs differ, in floods of their like; they are "
                "not counted above."
            )
        if pair.unsteady:
            lines.append(
                f"{named}{pair.unsteady:,} differences did not repeat and are not counted."
            )
        if pair.values:
            lines.append(
                f"{named}{pair.values:,} values written; {pair.respelled:,} spelled differently "
                "(no change unless listed)."
            )
    if len({side.library for side in report.sides}) > 1:
        lines.append(
            "Between different libraries, types of errors are compared in the sample only."
        )
    tally = report.tally
    stages = ", ".join(f"{count:,} {stage}" for stage, count in sorted(tally.stages.items()))
    rate = tally.comparisons / tally.seconds if tally.seconds else 0.0
    lines.append(f"Inputs: {stages}; each as {' and '.join(report.forms)}.")
    if tally.left_out:
        lines.append(
            f"{tally.left_out:,} inputs skipped: similar ones killed a side again and again."
        )
    lines.append(f"{tally.comparisons:,} comparisons in {tally.seconds:.0f} s ({rate:,.0f}/s).")
    lines += [f"Exhaustive: {claim}." for claim in tally.claims]
    return lines


def make_speed_rows(report: Report) -> list[list[str]]:
    """Sides with what they are, documents and megabytes a CPU second, peak memory, restarts."""
    speeds = [side.speed for side in report.sides]
    rows = [["side", "is", "docs/s", "MB/s", "speed", "peak MB", "deaths"]]
    for at, side in enumerate(report.sides):
        speed = side.speed
        figures = (
            [f"{speed.rate:,.0f}", f"{speed.megabytes:.0f}", format_ratio(speeds, at) or "1.00x"]
            if speed
            else ["", "", ""]
        )
        peak = f"{speed.peak_bytes / 1e6:.0f}" if speed else ""
        rows.append([side.name, side.label, *figures, peak, str(side.usage.restarts)])
    return rows


def format_commands(report: Report) -> list[str]:
    """The commands that show the whole, and one class, again."""
    lines = [f"Again: {report.command}"]
    shown = [f for pair in report.pairs for f in pair.changed if f.spelled]
    if shown:
        lines.append(f"One input: {report.command} --input {shown[0].spelled}")
    return lines


def _format_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return [
        "  ".join(f"{c:<{w}}" for c, w in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def as_markdown(report: Report) -> str:
    """The same for a pull request: a table of classes for each pair."""
    lines = [f"**{format_verdict(report)}**", "", *format_traffic(report), ""]
    if len(report.pairs) > 1:
        lines += [*_format_markdown(make_grid(report)), ""]
    for pair in report.pairs:
        if pair.found:
            lines += [f"### {_escape_cell(pair.old)} → {_escape_cell(pair.new)}", ""]
            lines += [*_format_markdown(make_class_rows(pair)), ""]
    lines += [f"- {_escape_cell(note)}" for note in make_notes(report)]
    lines += ["", *_format_markdown(make_speed_rows(report)), "", "```console"]
    return join_printable(
        [*lines, *(f"$ {line.partition(': ')[2]}" for line in format_commands(report)), "```"]
    )


def make_class_rows(pair: Compared) -> list[list[str]]:
    """One row for each class of a pair, with a header."""
    rows = [["class", "smallest input", pair.old, pair.new, "seen", "why it matters"]]
    for each in pair.found:
        name = f"{each.name} (accepted)" if each.accepted else each.name
        seen = f"{each.count:,}" + (f" ({each.traffic:,} yours)" if each.traffic else "")
        given = each.input if each.spelled else f"the value {each.input}, to be written"
        rows.append([name, given, each.old, each.new, seen, each.why])
    return rows


def _format_markdown(rows: Sequence[Sequence[str]]) -> list[str]:
    head, *rest = [f"| {' | '.join(map(_escape_cell, row))} |" for row in rows]
    return [head, "|" + "---|" * len(rows[0]), *rest]


def _escape_cell(text: str) -> str:
    """Text that markdown shows as it is."""
    for letter in "\\|`*_<>[]":
        text = text.replace(letter, f"\\{letter}")
    return text
