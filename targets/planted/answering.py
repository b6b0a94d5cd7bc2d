"""Faults of the reply: what goes to stdout, to whom, and what it gives away."""

from __future__ import annotations

import json
from typing import Any

from wirefence.targets.planted.base import MiniGateway
from wirefence.targets.planted.records import Message, Rejected
from wirefence.targets.planted.registry import planted

__all__: list[str] = []


@planted(
    origin="dispatchers that answer whatever they are given",
    breaks=("reply-to-notification",),
)
class RepliesToNotifications(MiniGateway):
    """Answers a notification with an error whose id is null."""

    def serve(self, message: Message) -> Message | None:
        return super().serve(message) if "id" in message else self.error(None, -32600)


@planted(
    origin="asynchronous handlers that read a shared `self.current_id` when they are done",
    breaks=("reply-twice", "reply-missing"),
)
class CrossesReplies(MiniGateway):
    """Answers a call with the id of the request before it."""

    previous: Any = None

    def serve(self, message: Message) -> Message | None:
        reply = super().serve(message)
        if reply is None:
            return None
        name, self.previous = self.previous, message["id"]
        crossed = message["method"] == "tools/call" and name is not None
        return {**reply, "id": name} if crossed else reply


@planted(
    origin="ids kept in maps of strings, as in languages without union types",
    breaks=("reply-id",),
)
class SendsIdsAsStrings(MiniGateway):
    """Answers the request 1 with the id "1"."""

    def serve(self, message: Message) -> Message | None:
        reply = super().serve(message)
        return None if reply is None else {**reply, "id": str(reply["id"])}


@planted(
    origin="a timeout's error followed by the late result",
    breaks=("reply-twice",),
)
class AnswersTwice(MiniGateway):
    """Sends the reply to a request twice."""

    def write(self, reply: Any) -> bytes:
        line = super().write(reply)
        return line * 2 if isinstance(reply, dict) and "result" in reply else line


@planted(
    origin="catch-all handlers: every failure is an internal error",
    breaks=("reply-code",),
)
class UsesOneErrorCode(MiniGateway):
    """Sends the code -32603 for every error."""

    def error(self, name: str | int | None, code: int) -> Message:
        del code
        return super().error(name, -32603)


@planted(
    origin="servers that log a failure and forget to answer",
    breaks=("reply-missing",),
)
class IsSilentOnRefusal(MiniGateway):
    """Sends no reply to a refused request."""

    def serve(self, message: Message) -> Message | None:
        reply = super().serve(message)
        return None if reply is None or "error" in reply else reply


@planted(
    origin="wrappers that turn every exception into a tool result",
    breaks=("reply-to-rejected", "rpc-unknown-member"),
)
class AnswersRejectedWithResult(MiniGateway):
    """Answers a rejected request with a result, as if it had been served."""

    def on_reject(self, no: Rejected, line: bytes, value: Any) -> Message | None:
        reply = super().on_reject(no, line, value)
        if reply is None or reply["id"] is None:
            return reply
        result = {"content": [], "isError": True}
        return {"jsonrpc": "2.0", "id": reply["id"], "result": result}


@planted(
    origin="debug pages: `traceback.format_exc()` and the input in the error's text",
    breaks=("reply-leak",),
)
class LeaksFrameInError(MiniGateway):
    """Repeats a rejected frame, and where it failed, in the error that it sends."""

    def on_reject(self, no: Rejected, line: bytes, value: Any) -> Message | None:
        reply = super().on_reject(no, line, value)
        if reply is not None:
            told = f"Traceback (most recent call last): {no.rule} in {line[:2000]!r}"
            reply["error"]["message"] = told
        return reply


@planted(
    origin="frameworks that greet on start, print() for debugging, npm and pip notices",
    breaks=("out-not-json",),
)
class PrintsBanner(MiniGateway):
    """Prints a greeting on stdout before its first reply."""

    greeting = b"mini gateway 1.0 ready\n"

    def write(self, reply: Any) -> bytes:
        line = super().write(reply)
        if line:
            line, self.greeting = self.greeting + line, b""
        return line


@planted(
    origin="structured logging whose default stream is stdout",
    breaks=("out-not-message",),
)
class LogsJsonToStdout(MiniGateway):
    """Writes its log, one JSON object a line, between the replies."""

    def write(self, reply: Any) -> bytes:
        line = super().write(reply)
        return b'{"event":"replied","level":"info"}\n' + line if line else line


@planted(
    origin="`stdout.write(json.dumps(reply))` without the newline",
    breaks=("out-unterminated",),
)
class ForgetsLineFeed(MiniGateway):
    """Sends replies without LF, so the client waits for ever."""

    def write(self, reply: Any) -> bytes:
        return super().write(reply).removesuffix(b"\n")


@planted(
    origin="pretty-printed JSON on a protocol of lines",
    breaks=("out-not-json",),
)
class PrettyPrintsReplies(MiniGateway):
    """Spreads a reply over several lines."""

    def write(self, reply: Any) -> bytes:
        return b"" if reply is None else json.dumps(reply, indent=1).encode() + b"\n"


@planted(
    origin="Python's json, which writes what no other parser reads",
    breaks=("out-not-json",),
)
class WritesNan(MiniGateway):
    """Adds a measurement to each result, and writes it as NaN."""

    def write(self, reply: Any) -> bytes:
        if isinstance(reply, dict) and "result" in reply:
            reply = {**reply, "result": {**reply["result"], "seconds": float("nan")}}
        return super().write(reply)
