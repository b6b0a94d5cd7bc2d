"""Judge one JSON document against RFC 8259 (spec) and what two readers may read alike (strict).

Key insight: one possessive token regex and an explicit stack read any input in one forward pass, so
neither nesting nor length can blow the stack; syntax wins over strict rules, which are only noted.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from oracles.records import Verdict

__all__ = ["LongInteger", "judge_document", "minus_zero_ids"]

_TOKEN = re.compile(
    r'[ \t\n\r]*+(?:"(?P<clean>[^"\\\x00-\x1f]*+)"'
    r'|"(?P<escaped>(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+)"'
    r"|(?P<number>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+)"
    r"|(?P<word>true|false|null)|(?P<mark>[\[\]{}:,])|(?P<end>\Z))"
)
_ESCAPE = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.")
_LONE = re.compile("[\ud800-\udfff]")
_SIMPLE = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS = {"true": True, "false": False, "null": None}
_LONGEST_INT = 4_000
_SAFE = 2**53 - 1


@dataclass(frozen=True, slots=True)
class LongInteger:
    """An integer token too long for ``int()``; the canonical spelling is its value."""

    token: str


def judge_document(raw: bytes, *, profile: str = "strict", max_depth: int = 128) -> Verdict:
    """Judge ``raw`` (a frame without LF) by the utf8 and json rules of docs/contract.md."""
    if raw.startswith(b"\xef\xbb\xbf"):
        return Verdict("utf8-bom")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return Verdict("utf8-invalid", error.start)
    reader = _Reader(text, max_depth)
    fault = reader.read()
    if fault >= 0:
        return Verdict("json-syntax", _offset(text, fault))
    if profile == "strict" and reader.rule:
        return Verdict(reader.rule, _offset(text, reader.at), duplicates=reader.duplicates)
    return Verdict("", value=reader.root, duplicates=reader.duplicates)


def _offset(text: str, at: int) -> int:
    return len(text[:at].encode("utf-8"))


class _Reader:
    """The state of one pass: open containers, the pending name of each, first strict rule seen."""

    def __init__(self, text: str, max_depth: int) -> None:
        self.text, self.max_depth = text, max_depth
        self.root: object = None
        self.rule, self.at, self.duplicates = "", 0, False
        self.stack: list[list[object] | dict[str, object]] = []
        self.names: list[str] = []

    def read(self) -> int:
        """Read the whole text; the offset of a syntax fault, or -1."""
        want, at = "value", 0
        while match := _TOKEN.match(self.text, at):
            kind, token = match.lastgroup or "", match[match.lastgroup or 0]
            start, at = match.start(match.lastgroup or 0), match.end()
            if kind == "end":
                return -1 if want == "end" else start
            want = self._step(want, kind, token, start)
            if not want:
                return start
        return at

    def _step(self, want: str, kind: str, token: str, at: int) -> str:
        if kind == "mark":
            return self._mark(want, token, at)
        if want in ("name", "name-or-close"):
            return self._name(kind, token, at)
        if want in ("value", "value-or-close"):
            self._put(self._scalar(kind, token, at))
            return self._after()
        return ""

    def _mark(self, want: str, mark: str, at: int) -> str:
        if mark in "[{" and want in ("value", "value-or-close"):
            return self._open([] if mark == "[" else {}, at)
        if mark == ":" and want == "colon":
            return "value"
        if mark == "," and want == "comma":
            return "name" if isinstance(self.stack[-1], dict) else "value"
        if mark in "]}" and want in ("comma", "value-or-close", "name-or-close"):
            return self._close(mark)
        return ""

    def _open(self, container: list[object] | dict[str, object], at: int) -> str:
        self._put(container)
        self.stack.append(container)
        self.names.append("")
        if len(self.stack) > self.max_depth:
            self._note("json-depth", at)
        return "name-or-close" if isinstance(container, dict) else "value-or-close"

    def _close(self, mark: str) -> str:
        if isinstance(self.stack[-1], dict) != (mark == "}"):
            return ""
        self.stack.pop()
        self.names.pop()
        return self._after()

    def _after(self) -> str:
        return "comma" if self.stack else "end"

    def _name(self, kind: str, token: str, at: int) -> str:
        top = self.stack[-1]
        if kind not in ("clean", "escaped"):
            return ""
        name = str(self._scalar(kind, token, at))
        if name in top:
            self.duplicates = True
            self._note("json-duplicate-name", at)
        self.names[-1] = name
        return "colon"

    def _put(self, value: object) -> None:
        if not self.stack:
            self.root = value
        elif isinstance(top := self.stack[-1], dict):
            top[self.names[-1]] = value
        else:
            top.append(value)

    def _scalar(self, kind: str, token: str, at: int) -> object:
        if kind == "clean":
            return token
        if kind == "word":
            return _WORDS[token]
        return self._number(token, at) if kind == "number" else self._unescape(token, at)

    def _unescape(self, token: str, at: int) -> str:
        text = _ESCAPE.sub(_plain, token)
        if _LONE.search(text):
            self._note("json-lone-surrogate", at)
        return text

    def _number(self, token: str, at: int) -> object:
        if len(token) > 1_000:
            self._note("json-number-length", at)
        if not any(mark in token for mark in ".eE"):
            return self._integer(token, at)
        value = float(token)
        mantissa = re.split("[eE]", token)[0]
        if not math.isfinite(value) or (value == 0 and mantissa.strip("-0.")):
            self._note("json-number-range", at)
        return value

    def _integer(self, token: str, at: int) -> object:
        value = LongInteger(token) if len(token) > _LONGEST_INT else int(token)
        if isinstance(value, LongInteger) or abs(value) > _SAFE:
            self._note("json-integer-range", at)
        return value

    def _note(self, rule: str, at: int) -> None:
        if not self.rule:
            self.rule, self.at = rule, at


def _plain(match: re.Match[str]) -> str:
    escape = match[0]
    if escape[1] != "u":
        return _SIMPLE.get(escape[1], escape[1])
    unit = int(escape[2:6], 16)
    if len(escape) == 6:
        return chr(unit)
    return chr(0x10000 + ((unit - 0xD800) << 10) + int(escape[8:12], 16) - 0xDC00)


def minus_zero_ids(raw: bytes, depth: int) -> frozenset[int]:
    """Which objects at nesting ``depth``, counted from 0, have an ``id`` spelled ``-0``.

    Asked of accepted documents only, and of few: the value alone can't tell ``-0`` from ``0``.
    Depth is 1 for a lone message and 2 for the members of a batch.
    """
    text, at, level, position, name, before = raw.decode(), 0, 0, 0, "", ""
    found = set()
    while (match := _TOKEN.match(text, at)) and match.lastgroup != "end":
        at, kind, word = match.end(), match.lastgroup, match[match.lastgroup or 0]
        if kind == "mark":
            level += (word in "[{") - (word in "]}")
            name = before if word == ":" else ""
            position += word == "," and level == depth - 1
        elif word == "-0" and kind == "number" and level == depth and name == "id":
            found.add(position)
        elif kind in ("clean", "escaped"):
            before = word if kind == "clean" else _ESCAPE.sub(_plain, word)
    return frozenset(found)
