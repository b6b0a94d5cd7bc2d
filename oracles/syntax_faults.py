"""Name what breaks the grammar of JSON at the place where a strict reader stops.

A document may hold many things that JSON does not know, and a reader meets one of them first. What
stands there, and what stood before it, says what the fault is: the same comma is a trailing one
before a bracket and one too many before a value.
"""

from __future__ import annotations

import re

__all__ = ["name_syntax_fault"]

_SPACE = b" \t\r\n"
_BLANK = "".join(
    map(chr, (*range(33), 0x7F, 0x85, 0xA0, *range(0x2000, 0x2010), 0x2028, 0x2029, 0x3000, 0xFEFF))
)
"""Characters that some reader takes for space at the end of a document."""
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")
_IN_WORD = b"_.+-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_WORD = re.compile(rb"[0-9A-Za-z_.+$\x80-\xff-]*")
_LOOK_BACK = 5_000
"""Bytes before a fault that may belong to its word: more than any number that the grammar makes."""

_Table = tuple[tuple[str, re.Pattern[bytes]], ...]


def _compile_table(*rows: tuple[str, bytes]) -> _Table:
    return tuple((name, re.compile(expression)) for name, expression in rows)


_IN_STRING = _compile_table(
    ("nul-in-string", rb"\x00"),
    ("control-in-string", rb"[\x01-\x1f]"),
    ("lax-hex", rb'\\u(?![0-9a-fA-F]{4})[^"\\]{4}'),
    ("bad-escape", rb"\\"),
)
"""What a string may not hold; escaped backslashes are taken out before."""

_MARKS = _compile_table(
    ("nul", rb"\x00"),
    ("block-comment", rb"/\*"),
    ("line-comment", rb"//|#"),
    ("other-white-space", rb"[\x0b\x0c\x1c-\x1f]|\xc2\xa0|\xc2\x85|\xe2\x80[\xa8\xa9]"),
    ("unicode-space", rb"\xe2\x80[\x80-\x8f]|\xe3\x80\x80|\xef\xbb\xbf"),
    ("control-character", rb"[\x01-\x08\x0e-\x1b\x7f]"),
    ("single-quotes", rb"'"),
)
"""What the bytes at a fault are by themselves, wherever they stand."""

_WORDS = _compile_table(
    ("nan", rb"(?i:[+-]?nan)\Z"),
    ("infinity", rb"(?i:[+-]?inf(?:inity)?)\Z"),
    ("hexadecimal", rb"[+-]?0[xX]"),
    ("neg-leading-zero", rb"-0[0-9]"),
    ("leading-zero", rb"0[0-9]"),
    ("plus", rb"\+[0-9.]"),
    ("neg-dot", rb"-\."),
    ("dot-head", rb"\.[0-9]"),
    ("dot-tail", rb"-?[0-9]+\.(?![0-9])"),
    ("exponent-tail", rb"-?[0-9]+(?:\.[0-9]+)?[eE][+-]?\Z"),
    ("digit-separator", rb"-?[0-9]+_[0-9]"),
    ("other-digit", rb"-?[0-9]*(?:\xef\xbc[\x90-\x99]|\xd9[\xa0-\xa9])"),
    ("bare-minus", rb"-(?![0-9])"),
    ("literal-case", rb"(?i:true|false|null)\Z"),
)
"""What the word at a fault is, if it is like a number or a literal."""

_BEGINS_VALUE = re.compile(rb'["\[{0-9A-Za-z.+-]')


def name_syntax_fault(raw: bytes, at: int) -> str:
    """Return the trait by which a document breaks the grammar; ``syntax`` where no other fits.

    ``at`` is the offset of the fault as the judge gives it.
    """
    if _is_wide(raw):
        return "utf16-or-utf32"
    at += len(raw[at:]) - len(raw[at:].lstrip(_SPACE))
    if at >= len(raw):
        return "unclosed"
    start = at - len(_find_head_of_word(raw, at))
    before = raw[:start].rstrip(_SPACE)
    closers, previous = _read_before(before)
    if closers:
        return _name_within(raw, at, start, closers, previous)
    return _name_behind(raw, at, start) if raw[:at].strip(_SPACE) else _name_first(raw, at)


def _is_wide(raw: bytes) -> bool:
    """Whether a document begins like ASCII in UTF-16 or UTF-32."""
    head = raw[:4]
    return b"\x00\x00" in (head[::2], head[1::2]) and any(head)


def _find_head_of_word(raw: bytes, at: int) -> bytes:
    """Return what stands before ``at`` of the word or number that is faulty there."""
    if not _find_word(raw, at):
        return b""
    head = raw[max(0, at - _LOOK_BACK) : at]
    return head[len(head.rstrip(_IN_WORD)) :]


def _find_word(raw: bytes, start: int) -> bytes:
    match = _WORD.match(raw, start)
    return match[0] if match else b""


def _find_first(table: _Table, text: bytes) -> str:
    return next((name for name, pattern in table if pattern.match(text)), "")


def _read_before(before: bytes) -> tuple[bytes, bytes]:
    """Return the closing brackets that are due, and what stands last in front of a fault.

    That is a punctuation mark, ``v`` for a value, or ``n`` for a name that has no colon yet.
    """
    outside = _STRING.sub(b'"', before)
    due = bytearray()
    for mark in _BRACKET.findall(outside):
        if mark in b"[{":
            due += b"]" if mark == b"[" else b"}"
        elif due:
            del due[-1]
    last = outside[-1:]
    if last == b'"' and due.endswith(b"}") and outside[:-1].rstrip(_SPACE).endswith((b"{", b",")):
        return bytes(due), b"n"
    return bytes(due), last if last in b"[{,:" else b"v"


def _name_first(raw: bytes, at: int) -> str:
    """Name a fault in the first token of a document."""
    word = _find_word(raw, at)
    name = _find_first(_MARKS, raw[at:]) or _find_first(_WORDS, word)
    if name:
        return name
    return _name_string(raw, at) if raw[at : at + 1] == b'"' else "foreign-text"


def _name_behind(raw: bytes, at: int, start: int) -> str:
    """Name what stands behind a whole value, or continues the number that it seems to be."""
    if start < at and (name := _find_first(_WORDS, _find_word(raw, start))):
        return name
    blank = not raw[at:].decode("utf-8", "replace").strip(_BLANK)
    return (blank and _find_first(_MARKS, raw[at:])) or "trailing"


def _name_within(raw: bytes, at: int, start: int, closers: bytes, previous: bytes) -> str:
    """Name a fault inside of a container."""
    mark = raw[start : start + 1]
    name = _find_first(_MARKS, raw[at:]) or _name_place(mark, closers, previous)
    if name:
        return name
    if mark == b'"':
        return _name_string(raw, start)
    word = _find_word(raw, start)
    if closers.endswith(b"}") and previous in b"{,":
        return "unquoted-name" if word else "syntax"
    return _find_first(_WORDS, word) or ("unknown-word" if word else "syntax")


def _name_place(mark: bytes, closers: bytes, previous: bytes) -> str:
    """Name a fault of order: a token, known by its first byte, that cannot stand where it does."""
    if previous == b"n":
        return "missing-colon"
    if mark in b"]}" and (previous == b"v" or mark != closers[-1:]):
        return "wrong-bracket"
    if previous == b"v":
        return "missing-comma" if _BEGINS_VALUE.match(mark) else "syntax"
    if mark in b"]}" and previous == b",":
        return "trailing-comma"
    return "missing-value" if mark in b"]},:" else ""


def _name_string(raw: bytes, at: int) -> str:
    whole = _STRING.match(raw, at)
    if whole is None:
        return "unclosed-string"
    inside = whole[0].replace(rb"\\", b"")
    for escape in (b'\\"', b"\\/", b"\\b", b"\\f", b"\\n", b"\\r", b"\\t"):
        inside = inside.replace(escape, b"")
    inside = re.sub(rb"\\u[0-9a-fA-F]{4}", b"", inside)
    return next((name for name, pattern in _IN_STRING if pattern.search(inside)), "syntax")
