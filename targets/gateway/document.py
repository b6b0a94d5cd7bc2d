"""A line to a JSON value: UTF-8 first, then exactly one RFC 8259 value.

A table of which token may follow which, and a stack of open containers, read JSON
without recursion, so that no depth of nesting is an accident; the strict rules are noted on the way
by position and only raised once the whole document has proved to be JSON.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from wirefence.targets.gateway.verdicts import RejectedError

__all__ = [
    "MINUS_ZERO",
    "Parse",
    "mark_minus_zero",
    "read_document",
    "spec_parser",
    "strict_parser",
]

Parse = Callable[[bytes], object]
"""A parser configuration: bytes of one document to Python values, any exception to reject."""

MINUS_ZERO = object()
"""Stands for an id that was spelled ``-0``: neither string nor integer, hence no id."""

_MAX_INTEGER = 2**53 - 1
_MAX_NUMBER_BYTES = 1_000
_INT_DIGITS = 4_000  # int() of more digits than 4,300 is an error of its own
_BOM = b"\xef\xbb\xbf"

_TOKEN = re.compile(
    r"[ \t\n\r]*(?:"
    r"(?P<mark>[{}\[\]:,])"
    r'|(?P<string>"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*")'
    r"|(?P<number>[-0-9][-+.0-9A-Za-z]*)"
    r"|(?P<word>[a-z]+))"
)
_SPACE = re.compile(r"[ \t\n\r]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_MINUS_ZERO_TOKEN = re.compile(rb"-0(?![0-9.eE])")
_WORDS = {"true": True, "false": False, "null": None}
_SYMBOLS = {"string": '"', "number": "0", "word": "w"}

_VALUE, _ITEM, _FIRST_NAME, _NAME, _COLON, _IN_OBJECT, _IN_ARRAY, _END = range(8)
_ALLOWED = ('{["0w', '{["0w]', '"}', '"', ":", ",}", ",]", "")
"""For each of the states above, the tokens that may come: a mark itself, ``"``, ``0`` or ``w``."""


def read_document(raw: bytes, parse: Parse) -> object:
    """Return the value of one frame; whatever ``parse`` raises rejects it.

    That includes what is no ``Exception`` (the panic of a Rust library); what ends or interrupts
    the process goes on.

    Raises:
        RejectedError: a rule of the layers utf8 and json.

    """
    if raw.startswith(_BOM):
        raise RejectedError("utf8-bom")
    try:
        raw.decode()
    except UnicodeDecodeError:
        raise RejectedError("utf8-invalid") from None
    try:
        return parse(raw)
    except (RejectedError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:  # noqa: BLE001 - no parser's failure may become anything but a rejection
        raise RejectedError("json-syntax") from None


def strict_parser(max_depth: int) -> Parse:
    """Return the parser that enforces every json rule of the strict profile."""

    def parse(raw: bytes) -> object:
        reader = _Reader(raw.decode(), max_depth)
        value = reader.read()
        if reader.broken:
            raise RejectedError(reader.broken)
        return value

    return parse


def spec_parser(raw: bytes) -> object:
    """Parse all that RFC 8259 allows, at any depth; of equal names the last one wins."""
    return _Reader(raw.decode(), None).read()


def mark_minus_zero(value: object, raw: bytes) -> object:
    """Return ``value`` with every message id that was spelled ``-0`` replaced by ``MINUS_ZERO``.

    Parsers give 0 for it, so the document is looked at once more, only if such an id is possible.
    """
    if b"-0" not in raw:
        return value
    members = value if isinstance(value, list) else [value]
    suspects = [_has_zero_id(member) for member in members]
    if not any(suspects) or not _MINUS_ZERO_TOKEN.search(raw):
        return value
    try:
        marked = _Reader(raw.decode(), None, minus_zero=MINUS_ZERO).read()
    except RejectedError:  # the given parser is more lenient: its word stands
        return value
    twins = marked if isinstance(marked, list) else [marked]
    result = [_with_mark(*pair) for pair in zip(members, twins, strict=True)]
    return result if isinstance(value, list) else result[0]


def _has_zero_id(member: object) -> bool:
    return isinstance(member, dict) and member.get("id") == 0


def _with_mark(member: object, twin: object) -> object:
    if isinstance(member, dict) and isinstance(twin, dict) and twin.get("id") is MINUS_ZERO:
        return {**member, "id": MINUS_ZERO}
    return member


class _Reader:
    """Reads one document; ``broken`` is the first strict rule it broke, ``max_depth`` permitting.

    With ``max_depth`` ``None`` no strict rule is looked at.
    """

    def __init__(self, text: str, max_depth: int | None, minus_zero: object = 0) -> None:
        self.broken = ""
        self._text = text
        self._max_depth = max_depth
        self._minus_zero = minus_zero
        self._open: list[Any] = []
        self._name = ""
        self._expect = _VALUE
        self._root: object = None

    def read(self) -> object:
        """Return the value; raise ``RejectedError`` (json-syntax) if the text is not one."""
        position = 0
        while match := _TOKEN.match(self._text, position):
            kind, position = match.lastgroup or "", match.end()
            self._take(kind, match[kind])
        if self._expect != _END or _SPACE.fullmatch(self._text, position) is None:
            raise RejectedError("json-syntax")
        return self._root

    def _take(self, kind: str, token: str) -> None:
        if _SYMBOLS.get(kind, token) not in _ALLOWED[self._expect]:
            raise RejectedError("json-syntax")
        if kind == "mark":
            self._take_mark(token)
        elif kind == "string":
            self._take_string(token)
        elif kind == "number":
            self._add(self._number(token))
        else:
            self._add(self._word(token))

    def _take_mark(self, mark: str) -> None:
        if mark == "{":
            self._push({}, _FIRST_NAME)
        elif mark == "[":
            self._push([], _ITEM)
        elif mark == ":":
            self._expect = _VALUE
        elif mark == ",":
            self._expect = _NAME if isinstance(self._open[-1], dict) else _VALUE
        else:
            self._open.pop()
            self._expect = self._after_value()

    def _take_string(self, token: str) -> None:
        text = token[1:-1]
        if "\\" in text:
            text = json.loads(token)
            if self._max_depth is not None and _SURROGATE.search(text):
                self._break("json-lone-surrogate")
        if self._expect not in (_NAME, _FIRST_NAME):
            self._add(text)
            return
        if text in self._open[-1]:
            self._break("json-duplicate-name")
        self._name = text
        self._expect = _COLON

    def _push(self, container: object, expect: int) -> None:
        """Open a container: it joins its parent now, so that closing it needs no memory of that."""
        self._add(container)
        self._open.append(container)
        self._expect = expect
        if self._max_depth is not None and len(self._open) > self._max_depth:
            self._break("json-depth")

    def _add(self, value: object) -> None:
        if not self._open:
            self._root = value
        elif isinstance(self._open[-1], dict):
            self._open[-1][self._name] = value
        else:
            self._open[-1].append(value)
        self._expect = self._after_value()

    def _after_value(self) -> int:
        if not self._open:
            return _END
        return _IN_OBJECT if isinstance(self._open[-1], dict) else _IN_ARRAY

    def _word(self, word: str) -> object:
        if word not in _WORDS:
            raise RejectedError("json-syntax")
        return _WORDS[word]

    def _number(self, digits: str) -> object:
        if not _is_number(digits):
            raise RejectedError("json-syntax")
        if self._max_depth is not None and len(digits) > _MAX_NUMBER_BYTES:
            self._break("json-number-length")
            return 0
        if digits == "-0":
            return self._minus_zero
        if digits.lstrip("-").isdigit():
            return self._integer(digits)
        return self._fraction(digits)

    def _integer(self, digits: str) -> int:
        value = int(digits) if len(digits) < _INT_DIGITS else int(Decimal(digits))
        if abs(value) > _MAX_INTEGER:
            self._break("json-integer-range")
        return value

    def _fraction(self, digits: str) -> float:
        value = float(digits)
        mantissa = digits.lower().partition("e")[0]
        if math.isinf(value) or (value == 0 and mantissa.strip("-0.")):
            self._break("json-number-range")
        return value

    def _break(self, rule: str) -> None:
        if self._max_depth is not None and not self.broken:
            self.broken = rule


def _is_number(token: str) -> bool:
    """Whether a token of RFC 8259 section 6: sign, integer, fraction and exponent in turn."""
    mantissa, mark, exponent = token.removeprefix("-").replace("E", "e").partition("e")
    if mark and not _are_digits(exponent[1:] if exponent[:1] in ("+", "-") else exponent):
        return False
    whole, point, fraction = mantissa.partition(".")
    if point and not _are_digits(fraction):
        return False
    return _are_digits(whole) and (whole == "0" or whole[0] != "0")


def _are_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()
