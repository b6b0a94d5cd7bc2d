"""Where the first fault of params, results and errors is, and of what kind."""

from __future__ import annotations

from typing import Any

import pytest

from wirefence.oracles.document import LongInteger
from wirefence.oracles.protocol import (
    find_definition_fault,
    find_error_fault,
    find_params_fault,
    find_result_fault,
)
from wirefence.oracles.protocol.formats import FORMATS
from wirefence.oracles.protocol.shapes import ShapeCompiler
from wirefence.strategies.records import Direction, Version

PREFIX = "io.modelcontextprotocol/"
META = {PREFIX + "protocolVersion": "2026-07-28", PREFIX + "clientCapabilities": {}}
CLIENT = {"name": "c", "version": "1"}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}
TASK = {"taskId": "t", "status": "working", "createdAt": "", "lastUpdatedAt": "", "ttl": None}
ASKED = {"messages": [], "maxTokens": 1}
FORM = {"message": "m", "requestedSchema": {"type": "object", "properties": {}}}

PARAMS: list[tuple[Version, str, Any, tuple[Any, ...], str]] = [
    ("2025-11-25", "initialize", None, (), "missing"),
    ("2025-11-25", "initialize", [], (), "type"),
    ("2025-11-25", "initialize", {}, ("capabilities",), "missing"),
    ("2025-11-25", "initialize", HELLO | {"protocolVersion": 1}, ("protocolVersion",), "type"),
    ("2025-11-25", "initialize", HELLO | {"clientInfo": {"name": "c"}}, ("clientInfo", "version"), "missing"),
    ("2025-11-25", "initialize", HELLO | {"clientInfo": CLIENT | {"icons": [{"src": "a"}]}}, ("clientInfo", "icons", 0, "src"), "format"),
    ("2025-11-25", "initialize", HELLO | {"capabilities": {"roots": {"listChanged": 1}}}, ("capabilities", "roots", "listChanged"), "type"),
    ("2025-11-25", "initialize", HELLO | {"_meta": {"progressToken": 1.0}}, ("_meta", "progressToken"), "type"),
    ("2024-11-05", "tools/call", {"name": "x", "_meta": 1}, ("_meta",), "type"),
    ("2025-11-25", "tools/call", {"name": "x", "arguments": []}, ("arguments",), "type"),
    ("2025-11-25", "tools/call", {"name": "x", "task": {"ttl": "1"}}, ("task", "ttl"), "type"),
    ("2025-11-25", "tools/list", {"cursor": 1}, ("cursor",), "type"),
    ("2025-06-18", "resources/list", {"cursor": None}, ("cursor",), "type"),
    ("2024-11-05", "prompts/list", {"cursor": ["x"]}, ("cursor",), "type"),
    ("2025-11-25", "resources/read", {}, ("uri",), "missing"),
    ("2025-11-25", "resources/read", {"uri": "/etc/passwd"}, ("uri",), "format"),
    ("2025-11-25", "resources/subscribe", None, (), "missing"),
    ("2025-11-25", "prompts/get", {"name": -1}, ("name",), "type"),
    ("2025-11-25", "prompts/get", {"name": "x", "arguments": {"a": 1}}, ("arguments", "*"), "type"),
    ("2025-11-25", "logging/setLevel", {"level": {}}, ("level",), "type"),
    ("2025-11-25", "logging/setLevel", {"level": "loud"}, ("level",), "value"),
    ("2025-11-25", "completion/complete", {"argument": {"name": "", "value": ""}}, ("ref",), "missing"),
    ("2025-11-25", "completion/complete", {"argument": {"name": "", "value": ""}, "ref": {}}, ("ref", "type"), "missing"),
    ("2025-11-25", "completion/complete", {"argument": {"name": "", "value": ""}, "ref": {"type": "ref/x"}}, ("ref", "type"), "value"),
    ("2025-11-25", "completion/complete", {"argument": {"name": "", "value": ""}, "ref": {"type": "ref/prompt"}}, ("ref", "name"), "missing"),
    ("2025-11-25", "completion/complete", {"argument": {"name": ""}, "ref": 1}, ("argument", "value"), "missing"),
    ("2025-11-25", "tasks/get", {}, ("taskId",), "missing"),
    ("2025-11-25", "tasks/result", {"taskId": 1}, ("taskId",), "type"),
    ("2025-11-25", "tasks/cancel", None, (), "missing"),
    ("2025-11-25", "tasks/list", {"cursor": 0}, ("cursor",), "type"),
    ("2025-11-25", "notifications/cancelled", {"requestId": True}, ("requestId",), "type"),
    ("2025-06-18", "notifications/cancelled", {}, ("requestId",), "missing"),
    ("2025-11-25", "notifications/progress", {"progressToken": 1, "progress": "1"}, ("progress",), "type"),
    ("2026-07-28", "tools/list", None, (), "missing"),
    ("2026-07-28", "tools/list", {}, ("_meta",), "missing"),
    ("2026-07-28", "tools/list", {"_meta": {}}, ("_meta", PREFIX + "clientCapabilities"), "missing"),
    ("2026-07-28", "tools/list", {"_meta": META | {PREFIX + "protocolVersion": 1}}, ("_meta", PREFIX + "protocolVersion"), "type"),
    ("2026-07-28", "tools/list", {"_meta": META | {PREFIX + "clientInfo": {"name": "c"}}}, ("_meta", PREFIX + "clientInfo", "version"), "missing"),
    ("2026-07-28", "tools/list", {"_meta": META | {PREFIX + "logLevel": "loud"}}, ("_meta", PREFIX + "logLevel"), "value"),
    ("2026-07-28", "tools/call", {"_meta": META, "name": "x", "inputResponses": {"a": {"action": "maybe"}}}, ("inputResponses", "*", "action"), "value"),
    ("2026-07-28", "tools/call", {"_meta": META, "name": "x", "inputResponses": {"a": {"action": "accept", "content": {"b": {}}}}}, ("inputResponses", "*", "content", "*"), "type"),
    ("2026-07-28", "subscriptions/listen", {"_meta": META, "notifications": {"resourceSubscriptions": [1]}}, ("notifications", "resourceSubscriptions", 0), "type"),
]  # fmt: skip

FROM_SERVER: list[tuple[Version, str, Any, tuple[Any, ...], str]] = [
    ("2025-11-25", "sampling/createMessage", {"maxTokens": 1}, ("messages",), "missing"),
    ("2025-11-25", "sampling/createMessage", ASKED | {"maxTokens": 1.0}, ("maxTokens",), "type"),
    ("2025-11-25", "sampling/createMessage", ASKED | {"modelPreferences": {"costPriority": 2}}, ("modelPreferences", "costPriority"), "value"),
    ("2025-11-25", "sampling/createMessage", ASKED | {"messages": [{"role": "user", "content": [{"type": "text"}]}]}, ("messages", 0, "content", 0, "text"), "missing"),
    ("2025-11-25", "sampling/createMessage", ASKED | {"messages": [{"role": "user", "content": "x"}]}, ("messages", 0, "content"), "type"),
    ("2025-06-18", "elicitation/create", {"message": "m"}, ("requestedSchema",), "missing"),
    ("2025-11-25", "elicitation/create", {"mode": "url", "message": "m", "url": "a:b"}, ("elicitationId",), "missing"),
    ("2025-11-25", "elicitation/create", {"mode": "page", "message": "m"}, ("mode",), "value"),
    ("2025-11-25", "elicitation/create", {"message": 1, "requestedSchema": FORM["requestedSchema"]}, ("message",), "type"),
    ("2025-11-25", "elicitation/create", {"message": "m", "requestedSchema": {"type": "object", "properties": {"a": {"type": "array", "items": {}}}}}, ("requestedSchema", "properties", "*", "items", "enum"), "missing"),
    ("2025-11-25", "notifications/message", {"data": 1, "level": []}, ("level",), "type"),
    ("2025-11-25", "notifications/resources/updated", {}, ("uri",), "missing"),
    ("2025-11-25", "notifications/elicitation/complete", {}, ("elicitationId",), "missing"),
    ("2025-11-25", "notifications/tasks/status", TASK | {"status": "lost"}, ("status",), "value"),
    ("2025-11-25", "notifications/tasks/status", TASK | {"_meta": []}, ("_meta",), "type"),
    ("2026-07-28", "notifications/message", {"data": 1, "level": "info", "_meta": {PREFIX + "subscriptionId": None}}, ("_meta", PREFIX + "subscriptionId"), "type"),
]  # fmt: skip

RESULTS: list[tuple[Version, str, Any, tuple[Any, ...], str]] = [
    ("2025-11-25", "initialize", HELLO | {"serverInfo": {"name": 5, "version": "1"}}, ("serverInfo", "name"), "type"),
    ("2025-11-25", "tools/list", {"tools": [{"name": "x", "inputSchema": {"type": "array"}}]}, ("tools", 0, "inputSchema", "type"), "value"),
    ("2025-11-25", "tools/list", {"tools": [], "nextCursor": 1}, ("nextCursor",), "type"),
    ("2025-11-25", "tools/list", {"tools": {}}, ("tools",), "type"),
    ("2025-11-25", "tools/call", {"content": [{"type": "text"}]}, ("content", 0, "text"), "missing"),
    ("2025-11-25", "tools/call", {"content": [{"type": "text", "text": ""}, {"text": "x"}]}, ("content", 1, "type"), "missing"),
    ("2025-11-25", "tools/call", {"content": [{"type": "smell"}]}, ("content", 0, "type"), "value"),
    ("2025-03-26", "tools/call", {"content": [{"type": ["text"]}]}, ("content", 0, "type"), "type"),
    ("2025-11-25", "tools/call", {"content": [{"type": "image", "data": "A", "mimeType": ""}]}, ("content", 0, "data"), "format"),
    ("2025-11-25", "tools/call", {"content": [{"type": "resource", "resource": {"uri": "a:b", "blob": 1}}]}, ("content", 0, "resource", "blob"), "type"),
    ("2025-11-25", "tools/call", {"content": [], "structuredContent": []}, ("structuredContent",), "type"),
    ("2025-11-25", "tools/call", {"task": TASK}, ("content",), "missing"),
    ("2025-11-25", "tasks/get", TASK | {"ttl": "1"}, ("ttl",), "type"),
    ("2025-11-25", "ping", {"_meta": 1}, ("_meta",), "type"),
    ("2025-11-25", "roots/list", {"roots": [{"uri": "srv"}]}, ("roots", 0, "uri"), "format"),
    ("2025-11-25", "elicitation/create", {"action": "accept", "content": {"a": [1]}}, ("content", "*", 0), "type"),
    ("2026-07-28", "tools/call", {"content": []}, ("resultType",), "missing"),
    ("2026-07-28", "tools/call", {"content": [], "resultType": []}, ("resultType",), "type"),
    ("2026-07-28", "tools/list", {"tools": [], "resultType": "complete"}, ("cacheScope",), "missing"),
    ("2026-07-28", "tools/list", {"tools": [], "resultType": "complete", "cacheScope": "public", "ttlMs": -1}, ("ttlMs",), "value"),
    ("2026-07-28", "completion/complete", {"completion": {"values": ["x"] * 101}, "resultType": "complete"}, ("completion", "values"), "value"),
    ("2026-07-28", "tools/call", {"resultType": "input_required", "inputRequests": {"a": {"method": "ping"}}}, ("inputRequests", "*", "method"), "value"),
    ("2026-07-28", "tools/call", {"resultType": "input_required", "inputRequests": {"a": {"method": "elicitation/create", "params": {"message": "m"}}}}, ("inputRequests", "*", "params", "requestedSchema"), "missing"),
    ("2026-07-28", "subscriptions/listen", {"resultType": "complete"}, ("_meta",), "missing"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "method", "params", "place", "kind"), PARAMS)
def test_faults_of_params(
    version: Version, method: str, params: Any, place: tuple[Any, ...], kind: str
) -> None:
    assert find_params_fault(version, method, params, "client-to-server") == (place, kind)


@pytest.mark.parametrize(("version", "method", "params", "place", "kind"), FROM_SERVER)
def test_faults_of_params_from_servers(
    version: Version, method: str, params: Any, place: tuple[Any, ...], kind: str
) -> None:
    assert find_params_fault(version, method, params, "server-to-client") == (place, kind)


@pytest.mark.parametrize(("version", "method", "result", "place", "kind"), RESULTS)
def test_faults_of_results(
    version: Version, method: str, result: Any, place: tuple[Any, ...], kind: str
) -> None:
    assert find_result_fault(version, method, result) == (place, kind)


def test_faults_of_errors() -> None:
    error = {"code": -32042, "message": "m"}
    assert find_error_fault("2025-11-25", error) == (("data",), "missing")
    wrong = error | {"data": {"elicitations": [{"mode": "form"}]}}
    assert find_error_fault("2025-11-25", wrong) == (
        ("data", "elicitations", 0, "elicitationId"),
        "missing",
    )
    unsupported = {"code": -32022, "message": "m", "data": {"requested": "x", "supported": "y"}}
    assert find_error_fault("2026-07-28", unsupported) == (("data", "supported"), "type")
    assert find_error_fault("2026-07-28", error) is None
    assert find_error_fault("2026-07-28", {"code": []}) is None


def test_absent_params_and_unknown_methods_have_no_fault() -> None:
    assert find_params_fault("2025-11-25", "tools/list", None, "client-to-server") is None
    assert find_params_fault("2025-11-25", "tools/call", {}, "server-to-client") is None
    assert find_params_fault("2026-07-28", "initialize", {}, "client-to-server") is None
    assert find_result_fault("2025-11-25", "notifications/initialized", 1) is None
    with pytest.raises(KeyError):
        find_definition_fault("2025-11-25", "Nothing", {})


def test_a_request_for_a_task_may_have_the_result_of_a_task() -> None:
    for result in ({"task": TASK}, {"content": []}):
        assert find_result_fault("2025-11-25", "tools/call", result, augmented=True) is None
    late = {"task": TASK | {"ttl": 0.5}}
    fault = find_result_fault("2025-11-25", "tools/call", late, augmented=True)
    assert fault == (("task", "ttl"), "type")
    assert find_result_fault("2025-11-25", "tools/call", {}, augmented=True) == (
        ("content",),
        "missing",
    )


LISTED = {"tools": [], "resultType": "complete", "cacheScope": "public"}


def test_a_long_integer_is_an_integer_beyond_every_bound() -> None:
    long, negative = LongInteger("1" * 100_001), LongInteger("-" + "1" * 100_001)
    asked = ASKED | {"maxTokens": long, "temperature": negative}
    server: Direction = "server-to-client"
    assert find_params_fault("2025-11-25", "sampling/createMessage", asked, server) is None
    for value in (long, negative, 10**400):
        fault = find_definition_fault("2025-11-25", "Annotations", {"priority": value})
        assert fault == (("priority",), "value")
    assert find_result_fault("2026-07-28", "tools/list", LISTED | {"ttlMs": long}) is None
    fault = find_result_fault("2026-07-28", "tools/list", LISTED | {"ttlMs": negative})
    assert fault == (("ttlMs",), "value")
    error = {"message": "", "code": long}
    fault = find_definition_fault("2026-07-28", "HeaderMismatchError.error", error)
    assert fault == (("code",), "value")


def test_bounds_are_inclusive() -> None:
    assert find_result_fault("2026-07-28", "tools/list", LISTED | {"ttlMs": 0}) is None
    values = {"completion": {"values": ["x"] * 100}, "resultType": "complete"}
    assert find_result_fault("2026-07-28", "completion/complete", values) is None
    for value in (0, 1, 1.0):
        assert find_definition_fault("2025-11-25", "Annotations", {"priority": value}) is None


def nest(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = [value]
    return value


def test_what_is_deep_is_not_walked() -> None:
    deep = {"x": nest(100_000)}
    called = {"name": "x", "arguments": deep, "_meta": deep}
    assert find_params_fault("2025-11-25", "tools/call", called, "client-to-server") is None
    capable = META | {PREFIX + "clientCapabilities": {"experimental": {"x": deep}}}
    listed = {"_meta": capable | deep}
    assert find_params_fault("2026-07-28", "tools/list", listed, "client-to-server") is None
    result = {"content": [deep["x"]], "structuredContent": deep}
    assert find_result_fault("2025-11-25", "tools/call", result) == (("content", 0), "type")


@pytest.mark.parametrize(
    ("notation", "value", "fault"),
    [
        ("'a' | string", "b", None),
        ("'a' | integer", "b", ((), "value")),
        ("'a' | integer", 1.0, ((), "type")),
        ({"&": ["string | integer", "string"]}, 1, ((), "type")),
        ({"x": "any"}, {}, (("x",), "missing")),
        ({"x?": "any", "*": "integer"}, {"x": "", "y": ""}, (("*",), "type")),
        (["any", "1.."], [], ((), "value")),
        ({"|": [["integer"], {"x": "null"}]}, {"x": 1}, (("x",), "type")),
        ({"|": [{"x": "integer"}, {"y": "integer"}]}, {"y": ""}, (("y",), "type")),
    ],
)
def test_notations(notation: Any, value: Any, fault: Any) -> None:
    assert ShapeCompiler({}).compile_shape(notation).find_fault(value) == fault


def test_a_definition_that_holds_itself_is_refused() -> None:
    compiler = ShapeCompiler({"A": {"b?": ["B"]}, "B": "A | string"})
    with pytest.raises(ValueError, match="A holds itself"):
        compiler.compile_definition("A")


GOOD: dict[str, list[str]] = {
    "uri": [
        *("a:", "a:b", "file:///a", "urn:x:1", "http://u:p@h:80/a;b?c=d#e", "mailto:a@b.c"),
        *("http://[::1]:8080/", "data:image/png;base64,AA==", "a+b-c.1:%20", "http://", "a:/"),
        *("http://h:", "http://h:/", "a://h/@:", "a:@:/", "a:?/?#/?"),
    ],
    "byte": ["", "AA==", "AAA=", "AAAA", "AB==", "+/+/"],
    "uri-template": [
        *(
            "",
            "a",
            "a:b",
            "é{x}",
            "{x}",
            "{+x,y:3}{?a*,b.c}",
            "{=x}",
            "%41{%41}",
            "it's{x}",
            "/[x]",
        ),
    ],
}
BAD: dict[str, list[str]] = {
    "uri": [
        *("", "a", "/a", "//h/a", "1a:b", ":b", "a b:c", "a:b c", "a:é", "a:%4", "a:%zz", "a:b\n"),
        *("a:<b>", "a:{b}", "a:b#c#d", "http://[::1/", "http://h:port/", "a:[b]", "a:\\b", "a:\ud800"),
    ],
    "byte": ["A", "AA", "AAA", "=", "====", "A===", "AA=A", "AA==AA==", "AA-_", "AA==\n", "é==="],
    "uri-template": [
        *("{", "}", "{}", "{x", "x}", "{{x}}", "{x y}", "{x:0}", "{x:10000}", "{x-y}", "{x,}"),
        *("a b", "<a>", "a|b", "a%", "{%4}", "{x:1*}", "{.}", "{a..b}", "\x00", "\ud800", "{x!}"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_formats(name: str) -> None:
    assert [text for text in GOOD[name] if not FORMATS[name](text)] == []
    assert [text for text in BAD[name] if FORMATS[name](text)] == []


@pytest.mark.parametrize("name", FORMATS)
def test_formats_are_checked_in_linear_time(name: str) -> None:
    """A quadratic check of one of these texts would take minutes."""
    for part in ("a", "a:", "@", "%41", "[", "{a}", "{a", "a,", "a.", "=", "//", "{a,b.c:1}"):
        text = "a://" + part * 200_000 + "\n"
        assert not FORMATS[name](text)
