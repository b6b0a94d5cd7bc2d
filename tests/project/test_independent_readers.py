"""The judge, the prescan and the gateway read JSON each in its own way.

A fault of the host that misleads one of them must not mislead another in the same way.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from wirefence.oracles import document as judge
from wirefence.targets.gateway import document as gateway
from wirefence.targets.parsers import prescan


def patterns_of(module: ModuleType) -> list[re.Pattern[str]]:
    return [value for value in vars(module).values() if isinstance(value, re.Pattern)]


def parts_of(pattern: str) -> set[str]:
    """Every repeat, alternative, group and sequence of an expression, as text."""
    return {repr(part) for part in _walk(re._parser.parse(pattern))}


def _walk(node: object) -> Iterator[object]:
    if isinstance(node, re._parser.SubPattern):
        node = list(node)
        if len(node) > 1:
            yield node
    elif isinstance(node, tuple) and node and str(node[0]).isupper():
        yield node
    if isinstance(node, list | tuple):
        for each in node:
            yield from _walk(each)


def shared(one: ModuleType, other: ModuleType) -> set[str]:
    found = [
        set().union(
            *(parts_of(p.pattern) for p in patterns_of(module) if isinstance(p.pattern, str))
        )
        for module in (one, other)
    ]
    return found[0] & found[1]


def compound(parts: set[str]) -> set[str]:
    """What reads more than one kind of character: sequences and alternatives."""
    return {part for part in parts if part.startswith(("[", "(BRANCH"))}


def imports_of(module: ModuleType) -> set[str]:
    tree = ast.parse(Path(module.__file__ or "").read_bytes())
    names = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    return names | {
        node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
    }


def test_the_prescan_uses_no_regular_expression_and_nothing_of_the_judge() -> None:
    assert patterns_of(prescan) == []
    assert "re" not in imports_of(prescan)
    assert not {name for name in imports_of(prescan) if name.startswith(("oracles", "targets"))}
    assert shared(judge, prescan) == set()


def test_judge_and_gateway_share_no_expression_of_more_than_one_character_set() -> None:
    assert patterns_of(judge)
    assert patterns_of(gateway)
    assert compound(shared(judge, gateway)) == set()


def test_a_shared_number_is_noticed() -> None:
    planted = ModuleType("planted")
    planted.NUMBER = re.compile(r"\s*(?P<n>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?)")
    assert compound(shared(judge, planted))
    planted.NUMBER = re.compile(r"[-0-9.eE]+")
    assert not compound(shared(judge, planted))
