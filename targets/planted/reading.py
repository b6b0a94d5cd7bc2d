"""The lower half of the miniature gateway: from bytes to one JSON value, strictly.

The standard library's parser can be made strict from outside, by its hooks, a scan
for depth before it and one for surrogates after it; each of them is a method that a fault replaces.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from wirefence.strategies.contract import Contract
from wirefence.targets.planted.records import Message, Rejected

__all__ = ["MinusZero", "Reader"]

_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")
_SAFE_INTEGER = 2**53 - 1
_LONGEST_NUMBER = 1000


class MinusZero(int):
    """The integer spelled ``-0``: zero as an argument, and not to be had as an id."""


class Reader:
    """One stdin: splits, decodes and parses. Every method is a hook that a fault may replace."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.buffer = bytearray()

    def split(self, data: bytes) -> Iterator[bytes]:
        """Yield each line that ``data`` completes; keep one byte more than a frame may have."""
        *ends, rest = data.split(b"\n")
        for piece in ends:
            self.keep(piece)
            line = bytes(self.buffer)
            self.buffer.clear()
            yield line
        self.keep(rest)

    def keep(self, piece: bytes) -> None:
        """Add to the line in progress, which one byte too many already marks as too long."""
        self.buffer += piece[: self.contract.max_frame + 1 - len(self.buffer)]

    def read(self, line: bytes) -> Any:
        """Return the value of a line without LF; raise :class:`Rejected`."""
        self.check_frame(line)
        return self.parse(self.decode(line))

    def check_frame(self, line: bytes) -> None:
        """Framing: something there, not too long, and no CR, which other readers split at."""
        if not line.strip(b" \t\r"):
            raise Rejected("frame-empty")
        if len(line) > self.contract.max_frame:
            raise Rejected("frame-too-long")
        if b"\r" in line:
            raise Rejected("frame-cr")

    def decode(self, line: bytes) -> str:
        """UTF-8, well-formed and without a byte order mark."""
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            raise Rejected("utf8-invalid") from None
        if text.startswith("\ufeff"):
            raise Rejected("utf8-bom")
        return text

    def parse(self, text: str) -> Any:
        """Exactly one JSON value that every reader understands alike."""
        self.check_depth(text)
        try:
            value = self.loads(text)
        except json.JSONDecodeError:
            raise Rejected("json-syntax") from None
        self.check_surrogates(value)
        return value

    def loads(self, text: str) -> Any:
        """Run the parser proper, with the strict hooks; raise what it raises."""
        return json.loads(text, **self.hooks())

    def hooks(self) -> dict[str, Any]:
        """Arguments of :func:`json.loads` that make it strict."""
        return {
            "object_pairs_hook": self.members,
            "parse_int": self.integer,
            "parse_float": self.real,
            "parse_constant": self.constant,
        }

    def check_depth(self, text: str) -> None:
        """Count open containers before the parser recurses into them."""
        if text.count("[") + text.count("{") <= self.contract.max_depth:
            return
        depth = 0
        for bracket in _BRACKET.findall(_STRING.sub("", text)):
            depth += 1 if bracket in "[{" else -1
            if depth > self.contract.max_depth:
                raise Rejected("json-depth")

    def members(self, pairs: list[tuple[str, Any]]) -> Message:
        """Make an object of its members, none of them named twice once unescaped."""
        value = dict(pairs)
        if len(value) < len(pairs):
            raise Rejected("json-duplicate-name")
        return value

    def integer(self, token: str) -> int:
        """Read an integer token that binary64 holds exactly."""
        if len(token) > _LONGEST_NUMBER:
            raise Rejected("json-number-length")
        value = int(token)
        if abs(value) > _SAFE_INTEGER:
            raise Rejected("json-integer-range")
        return MinusZero() if token.startswith("-") and not value else value

    def real(self, token: str) -> float:
        """Read a fraction or exponent token that neither overflows nor vanishes."""
        if len(token) > _LONGEST_NUMBER:
            raise Rejected("json-number-length")
        value = float(token)
        vanished = not value and re.search("[1-9]", re.split("[eE]", token)[0])
        if not math.isfinite(value) or vanished:
            raise Rejected("json-number-range")
        return value

    def constant(self, token: str) -> float:  # noqa: ARG002 - a fault reads it
        """Refuse NaN and the infinities, which the standard library takes by default."""
        raise Rejected("json-syntax")

    def check_surrogates(self, value: Any) -> None:
        """Find lone surrogates by what they can't do: be written as UTF-8."""
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise Rejected("json-lone-surrogate") from None
