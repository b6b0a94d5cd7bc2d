"""Replies that are no replies of MCP end in a sentence or are taken for what they hold."""

from __future__ import annotations

import json
import re
import sys

import pytest

from wirefence.fuzz.gate.records import Facts, NominatedTool, Options
from wirefence.fuzz.gate.server.declared_tools import choose_tool, declare_tool
from wirefence.fuzz.gate.server.discovery import _parse_object, discover_server
from wirefence.fuzz.gate.server.fresh import FreshServers
from wirefence.targets.command.records import Launch
from wirefence.targets.errors import TargetError

SERVER = """\
import json, sys
replies = json.loads(sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        name = asked["method"]
        reply = replies.get(name, {"error": {"code": -32601, "message": "none"}})
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **reply}), flush=True)
"""
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s"}}


def facts_of(replies: object, env: dict[str, str] | None = None, **more: object) -> Facts:
    launch = Launch((sys.executable, "-S", "-c", SERVER, json.dumps(replies)), env or {})
    lab = FreshServers(launch, Options(effects=("http",), policy="close", patience=20.0, **more))
    try:
        return discover_server(lab)
    finally:
        lab.close()


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ([], "answered initialize with an array"),
        (None, "answered initialize with null"),
        ("ok", "answered initialize with a string"),
        (5, "answered initialize with a number"),
        (True, "answered initialize with a boolean"),
        ({}, "sends no protocolVersion string; known versions of MCP are 2024-11-05"),
        ({"protocolVersion": [[]]}, "sends no protocolVersion string"),
        ({"protocolVersion": 20251125}, "sends no protocolVersion string"),
        ({"protocolVersion": "v" * 999}, f"speaks '{'v' * 197}...'; known versions of MCP are"),
    ],
)
def test_a_hello_that_is_none_is_told_in_a_sentence(result: object, told: str) -> None:
    with pytest.raises(TargetError, match=re.escape(told)):
        facts_of({"initialize": {"result": result}})


def test_a_discovery_that_is_no_object_is_told_in_a_sentence() -> None:
    with pytest.raises(TargetError, match="answered server/discover with an array"):
        facts_of({"server/discover": {"result": []}})


def test_a_reply_may_hold_a_number_of_any_length() -> None:
    reply = _parse_object(b'{"id":"a","result":{"maximum":%b}}' % (b"1" * 5_000))
    assert reply["id"] == "a"


def test_what_was_refused_first_is_told_with_what_was_refused_then() -> None:
    refusals = {
        "initialize": {"error": {"code": 1, "message": "log in first"}},
        "server/discover": {"error": {"code": 2, "message": "no such method"}},
    }
    told = r"refused initialize \(log in first\); .* refused server/discover \(no such method\)"
    with pytest.raises(TargetError, match=told):
        facts_of(refusals)


def test_a_server_whose_name_holds_a_secret_has_another_one_here() -> None:
    info = {"name": "srv-s3cretz", "version": "1.0+s3cretz"}
    hello = {"result": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info}}
    facts = facts_of({"initialize": hello}, {"X_TOKEN": "s3cretz"})
    assert (facts.name, facts.release) == ("srv-***", "1.0+***")


@pytest.mark.parametrize("error", [5, {}, {"message": [1]}])
def test_a_refusal_without_words_is_still_told(error: object) -> None:
    with pytest.raises(TargetError, match="refused initialize"):
        facts_of({"initialize": {"error": error}}, protocol="2025-11-25")


@pytest.mark.parametrize(
    ("tools", "names"),
    [
        (5, ()),
        (True, ()),
        ("ab", ()),
        ({"name": "x"}, ()),
        ([5, [], {}, {"name": None}, {"name": 5}, {"name": "x"}], ("x",)),
    ],
)
def test_of_a_list_of_tools_what_is_a_tool_is_taken(tools: object, names: tuple[str, ...]) -> None:
    hello = {**HELLO, "serverInfo": {"name": None, "version": 5}}
    told = {"initialize": {"result": hello}, "tools/list": {"result": {"tools": tools}}}
    facts = facts_of(told)
    assert (facts.tools, facts.name, facts.release) == (names, "", "")


@pytest.mark.parametrize("name", [{}, {"name": None}, {"name": ["x"]}])
def test_a_tool_without_a_name_is_not_called(name: dict[str, object]) -> None:
    reads = {"annotations": {"readOnlyHint": True}, "inputSchema": {}}
    assert choose_tool([{**name, **reads}]) is None
    assert choose_tool([{**name, **reads}, {"name": "y", **reads}]) == NominatedTool("y")


@pytest.mark.parametrize(
    ("schema", "required"),
    [
        ({"properties": {"a": {"type": "string"}}, "required": [{}, ["a"], 5, "a"]}, True),
        ({"properties": {"a": {"type": "string", "enum": 5}}, "required": 5}, False),
        ({"properties": {"a": {"type": "string", "enum": {"b": 1}}}, "required": "a"}, False),
        ({"properties": {"a": {"type": "string", "enum": [5, [], "v"]}}}, False),
    ],
)
def test_a_schema_is_read_for_what_it_holds(schema: dict[str, object], required: bool) -> None:
    tool = declare_tool({"name": "x", "inputSchema": schema}, NominatedTool("x", '{"a":"v"}'))
    assert [each.required for each in tool.arguments] == [required]
