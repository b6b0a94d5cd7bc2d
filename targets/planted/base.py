"""A small, healthy gateway whose every step is one short method: what the faults are planted in.

Judging returns the next state and acting comes after it, so that in the healthy
base a rejected frame has nothing to undo; each fault below breaks exactly one step. It implements
the strict profile of ``docs/contract.md`` and shares no code with the reference gateway.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from wirefence.strategies.contract import Contract, Tool
from wirefence.targets.gateway.shapes import fits_meta, fits_params
from wirefence.targets.planted.reading import Reader
from wirefence.targets.planted.records import Message, Refused, Rejected, Session
from wirefence.targets.planted.shapes import (
    NOTIFICATIONS,
    PROTOCOL,
    REQUESTS,
    SERVED,
    TOKEN,
    has_argument_type,
)
from wirefence.targets.records import Act

__all__ = ["MiniGateway"]

_STATELESS = "2026-07-28"
_CALL_PARAMS = {
    "2025-11-25": {"name", "arguments", "_meta", "task"},
    "2026-07-28": {"name", "arguments", "_meta", "inputResponses", "requestState"},
}
_MESSAGE = {"jsonrpc", "id", "method", "params"}
Reply = Message | Sequence[Message] | None


class MiniGateway(Reader):
    """One session under ``contract``, strict profile; granted calls go to ``act``."""

    def __init__(self, act: Act, contract: Contract) -> None:
        super().__init__(contract)
        self.act = act
        self.session = Session()
        self.closed = False

    def feed(self, data: bytes) -> bytes:
        """Take bytes from stdin; return what they cause on stdout."""
        if self.closed:
            return b""
        return b"".join([self.take(line) for line in self.split(data)])

    def eof(self) -> bytes:
        """Forget the last line if it lacks its LF: it never acts and is not answered."""
        self.closed = True
        return b""

    def take(self, line: bytes) -> bytes:
        """Handle one line; where it is rejected, close the session if the policy says so."""
        if self.closed:
            return b""
        value: Any = None
        try:
            value = self.read(line)
            return self.write(self.process(value))
        except Rejected as no:
            self.closed = self.contract.policy == "close"
            return self.write(self.on_reject(no, line, value))

    def on_reject(self, no: Rejected, line: bytes, value: Any) -> Message | None:  # noqa: ARG002
        """Answer a rejected frame; responses, notifications and reused ids get silence.

        ``value`` is ``None`` where the document could not be read. ``line`` is for faults alone.
        """
        name = None
        if isinstance(value, dict):
            if not {"method", "id"} <= value.keys() or no.rule == "life-id-reuse":
                return None
            name = value["id"] if self.is_id(value["id"]) else None
        return self.error(name, no.code)

    def write(self, reply: Reply) -> bytes:
        """One reply as one line; nothing for no reply."""
        if reply is None:
            return b""
        return json.dumps(reply, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    def process(self, value: Any) -> Reply:
        """Judge a document, commit the state that it leads to, and only then act."""
        if isinstance(value, list):
            return self.batch(value)
        self.session = self.judge(value, self.session)
        return self.serve(value)

    def batch(self, members: list[Any]) -> Reply:
        """Judge all members before the first one acts (2025-03-26 only)."""
        if self.contract.version != "2025-03-26" or not members:
            raise Rejected("rpc-batch")
        session = self.session
        for member in members:
            session = self.judge_member(member, session)
        self.session = session
        return [reply for member in members if (reply := self.serve(member))] or None

    def judge_member(self, member: Any, session: Session) -> Session:
        """Judge one member of a batch, whose faults are faults of the batch."""
        try:
            after = self.judge(member, session)
        except Rejected:
            raise Rejected("rpc-batch") from None
        if member["method"] == "initialize":
            raise Rejected("rpc-batch")
        return after

    def judge(self, message: Any, session: Session) -> Session:
        """Return the state after an accepted message; raise :class:`Rejected` for another."""
        self.check_shape(message)
        self.check_message(message)
        return self.check_lifecycle(message, session)

    def check_shape(self, message: Any) -> None:
        """JSON-RPC: a request or a notification, and nothing else in it."""
        if not isinstance(message, dict):
            raise Rejected("rpc-not-object")
        if message.get("jsonrpc") != "2.0":
            raise Rejected("rpc-version")
        self.check_members(message)
        if "id" in message and not self.is_id(message["id"]):
            raise Rejected("rpc-id")
        if not isinstance(message["method"], str):
            raise Rejected("rpc-method")
        if not isinstance(message.get("params", {}), dict):
            raise Rejected("rpc-params")

    def check_members(self, message: Message) -> None:
        """Refuse unknown members, and every response, as the gateway asks nothing."""
        if "method" not in message or message.keys() & {"result", "error"}:
            raise Rejected("rpc-kind")
        if message.keys() - _MESSAGE:
            raise Rejected("rpc-unknown-member")

    def is_id(self, value: Any) -> bool:
        """Whether ``value`` is an id: exact types, so neither true nor 1.0 nor -0."""
        return type(value) in (str, int)

    def check_message(self, message: Message) -> None:
        """MCP: a known method in its right kind, and the params of a served one."""
        method, version = message["method"], self.contract.version
        params = message.get("params", {})
        request = "id" in message
        if method in (NOTIFICATIONS if request else REQUESTS)[version]:
            raise Rejected("mcp-kind")
        if request and method not in SERVED[version]:
            return
        if request or method in NOTIFICATIONS[version]:
            self.check_meta(params, request=request)
            self.check_params(method, params if request else message.get("params"))
        elif not isinstance(params.get("_meta", {}), dict):
            raise Rejected("mcp-meta")

    def check_meta(self, params: Message, *, request: bool) -> None:
        """``_meta``: well-formed, and from 2026-07-28 on with the client's version in it."""
        if not fits_meta(params.get("_meta", {}), self.contract.version, request=request):
            raise Rejected("mcp-meta")

    def check_params(self, method: str, params: Message | None) -> None:
        """Required members there, all of the right type; none unknown in a call."""
        version = self.contract.version
        if not fits_params(method, params, version):
            raise Rejected("mcp-params")
        if params and method == "tools/call":
            known = _CALL_PARAMS.get(version, {"name", "arguments", "_meta"})
            if params.keys() - known:
                raise Rejected("mcp-unknown-param")

    def check_lifecycle(self, message: Message, session: Session) -> Session:
        """Handshake and ids."""
        if self.contract.version != _STATELESS:
            session = self.check_handshake(message, session)
        if "id" not in message:
            return session
        if message["id"] in session.ids:
            raise Rejected("life-id-reuse")
        return replace(session, ids=session.ids | {message["id"]})

    def check_handshake(self, message: Message, session: Session) -> Session:
        """``initialize`` first, then ``notifications/initialized``, each once."""
        method = message["method"]
        if "id" in message and method == "ping":
            return session
        if method == "initialize":
            if session.initialized:
                raise Rejected("life-reinitialize")
            return replace(session, initialized=True)
        if not session.initialized:
            raise Rejected("life-not-initialized")
        if method == "notifications/initialized":
            if session.ready:
                raise Rejected("life-reinitialize")
            return replace(session, ready=True)
        if "id" in message and not session.ready:
            raise Rejected("life-not-ready")
        return session

    def serve(self, message: Message) -> Message | None:
        """Act on an accepted message; return the reply to a request."""
        if "id" not in message:
            return None
        try:
            result = self.answer(message["method"], message.get("params", {}))
        except Refused as no:
            return self.error(message["id"], no.code)
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    def error(self, name: str | int | None, code: int) -> Message:
        """An error response; its text is the same for all, so that nothing of the frame leaks."""
        return {"jsonrpc": "2.0", "id": name, "error": {"code": code, "message": "refused"}}

    def answer(self, method: str, params: Message) -> Message:
        """Return the result of a request; raise :class:`Refused`."""
        version = self.contract.version
        if method not in SERVED[version]:
            raise Refused("mcp-method")
        if version == _STATELESS and params["_meta"][PROTOCOL] != version:
            raise Refused("mcp-version")
        result = self.call(params) if method == "tools/call" else self.describe(method)
        return {**result, "resultType": "complete"} if version == _STATELESS else result

    def describe(self, method: str) -> Message:
        """The fixed results: what this gateway is and which tools it has."""
        version = self.contract.version
        about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "mini", "version": "1"}}
        cached = {"ttlMs": 0, "cacheScope": "private"} if version == _STATELESS else {}
        if method == "initialize":
            return {"protocolVersion": version, **about}
        if method == "server/discover":
            return {"supportedVersions": [version], **about, **cached}
        if method == "tools/list":
            schema = {"type": "object"}
            tools = [{"name": t.name, "inputSchema": schema} for t in self.contract.tools]
            return {"tools": tools, **cached}
        return {}

    def call(self, params: Message) -> Message:
        """Check a call and its caller, then execute it, once."""
        tool = self.find_tool(params["name"])
        arguments = self.arguments_of(params)
        self.check_arguments(tool, arguments)
        self.authorize(tool, params)
        self.execute(tool, arguments)
        return {"content": [{"type": "text", "text": "done"}], "isError": False}

    def arguments_of(self, params: Message) -> Message:
        """The arguments as a copy of plain values, apart from the frame's own objects."""
        copy: Message = json.loads(json.dumps(params.get("arguments", {})))
        return copy

    def find_tool(self, name: str) -> Tool:
        """Return the tool of this exact name."""
        for tool in self.contract.tools:
            if tool.name == name:
                return tool
        raise Refused("tool-unknown")

    def check_arguments(self, tool: Tool, arguments: Message) -> None:
        """Every required argument there, each of its type, and none that is not declared."""
        for argument in tool.arguments:
            if argument.name not in arguments and argument.required:
                raise Refused("tool-arguments")
            if argument.name in arguments:
                self.check_argument(argument, arguments)
        if arguments.keys() - {argument.name for argument in tool.arguments}:
            raise Refused("tool-unknown-argument")

    def check_argument(self, argument: Any, arguments: Message) -> None:
        """One argument that is present: type and choices."""
        if not has_argument_type(argument, arguments[argument.name]):
            raise Refused("tool-arguments")

    def authorize(self, tool: Tool, params: Message) -> None:
        """Let only an operator call what is an operator's."""
        operator = self.is_operator(params)
        if tool.operator_only and not operator:
            raise Refused("authz-denied")

    def is_operator(self, params: Message) -> bool:
        """Who calls: the token makes this one request an operator's; a wrong one is nobody's."""
        meta = params.get("_meta", {})
        if TOKEN not in meta:
            return False
        if meta[TOKEN] != self.contract.token:
            raise Refused("identity-unknown")
        return True

    def execute(self, tool: Tool, arguments: Message) -> None:
        """Hand a granted call to the executor."""
        self.act(tool.name, arguments)
