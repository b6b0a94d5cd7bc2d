"""Reproducers as text and as JSON.

All content is hostile to parsers, and a terminal is one. So it is escaped and shortened, with the
full size.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from wirefence.fuzz.crashes.replay import ReplayResult
from wirefence.fuzz.store.scan import Entry, Problem, ScannedFolder
from wirefence.fuzz.store.typed_records import as_content
from wirefence.fuzz.text import escape_unprintable

__all__ = [
    "as_index",
    "as_json",
    "as_list",
    "escape_bytes",
    "format_entry",
    "format_problem",
    "format_replay",
    "shorten_text",
]

_MAX_TEXT = 200
"""Characters of one value on a line."""
_MAX_BYTES = 2_000
"""Bytes of a reproducer that are shown."""
_INDEX = """\
# Reproducers

Made by `wirefence crashes commit` from the metadata beside each file; do not edit.
Replay them with `wirefence replay`; see one with `wirefence crashes show ID`.

| id | status | target | oracle | rule | shows | bytes | first seen |
|---|---|---|---|---|---|---|---|
"""
_MARKUP = str.maketrans({c: f"\\{c}" for c in "\\`*_[]|<>&"})


def shorten_text(text: str, most: int = _MAX_TEXT) -> str:
    """Return printable text of at most ``most`` characters, with the full length if it was cut."""
    kept = escape_unprintable(text[:most])
    return kept if len(text) <= most else f"{kept}... ({len(text):,} characters)"


def escape_bytes(data: bytes, most: int = _MAX_BYTES) -> str:
    """Return bytes as ASCII, a line for each line, at most ``most`` of them."""
    lines = [
        line.decode("latin-1").encode("unicode_escape").decode()
        for line in data[:most].split(b"\n")
    ]
    text = "\\n\n".join(lines).removesuffix("\n")
    return text if len(data) <= most else f"{text}\n... ({len(data):,} bytes in all)"


def as_list(shelf: ScannedFolder) -> str:
    """Return a line for each reproducer, then one for each problem."""
    if not shelf.entries and not shelf.problems:
        return "There are no reproducers."
    lines = [
        f"{entry.id}  {m.status:<8}  {m.size:>9,} B  {shorten_text(m.target, 40)}  {m.rule}: "
        f"{shorten_text(m.summary, 100)}"
        for entry in shelf.entries
        for m in (entry.metadata,)
    ]
    return "\n".join([*lines, *map(format_problem, shelf.problems)])


def format_problem(found: Problem) -> str:
    """Return a line that names a file and what is wrong with it."""
    return f"PROBLEM  {shorten_text(str(found.path))} {shorten_text(found.what, 400)}"


def format_entry(entry: Entry) -> str:
    """Return everything about a reproducer, then its bytes."""
    content = as_content(entry.metadata)
    width = max(map(len, content))
    lines = [
        f"{name:<{width}}  "
        f"{shorten_text(value if isinstance(value, str) else json.dumps(value), 400)}"
        for name, value in content.items()
        if value not in ("", None, [], {}, ())
    ]
    head = [f"{'file':<{width}}  {shorten_text(str(entry.path))}", *lines]
    return "\n".join([*head, "", escape_bytes(entry.case.data), ""])


def as_json(shelf: ScannedFolder) -> str:
    """Return one JSON object, ASCII only."""
    content = {
        "reproducers": [
            {"id": e.id, "path": str(e.path), **as_content(e.metadata)} for e in shelf.entries
        ],
        "problems": [{"path": str(p.path), "what": p.what} for p in shelf.problems],
    }
    return json.dumps(content, indent=1)


def as_index(entries: Iterable[Entry]) -> str:
    """Return the page ``INDEX.md`` of a directory of reproducers."""
    rows = [
        (
            f"[{entry.id}]({entry.path.parent.name}/{entry.path.name})",
            m.status,
            _escape_cell(m.target),
            m.oracle,
            m.rule,
            _escape_cell(m.summary),
            f"{m.size:,}",
            m.first_seen,
        )
        for entry in sorted(entries, key=lambda each: str(each.path))
        for m in (entry.metadata,)
    ]
    return _INDEX + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _escape_cell(text: str) -> str:
    return shorten_text(text, 120).translate(_MARKUP)


def format_replay(said: ReplayResult) -> str:
    """Return one result as a line or two: verdict, reproducer, and what to do."""
    entry, m = said.entry, said.entry.metadata
    mark = "ok   " if said.expected else "     "
    target = shorten_text(m.target, 40)
    line = f"{mark}{said.verdict:<13}  {entry.id}  {m.status:<8}  {target}  {m.rule}"
    detail = [f"       {shorten_text(said.detail, 400)}"] if said.detail else []
    shown = [
        f"       seen: {shorten_text(found.signature)}"
        for found in said.seen[:5]
        if not said.expected
    ]
    return "\n".join([line, *detail, *shown])
