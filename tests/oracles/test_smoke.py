"""Oracle *smoke*: what every client relies on, each missing part named by itself."""

from __future__ import annotations

from typing import Any

import pytest

from wirefence.oracles.rules import ORACLE_RULES
from wirefence.oracles.smoke import check_end, check_tools

END = {"missing": 0, "owed": 9, "exited": True, "status": "", "seconds": 2.0}


def end(**changes: Any) -> list[str]:
    return [each.signature for each in check_end("s", **{**END, **changes})]


def test_a_missing_tool_is_a_finding_of_its_own() -> None:
    found = list(check_tools("s", ["a", "b"], ["a", "c", "d"]))
    assert [each.signature for each in found] == ["s|smoke-tool|c", "s|smoke-tool|d"]
    assert found[0].summary == "tools/list has no tool 'c'; it has a, b"
    assert next(check_tools("s", [], ["a"])).summary.endswith("it has none")


@pytest.mark.parametrize("expected", [[], ["a"], ["b", "a"]])
def test_tools_that_are_listed_are_no_finding(expected: list[str]) -> None:
    assert list(check_tools("s", ["a", "b", "c"], expected)) == []


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, []),
        ({"missing": 1}, ["s|smoke-lost|none"]),
        ({"exited": False}, ["s|smoke-exit:stays|none"]),
        ({"status": "exit 3"}, ["s|smoke-exit:status|exit 3"]),
        ({"exited": False, "status": "SIGKILL"}, ["s|smoke-exit:stays|none"]),
        ({"missing": 9, "status": "SIGSEGV"}, ["s|smoke-lost|none", "s|smoke-exit:status|SIGSEGV"]),
    ],
)
def test_an_end_that_is_not_in_order_says_in_which_way(
    changes: dict[str, Any], found: list[str]
) -> None:
    assert end(**changes) == found


def test_every_rule_is_planted() -> None:
    named = {each.rule for each in check_tools("s", [], ["a"])}
    named |= {each.rule for each in check_end("s", **{**END, "missing": 1, "status": "exit 1"})}
    assert named == set(ORACLE_RULES["smoke"]) - {"smoke-capability"}  # decided from replies
