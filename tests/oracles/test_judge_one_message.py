"""Messages of either direction, the official examples of 2026-07-28 among them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wirefence.oracles.message import judge_message
from wirefence.oracles.protocol import Sort, list_methods
from wirefence.strategies.records import VERSIONS, Direction, Version

LATEST = "2026-07-28"
TABLES: dict[str, tuple[Sort, Direction]] = {
    "ClientRequest": ("request", "client-to-server"),
    "ClientNotification": ("notification", "client-to-server"),
    "ServerRequest": ("request", "server-to-client"),
    "ServerNotification": ("notification", "server-to-client"),
}


def test_official_examples_are_accepted_in_their_direction(shared: Path) -> None:
    seen = 0
    for path in sorted((shared / "mcp" / LATEST / "examples").rglob("*.json")):
        raw = path.read_bytes()
        message = json.loads(raw)
        if not isinstance(message, dict) or "jsonrpc" not in message:
            continue
        to_server = message.get("method") in list_methods(LATEST, "request", "client-to-server")
        direction: Direction = "client-to-server" if to_server else "server-to-client"
        for profile in ("strict", "spec"):
            rule = judge_message(raw.replace(b"\r", b""), LATEST, direction, profile).rule
            assert rule == "", path.name
        seen += 1
    assert seen == 32


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("union", sorted(TABLES))
def test_method_tables_are_those_of_the_schema(shared: Path, version: Version, union: str) -> None:
    schema = json.loads((shared / "mcp" / version / "schema.json").read_bytes())
    kinds = schema.get("$defs") or schema["definitions"]
    root = kinds.get(union, {"anyOf": []})
    names = [each["$ref"].rsplit("/", 1)[-1] for each in root.get("anyOf", [])]
    found = {kinds[name]["properties"]["method"]["const"] for name in names}
    if "anyOf" not in root:
        found = {root["properties"]["method"]["const"]}
    assert list_methods(version, *TABLES[union]) == found


@pytest.mark.parametrize(
    ("raw", "direction", "rule"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', "client-to-server", ""),
        (b'{"jsonrpc":"2.0","id":-0,"method":"ping"}', "client-to-server", "rpc-id"),
        (b'{"jsonrpc":"2.0","method":"ping"}', "server-to-client", "mcp-kind"),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', "server-to-client", "mcp-method"),
        (b'{"jsonrpc":"2.0","id":1,"method":"prompts/list"}', "client-to-server", ""),
        (b"[]", "client-to-server", "rpc-batch"),
        (b"1", "client-to-server", "rpc-not-object"),
        (b"{", "client-to-server", "json-syntax"),
    ],
)
def test_rule_by_direction(raw: bytes, direction: Direction, rule: str) -> None:
    assert judge_message(raw, "2025-11-25", direction).rule == rule
