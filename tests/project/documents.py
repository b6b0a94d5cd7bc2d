"""What the pages name exists: linked files and headings, and paths of code.

A page says where something is; when code moves, the page has to move with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

CODE_PATH = re.compile(
    r"`((?:strategies|targets|oracles|fuzz|scripts|tests|docs|src|examples|crashes)/[\w./*-]+)`"
)
"""A path in backticks, from the root of the checkout; a ``*`` stands for any name."""

TESTS = re.compile(r"tests/[\w/]+(?:\.py)?")

LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def pages(root: Path) -> list[Path]:
    """Every page for people, apart from the metadata of reproducers."""
    folders = ("docs", "docs/internals", "tests", "scripts", "crashes", ".")
    return sorted({page for folder in folders for page in (root / folder).glob("*.md")})


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(root: Path) -> list[str]:
    """Links to files or headings that do not exist."""
    found = []
    for page in pages(root):
        for link in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
            name, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:", link):
                continue
            target = (page.parent / name).resolve() if name else page
            if not target.exists() or (anchor and anchor not in anchors(target)):
                found.append(f"{page.relative_to(root)} links to {link}")
    return found


def missing_paths(root: Path) -> list[str]:
    """Paths of code in the text of pages that do not exist."""
    found = []
    for page in pages(root):
        for path in sorted(set(_paths(FENCE.sub("", page.read_text(encoding="utf-8"))))):
            if not list(root.glob(path.rstrip("/"))):
                found.append(f"{page.relative_to(root)} names {path}")
    return found


def _paths(text: str) -> Iterator[str]:
    yield from CODE_PATH.findall(text)
    for code in re.findall(r"`(tests/[^`]+ [^`]+)`", text):
        yield from TESTS.findall(code)
