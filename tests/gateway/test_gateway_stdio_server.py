"""The stdio server: with the official client, with raw pipes, and against the published schemas."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from wirefence.strategies.contract import Contract
from wirefence.strategies.records import VERSIONS, Version
from wirefence.targets.gateway import ReferenceGateway
from wirefence.targets.recorder import Recorder

ROOT = Path(__file__).resolve().parents[2]
SERVER = [sys.executable, "-m", "wirefence.targets.gateway"]
LATEST: Version = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": LATEST,
    "io.modelcontextprotocol/clientCapabilities": {},
}
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "c", "version": "1"},
}
CALL = {"name": "record", "arguments": {"action": "n"}}


def serve(data: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*SERVER, *options], input=data, capture_output=True, cwd=ROOT, timeout=60, check=False
    )


def message(**members: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n"


def test_a_session_with_the_official_client() -> None:
    async def session() -> tuple[list[str], bool | None, str]:
        parameters = StdioServerParameters(command=SERVER[0], args=SERVER[1:], cwd=str(ROOT))
        async with (
            stdio_client(parameters) as (reading, writing),
            ClientSession(reading, writing) as client,
        ):
            await client.initialize()
            tools = (await client.list_tools()).tools
            result = await client.call_tool("record", {"action": "n"})
            content: Any = result.content[0]
            return [tool.name for tool in tools], getattr(result, "is_error", None), content.text

    names, failed, text = asyncio.run(asyncio.wait_for(session(), 60))
    assert names == [tool.name for tool in Contract().tools]
    assert not failed
    assert text == "ok"


def test_stdout_holds_replies_and_nothing_else_and_stderr_no_content() -> None:
    data = (
        message(id=1, method="initialize", params=INITIALIZE)
        + message(method="notifications/initialized")
        + message(id=2, method="tools/call", params={**CALL, "arguments": {"action": "nonce-9"}})
        + b"nonce-8\n"
        + message(id=3, method="ping")
    )
    done = serve(data)
    assert done.returncode == 0
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert [reply["id"] for reply in replies] == [1, 2, None]
    logged = [json.loads(line) for line in done.stderr.splitlines()]
    assert [line["event"] for line in logged] == ["open", "execution", "rejection"]
    assert b"nonce" not in done.stderr


def test_terms_are_chosen_on_the_command_line() -> None:
    params = {**CALL, "_meta": META}
    data = b"\r\n" + message(id=1, method="tools/call", params=params)
    done = serve(data, "--version", LATEST, "--profile", "spec", "--policy", "continue")
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [None, 1]
    assert serve(b"", "--version", "1999-01-01").returncode == 2


def test_a_stray_print_does_not_reach_stdout() -> None:
    program = (
        "import os, sys\n"
        "from wirefence.targets.gateway import __main__ as server\n"
        "act = server._act\n"
        "def noisy(tool, arguments):\n"
        "    print('stray'); os.write(1, b'stray'); act(tool, arguments)\n"
        "server._act = noisy\n"
        f"sys.exit(server.main(['--version', '{LATEST}']))\n"
    )
    data = message(id=1, method="tools/call", params={**CALL, "_meta": META})
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=data,
        capture_output=True,
        cwd=ROOT,
        timeout=60,
        check=True,
    )
    assert done.stderr.count(b"stray") == 2
    assert json.loads(done.stdout)["id"] == 1


RESULTS = [
    *((version, "initialize", "InitializeResult") for version in VERSIONS[:-1]),
    *((version, "tools/list", "ListToolsResult") for version in VERSIONS),
    *((version, "tools/call", "CallToolResult") for version in VERSIONS),
    (LATEST, "server/discover", "DiscoverResult"),
]


@pytest.mark.parametrize(("version", "method", "definition"), RESULTS)
def test_results_fit_the_published_schema(
    shared: Path, version: Version, method: str, definition: str
) -> None:
    replies = talk(version, method, {})
    check(shared, version, definition, replies[-1]["result"])


_VERSION = "io.modelcontextprotocol/protocolVersion"


def test_the_refusal_of_a_version_fits_the_published_schema(shared: Path) -> None:
    (reply,) = talk(LATEST, "tools/list", {_VERSION: "2025-11-25"})
    check(shared, LATEST, "UnsupportedProtocolVersionError", reply)
    assert reply["error"]["data"]["requested"] == "2025-11-25"


@pytest.mark.parametrize(
    "content", ["nonce-1", "abcd-ef-gh", "20a5-06-18", "２０２５-０６-１８", "2025-06-18-1"]
)
def test_the_refusal_of_a_version_echoes_no_content(content: str) -> None:
    (reply,) = talk(LATEST, "tools/list", {_VERSION: content})
    assert reply["error"]["data"]["requested"] == ""


def test_tools_are_listed_with_all_that_their_arguments_must_be() -> None:
    tools = talk("2025-11-25", "tools/list", {})[-1]["result"]["tools"]
    schemas = {tool["name"]: tool["inputSchema"] for tool in tools}
    assert {schema["additionalProperties"] for schema in schemas.values()} == {False}
    assert schemas["record"]["required"] == ["action"]
    types = {name: kind["type"] for name, kind in schemas["record"]["properties"].items()}
    assert types == {
        "action": "string",
        "note": "string",
        "count": "integer",
        "ratio": "number",
        "dry_run": "boolean",
        "tags": "array",
        "options": "object",
    }
    items = {name for name, kind in schemas["record"]["properties"].items() if "items" in kind}
    assert items == {"tags"}
    assert schemas["http_call"]["properties"]["method"]["enum"] == ["GET", "POST"]
    assert "enum" not in schemas["http_call"]["properties"]["url"]


def talk(version: Version, method: str, meta: dict[str, str]) -> list[Any]:
    gateway = ReferenceGateway(Recorder(), Contract(version=version))
    params: dict[str, object] = {"_meta": {**META, **meta}} if version == LATEST else {}
    params |= {"tools/call": CALL, "initialize": INITIALIZE}.get(method, {})
    said = b""
    if version != LATEST and method != "initialize":
        gateway.feed(message(id=0, method="initialize", params=INITIALIZE))
        gateway.feed(message(method="notifications/initialized"))
    said += gateway.feed(message(id=1, method=method, params=params))
    return [json.loads(line) for line in said.splitlines()]


def check(shared: Path, version: Version, definition: str, value: object) -> None:
    schema = json.loads((shared / "mcp" / version / "schema.json").read_text())
    group = "$defs" if "$defs" in schema else "definitions"
    jsonschema.validate(value, {**schema, "$ref": f"#/{group}/{definition}"})
