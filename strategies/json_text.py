"""JSON texts, valid by RFC 8259, in all the spellings that it allows.

Parsers disagree about spellings, and a grammar of values has none left by the time
a serializer is done. So this one never makes a value: every choice is about bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

from wirefence.strategies.source import Source

__all__ = ["DICTIONARY", "MAX_SIZE", "json_text", "load_words", "number", "string"]

DICTIONARY = Path(__file__).with_name("dictionary.txt")
"""The words that names and strings are made of by default."""

MAX_SIZE = 10_000_000
"""The largest size, in bytes, that :func:`json_text` aims at."""

_SIZES = (16,) * 8 + (48,) * 16 + (160,) * 6 + (600,)
_LARGE = 4_096
_PIECE = 600
_BODY = re.compile(
    rb'(?:[^\x00-\x1f"\\]|\\["\\/bfnrt]|\\u(?![Dd][89A-Fa-f])[0-9A-Fa-f]{4}'
    rb"|\\u[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2})*"
)


@lru_cache(maxsize=8)
def load_words(path: Path) -> tuple[bytes, ...]:
    """The words of a dictionary file, each as it is spelled between the quotes of a JSON string.

    One word a line, in UTF-8; empty lines and lines that start with ``# `` are skipped. Raises
    OSError if the file can't be read, and ValueError with the line's number for a line that is not
    UTF-8 or no string body (a lone surrogate escape included).
    """
    words = []
    for at, line in enumerate(path.read_bytes().split(b"\n"), 1):
        if not line or line.startswith(b"# "):
            continue
        if not _BODY.fullmatch(line):
            raise ValueError(f"{path}:{at}: not the inside of a JSON string: {line!r}")
        line.decode()
        words.append(line)
    return tuple(words)


_NUMBERS: tuple[bytes, ...] = (
    *(b"0", b"1", b"-1", b"-0", b"10", b"0.0", b"-0.0", b"0e0", b"0E+0", b"0e400", b"-0e-400"),
    *(b"1.0", b"1e0", b"1E00", b"1e+2", b"1E-2", b"1.50", b"0.1", b"0.30000000000000004"),
    *(b"9007199254740991", b"9007199254740992", b"9007199254740993", b"-9007199254740992"),
    *(b"2147483647", b"2147483648", b"4294967295", b"4294967296", b"-2147483649"),
    *(b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808"),
    *(b"-9223372036854775809", b"18446744073709551615", b"18446744073709551616"),
    *(b"100000000000000000000", b"1e308", b"1.7976931348623157e308", b"1.7976931348623159e308"),
    *(b"1e309", b"-1e400", b"1e400", b"1e99999999999", b"123456789012345678901234567890.5"),
    *(b"5e-324", b"4.9406564584124654e-324", b"2e-324", b"1e-400", b"-1e-99999999999"),
    *(b"2.2250738585072011e-308", b"2.2250738585072014e-308", b"1.00000000000000011102230246251"),
)
_LENGTHS = (1, 2, 3, 3, 8, 17, 20, 40, 310)
_LITERALS = (b"null", b"true", b"false")
_SPACES = (b"", b"", b"", b" ", b"\t", b"\r", b"\n", b"\r\n", b"  ", b"\n\t ")
_ESCAPES = (b'\\"', b"\\\\", b"\\/", b"\\b", b"\\f", b"\\n", b"\\r", b"\\t")
_DEPTHS = (1,) * 24 + (2, 3, 4, 8, 8, 20, 127, 128, 129)
_SCALARS = ("null", "literal", "number", "number", "string", "string")
_VALUES = (*_SCALARS[:5], *("array",) * 7, *("object",) * 8)
_ROOM = 8
_HEX = (b"%04x", b"%04X")


def _digits(source: Source, length: int) -> bytes:
    return b"%0*d" % (length, source.integer(0, 10**length - 1))


def number(source: Source) -> bytes:
    """A number token: one at some reader's limit, or any."""
    if source.chance(1, 2):
        return source.choice(_NUMBERS)
    token = _digits(source, source.choice(_LENGTHS)).lstrip(b"0") or b"0"
    if source.chance(1, 3):
        token = b"-" + token
    if source.chance(1, 3):
        token += b"." + _digits(source, source.choice(_LENGTHS))
    if source.chance(1, 4):
        power = _digits(source, source.choice((1, 2, 3)))
        token += source.choice((b"e", b"E", b"e+", b"E+", b"e-", b"E-")) + power
    return token


def _escaped(source: Source, point: int) -> bytes:
    """One hexadecimal escape, or the two of a code point above U+FFFF (RFC 8259, section 7)."""
    spelled = b"\\u" + source.choice(_HEX)
    if point <= 0xFFFF:
        return spelled % point
    high, low = divmod(point - 0x10000, 0x400)
    return spelled % (0xD800 + high) + spelled % (0xDC00 + low)


def _plain(source: Source) -> bytes:
    """A few characters as they are, but for those that must be escaped."""
    parts = []
    for character in source.text(6):
        point = ord(character)
        if point < 0x20 or character in '"\\':
            parts.append(_escaped(source, point))
        else:
            parts.append(character.encode())
    return b"".join(parts)


def _any_escape(source: Source) -> bytes:
    if source.chance(1, 2):
        return source.choice(_ESCAPES)
    planes = ((0, 0x7F), (0x80, 0x7FF), (0xE000, 0xFFFF), (0x10000, 0x10FFFF))
    return _escaped(source, source.integer(*source.choice(planes)))


def _lone(source: Source) -> bytes:
    """Half a surrogate pair: the grammar allows it, and no Unicode string can hold it."""
    return _escaped(source, source.integer(0xD800, 0xDFFF))


def _respelled(source: Source, body: bytes) -> bytes:
    """``body`` with one character escaped, so that it differs only until it is unescaped."""
    if not body or b"\\" in body:
        return body
    at = source.integer(0, len(body) - 1)
    if body[at] >= 0x80:
        return body
    return body[:at] + _escaped(source, body[at]) + body[at + 1 :]


def _word(source: Source, words: Sequence[bytes]) -> bytes:
    return source.choice(words)


def _respelled_word(source: Source, words: Sequence[bytes]) -> bytes:
    return _respelled(source, source.choice(words))


_BODIES: tuple[Callable[[Source, Sequence[bytes]], bytes], ...] = (
    *(_word, _word, _word, _respelled_word),
    *(lambda source, _: _plain(source), lambda source, _: _any_escape(source)),
)


def string(source: Source, words: Sequence[bytes], *, lone_surrogates: bool = False) -> bytes:
    """The inside of a JSON string: one to four words, plain characters or escapes."""
    body = source.choice(_BODIES)(source, words)
    while source.chance(1, 4):
        body += source.choice(_BODIES)(source, words)
    return body + _lone(source) if lone_surrogates and source.chance(1, 6) else body


class _Writer:
    """Writes one text, piece by piece; every method gives raw JSON of roughly ``budget`` bytes."""

    __slots__ = ("duplicates", "gaps", "lone", "scalars", "source", "words")

    def __init__(
        self, source: Source, words: Sequence[bytes], *, lone_surrogates: bool, duplicates: bool
    ) -> None:
        self.source = source
        self.words = words
        self.lone = lone_surrogates
        self.duplicates = duplicates
        self.scalars = {"literal": self.literal, "number": number, "string": self.string}
        # White space is a property of the whole text: that keeps compact texts cheap.
        self.gaps: Sequence[bytes] = _SPACES if source.chance(1, 3) else ()

    def gap(self) -> bytes:
        return self.source.choice(self.gaps) if self.gaps else b""

    def body(self, source: Source) -> bytes:
        return string(source, self.words, lone_surrogates=self.lone)

    def literal(self, source: Source) -> bytes:
        return source.choice(_LITERALS)

    def string(self, source: Source) -> bytes:
        return b'"%b"' % self.body(source)

    def value(self, source: Source, budget: int) -> bytes:
        kind = source.choice(_SCALARS if budget < _ROOM else _VALUES)
        # Null takes no further choice, as what takes the fewest is what Hypothesis shrinks to.
        if kind == "null":
            return b"null"
        if kind == "array":
            shares = self.shares(source, budget)
            return b"[%b]" % self.joined([self.value(source.split(), share) for share in shares])
        return self.object(source, budget) if kind == "object" else self.scalars[kind](source)

    def shares(self, source: Source, budget: int) -> list[int]:
        """How ``budget`` is spread over the items of a container: evenly, over a few."""
        count = source.integer(0, min(8, 1 + budget // 12))
        return [budget // count - 2] * count if count else []

    def joined(self, items: list[bytes]) -> bytes:
        """Items between commas, with white space around each; an empty list is white space."""
        if not self.gaps:
            return b",".join(items)
        spaced = [self.gap() + item + self.gap() for item in items]
        return b",".join(spaced) if spaced else self.gap()

    def object(self, source: Source, budget: int) -> bytes:
        names: list[bytes] = []
        members: list[bytes] = []
        for share in self.shares(source, budget):
            part = source.split()
            names.append(self.name(part, names))
            colon = self.gap() + b":" + self.gap() if self.gaps else b":"
            members.append(b'"%b"%b%b' % (names[-1], colon, self.value(part, share - 6)))
        return b"{%b}" % self.joined(members)

    def name(self, source: Source, taken: list[bytes]) -> bytes:
        """A name, which may repeat one of ``taken`` only if the text may have duplicates."""
        if self.duplicates:
            if taken and source.chance(1, 8):
                again = source.choice(taken)
                return again if source.chance(1, 2) else _respelled(source, again)
            return self.body(source)
        body = self.body(source)
        # A bare name can equal no numbered one, as none that starts with a digit stays bare.
        if body in taken or b"\\" in body or body[:1].isdigit():
            return b"%d_%b" % (len(taken), body)
        return body

    def nested(self, budget: int) -> bytes:
        depth = min(self.source.choice(_DEPTHS), 1 + budget // 4)
        inner = self.value(self.source.split(), budget)
        if depth == 1:
            return inner
        if self.source.chance(1, 2):
            return b"[" * depth + inner + b"]" * depth
        return b'{"a":' * depth + inner + b"}" * depth

    def large(self, size: int) -> bytes:
        """A text of many pieces, so that megabytes cost little: the pieces repeat."""
        form = self.source.choice(_FORMS)
        pieces = [self.value(self.source.split(), _PIECE // 4) for _ in range(_PIECES)]
        if form == "string":
            body = b"".join([self.body(self.source.split()) for _ in range(_PIECES)]) or b"a"
            return b'"%b"' % (body * (size // len(body)))
        if form == "space":
            return pieces[0] + self.source.choice(_SPACES[3:]) * (size // 2)
        length = sum(map(len, pieces)) + _PIECES
        if form == "array":
            return b"[%b]" % b",".join(pieces * (size // length))
        stem = self.source.choice((b"", b"k", b"\\u006b", b"__proto__"))
        count = size // (length // _PIECES + len(stem) + 8)
        names = ((stem, at, pieces[at % _PIECES]) for at in range(count))
        return b"{%b}" % b",".join([b'"%b%d":%b' % name for name in names])


_FORMS = ("object", "array", "string", "space")
_PIECES = 16


def json_text(
    source: Source,
    *,
    size: int | None = None,
    lone_surrogates: bool = False,
    duplicates: bool = True,
    words: Sequence[bytes] | None = None,
) -> bytes:
    """A JSON text that is valid by RFC 8259, as UTF-8 without a BOM.

    ``size`` is aimed at, in bytes, within a factor of a few; by default the source picks one of up
    to some hundred bytes. From a few kilobytes on, texts hold thousands of distinct names, items,
    characters or blanks. ``lone_surrogates`` lets strings hold halves of surrogate pairs;
    ``duplicates`` lets the names of an object repeat, also spelled differently. ``words`` replace
    the default dictionary (:func:`load_words`). Raises ValueError if ``size`` is not in
    ``1 .. MAX_SIZE`` or ``words`` is empty.
    """
    if words is None:
        words = load_words(DICTIONARY)
    if not words:
        raise ValueError("words must not be empty")
    budget = source.choice(_SIZES) if size is None else size
    if not 1 <= budget <= MAX_SIZE:
        raise ValueError(f"size must be between 1 and {MAX_SIZE}, got {size}")
    writer = _Writer(source, words, lone_surrogates=lone_surrogates, duplicates=duplicates)
    text = writer.large(budget) if budget > _LARGE else writer.nested(budget)
    return writer.gap() + text + writer.gap()
