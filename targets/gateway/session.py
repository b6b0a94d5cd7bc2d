"""One session of the reference gateway: the layers in order, and what follows from a verdict.

A frame has two moments. First every member of it is judged, which changes nothing
of the session; then, if none was rejected, the members are settled one by one: answered, refused
or carried out.
"""

from __future__ import annotations

from dataclasses import dataclass

from wirefence.strategies.contract import Contract
from wirefence.targets.gateway import replies
from wirefence.targets.gateway.authorization import authorize
from wirefence.targets.gateway.document import (
    Parse,
    mark_minus_zero,
    read_document,
    spec_parser,
    strict_parser,
)
from wirefence.targets.gateway.executor import execute
from wirefence.targets.gateway.framing import Framer, Line, check_line
from wirefence.targets.gateway.journal import Journal
from wirefence.targets.gateway.lifecycle import Lifecycle
from wirefence.targets.gateway.message import check_message, check_version, is_served
from wirefence.targets.gateway.rpc import Message, Request, read_message, reply_id
from wirefence.targets.gateway.tools import find_tool, take_arguments
from wirefence.targets.gateway.verdicts import RefusedError, RejectedError
from wirefence.targets.records import Act, Gateway, GatewayFactory

__all__ = ["ReferenceGateway", "factory"]

_BATCHES = "2025-03-26"


class ReferenceGateway:
    """A ``Gateway`` that keeps to ``docs/contract.md``; the class is a ``GatewayFactory``.

    ``parse`` reads the bytes of one document. Without it the gateway's own parser is used. With
    it, the json layer is as good as that parser: under the strict profile it should be strict.
    """

    def __init__(
        self,
        act: Act,
        contract: Contract,
        *,
        parse: Parse | None = None,
        journal: Journal | None = None,
    ) -> None:
        self.journal = journal or Journal()
        self.closed = False
        self._act = act
        self._contract = contract
        self._strict = contract.profile == "strict"
        self._parse = parse or (strict_parser(contract.max_depth) if self._strict else spec_parser)
        self._framer = Framer(contract.max_frame if self._strict else None)
        self._lifecycle = Lifecycle(contract)

    @property
    def buffered(self) -> int:
        """Bytes held of a frame that has not ended."""
        return self._framer.buffered

    def feed(self, data: bytes) -> bytes:
        """Take bytes from stdin; return the answers to the frames they complete."""
        if self.closed:
            return b""
        said = []
        for line in self._framer.push(data):
            said.append(self._take(line))
            if self.closed:
                break
        return b"".join(said)

    def eof(self) -> bytes:
        """Stdin has ended: what came since the last LF is forgotten, unanswered."""
        rest = None if self.closed else self._framer.rest()
        if rest is not None:
            self.journal.reject("frame-unterminated", rest)
        self.closed = True
        return b""

    def _take(self, line: Line) -> bytes:
        """Return the answer to one frame."""
        value: object = None
        try:
            check_line(line, strict=self._strict)
            value = mark_minus_zero(read_document(line.raw, self._parse), line.raw)
            messages = self._judge(value)
        except RejectedError as error:
            return self._reject(error, line, value)
        settled = [self._settle(message, line) for message in messages]
        answers = [answer for answer in settled if answer]
        return replies.line(replies.batch(answers) if isinstance(value, list) else "".join(answers))

    def _reject(self, error: RejectedError, line: Line, value: object) -> bytes:
        self.journal.reject(error.rule, line)
        self.closed = self._contract.policy == "close"
        answered, identifier = reply_id(value)
        if not answered:
            return b""
        # A used id has had its answer; a second one could be taken for it.
        known = None if self._lifecycle.is_used(identifier) else identifier
        return replies.line(replies.failure(known, error))

    def _judge(self, value: object) -> list[Message]:
        """Return the messages of a frame, remembered; raise before anything is if one is bad."""
        if not isinstance(value, list):
            return [self._judge_one(value, self._lifecycle)]
        self._check_batch(value)
        trial = self._lifecycle.copy()
        try:
            messages = [self._judge_one(member, trial) for member in value]
        except RejectedError:
            raise RejectedError("rpc-batch") from None
        self._lifecycle = trial
        return messages

    def _check_batch(self, members: list[object]) -> None:
        if self._contract.version != _BATCHES or not members:
            raise RejectedError("rpc-batch")
        if any(isinstance(one, dict) and one.get("method") == "initialize" for one in members):
            raise RejectedError("rpc-batch")

    def _judge_one(self, value: object, lifecycle: Lifecycle) -> Message:
        message = read_message(value, self._contract)
        check_message(message, self._contract)
        lifecycle.check(message)
        lifecycle.remember(message)
        return message

    def _settle(self, message: Message, line: Line) -> str:
        """Carry out what was accepted; return its answer, or nothing where none is due."""
        if not isinstance(message, Request):
            return ""
        try:
            self._grant(message, line)
        except RefusedError as error:
            self.journal.reject(error.rule, line)
            return replies.failure(message.id, error)
        return replies.success(message.id, message.method, self._contract)

    def _grant(self, request: Request, line: Line) -> None:
        if not is_served(request.method, self._contract):
            raise RefusedError("mcp-method")
        check_version(request, self._contract)
        if request.method == "tools/call":
            self._call(request, line)

    def _call(self, request: Request, line: Line) -> None:
        params = request.params
        tool = find_tool(params["name"], self._contract)
        arguments = take_arguments(tool, params.get("arguments", {}), strict=self._strict)
        action = authorize(tool, arguments, params, self._contract)
        self.journal.execute(tool.name, line)
        execute(action, self._act)


@dataclass(frozen=True, slots=True)
class _Factory:
    """Opens sessions of the reference gateway with one parser; ``name`` is for reports."""

    parse: Parse | None
    name: str

    def __call__(self, act: Act, contract: Contract) -> Gateway:
        return ReferenceGateway(act, contract, parse=self.parse)


def factory(parse: Parse | None = None, name: str = "reference") -> GatewayFactory:
    """Return a factory of reference gateways that read documents with ``parse``."""
    return _Factory(parse, name)
