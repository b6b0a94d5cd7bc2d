"""Faults of lifecycle, authorization and execution: when a call acts, for whom, and how often."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from wirefence.strategies.contract import Argument, Contract, Tool
from wirefence.targets.planted.base import MiniGateway
from wirefence.targets.planted.records import Message, Refused, Rejected, Session
from wirefence.targets.planted.registry import planted
from wirefence.targets.planted.shapes import PROTOCOL, TOKEN
from wirefence.targets.records import Act

__all__: list[str] = []


_COERCED: Mapping[str, Callable[[Any], Any]] = {"integer": int, "number": float, "string": str}


def _params(value: Any) -> Message:
    """The params of whatever was read; empty where there are none."""
    params = value.get("params") if isinstance(value, dict) else None
    return params if isinstance(params, dict) else {}


@planted(
    origin="servers that take the handshake for a formality",
    breaks=("act-rejected", "reply-to-rejected", "life-not-initialized", "life-not-ready"),
)
class ActsBeforeInitialize(MiniGateway):
    """Serves calls before `initialize`, and before the client said that it is ready."""

    def check_handshake(self, message: Message, session: Session) -> Session:
        try:
            return super().check_handshake(message, session)
        except Rejected as no:
            if no.rule == "life-reinitialize":
                raise
            return session


@planted(
    origin="dispatchers by method alone, which look at the id when they answer",
    breaks=("act-rejected", "mcp-kind"),
)
class ActsOnNotifiedCall(MiniGateway):
    """Executes a call that has no id, and sends no reply."""

    def check_message(self, message: Message) -> None:
        # Looked at as if it had one.
        named = message["method"] == "tools/call" and "id" not in message
        super().check_message({**message, "id": 0} if named else message)

    def serve(self, message: Message) -> Message | None:
        if message["method"] == "tools/call" and "id" not in message:
            with contextlib.suppress(Refused):
                self.answer("tools/call", message.get("params", {}))
        return super().serve(message)


@planted(
    origin="servers that read the method and not the version it is spoken in",
    breaks=("act-rejected", "reply-code", "mcp-version"),
    version="2026-07-28",
)
class IgnoresRequestedVersion(MiniGateway):
    """Serves a request whatever protocol version it names."""

    def answer(self, method: str, params: Message) -> Message:
        meta = {**params.get("_meta", {}), PROTOCOL: self.contract.version}
        return super().answer(method, {**params, "_meta": meta})


@planted(
    origin="servers that reset a session whenever a client says hello",
    breaks=("reply-to-rejected", "act-after-close", "life-reinitialize"),
)
class TakesSecondInitialize(MiniGateway):
    """Starts the session again at a second `initialize`, with no used ids."""

    def check_lifecycle(self, message: Message, session: Session) -> Session:
        anew = message["method"] == "initialize"
        return super().check_lifecycle(message, Session() if anew else session)


@planted(
    origin="servers that keep no record of ids, which a client's retry then repeats",
    breaks=("act-rejected", "act-after-close", "life-id-reuse"),
)
class TakesReusedId(MiniGateway):
    """Serves a second request with an id that was used before."""

    def check_lifecycle(self, message: Message, session: Session) -> Session:
        return super().check_lifecycle(message, Session(session.initialized, session.ready))


@planted(
    origin="worker queues that go on draining after the reader has given up",
    breaks=("act-after-close", "life-closed"),
)
class ActsAfterClose(MiniGateway):
    """Closes its output after a bad frame, and goes on executing what arrives."""

    shut = False

    def take(self, line: bytes) -> bytes:
        out, self.shut = (b"" if self.shut else super().take(line)), self.shut or self.closed
        return out

    def feed(self, data: bytes) -> bytes:
        if not self.shut:
            return super().feed(data)
        self.closed = False
        for line in self.split(data):
            with contextlib.suppress(Rejected):
                self.process(self.read(line))
        return b""


@planted(
    origin="readers that fill one request object in place, field by field",
    breaks=("session-state", "rpc-id"),
    policy="continue",
)
class KeepsHalfRequest(MiniGateway):
    """Completes the next call with the arguments of a rejected one."""

    half: Mapping[str, Any] = {}

    def on_reject(self, no: Rejected, line: bytes, value: Any) -> Message | None:
        arguments = _params(value).get("arguments")
        self.half = arguments if isinstance(arguments, dict) else self.half
        return super().on_reject(no, line, value)

    def execute(self, tool: Tool, arguments: Message) -> None:
        super().execute(tool, {**self.half, **arguments})


@planted(
    origin="identity taken from a header before the body is validated",
    breaks=("act-unauthorized", "session-state", "authz-denied"),
    policy="continue",
)
class KeepsPermission(MiniGateway):
    """Uses the token of a rejected frame for the rest of the session."""

    elevated: bool = False

    def on_reject(self, no: Rejected, line: bytes, value: Any) -> Message | None:
        self.elevated |= self.contract.token.encode() in line
        return super().on_reject(no, line, value)

    def is_operator(self, params: Message) -> bool:
        operator = super().is_operator(params)
        return operator or self.elevated


@planted(
    origin="a login that sticks to the connection, where each request has its own caller",
    breaks=("act-unauthorized", "authz-denied"),
)
class RemembersOperator(MiniGateway):
    """Uses the token of one request for all requests after it."""

    elevated: bool = False

    def is_operator(self, params: Message) -> bool:
        self.elevated |= super().is_operator(params)
        return self.elevated


@planted(
    origin="`token = meta.get('token')` and a comparison that falls back to the anonymous caller",
    breaks=("act-unauthorized", "reply-code", "identity-unknown"),
)
class TakesWrongTokenForNone(MiniGateway):
    """Treats a caller with a wrong token as anonymous instead of refusing."""

    def is_operator(self, params: Message) -> bool:
        meta: Message = params.get("_meta", {})
        return bool(meta.get(TOKEN) == self.contract.token)


@planted(
    origin="authorization as a decorator around the reply, not around the call",
    breaks=("act-unauthorized", "authz-denied", "identity-unknown"),
)
class ExecutesBeforeAuthorization(MiniGateway):
    """Executes the call before it checks the authorization."""

    def authorize(self, tool: Tool, params: Message) -> None:
        self.execute(tool, self.arguments_of(params))
        super().authorize(tool, params)

    def call(self, params: Message) -> Message:
        tool = self.find_tool(params["name"])
        self.check_arguments(tool, self.arguments_of(params))
        self.authorize(tool, params)
        return {"content": [], "isError": False}


@planted(
    origin="clients that retry any failure with their service account",
    breaks=("act-unauthorized", "reply-code", "authz-denied"),
)
class RetriesAsOperator(MiniGateway):
    """Repeats a denied call with the operator's own rights."""

    def authorize(self, tool: Tool, params: Message) -> None:
        try:
            super().authorize(tool, params)
        except Refused as no:
            if no.rule != "authz-denied":
                raise


@planted(
    origin="retries of calls that are not idempotent",
    breaks=("act-twice",),
)
class ActsTwice(MiniGateway):
    """Executes every call a second time, as a retry that did not wait for the first."""

    def execute(self, tool: Tool, arguments: Message) -> None:
        super().execute(tool, arguments)
        super().execute(tool, arguments)


@planted(
    origin="fire-and-forget queues whose worker has died",
    breaks=("act-missing",),
)
class ReportsWithoutActing(MiniGateway):
    """Answers with success, and never executes."""

    def execute(self, tool: Tool, arguments: Message) -> None:
        pass


@planted(
    origin="health checks that run a real tool when a session begins",
    breaks=("act-unfounded",),
)
class RunsSelfTest(MiniGateway):
    """Executes a call of its own when the session starts."""

    def __init__(self, act: Act, contract: Contract) -> None:
        super().__init__(act, contract)
        act("record", {"action": "self-test"})


@planted(
    origin="`tool(**arguments)` with the frame's own object",
    breaks=("act-rejected", "reply-code", "tool-unknown-argument"),
)
class MergesUnknownArguments(MiniGateway):
    """Passes arguments on that the tool does not declare."""

    def check_arguments(self, tool: Tool, arguments: Message) -> None:
        known = {argument.name for argument in tool.arguments}
        super().check_arguments(tool, {k: v for k, v in arguments.items() if k in known})


@planted(
    origin='lax validators (pydantic\'s default mode) that read "3" as 3',
    breaks=("act-rejected", "reply-code", "tool-arguments"),
)
class CoercesArguments(MiniGateway):
    """Reads "3", 3.0 and true as integers, and any number as a string, where a tool wants them."""

    def check_argument(self, argument: Argument, arguments: Message) -> None:
        value, wanted = arguments[argument.name], _COERCED.get(argument.type)
        if wanted and isinstance(value, str | int | float):
            with contextlib.suppress(ValueError):
                arguments[argument.name] = wanted(value)
        super().check_argument(argument, arguments)


@planted(
    origin="tidying of user input between the gate and the executor",
    breaks=("act-altered",),
)
class TidiesArguments(MiniGateway):
    """Strips white space from string arguments and drops empty values: what ran is not what was
    allowed.
    """

    def execute(self, tool: Tool, arguments: Message) -> None:
        tidy = {k: v.strip() if isinstance(v, str) else v for k, v in arguments.items()}
        super().execute(tool, {k: v for k, v in tidy.items() if v not in ("", [], {})})


@planted(
    origin="sets of used ids that are filled before the frame is judged",
    breaks=("session-state", "session-resync"),
    policy="continue",
)
class RemembersIdOfRejected(MiniGateway):
    """Counts the id of a rejected frame as used, so that the corrected request is rejected too."""

    def on_reject(self, no: Rejected, line: bytes, value: Any) -> Message | None:
        if isinstance(value, dict) and self.is_id(value.get("id")):
            ids = self.session.ids | {value["id"]}
            self.session = replace(self.session, ids=ids)
        return super().on_reject(no, line, value)


@planted(
    origin="handshake flags that are set on arrival, before the params are looked at",
    breaks=("act-rejected", "reply-to-rejected", "reply-code", "life-not-initialized"),
    policy="continue",
)
class KeepsHandshakeOfRejected(MiniGateway):
    """Counts a rejected `initialize` as the handshake, and serves requests after it."""

    def on_reject(self, no: Rejected, line: bytes, value: Any) -> Message | None:
        if isinstance(value, dict) and value.get("method") == "initialize":
            self.session = replace(self.session, initialized=True)
        return super().on_reject(no, line, value)
