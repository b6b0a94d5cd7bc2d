"""What of a wide rule a frame breaks: two lenient readers of one rule are two faults.

``json-syntax`` is broken by NaN as well as by a trailing comma, and a reader that
takes the one need not take the other. Where a frame holds several, the first in the order below
names it: whoever took the frame took them all.
"""

from __future__ import annotations

import json

from wirefence.oracles.traits import find_groups

__all__ = ["name_broken_rule"]

_SYNTAX: tuple[tuple[str, frozenset[str]], ...] = (
    ("not a number", frozenset({"nan", "infinity"})),
    ("control character in a string", frozenset({"control-in-string", "nul-in-string"})),
    ("trailing comma", frozenset({"trailing-comma"})),
    ("comment", frozenset({"block-comment", "line-comment"})),
    (
        "number spelling",
        frozenset({
            "leading-zero", "neg-leading-zero", "bare-minus", "neg-dot", "dot-tail", "dot-head",
            "plus", "exponent-tail", "hexadecimal",
        }),
    ),
    ("single quotes", frozenset({"single-quotes"})),
    ("bad escape", frozenset({"bad-escape"})),
    ("white space", frozenset({"other-white-space", "nul", "control-character"})),
    ("unclosed", frozenset({"unclosed"})),
    ("trailing", frozenset({"trailing"})),
)  # fmt: skip
_TYPES = {"bool": "true", "float": "fraction", "NoneType": "null", "int": "-0"}


def name_broken_rule(rule: str, raw: bytes) -> str:
    """The rule that a frame (without LF) breaks, and what of it where the rule is a wide one."""
    return f"{rule} {kind}" if (kind := _name_kind(rule, raw)) else rule


def _name_kind(rule: str, raw: bytes) -> str:
    if rule == "json-syntax":
        return _name_syntax_fault(raw)
    if rule == "rpc-id":
        try:
            kind = type(json.loads(raw)["id"]).__name__
        except (ValueError, KeyError, TypeError, RecursionError):
            return ""
        return _TYPES.get(kind, "another type")
    return ""


def _name_syntax_fault(raw: bytes) -> str:
    if raw.count(0) * 5 >= len(raw) * 2:
        return "UTF-16 or UTF-32"
    held = find_groups(raw)
    return next((name for name, of in _SYNTAX if held & of), "")
