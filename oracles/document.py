"""Judge one JSON document against RFC 8259 (spec) and what two readers may read alike (strict).

Key insight: a JSON text is a row of units, each an optional name, a value or a run of opening
brackets, and the closing brackets and comma behind it. One regular expression finds the units, so a
member costs one step and not four, a million brackets cost one step, and neither nesting nor length
can blow the stack. Syntax wins over strict rules, which are only noted on the way.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from oracles.records import Verdict

__all__ = ["DEEPEST", "UNKNOWN", "LongInteger", "forget_long_documents", "judge_document"]

_SPACE = r"[ \t\n\r]*+"
_STRING = r'"((?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+)"'
_NUMBER = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+"
_UNIT = re.compile(
    rf"{_SPACE}(?!\Z)(?:{_STRING}{_SPACE}:{_SPACE})?"
    rf"(?:({_NUMBER}|true|false|null|\[++|\{{)|{_STRING})?"
    rf"{_SPACE}([\]}}]*+)(,?)"
)
_NAME, _TOKEN, _TEXT, _CLOSERS, _COMMA = range(1, 6)
_ESCAPE = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.")
_LONE = re.compile("[\ud800-\udfff]")
_REAL = re.compile("[.eE]")
_SIMPLE = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS: dict[str, object] = {"true": True, "false": False, "null": None}
_DIGITS = _WORDS | {str(value): value for value in range(100)}
_CLOSER = {"[": "]", "{": "}"}
_SAFE = 2**53 - 1
_SURELY_SAFE = 15
_LONGEST_NUMBER = 1_000
_LONGEST_INTEGER = 100_000
_LONGEST_INT = 600
"""Digits that ``int()`` takes under any limit that an interpreter can be given."""

DEEPEST = 10_000
"""Containers nested deeper than this are checked as well, but their values are not kept."""

UNKNOWN = object()
"""Stands for a value below :data:`DEEPEST`."""

_SHORT = 16_384
"""Bytes of a document up to which verdicts are remembered by the hundred."""


@dataclass(frozen=True, slots=True)
class LongInteger:
    """An integer token of more than 100,000 digits; the canonical spelling is its value."""

    token: str


def judge_document(raw: bytes, *, profile: str = "strict", max_depth: int = 128) -> Verdict:
    """Judge ``raw`` (a frame without LF) by the utf8 and json rules of docs/contract.md.

    Values are shared between calls on equal bytes: they are to be read, not changed.
    """
    strict, spec = (_remembered if len(raw) <= _SHORT else _remembered_long)(raw, max_depth)
    return strict if profile == "strict" else spec


def _judge(raw: bytes, max_depth: int) -> tuple[Verdict, Verdict]:
    """The verdicts of both profiles, from one reading."""
    if raw.startswith(b"\xef\xbb\xbf"):
        return (Verdict("utf8-bom"),) * 2
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return (Verdict("utf8-invalid", error.start),) * 2
    reader = _Reader(text.rstrip(" \t\n\r"), max_depth)
    fault = reader.read()
    if fault >= 0:
        return (Verdict("json-syntax", _offset(text, fault)),) * 2
    zeros = frozenset(reader.minus_zeros)
    spec = Verdict("", 0, reader.root, reader.duplicates, zeros)
    if not reader.rule:
        return spec, spec
    return Verdict(reader.rule, _offset(text, reader.at), None, reader.duplicates), spec


# A frame is judged once for each policy and profile, and what gateways answer is always the same.
_remembered = lru_cache(maxsize=256)(_judge)
_remembered_long = lru_cache(maxsize=2)(_judge)


def forget_long_documents() -> None:
    """Let go of the long documents that were judged last, with their values."""
    _remembered_long.cache_clear()


def _offset(text: str, at: int) -> int:
    return len(text[:at].encode("utf-8"))


class _Reader:
    """The state of one pass.

    ``due`` holds the closers of the open containers, ``opened`` those containers as far as they are
    kept, ``top`` and ``closer`` the innermost of both. ``fresh`` says that it is still empty.
    """

    def __init__(self, text: str, max_depth: int) -> None:
        self.text, self.max_depth = text, max_depth
        self.root: Any = None
        self.rule, self.at, self.duplicates = "", 0, False
        self.minus_zeros: set[int] = set()
        self.due: list[str] = []
        self.opened: list[Any] = []
        self.top: Any = None
        self.closer, self.fresh = "", False

    def read(self) -> int:  # noqa: C901, PLR0912, PLR0915 - the hot loop: a call for each unit would double its cost
        """Read the whole text; the offset of a syntax fault, or -1."""
        top: Any = None
        value: Any
        due, opened, closer = self.due, self.opened, ""
        shallow, wanted = min(self.max_depth, DEEPEST), True
        for unit in _UNIT.finditer(self.text):
            name, word, value, closers, comma = unit.groups()
            if value is None and word is None:
                if name is not None or not (closers or comma) or (wanted and not self.fresh):
                    return self._fault(unit, wanted=wanted)
            else:
                if not wanted or (name is None) is (closer == "}"):
                    return self._fault(unit, wanted=wanted)
                if name is not None:
                    if "\\" in name:
                        name = self._unescape(name, unit.start(_NAME))
                    if name in top:
                        self._repeated(unit)
                wanted = self.fresh = False
                if word is None:
                    if "\\" in value:
                        value = self._unescape(value, unit.start(_TEXT))
                elif word in _DIGITS:
                    value = _DIGITS[word]
                elif word in _CLOSER and len(due) < shallow:
                    value = {} if word == "{" else []
                    opened.append(value)
                    due.append(_CLOSER[word])
                    self.top, self.closer = value, due[-1]
                    wanted = self.fresh = True
                elif word.isdigit() and len(word) <= _SURELY_SAFE:
                    value = int(word)
                else:
                    value = self._value(word, name, unit.start(_TOKEN))
                    wanted = self.fresh
                if closer == "}":
                    top[name] = value
                elif closer:
                    top.append(value)
                else:
                    self.root = value
                if wanted:
                    top, closer = self.top, self.closer
            if closers:
                if closers == closer and len(due) <= DEEPEST:
                    del due[-1], opened[-1]
                    top, closer = (opened[-1], due[-1]) if due else (None, "")
                    self.top, self.closer, self.fresh = top, closer, False
                else:
                    fault = self._close(closers)
                    if fault >= 0:
                        return unit.start(_CLOSERS) + fault
                    top, closer = self.top, self.closer
                wanted = False
            if comma:
                if self.fresh or not closer:
                    return unit.start(_COMMA)
                wanted = True
        return len(self.text) if wanted or closer else -1

    def _repeated(self, unit: re.Match[str]) -> None:
        self.duplicates = True
        self._note("json-duplicate-name", unit.start(_NAME))

    def _value(self, word: str, name: str | None, at: int) -> object:
        if word[0] in _CLOSER:
            return self._open(word, at)
        if word == "-0" and name == "id":
            self._spelled_minus_zero()
        return self._number(word, at)

    def _open(self, word: str, at: int) -> object:
        """Open as many containers as ``word`` has brackets; give the outermost one."""
        depth, count = len(self.due), len(word)
        if depth <= self.max_depth < depth + count:
            self._note("json-depth", at + self.max_depth - depth)
        self.closer, self.fresh = _CLOSER[word[0]], True
        self.due += self.closer * count
        outermost: Any = {} if word == "{" else []
        self.top = outermost
        if depth >= DEEPEST:
            return UNKNOWN
        self.opened.append(outermost)
        for _ in range(min(count, DEEPEST - depth) - 1):
            outer, self.top = self.top, []
            outer.append(self.top)
            self.opened.append(self.top)
        if depth + count > DEEPEST:
            self.top.append(UNKNOWN)
            self.top = []
        return outermost

    def _close(self, closers: str) -> int:
        """Take the closers behind a value; the place of one that is wrong, or -1."""
        due = "".join(self.due[: -len(closers) - 1 : -1])
        if due != closers:
            return next((at for at, it in enumerate(due) if it != closers[at]), len(due))
        del self.due[-len(closers) :]
        depth = len(self.due)
        self.fresh = False
        self.closer = self.due[-1] if depth else ""
        if depth <= DEEPEST:
            del self.opened[depth:]
            self.top = self.opened[-1] if depth else None
        else:
            self.top = {} if self.closer == "}" else []
        return -1

    def _fault(self, unit: re.Match[str], *, wanted: bool) -> int:
        """Where a unit that cannot stand here breaks the grammar."""
        starts = (unit.start(_NAME) - 1, unit.start(_TEXT) - 1, unit.start(_TOKEN))
        begin = next((start for start in starts if start >= 0), unit.start(_CLOSERS))
        if not wanted:
            return begin
        if unit[_NAME] is not None:
            colon = self.text.index(":", unit.end(_NAME))
            return unit.start(_CLOSERS) if self.closer == "}" else colon
        return unit.start(_CLOSERS) if unit[_TEXT] is not None else begin

    def _spelled_minus_zero(self) -> None:
        """Note a message whose id is ``-0``: the value alone can't tell that from ``0``."""
        if len(self.due) == 1:
            self.minus_zeros.add(0)
        elif len(self.due) == 2 and isinstance(self.root, list):
            self.minus_zeros.add(len(self.root) - 1)

    def _unescape(self, word: str, at: int) -> str:
        text = _ESCAPE.sub(_plain, word)
        if _LONE.search(text):
            self._note("json-lone-surrogate", at)
        return text

    def _number(self, word: str, at: int) -> object:
        if len(word) > _LONGEST_NUMBER:
            self._note("json-number-length", at)
        if not _REAL.search(word):
            return self._integer(word, at)
        value = float(word)
        if math.isinf(value) or (not value and re.split("[eE]", word)[0].strip("-0.")):
            self._note("json-number-range", at)
        return value

    def _integer(self, word: str, at: int) -> object:
        if len(word) <= _SURELY_SAFE:
            return int(word)
        value = LongInteger(word) if len(word) > _LONGEST_INTEGER else _whole(word)
        if isinstance(value, LongInteger) or abs(value) > _SAFE:
            self._note("json-integer-range", at)
        return value

    def _note(self, rule: str, at: int) -> None:
        if not self.rule:
            self.rule, self.at = rule, at


def _whole(token: str) -> int:
    """The value of an integer token of any length, half by half: ``int()`` bounds its digits."""
    if token[0] == "-":
        return -_whole(token[1:])
    if len(token) <= _LONGEST_INT:
        return int(token)
    half = len(token) // 2
    return int(_whole(token[:-half]) * 10**half + _whole(token[-half:]))


def _plain(match: re.Match[str]) -> str:
    escape = match[0]
    if escape[1] != "u":
        return _SIMPLE.get(escape[1], escape[1])
    unit = int(escape[2:6], 16)
    if len(escape) == 6:
        return chr(unit)
    return chr(0x10000 + ((unit - 0xD800) << 10) + int(escape[8:12], 16) - 0xDC00)
