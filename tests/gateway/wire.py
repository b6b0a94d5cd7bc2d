"""Messages to say to a gateway, and a way to say them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from wirefence.strategies.contract import Contract
from wirefence.strategies.records import Version
from wirefence.targets.gateway import ReferenceGateway, Rejection
from wirefence.targets.recorder import Recorder

LATEST: Version = "2026-07-28"
INFO = {"name": "client", "version": "1"}
META = {
    "io.modelcontextprotocol/protocolVersion": LATEST,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def message(**members: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n"


def call(arguments: object = None, *, meta: object = None, **more: object) -> bytes:
    arguments = {"action": "n"} if arguments is None else arguments
    name = more.pop("id", 7)
    params: dict[str, object] = {"name": "record", "arguments": arguments, **more}
    if meta is not None:
        params["_meta"] = meta
    return message(id=name, method="tools/call", params=params)


INITIALIZE = message(
    id="init",
    method="initialize",
    params={"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": INFO},
)
READY = message(method="notifications/initialized")
HANDSHAKE = INITIALIZE + READY


@dataclass
class Played:
    """A session and what came of it."""

    gateway: ReferenceGateway
    recorder: Recorder
    replies: list[object] = field(default_factory=list)

    @property
    def rules(self) -> list[str]:
        entries = self.gateway.journal.entries
        return [entry.rule for entry in entries if isinstance(entry, Rejection)]


def play(data: bytes, contract: Contract, *, opening: bytes | None = None) -> Played:
    if opening is None:
        opening = b"" if contract.version == LATEST else HANDSHAKE
    recorder = Recorder()
    gateway = ReferenceGateway(recorder, contract)
    gateway.feed(opening)
    said = gateway.feed(data) + gateway.eof()
    return Played(gateway, recorder, [json.loads(line) for line in said.splitlines()])


def raw_id(token: bytes) -> bytes:
    return message(id=None, method="ping").replace(b"null", token)


def after(version: Version) -> bytes:
    return call({"action": "after"}, id="next", meta=META if version == LATEST else None)


def actions(played: Played) -> list[str]:
    return [effect.action for effect in played.recorder.effects]
