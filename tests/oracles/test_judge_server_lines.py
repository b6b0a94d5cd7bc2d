"""What a server may write, line by line and version by version."""

from __future__ import annotations

import pytest

from wirefence.oracles.transcript_judge import judge_reply
from wirefence.strategies.records import Version


@pytest.mark.parametrize(
    ("raw", "version", "rule"),
    [
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', "2025-11-25", ""),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', "2026-07-28", ""),
        (b'{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}', "2026-07-28", ""),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":""}}', "2025-06-18", ""),
        (b'{"jsonrpc":"2.0","error":{"code":-1,"message":""}}', "2025-06-18", "rpc-kind"),
        (b'{"jsonrpc":"2.0","error":{"code":-1,"message":""}}', "2025-11-25", ""),
        (b'{"jsonrpc":"2.0","id":null,"result":{}}', "2025-11-25", "rpc-id"),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', "2025-11-25", ""),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', "2026-07-28", "mcp-method"),
        (
            b'{"jsonrpc":"2.0","method":"notifications/message","params":{}}',
            "2025-11-25",
            "mcp-params",
        ),
        (b'{"jsonrpc":"2.0","method":"notifications/initialized"}', "2025-11-25", "mcp-method"),
        (b"[]", "2025-03-26", "rpc-batch"),
        (b'[{"jsonrpc":"2.0","id":-0,"result":{}}]', "2025-03-26", "rpc-id"),
        (
            b'[{"jsonrpc":"2.0","id":0,"result":{}},{"jsonrpc":"2.0","id":-0,"result":{}}]',
            "2025-03-26",
            "rpc-id",
        ),
        (b'[{"jsonrpc":"2.0","id":1,"result":{}}]', "2025-03-26", ""),
        (b'[{"jsonrpc":"2.0","id":1,"result":{}}]', "2025-11-25", "rpc-batch"),
        (b"[1]", "2025-03-26", "rpc-not-object"),
        (b"hello", "2025-11-25", "json-syntax"),
        (b'"\xff"', "2025-11-25", "utf8-invalid"),
        (b"NaN", "2025-11-25", "json-syntax"),
    ],
)
def test_rule_of_a_line(raw: bytes, version: Version, rule: str) -> None:
    assert judge_reply(raw, version).rule == rule


def test_what_is_read_from_a_response() -> None:
    said = judge_reply(
        b'{"jsonrpc":"2.0","id":"1","error":{"code":-5,"message":"m"}}', "2025-11-25"
    )
    assert (said.kind, said.id, said.code, said.is_result) == ("response", "1", -5, False)
    both = judge_reply(b'[{"jsonrpc":"2.0","id":1,"result":{}}]', "2025-03-26")
    assert [(each.id, each.is_result) for each in both.members] == [(1, True)]
