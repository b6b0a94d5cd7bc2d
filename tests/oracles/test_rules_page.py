"""The page of rules is what the table of rules says."""

from __future__ import annotations

import re
from pathlib import Path

from wirefence.oracles.rules import ORACLE_RULES, RULES, render_rules

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_page_is_the_table() -> None:
    assert (DOCS / "rules.md").read_text(encoding="utf-8") == render_rules()


def test_every_rule_stands_once_and_under_one_profile_or_both() -> None:
    names = [rule.id for rule in RULES] + [n for rules in ORACLE_RULES.values() for n in rules]
    assert len(names) == len(set(names))
    assert {rule.profiles for rule in RULES} == {("strict", "spec"), ("strict",)}


def test_the_contract_gives_each_rule_the_same_layer_and_profile_and_the_order_of_rejections() -> (
    None
):
    """In the contract a refusal stands where it is looked at; in the table all come last."""
    text = (DOCS / "contract.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w*) ?\| ([\w-]+) \| (both|strict) \| (.*) \|$", text, re.MULTILINE)
    said, layer = [], ""
    for first, name, profile, meaning in rows:
        layer = first or layer
        said.append((meaning.startswith("**refusal**"), name, layer, profile))
    assert sorted(said, key=lambda row: row[0]) == [
        (not rule.closes, rule.id, rule.layer, "both" if len(rule.profiles) == 2 else "strict")
        for rule in RULES
    ]


CODES = {
    "framing": {-32700},
    "utf8": {-32700},
    "json": {-32700},
    "rpc": {-32600},
    "message": {-32601, -32602, -32022},
    "lifecycle": {-32600},
    "tool": {-32602},
    "identity": {-32001},
    "authorization": {-32003},
}


def test_codes_are_those_of_json_rpc_for_each_layer() -> None:
    codes: dict[str, set[int]] = {}
    for rule in RULES:
        codes.setdefault(rule.layer, set()).add(rule.code)
    assert codes == CODES
