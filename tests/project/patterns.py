"""The rule of regular expressions: nothing in them that a supported Python is known to get wrong.

CPython before 3.11.5 lets a possessive quantifier match what the greedy one does not (gh-106052,
gh-100061), and some with a group inside raise SystemError before 3.12.8 and 3.13.1 (gh-101955). An
atomic group does the same as such a quantifier, so one rule bars both.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from re import _parser  # type: ignore[attr-defined] # no public way to a tree

from tests.project.rules import PACKAGES, modules

FAULTY = {"POSSESSIVE_REPEAT", "ATOMIC_GROUP"}
"""Names of operations: their numbers are those of characters too."""
TAKE_PATTERNS = {
    "compile", "search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"
}  # fmt: skip
UNKNOWN = "(?:x)"
"""Stands for a part of a pattern that is not written in the module."""


def faulty_patterns(root: Path) -> list[str]:
    """Patterns of product code with a possessive quantifier or an atomic group.

    Read are the patterns of calls of ``re``, and raw strings, as parts of patterns are raw strings.
    """
    found = []
    for _, path in modules(root, (*PACKAGES, "scripts")):
        source = path.read_text(encoding="utf-8")
        lines = {line for line, pattern in patterns(source) if is_faulty(pattern)}
        found += [f"{path.relative_to(root)}:{line}" for line in sorted(lines)]
    return found


def patterns(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of each pattern in a module, or part of one."""
    tree, lines = ast.parse(source), source.encode().split(b"\n")
    named = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if _takes_pattern(node):
            yield node.lineno, written(node.args[0], named)
        elif isinstance(node, ast.Constant | ast.JoinedStr) and _is_raw(node, lines):
            yield node.lineno, written(node, named)


def _takes_pattern(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and ast.unparse(node.func.value) == "re"
        and node.func.attr in TAKE_PATTERNS
        and bool(node.args)
    )


def _is_raw(node: ast.expr, lines: list[bytes]) -> bool:
    start = lines[node.lineno - 1][node.col_offset :][:3].lower()
    return start.startswith((b'r"', b"r'", b'rb"', b"rb'", b'rf"', b"rf'", b"br", b"fr"))


def written(node: ast.expr, named: dict[str, ast.expr]) -> str:
    """The text of a string expression; :data:`UNKNOWN` for each part that is made elsewhere."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.Constant(value=bytes() as raw):
            return raw.decode("latin-1")
        case ast.Name(id=name) if name in named:
            return written(named[name], {k: v for k, v in named.items() if k != name})
    return "".join(written(part, named) for part in _parts(node)) or UNKNOWN


def _parts(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.JoinedStr(values=parts):
            return parts
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return [left, right]
        case ast.FormattedValue(value=part) | ast.BinOp(left=part, op=ast.Mod()):
            return [part]
    return []


def is_faulty(pattern: str) -> bool:
    """Whether a pattern has a possessive quantifier or an atomic group; not if it is no pattern."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return not FAULTY.isdisjoint(_operations(_parser.parse(pattern)))
    except (re.error, OverflowError):
        return False


def _operations(node: object) -> Iterator[str]:
    """The name of each operation of a parsed pattern, however deep."""
    if isinstance(node, _parser.SubPattern | list | tuple):
        for part in node:
            yield from _operations(part)
    else:
        yield repr(node)
