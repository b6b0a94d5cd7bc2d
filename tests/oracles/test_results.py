"""Each result is judged as the answer to its request, by the schema of the session's version."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.oracles.judged import read_session
from tests.oracles.lines import Lines, greeting, line
from wirefence.oracles.deviation_table import leniency_of
from wirefence.oracles.faults import group_findings
from wirefence.oracles.protocol.traits import list_traits
from wirefence.oracles.records import Finding
from wirefence.oracles.session_findings import judge_evidence
from wirefence.strategies.contract import DEFAULT_TOOLS, Contract, Profile, Tool
from wirefence.strategies.mcp import message_of
from wirefence.strategies.mcp_kinds import kinds
from wirefence.strategies.records import VERSIONS, Version
from wirefence.strategies.source import RandomSource
from wirefence.targets.records import Trace

NOW = "2025-11-25"
TEXT = {"type": "text", "text": "ok"}
LINK = {"type": "resource_link", "uri": "a:b", "name": "n"}
TOOL = {"name": "t", "inputSchema": {"type": "object"}}
TASK = {
    "taskId": "1",
    "status": "working",
    "createdAt": "2026-01-01T00:00:00Z",
    "lastUpdatedAt": "2026-01-01T00:00:00Z",
    "ttl": None,
}
METHODS = {
    "Empty": "ping",
    "Initialize": "initialize",
    "Discover": "server/discover",
    "InputRequired": "tools/call",
    "ListTools": "tools/list",
    "CallTool": "tools/call",
    "ListResources": "resources/list",
    "ListResourceTemplates": "resources/templates/list",
    "ReadResource": "resources/read",
    "ListPrompts": "prompts/list",
    "GetPrompt": "prompts/get",
    "Complete": "completion/complete",
    "SubscriptionsListen": "subscriptions/listen",
    "GetTask": "tasks/get",
    "CancelTask": "tasks/cancel",
    "GetTaskPayload": "tasks/result",
    "ListTasks": "tasks/list",
}
PARAMS: dict[str, dict[str, Any]] = {
    "tools/call": {"name": "record", "arguments": {"action": "act-1"}},
}


def answer(
    version: Version,
    method: str,
    result: Any,
    *,
    params: dict[str, Any] | None = None,
    profile: Profile = "strict",
    spoken: str = "",
    exact: bool = False,
    member: str = "result",
    tools: tuple[Tool, ...] = DEFAULT_TOOLS,
) -> list[Finding]:
    """Judge one answer to one request, in a session that is right but for that."""
    lines, contract = Lines(version), Contract(version, profile, "continue", tools)
    opened = b"" if lines.stateless or method == "initialize" else lines.opened()
    hello = line({"jsonrpc": "2.0", "id": 0, "result": greeting(version)})
    if spoken:
        hello = hello.replace(version.encode(), spoken.encode())
    sent = opened + (
        lines.initialize(name=1)
        if method == "initialize"
        else lines.request(method, PARAMS.get(method, {}) | (params or {}), 1)
    )
    said = line({"jsonrpc": "2.0", "id": 1, member: result})
    seen = read_session(sent, Trace("t", hello * bool(opened) + said, ()), contract)
    seen = replace(seen, exact=exact, owed=tuple(replace(each, lost="") for each in seen.owed))
    return judge_evidence(seen)


def shown(*args: Any, **how: Any) -> list[str]:
    return [each.signature.removeprefix("t|") for each in answer(*args, **how)]


def malformed(trait: str) -> list[str]:
    return [f"malformed-result|mcp-result:{trait}"]


WRONG: list[tuple[Version, str, dict[str, Any], str]] = [
    (NOW, "initialize", greeting(NOW) | {"serverInfo": {"name": 5, "version": "1"}},
     "serverInfo-name-type"),
    (NOW, "initialize", greeting(NOW) | {"capabilities": []}, "capabilities-type"),
    (NOW, "initialize", {"capabilities": {}, "serverInfo": {"name": "s", "version": "1"}},
     "protocolVersion-missing"),
    (NOW, "tools/list", {"tools": [TOOL | {"inputSchema": {"type": "array"}}]}, "tools-type-value"),
    (NOW, "tools/list", {"tools": [TOOL], "nextCursor": 5}, "nextCursor-type"),
    (NOW, "tools/call", {"content": [{"type": "text"}]}, "content-text-missing"),
    (NOW, "tools/call", {"content": "ok"}, "content-type"),
    (NOW, "tools/call", {"content": [TEXT], "structuredContent": []}, "structuredContent-type"),
    (NOW, "tools/call", {"content": [TEXT], "isError": "yes"}, "isError-type"),
    (NOW, "tools/call", {"isError": True, "structuredContent": {}}, "content-missing"),
    ("2025-03-26", "tools/call", {"content": [LINK]},
     "content-type-value"),
    (NOW, "resources/list", {"resources": [{"name": "r"}]}, "resources-uri-missing"),
    (NOW, "prompts/list", {"prompts": [{}]}, "prompts-name-missing"),
    ("2026-07-28", "tools/call", {"content": []}, "resultType-missing"),
]  # fmt: skip


@pytest.mark.parametrize("profile", ["strict", "spec"])
@pytest.mark.parametrize(("version", "method", "result", "trait"), WRONG)
def test_a_malformed_result_is_one_finding_under_both_profiles(
    version: Version, method: str, result: dict[str, Any], trait: str, profile: Profile
) -> None:
    assert shown(version, method, result, profile=profile) == malformed(trait)


def test_a_finding_names_the_method_and_the_whole_place() -> None:
    bad = {"tools": [TOOL, TOOL | {"inputSchema": {"type": "array"}}]}
    [found] = answer(NOW, "tools/list", bad)
    place = "tools[1].inputSchema.type has a value that is not allowed"
    assert found.summary == f"the result of tools/list: {place}"
    assert json.loads(found.offending)["result"] == bad


OUTPUT = '{"type":"object","required":["n"]}'


@pytest.mark.parametrize(
    ("version", "schema", "changes", "trait"),
    [
        (NOW, OUTPUT, {"structuredContent": {"n": 1}}, ""),
        (NOW, OUTPUT, {"structuredContent": {}}, "structuredContent-schema"),
        (NOW, OUTPUT, {"structuredContent": []}, "structuredContent-type"),
        (NOW, OUTPUT, {}, "structuredContent-missing"),
        (NOW, OUTPUT, {"isError": True}, ""),
        (NOW, OUTPUT, {"isError": True, "structuredContent": {}}, ""),
        (NOW, "", {"structuredContent": {}}, ""),
        (NOW, "?", {"structuredContent": {}}, ""),
        ("2025-06-18", OUTPUT, {}, "structuredContent-missing"),
        ("2025-03-26", OUTPUT, {}, ""),
        ("2026-07-28", OUTPUT, {"resultType": "complete"}, "structuredContent-missing"),
        ("2026-07-28", OUTPUT, {"resultType": "org.example/x"}, ""),
    ],
)
def test_structured_content_is_what_the_tool_declares(
    version: Version, schema: str, changes: dict[str, Any], trait: str
) -> None:
    tools = (replace(DEFAULT_TOOLS[0], output_schema=schema),)
    result = {"content": [TEXT], **changes}
    if version == "2026-07-28" and "org" in changes["resultType"]:
        del result["content"]
    found = shown(version, "tools/call", result, tools=tools)
    assert found == (malformed(trait) if trait else [])


@pytest.mark.parametrize("version", VERSIONS)
def test_every_result_of_the_grammar_is_silent(version: Version) -> None:
    source = RandomSource("results")
    known = [
        each
        for each in kinds(version, "server-to-client", "result")
        if each.name.removesuffix("Result") in METHODS
    ]
    assert len(known) >= 10
    for number in range(40 * len(known)):
        kind = known[number % len(known)]
        made = json.loads(message_of(source, version, kind, ident=b"1").frame().raw)
        method = METHODS[kind.name.removesuffix("Result")]
        found = shown(version, method, made["result"])
        assert found == [], (kind.name, made)


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("tools/list", {"content": []}),
        ("tools/call", {"tools": []}),
        ("tools/list", {"prompts": [{}]}),
    ],
)
def test_the_result_of_another_method_is_crossed_and_nothing_else(
    method: str, result: dict[str, Any]
) -> None:
    assert shown(NOW, method, result) == ["reply-id:crossed|none"]


def test_an_empty_result_of_a_server_of_others_lacks_a_member() -> None:
    assert shown(NOW, "tools/call", {}) == ["malformed-result|mcp-result:content-missing"]
    said = shown(NOW, "initialize", {"_meta": {}})
    assert said == ["malformed-result|mcp-result:capabilities-missing"]


def test_a_result_that_is_no_object_is_told_once() -> None:
    assert shown(NOW, "tools/list", []) == ["out-not-message:rpc-result|none"]


def test_the_version_that_the_server_chose_decides() -> None:
    link = {"content": [LINK]}
    assert shown("2025-03-26", "tools/call", link, spoken=NOW) == []
    assert shown("2025-03-26", "tools/call", link, spoken="2099-01-01") == []
    assert shown("2025-03-26", "tools/call", {"content": 1}, spoken=NOW) == malformed(
        "content-type"
    )
    assert shown(NOW, "tools/call", link) == []


def test_a_task_is_an_answer_to_a_request_that_asked_for_one() -> None:
    assert shown(NOW, "tools/call", {"task": TASK}, params={"task": {}}) == []
    assert shown(NOW, "tools/call", {"task": TASK}) == malformed("content-missing")
    bad = {"task": {**TASK, "status": "?"}}
    assert shown(NOW, "tools/call", bad, params={"task": {}}) == malformed("task-status-value")


def test_methods_that_only_others_serve_are_judged_and_unknown_ones_are_not() -> None:
    assert shown(NOW, "resources/read", {"contents": [{"text": "x"}]}) == malformed(
        "contents-uri-missing"
    )
    assert shown(NOW, "resources/read", {"contents": []}, exact=True) == [
        "reply-code:result|mcp-method:unknown"
    ]
    assert shown(NOW, "own/method", {"tools": 5}) == []


def test_an_error_that_the_version_defines_has_its_data() -> None:
    error = {"code": -32042, "message": "open this"}
    asked = {"mode": "url", "message": "m", "url": "https://example.org", "elicitationId": "1"}
    method, params = "tools/call", {"name": "unknown"}

    def told(**data: Any) -> list[str]:
        return shown(NOW, method, error | data, params=params, member="error")

    assert told(data={"elicitations": [asked]}) == []
    assert told() == ["malformed-result|mcp-error:data-missing"]
    assert told(data={"elicitations": [asked | {"url": 5}]}) == [
        "malformed-result|mcp-error:data-url-type"
    ]
    assert shown(NOW, method, {"code": -1, "message": ""}, params=params, member="error") == []


def test_faults_are_grouped_by_the_outermost_member() -> None:
    bad: list[tuple[str, dict[str, Any]]] = [
        ("tools/list", {"tools": [{"name": "t"}]}),
        ("tools/list", {"tools": [TOOL | {"name": 5}]}),
        ("tools/list", {"tools": [TOOL], "nextCursor": 5}),
        ("initialize", greeting(NOW) | {"serverInfo": {}}),
    ]
    faults = group_findings(each for one in bad for each in answer(NOW, *one))
    assert {each.name.removeprefix("t|malformed-result|mcp-result:") for each in faults} == {
        *("tools", "nextCursor", "serverInfo"),
    }


def test_every_trait_of_a_result_has_the_leniency_of_its_member() -> None:
    for member, traits in list_traits()["mcp-result"].items():
        for trait in filter(lambda _: member, traits):
            assert leniency_of(f"mcp-result:{trait}") == f"mcp-result:{member}"
    assert leniency_of("mcp-error:data-url-type") == "mcp-error:data"


@pytest.mark.parametrize(
    ("method", "params", "kind"),
    [
        ("notifications/message", {"level": [], "data": 1}, "mcp-params-level-type"),
        ("notifications/progress", {"progress": 1}, "mcp-params-progressToken-missing"),
        ("notifications/resources/updated", {}, "mcp-params-uri-missing"),
        ("notifications/message", {"level": "info", "data": 1, "own": []}, ""),
        ("notifications/own", {"level": []}, ""),
    ],
)
def test_what_a_server_sends_unasked_is_judged_by_its_params(
    method: str, params: dict[str, Any], kind: str
) -> None:
    sent, out = Lines(NOW).opened(), line({"jsonrpc": "2.0", "id": 0, "result": greeting(NOW)})
    noted = Lines(NOW).note(method, params)
    seen = read_session(sent, Trace("t", out + noted, ()), Contract(NOW, policy="continue"))
    told = [each.effect for each in judge_evidence(replace(seen, exact=False))]
    assert told == ([f"out-not-message:{kind}"] if kind else [])


@pytest.mark.parametrize(
    ("method", "capability", "code", "found"),
    [
        ("prompts/list", "prompts", -32601, ["smoke-capability|prompts/list"]),
        ("tools/list", "tools", -32601, ["smoke-capability|tools/list"]),
        ("tools/list", "prompts", -32601, ["reply-code:refused|none"]),
        ("prompts/list", "tools", -32601, []),
        ("prompts/list", "prompts", -32603, []),
        ("resources/templates/list", "resources", -32601, []),
        ("prompts/get", "prompts", -32601, []),
    ],
)
def test_a_list_that_is_promised_is_served(
    method: str, capability: str, code: int, found: list[str]
) -> None:
    hello = greeting(NOW) | {"capabilities": {capability: {}}}
    out = line({"jsonrpc": "2.0", "id": 0, "result": hello})
    out += line({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "no"}})
    sent = Lines(NOW).opened() + Lines(NOW).request(method, name=1)
    seen = read_session(sent, Trace("t", out, ()), Contract(NOW, policy="continue"))
    told = [each.signature for each in judge_evidence(replace(seen, exact=False))]
    assert told == [f"t|{each}" for each in found]
