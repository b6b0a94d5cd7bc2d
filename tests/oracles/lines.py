"""Lines of one protocol version, as small as a healthy session allows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from wirefence.strategies.records import Version

STATELESS = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def line(message: object) -> bytes:
    """A message in its plainest spelling, with its LF."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def greeting(version: Version) -> dict[str, Any]:
    """The smallest result of ``initialize``."""
    return {
        "protocolVersion": version,
        "capabilities": {},
        "serverInfo": {"name": "s", "version": "1"},
    }


@dataclass(frozen=True)
class Lines:
    """Makes the lines of one version; a request carries what that version demands."""

    version: Version

    @property
    def stateless(self) -> bool:
        return self.version == STATELESS

    def request(self, method: str, params: dict[str, Any] | None = None, name: Any = 7) -> bytes:
        params = dict(params or {})
        if self.stateless and isinstance(params.get("_meta", {}), dict):
            params["_meta"] = {**META, **params.get("_meta", {})}
        return line({"jsonrpc": "2.0", "id": name, "method": method, "params": params})

    def note(self, method: str, params: dict[str, Any] | None = None) -> bytes:
        return line({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def call(self, name: Any = 7, tool: str = "record", **arguments: Any) -> bytes:
        arguments.setdefault("action", "act-1")
        return self.request("tools/call", {"name": tool, "arguments": arguments}, name)

    def with_argument(self, text: str) -> bytes:
        """A call with one more argument, spelled exactly as ``text``."""
        return swap(self.call(), b'"action":"act-1"', b'"action":"act-1",' + text.encode())

    def with_id(self, text: str) -> bytes:
        """A call whose member ``id`` is spelled exactly as ``text``, name and value."""
        return swap(self.call(), b'"id":7', text.encode())

    def nested(self, depth: int) -> bytes:
        """A call whose deepest container is the ``depth``-th: three hold the arguments."""
        inner = depth - 4
        return self.with_argument('"options":{"a":' + "[" * inner + "]" * inner + "}")

    def padded(self, size: int) -> bytes:
        """A call of exactly ``size`` bytes before its LF."""
        return self.call()[:-1].ljust(size) + b"\n"

    def initialize(self, name: Any = 0, **changes: Any) -> bytes:
        params = {
            "protocolVersion": self.version,
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
        }
        return self.request("initialize", params | changes, name)

    def ready(self) -> bytes:
        return line({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def opened(self) -> bytes:
        """The lines before the first call: the handshake, or nothing where there is none."""
        return b"" if self.stateless else self.initialize() + self.ready()


def swap(raw: bytes, old: bytes, new: bytes) -> bytes:
    """Replace what stands in ``raw`` exactly once."""
    assert raw.count(old) == 1, (raw, old)
    return raw.replace(old, new)
