"""Judge one JSON document against RFC 8259 (spec) and what two readers may read alike (strict).

A JSON text is a row of units, each an optional name, a value or a run of opening
brackets, and the closing brackets and comma behind it. One regular expression finds the units, so a
member costs one step and not four, a million brackets cost one step, and neither nesting nor length
can blow the stack. Syntax wins over strict rules, which are only noted on the way.

The expression uses plain greedy repeats only: possessive ones match too much before CPython 3.11.5.
Greedy repeats of a group keep a state for each round, so escapes are masked first; then a string is
one repeat of one set of characters.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from wirefence.oracles.records import Verdict

__all__ = [
    "DEEPEST",
    "UNKNOWN",
    "LongInteger",
    "forget_long_documents",
    "judge_document",
    "spell_integer",
]

_SPACE = r"[ \t\n\r]*"
_STRING = r'"([^"\\\x00-\x1f]*)"'
_UNIT = re.compile(
    rf"{_SPACE}(?!\Z)(?:{_STRING}{_SPACE}:{_SPACE}|)"
    rf"(?:{_STRING}|([-+.0-9A-Za-z]+)|(\[+|\{{)|)"
    rf"{_SPACE}([\]}}]*,?)"
)
_NAME, _TEXT, _TOKEN, _OPENERS, _TAIL = range(1, 6)
_MASK = "\x7f"
"""Stands for each character of a valid escape: allowed within a string and nowhere else."""

_SHORT_ESCAPES = tuple("\\" + letter for letter in '\\"/bfnrt')
"""The escaped backslash comes first: what follows it begins no escape."""

_LONG_ESCAPE = re.compile(r"\\u[0-9a-fA-F]{4}")
_ESCAPE = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.")
_LONE = re.compile("[\ud800-\udfff]")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_REAL = re.compile("[.eE]")
_SIMPLE = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS: dict[str, object] = {"true": True, "false": False, "null": None}
_KNOWN = _WORDS | {str(value): value for value in range(1_000)}
_CLOSER = {"[": "]", "{": "}"}
_NO_VALUE = object()
"""What a word is that is neither a number nor one of the three literals."""

_NOTHING, _NEXT, _FIRST = range(3)
"""What is wanted: no value, a value, or a value unless the container just opened stays empty."""

_SAFE = 2**53 - 1
_SURELY_SAFE = 15
_FEW = 64
_LONGEST_NUMBER = 1_000
_LONGEST_INTEGER = 100_000
_SURE_BITS = 1_024
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


def _judge_both_profiles(raw: bytes, max_depth: int) -> tuple[Verdict, Verdict]:
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
        return (Verdict("json-syntax", _byte_offset(text, fault)),) * 2
    zeros = frozenset(reader.minus_zeros)
    spec = Verdict("", 0, reader.whole[0], reader.duplicates, zeros)
    if not reader.rule:
        return spec, spec
    return Verdict(reader.rule, _byte_offset(text, reader.at), None, reader.duplicates), spec


# A frame is judged once for each policy and profile, and what gateways answer is always the same.
_remembered = lru_cache(maxsize=256)(_judge_both_profiles)
_remembered_long = lru_cache(maxsize=2)(_judge_both_profiles)


def forget_long_documents() -> None:
    """Let go of the long documents that were judged last, with their values."""
    _remembered_long.cache_clear()


def _byte_offset(text: str, at: int) -> int:
    return len(text[:at].encode("utf-8"))


class _Reader:
    """The state of one pass.

    ``top`` is the innermost container and ``closer`` what closes it; ``opened`` and ``due`` hold
    the same of all around it, from the outside in, beginning with the text itself, which nothing
    closes and whose value is in ``whole``. Where ``due`` is longer, ``top`` is deeper than
    :data:`DEEPEST` and not kept.
    """

    __slots__ = (
        *("at", "closer", "due", "duplicates", "masked", "max_depth", "minus_zeros", "opened"),
        *("rule", "text", "top", "whole"),
    )

    def __init__(self, text: str, max_depth: int) -> None:
        self.text, self.max_depth = text, max_depth
        self.masked = _mask_escapes(text) if "\\" in text else text
        self.whole: list[Any] = []
        self.rule, self.at, self.duplicates = "", 0, False
        self.minus_zeros: set[int] = set()
        self.due: list[str] = []
        self.opened: list[Any] = []
        self.top: Any = self.whole
        self.closer = ""

    def read(self) -> int:  # noqa: C901, PLR0911, PLR0912 - the hot loop: a call for each unit would double its cost
        """Read the whole text; the offset of a syntax fault, or -1."""
        value: Any
        top, closer, wanted = self.top, self.closer, _NEXT
        due, opened, shallow = self.due, self.opened, min(self.max_depth, DEEPEST)
        for unit in _UNIT.finditer(self.masked):
            name, value, token, openers, tail = unit.groups()
            if value is None and token is None and openers is None:
                if name is not None or wanted == _NEXT or not tail:
                    return self._fault(unit, closer, wanted)
            else:
                if not wanted or (name is None) is (closer == "}"):
                    return self._fault(unit, closer, wanted)
                wanted = _NOTHING
                if name is not None and (_MASK in name or name in top):
                    name = self._plain_name(top, unit.start(_NAME), unit.end(_NAME))
                if token is not None:
                    value = _KNOWN.get(token, unit)
                    if value is unit:
                        value = self._number(token, name, unit.start(_TOKEN))
                        if value is _NO_VALUE:
                            return _end_of_value(token, unit.start(_TOKEN))
                elif openers is None:
                    if _MASK in value:
                        value = self._unescape(unit.start(_TEXT), unit.end(_TEXT))
                elif openers in _CLOSER and len(due) < shallow:
                    value = {} if openers == "{" else []
                    wanted = _FIRST
                else:
                    self.top, self.closer = top, closer
                    value = self._open(openers, unit.start(_OPENERS))
                if name is not None:
                    top[name] = value
                else:
                    top.append(value)
                if wanted:
                    opened.append(top)
                    due.append(closer)
                    top, closer = value, _CLOSER[openers]
                elif openers is not None:
                    top, closer, wanted = self.top, self.closer, _FIRST
            if tail == ",":
                if wanted or not closer:
                    return unit.start(_TAIL)
                wanted = _NEXT
            elif tail:
                if len(due) > DEEPEST or len(tail) > _FEW:
                    self.closer = closer
                    tail, fault = self._close(tail)
                    if fault >= 0:
                        return unit.start(_TAIL) + fault
                    top, closer, wanted = self.top, self.closer, _NOTHING
                for place, mark in enumerate(tail):
                    if mark == "," and closer:
                        wanted = _NEXT
                    elif mark == closer:
                        top, closer, wanted = opened.pop(), due.pop(), _NOTHING
                    else:
                        return unit.end() - len(tail) + place
        return len(self.text) if wanted or closer else -1

    def _plain_name(self, top: dict[str, Any], at: int, end: int) -> str:
        """Return the name at ``at`` without escapes; note a duplicate key if ``top`` has it."""
        name = self._unescape(at, end)
        if name in top:
            self.duplicates = True
            self._note("json-duplicate-name", at)
            if name == "id":  # the last one counts, and may be spelled otherwise
                self.minus_zeros.discard(self._place())
        return name

    def _open(self, openers: str, at: int) -> object:
        """Open as many containers as there are brackets; give the outermost one."""
        depth, count = len(self.due), len(openers)
        if depth <= self.max_depth < depth + count:
            self._note("json-depth", at + self.max_depth - depth)
        self.due.append(self.closer)
        self.closer = _CLOSER[openers[0]]
        self.due += self.closer * (count - 1)
        outermost: Any = {} if openers == "{" else []
        for place in range(depth, min(depth + count, DEEPEST + 1)):
            self.opened.append(self.top)
            self.top = outermost if place == depth else []
            if place > depth:
                self.opened[-1].append(UNKNOWN if place == DEEPEST else self.top)
        if depth > DEEPEST:
            self.top = outermost
        return outermost if depth < DEEPEST else UNKNOWN

    def _close(self, tail: str) -> tuple[str, int]:
        """Take the closers of a tail; what is left of it, and the place of a wrong one or -1."""
        closers = tail.rstrip(",")
        count = len(closers)
        due = self.closer + "".join(self.due[:-count:-1])
        if due != closers:
            return tail, next((at for at, it in enumerate(due) if it != closers[at]), len(due))
        self.closer = self.due[-count]
        del self.due[-count:]
        depth = len(self.due)
        if depth <= DEEPEST:
            self.top = self.opened[depth]
            del self.opened[depth:]
        else:
            self.top = {} if self.closer == "}" else []
        return tail[count:], -1

    def _fault(self, unit: re.Match[str], closer: str, wanted: int) -> int:
        """Where a unit that cannot stand here breaks the grammar."""
        quotes, plain = (_NAME, _TEXT), (_TOKEN, _OPENERS)
        starts = [*(unit.start(group) - 1 for group in quotes), *map(unit.start, plain)]
        begin = next((start for start in starts if start >= 0), unit.start(_TAIL))
        if not wanted:
            return begin
        if unit[_NAME] is not None:
            colon = self.masked.index(":", unit.end(_NAME))
            return unit.start(_TAIL) if closer == "}" else colon
        return unit.start(_TAIL) if unit[_TEXT] is not None else begin

    def _place(self) -> int:
        """The place in its batch of the message whose members are read; -1 deeper within one."""
        if len(self.due) == 1:
            return 0
        batch = len(self.due) == 2 and isinstance(self.whole[0], list)
        return len(self.whole[0]) - 1 if batch else -1

    def _spelled_minus_zero(self) -> None:
        """Note a message whose id is ``-0``: the value alone can't tell that from ``0``."""
        if (place := self._place()) >= 0:
            self.minus_zeros.add(place)

    def _unescape(self, at: int, end: int) -> str:
        """The string between two places of the text, without escapes."""
        text = _ESCAPE.sub(_unescape_match, self.text[at:end])
        if _LONE.search(text):
            self._note("json-lone-surrogate", at)
        return text

    def _number(self, word: str, name: str | None, at: int) -> object:
        if word.isdigit() and word[0] != "0" and len(word) <= _SURELY_SAFE:
            return int(word)
        if not _NUMBER.fullmatch(word):
            return _NO_VALUE
        if word == "-0" and name == "id":
            self._spelled_minus_zero()
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
        value = LongInteger(word) if len(word) > _LONGEST_INTEGER else _read_integer(word)
        if isinstance(value, LongInteger) or abs(value) > _SAFE:
            self._note("json-integer-range", at)
        return value

    def _note(self, rule: str, at: int) -> None:
        if not self.rule:
            self.rule, self.at = rule, at


def _end_of_value(word: str, at: int) -> int:
    """Where a wrong word at ``at`` stops being a value: behind a literal or number, or at once."""
    for literal in _WORDS:
        if word.startswith(literal):
            return at + len(literal)
    number = _NUMBER.match(word)
    return at + number.end() if number else at


def _mask_escapes(text: str) -> str:
    """``text`` with every valid escape replaced by as many :data:`_MASK`.

    Backslashes pair from the left, as within a string. Where one stands outside of a string, the
    text is no JSON there, whatever is paired behind it.
    """
    for escape in _SHORT_ESCAPES:
        text = text.replace(escape, _MASK * 2)
    return _LONG_ESCAPE.sub(_MASK * 6, text)


def spell_integer(value: int | LongInteger) -> str:
    """The canonical spelling of an integer of any length: ``str()`` bounds its digits."""
    if isinstance(value, LongInteger):
        return value.token
    # Decimal takes an integer as it is, and writes it without a bound.
    return str(value) if value.bit_length() < _SURE_BITS else f"{Decimal(value):f}"


def _read_integer(token: str) -> int:
    """The value of an integer token of any length, half by half: ``int()`` bounds its digits."""
    if token[0] == "-":
        return -_read_integer(token[1:])
    if len(token) <= _LONGEST_INT:
        return int(token)
    half = len(token) // 2
    return int(_read_integer(token[:-half]) * 10**half + _read_integer(token[-half:]))


def _unescape_match(match: re.Match[str]) -> str:
    escape = match[0]
    if escape[1] != "u":
        return _SIMPLE.get(escape[1], escape[1])
    unit = int(escape[2:6], 16)
    if len(escape) == 6:
        return chr(unit)
    return chr(0x10000 + ((unit - 0xD800) << 10) + int(escape[8:12], 16) - 0xDC00)
