"""The fake server that a client under test talks to: correct except for one attack.

It has no clock and no pipe: it takes the client's bytes and returns steps (send, close), so it is
testable without a process.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from wirefence.fuzz.gate.client.records import Attack, ClientPlace, ClientRequest, Close, Send, Step
from wirefence.fuzz.gate.trials.messages import STATELESS
from wirefence.strategies.records import VERSIONS, Version

__all__ = ["TOOL", "FakeServer"]

TOOL = "record"
_NEWEST_STATEFUL: Version = "2025-11-25"
_LISTED_TOOL = {
    "name": TOOL,
    "description": "Records an action.",
    "inputSchema": {
        "type": "object",
        "properties": {"action": {"type": "string"}},
        "required": ["action"],
    },
}
_ATTACKED_CALL = 2
"""The second call: one was answered before it, and one may come after it."""


class FakeServer:
    """One session. ``truth`` maps actions to true tokens; ``false`` is the false token."""

    def __init__(
        self, attack: Attack, place: ClientPlace, version: Version | None, quiet: float, mark: str
    ) -> None:
        self.attack, self.place = attack, place
        self.version: Version | None = version
        self.truth: dict[str, str] = {}
        self.false = f"F-{mark}"
        self.exercised = False
        self.offending = b""
        self.after = bytearray()
        self.client: Mapping[str, Any] = {}
        self._quiet, self._mark = quiet, mark
        self._rest = b""
        self._calls = 0
        self._answered: list[bytes] = []

    def receive_bytes(self, data: bytes) -> list[Step]:
        """Take bytes of the client; return the steps that answer them."""
        if self.exercised:
            self.after += data
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [step for line in lines for step in self._handle_line(line)]

    def _handle_line(self, line: bytes) -> list[Step]:
        try:
            message = json.loads(line)
            if not isinstance(message, dict) or "id" not in message or "method" not in message:
                return []  # a notification, or an answer to our own request
            ident = json.dumps(message["id"]).encode()
        except (ValueError, RecursionError):
            return []
        params = message.get("params")
        return self._handle_request(
            ident, str(message["method"]), params if isinstance(params, dict) else {}
        )

    def _handle_request(self, ident: bytes, method: str, params: Mapping[str, Any]) -> list[Step]:
        if method == "initialize":
            return self._answer_or_attack(
                ident, self._make_initialize_result(params), "handshake", ""
            )
        if method == "server/discover" and self.version == STATELESS:
            return self._answer_or_attack(
                ident, self._make_discover_result(params), "handshake", ""
            )
        if method == "tools/call":
            return self._handle_call(ident, params)
        if method == "tools/list":
            return self._answer_plainly(
                ident, {"tools": [_LISTED_TOOL]} | self._make_cache_members()
            )
        if method == "ping":
            return self._answer_plainly(ident, {})
        error = {"code": -32601, "message": "Method not found"}
        return [
            Send(_serialize_with_id({"jsonrpc": "2.0", "id": 0, "error": error}, ident) + b"\n")
        ]

    def _make_initialize_result(self, params: Mapping[str, Any]) -> dict[str, Any]:
        self._note_client(params.get("clientInfo"))
        asked = params.get("protocolVersion")
        stateful = [version for version in VERSIONS if version != STATELESS]
        if self.version is None or self.version == STATELESS:
            self.version = next((v for v in stateful if v == asked), _NEWEST_STATEFUL)
        return {
            "protocolVersion": self.version,
            "capabilities": {"tools": {}, "logging": {}},
            "serverInfo": {"name": "wirefence", "version": "1"},
        }

    def _note_client(self, info: object) -> None:
        self.client = info if isinstance(info, dict) else {}

    def _make_discover_result(self, params: Mapping[str, Any]) -> dict[str, Any]:
        meta = params.get("_meta")
        if isinstance(meta, dict):
            self._note_client(meta.get("io.modelcontextprotocol/clientInfo"))
        return {
            "supportedVersions": [STATELESS],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "wirefence", "version": "1"},
        } | self._make_cache_members()

    def _make_cache_members(self) -> dict[str, Any]:
        stateless = self.version == STATELESS
        return {"ttlMs": 0, "cacheScope": "private"} if stateless else {}

    def _handle_call(self, ident: bytes, params: Mapping[str, Any]) -> list[Step]:
        self._calls += 1
        arguments = params.get("arguments")
        action = str(arguments.get("action", "")) if isinstance(arguments, dict) else ""
        token = self.truth.setdefault(action, f"T-{self._mark}-{self._calls}")
        result = {"content": [{"type": "text", "text": "é"}], "isError": False}
        return self._answer_or_attack(ident, result, "call", token)

    def _answer_or_attack(
        self, ident: bytes, result: dict[str, Any], place: ClientPlace, token: str
    ) -> list[Step]:
        """Return the true answer, or the attack where this is its place."""
        asked = self._make_client_request(ident, result, token)
        due = place == "handshake" or self._calls == _ATTACKED_CALL
        steps = None
        if place == self.place and due and not self.exercised:
            steps = self.attack.build(asked)
        self._answered.append(ident)
        if steps is None:
            return [Send(asked.true + b"\n")]
        self.exercised = True
        self.offending = b"".join(step.data for step in steps[:1] if isinstance(step, Send))
        if place == "handshake" and self.attack.expected == "reject" and not self.attack.final:
            return [*steps[:-1], Close()]  # without the true answer the client must not go on
        return steps

    def _make_client_request(
        self, ident: bytes, result: dict[str, Any], token: str
    ) -> ClientRequest:
        def forge(other: bytes) -> bytes:
            return _serialize_with_id(self._make_response(result, self.false), other)

        previous = self._answered[-1] if self._answered else None
        true = _serialize_with_id(self._make_response(result, token), ident)
        version = self.version or _NEWEST_STATEFUL
        return ClientRequest(ident, true, forge(ident), forge, previous, version, self._quiet)

    def _make_response(self, result: dict[str, Any], token: str) -> dict[str, Any]:
        """Return the response with ``token`` in its readable text."""
        if "content" in result:
            result = result | {"content": [{"type": "text", "text": f"é {token}"}]}
        elif token:
            result = result | {"instructions": token}
        return {"jsonrpc": "2.0", "id": 0, "result": self._add_result_type(result)}

    def _add_result_type(self, result: dict[str, Any]) -> dict[str, Any]:
        return {"resultType": "complete"} | result if self.version == STATELESS else result

    def _answer_plainly(self, ident: bytes, result: dict[str, Any]) -> list[Step]:
        self._answered.append(ident)
        message = {"jsonrpc": "2.0", "id": 0, "result": self._add_result_type(result)}
        return [Send(_serialize_with_id(message, ident) + b"\n")]


def _serialize_with_id(message: dict[str, Any], ident: bytes) -> bytes:
    """Return the message with its id spelled as given, a raw token that no serializer writes."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    return text.replace(b'"id":0', b'"id":' + ident, 1)
