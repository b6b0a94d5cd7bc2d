"""Reproducers as text for people and programs.

The key insight: everything here was made to break readers, and the reader's terminal is one. What
is shown is escaped, and cut, and says how much was left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from wirefence.fuzz.crashes.replay import Replayed
from wirefence.fuzz.store.scan import Entry, Problem, Shelf
from wirefence.fuzz.store.typed_records import as_content
from wirefence.fuzz.text import printable

__all__ = ["as_index", "as_json", "as_list", "cut", "escaped", "one", "problem", "replayed"]

_TEXT = 200
_BYTES = 2_000
_INDEX = """\
# Reproducers

Made by `wirefence crashes commit` from the metadata beside each file; do not edit.
Replay them with `wirefence replay`; see one with `wirefence crashes show ID`.

| id | status | target | oracle | rule | shows | bytes | first seen |
|---|---|---|---|---|---|---|---|
"""
_MARKUP = str.maketrans({c: f"\\{c}" for c in "\\`*_[]|<>&"})


def cut(text: str, most: int = _TEXT) -> str:
    """Printable text of at most ``most`` characters, with what was left out counted."""
    kept = printable(text[:most])
    return kept if len(text) <= most else f"{kept}... ({len(text):,} characters)"


def escaped(data: bytes, most: int = _BYTES) -> str:
    """Bytes as ASCII, a line for each line, at most ``most`` of them."""
    lines = [
        line.decode("latin-1").encode("unicode_escape").decode()
        for line in data[:most].split(b"\n")
    ]
    text = "\\n\n".join(lines).removesuffix("\n")
    return text if len(data) <= most else f"{text}\n... ({len(data):,} bytes in all)"


def as_list(shelf: Shelf) -> str:
    """A line for each reproducer, then one for each problem."""
    if not shelf.entries and not shelf.problems:
        return "There are no reproducers."
    lines = [
        f"{entry.id}  {m.status:<8}  {m.size:>9,} B  {cut(m.target, 40)}  {m.rule}: "
        f"{cut(m.summary, 100)}"
        for entry in shelf.entries
        for m in (entry.metadata,)
    ]
    return "\n".join([*lines, *map(problem, shelf.problems)])


def problem(found: Problem) -> str:
    """A line that names a file and what is wrong with it."""
    return f"PROBLEM  {cut(str(found.path))} {cut(found.what, 400)}"


def one(entry: Entry) -> str:
    """Everything about a reproducer, then its bytes."""
    content = as_content(entry.metadata)
    width = max(map(len, content))
    lines = [
        f"{name:<{width}}  {cut(value if isinstance(value, str) else json.dumps(value), 400)}"
        for name, value in content.items()
        if value not in ("", None, [], {}, ())
    ]
    head = [f"{'file':<{width}}  {cut(str(entry.path))}", *lines]
    return "\n".join([*head, "", escaped(entry.case.data), ""])


def as_json(shelf: Shelf) -> str:
    """The shelf for programs: one JSON object, ASCII only."""
    content = {
        "reproducers": [
            {"id": e.id, "path": str(e.path), **as_content(e.metadata)} for e in shelf.entries
        ],
        "problems": [{"path": str(p.path), "what": p.what} for p in shelf.problems],
    }
    return json.dumps(content, indent=1)


def as_index(entries: Iterable[Entry]) -> str:
    """The page ``INDEX.md`` of a directory of reproducers."""
    rows = [
        (
            f"[{entry.id}]({entry.path.parent.name}/{entry.path.name})",
            m.status,
            _cell(m.target),
            m.oracle,
            m.rule,
            _cell(m.summary),
            f"{m.size:,}",
            m.first_seen,
        )
        for entry in sorted(entries, key=lambda each: str(each.path))
        for m in (entry.metadata,)
    ]
    return _INDEX + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _cell(text: str) -> str:
    return cut(text, 120).translate(_MARKUP)


def replayed(said: Replayed) -> str:
    """One result as a line or two: verdict, reproducer, and what is to be done."""
    entry, m = said.entry, said.entry.metadata
    mark = "ok   " if said.expected else "     "
    line = f"{mark}{said.verdict:<13}  {entry.id}  {m.status:<8}  {cut(m.target, 40)}  {m.rule}"
    detail = [f"       {cut(said.detail, 400)}"] if said.detail else []
    shown = [f"       seen: {cut(found.signature)}" for found in said.seen[:5] if not said.expected]
    return "\n".join([line, *detail, *shown])
