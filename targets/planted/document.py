"""Faults of the document and of the message: what counts as one JSON value and as a request."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from wirefence.targets.planted.base import MiniGateway
from wirefence.targets.planted.reading import MinusZero
from wirefence.targets.planted.records import Message, Rejected, Session
from wirefence.targets.planted.registry import planted

__all__: list[str] = []

_DECODER = json.JSONDecoder(parse_int=float)  # no limit on digits, which is another fault


def _values(line: bytes) -> Iterator[bytes]:
    """Cut a line into the JSON values that begin it, and what is no value."""
    text, at = line.decode(errors="surrogateescape"), 0
    while at < len(text):
        try:
            _, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = len(text)
        yield text[at:end].encode(errors="surrogateescape")
        at = len(text) - len(text[end:].lstrip(" \t"))


@planted(
    origin="`JSONDecoder.raw_decode`, jq, parsers in streaming mode",
    breaks=("act-rejected", "json-syntax"),
)
class IgnoresTrailingGarbage(MiniGateway):
    """Reads the first value of a line and ignores what comes after it."""

    def loads(self, text: str) -> Any:
        text = text.lstrip(" \t")
        return super().loads(text[: _DECODER.raw_decode(text)[1]])


@planted(
    origin="concatenated-JSON readers, jq, a lost newline between two writes",
    breaks=("act-rejected", "json-syntax"),
)
class ReadsConcatenatedValues(MiniGateway):
    """Reads several values from one line and serves each of them."""

    def split(self, data: bytes) -> Iterator[bytes]:
        for line in super().split(data):
            yield from _values(line.lstrip(b" \t")) if line.strip() else (line,)


@planted(
    origin="Python's json by default; JSON5 and relaxed modes",
    breaks=("act-rejected", "json-syntax"),
)
class TakesNan(MiniGateway):
    """Takes NaN and the infinities for numbers."""

    def constant(self, token: str) -> float:
        return float(token)


_HALF_NUMBER = re.compile(
    r'"(?:[^"\\]|\\.)*"|-?[0-9.]+[eE](?=[,\]}])|-?[0-9]+\.(?=[eE,\]}])|-(?=[,\]}])'
)
"""A string, which stays as it is, or what only a zero is missing from to be a number."""


@planted(
    origin="lexers that call strtod; possessive patterns under CPython before 3.11.5",
    breaks=("act-rejected", "json-syntax"),
)
class TakesHalfNumbers(MiniGateway):
    """Takes `0.`, `1.e5`, `1e` and `-` for numbers."""

    def loads(self, text: str) -> Any:
        return super().loads(_HALF_NUMBER.sub(_completed, text))


def _completed(token: re.Match[str]) -> str:
    return token[0] if token[0].startswith('"') else f"{token[0]}0"


@planted(
    origin="most parsers: 1e400 is infinity, as in C's strtod",
    breaks=("act-rejected", "json-number-range"),
)
class OverflowsToInfinity(MiniGateway):
    """Takes 1e400 for infinity and 1e-400 for zero."""

    def real(self, token: str) -> float:
        return float(token)


@planted(
    origin="`json.loads(..., strict=False)`, ujson",
    breaks=("act-rejected", "json-syntax"),
)
class TakesControlCharacters(MiniGateway):
    """Takes raw control characters in strings."""

    def hooks(self) -> dict[str, Any]:
        return {**super().hooks(), "strict": False}


@planted(
    origin="configuration-file readers (JSONC, JSON5) used on the wire",
    breaks=("act-rejected", "json-syntax"),
)
class TakesTrailingCommas(MiniGateway):
    """Takes a comma before a closing bracket."""

    def loads(self, text: str) -> Any:
        return super().loads(re.sub(r",(\s*[}\]])", r"\1", text))


@planted(
    origin="every eager parser by default: a gate that reads the first lets the second pass",
    breaks=("act-rejected", "json-duplicate-name"),
)
class LastDuplicateWins(MiniGateway):
    """Keeps the last of two members of the same name."""

    def members(self, pairs: list[tuple[str, Any]]) -> Message:
        return dict(pairs)


@planted(
    origin="lazy parsers (simdjson on demand), scanners that look for a key",
    breaks=("act-rejected", "json-duplicate-name"),
)
class FirstDuplicateWins(MiniGateway):
    """Keeps the first of two members of the same name."""

    def members(self, pairs: list[tuple[str, Any]]) -> Message:
        return dict(reversed(pairs))


@planted(
    origin="Go's encoding/json, which matches names without regard to case",
    breaks=("act-rejected", "rpc-unknown-member", "rpc-version"),
)
class FoldsCaseOfMembers(MiniGateway):
    """Takes `Method` for `method`: a gate that knows case lets the frame pass as something else."""

    def judge(self, message: Any, session: Session) -> Session:
        if isinstance(message, dict):
            folded = {name.lower(): value for name, value in message.items()}
            message.clear()
            message.update(folded)
        return super().judge(message, session)


@planted(
    origin="recursive parsers without a depth limit",
    breaks=("live-crash", "act-rejected", "json-depth"),
)
class DiesOnDeepNesting(MiniGateway):
    """Recurses as deep as the input; raises RecursionError."""

    def check_depth(self, text: str) -> None:
        pass


@planted(
    origin="CPython's limit on digits: a plain ValueError, not the parser's error",
    breaks=("live-crash", "act-rejected", "json-integer-range", "json-number-length"),
)
class DiesOnHugeInteger(MiniGateway):
    """Accepts integers of any size, and crashes on one with 4,301 digits."""

    def integer(self, token: str) -> int:
        value = int(token)
        return MinusZero() if token.startswith("-") and not value else value


@planted(
    origin="parsers that take a surrogate which their own writer can't encode",
    breaks=("live-crash", "act-rejected", "json-lone-surrogate"),
)
class DiesOnLoneSurrogate(MiniGateway):
    """Accepts a lone surrogate, and crashes if it is in an id that goes into the reply."""

    def check_surrogates(self, value: Any) -> None:
        pass


@planted(
    origin="`isinstance(id, int)`, which is true of booleans; lax validators",
    breaks=("act-rejected", "reply-to-rejected", "rpc-id"),
)
class TakesBooleanId(MiniGateway):
    """Takes true and false for ids."""

    def is_id(self, value: Any) -> bool:
        return isinstance(value, bool) or super().is_id(value)


@planted(
    origin="JavaScript numbers; validators that coerce 1.0 to 1",
    breaks=("act-rejected", "reply-to-rejected", "rpc-id"),
)
class TakesFloatId(MiniGateway):
    """Takes 1.0 and 1.5 for ids."""

    def is_id(self, value: Any) -> bool:
        return isinstance(value, float) or super().is_id(value)


@planted(
    origin="`message.get('id') is None` as the test for a notification; the official schemas",
    breaks=("act-rejected", "rpc-id"),
)
class TakesNullIdForNotification(MiniGateway):
    """Acts on a call whose id is null, and answers nothing."""

    def is_id(self, value: Any) -> bool:
        return value is None or super().is_id(value)

    def serve(self, message: Message) -> Message | None:
        reply = super().serve(message)
        return None if message.get("id", "") is None else reply


@planted(
    origin="model output whose arguments are JSON in a string",
    breaks=("act-rejected", "rpc-params", "mcp-params"),
)
class EvaluatesStringParams(MiniGateway):
    """Parses params, or arguments, that came as a string, once more than the gate before it."""

    def judge(self, message: Any, session: Session) -> Session:
        if isinstance(message, dict):
            self.evaluate(message, "params")
            if isinstance(message.get("params"), dict):
                self.evaluate(message["params"], "arguments")
        return super().judge(message, session)

    def evaluate(self, holder: Message, name: str) -> None:
        """Put the value of the text in place of the text."""
        if isinstance(holder.get(name), str):
            holder[name] = self.parse(holder[name])


@planted(
    origin="dispatchers that look at `method` first; the official schemas validate such hybrids",
    breaks=("act-rejected", "rpc-kind"),
)
class ActsOnHybrids(MiniGateway):
    """Takes a message with both a method and a result for a request."""

    def check_members(self, message: Message) -> None:
        kept = {k: v for k, v in message.items() if k not in ("result", "error")}
        super().check_members(kept)


@planted(
    origin="hand-written dispatchers that never look at `jsonrpc`",
    breaks=("act-rejected", "rpc-version"),
)
class IgnoresVersionMember(MiniGateway):
    """Acts on a message whose `jsonrpc` is missing or another."""

    def check_shape(self, message: Any) -> None:
        whole = {**message, "jsonrpc": "2.0"} if isinstance(message, dict) else message
        super().check_shape(whole)


@planted(
    origin="models with `extra='ignore'`",
    breaks=("act-rejected", "rpc-unknown-member"),
)
class IgnoresUnknownMembers(MiniGateway):
    """Acts on a message with members that it does not know."""

    def check_members(self, message: Message) -> None:
        known = ("jsonrpc", "id", "method", "params", "result", "error")
        super().check_members({k: v for k, v in message.items() if k in known})


@planted(
    origin="batch loops of JSON-RPC 2.0 that answer each member on its own",
    breaks=("act-rejected", "rpc-batch"),
    version="2025-03-26",
)
class ExecutesBatchEagerly(MiniGateway):
    """Executes the members of a batch one by one, before the whole of it is judged."""

    def batch(self, members: list[Any]) -> Any:
        if not members:
            raise Rejected("rpc-batch")
        replies = []
        for member in members:
            self.session = self.judge_member(member, self.session)
            replies.append(self.serve(member))
        return [reply for reply in replies if reply] or None


@planted(
    origin="batch support kept after 2025-06-18 took it out",
    breaks=("act-rejected", "reply-to-rejected", "rpc-batch"),
)
class TakesBatchInAnyVersion(MiniGateway):
    """Serves a batch under a version that has none."""

    def batch(self, members: list[Any]) -> Any:
        for member in members:
            self.session = self.judge_member(member, self.session)
        return [reply for member in members if (reply := self.serve(member))] or None
