"""The scan in front of libraries that have no switch for a rule of the strict profile.

The key insight: a library is trusted with *structure*, which all of them check, and never with
spelling, range or uniqueness, which they take differently. So this looks at tokens only, with a few
regular expressions that each run once over the text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

__all__ = ["MAX_DEPTH", "PrescanError", "behind_prescan", "forget_long_scans", "prescan"]

MAX_DEPTH = 128
_MAX_NUMBER = 1_000
_SAFE = 2**53 - 1
_PLAIN_NUMBER = 40
"""A fraction of more characters is respelled: some libraries drop digits or refuse exponents."""

_SHORT = 4_096
"""Bytes of a document up to which scans are remembered by the hundred."""

_PLAIN = r'[^"\\\x00-\x1f]*+'
_STRING = rf'"{_PLAIN}(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{{4}}){_PLAIN})*+"'
_NUMBER = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+(?![0-9.eE+\-\w])"
_TOKENS = re.compile(rf"(?:[ \t\n\r\[\]{{}}:,]++|{_STRING}|{_NUMBER}|(?:true|false|null)(?!\w))*+")
_NUMBERS = re.compile(r"-?[0-9][0-9.eE+\-]*+")
_STRINGS = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"')
_BRACKETS = re.compile(r"[\[\]{}]")
_ODD_NUMBER = re.compile(r"[0-9][.eE]|-0|[0-9]{16}")
"""What stands in every number that :func:`_spelling` has to look at."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u([dD][89a-fA-F][0-9a-fA-F]{2})|u(....)|(.))"
)
_NO_BRACKETS = frozenset({":", ",", ": ", ", "})
_SIMPLE = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class PrescanError(ValueError):
    """The document breaks a rule of the strict profile; ``rule`` names it."""

    def __init__(self, rule: str) -> None:
        super().__init__(rule)
        self.rule = rule


def prescan(raw: bytes) -> str:
    """Return the text of a document whose tokens keep the strict profile; else PrescanError.

    Structure is not checked. Numbers that libraries read differently come back in the one spelling
    that all read alike, with the same typed value: ``-0`` as ``0``, ``0e999`` as ``0.0``.
    """
    if raw.startswith(b"\xef\xbb\xbf"):
        raise PrescanError("utf8-bom")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise PrescanError("utf8-invalid") from None
    if not _TOKENS.fullmatch(text):
        raise PrescanError("json-syntax")
    if _SURROGATE.search(text):
        _check_escapes(text)
    parts = _parts(text)
    outside = '"'.join(parts[::2])
    _check_structure(parts, outside)
    if not _ODD_NUMBER.search(outside):
        return text
    parts[::2] = _NUMBERS.sub(_spelling, outside).split('"')
    return '"'.join(parts)


def _parts(text: str) -> list[str]:
    """What stands outside strings and, at the odd places, what stands inside them."""
    return _STRINGS.split(text) if "\\" in text else text.split('"')


def _check_escapes(text: str) -> None:
    for match in _ESCAPE.finditer(text):
        if match[1]:
            raise PrescanError("json-lone-surrogate")


def _spelling(number: re.Match[str]) -> str:
    """Check a number token and return the spelling that every library reads alike."""
    token = number[0]
    if len(token) > _MAX_NUMBER:
        raise PrescanError("json-number-length")
    if token.lstrip("-").isdigit():
        if abs(int(token)) > _SAFE:
            raise PrescanError("json-integer-range")
        return str(int(token)) if token[0] == "-" else token
    value = float(token)
    mantissa = token.lower().partition("e")[0]
    if math.isinf(value) or (value == 0.0 and any(digit in mantissa for digit in "123456789")):
        raise PrescanError("json-number-range")
    return token if value and len(token) <= _PLAIN_NUMBER else repr(value)


def _check_structure(parts: list[str], outside: str) -> None:
    """Check depth and names; the whole walk is needed only where a name may repeat."""
    names = [name for name, after in zip(parts[1::2], parts[2::2], strict=True) if ":" in after]
    shallow = outside.count("[") + outside.count("{") <= MAX_DEPTH
    if not shallow or len(set(names)) < len(names) or "\\" in "".join(names):
        _walk(parts)


def _walk(parts: list[str]) -> None:
    outer: list[set[str]] = []
    names: set[str] = set()
    for name, after in zip(["", *parts[1::2]], parts[::2], strict=True):
        if outer and after.lstrip().startswith(":"):
            plain = _ESCAPE.sub(_unescaped, name) if "\\" in name else name
            if plain in names:
                raise PrescanError("json-duplicate-name")
            names.add(plain)
        if after in _NO_BRACKETS:
            continue
        for mark in _BRACKETS.findall(after):
            if mark in "[{":
                outer.append(names)
                names = set()
                if len(outer) > MAX_DEPTH:
                    raise PrescanError("json-depth")
            elif outer:
                names = outer.pop()


def _unescaped(match: re.Match[str]) -> str:
    if match[3]:
        return _SIMPLE.get(match[3], match[3])
    if match[2]:
        return chr(int(match[2], 16))
    high, low = int(match[0][2:6], 16), int(match[0][8:12], 16)
    return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))


def behind_prescan(parse: Callable[[Any], object], *, text: bool) -> Callable[[bytes], object]:
    """A strict sibling: ``parse`` behind the prescan, given ``str`` or ``bytes``."""
    if text:
        return lambda raw: parse(_scanned(raw)[0])
    return lambda raw: parse(_scanned(raw)[1])


def _scanned(raw: bytes) -> tuple[str, bytes]:
    """What :func:`prescan` says of the bytes, or said when another strict sibling asked."""
    text, data, rule = (_remembered if len(raw) <= _SHORT else _remembered_long)(raw)
    if rule:
        raise PrescanError(rule)
    return text, data


def _result(raw: bytes) -> tuple[str, bytes, str]:
    try:
        text = prescan(raw)
    except PrescanError as error:
        return "", b"", error.rule
    return text, text.encode(), ""


# Every strict sibling, and every gateway over one, reads the same document: it is scanned once.
_remembered = lru_cache(maxsize=1_024)(_result)
_remembered_long = lru_cache(maxsize=1)(_result)


def forget_long_scans() -> None:
    """Let go of the long document that was scanned last."""
    _remembered_long.cache_clear()
