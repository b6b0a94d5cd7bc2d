"""The scan in front of libraries that have no switch for a rule of the strict profile.

A library is trusted with *structure*, which all of them check, and never with spelling, range or
uniqueness, which they take differently. So this looks at tokens only. A state machine over the
bytes checks their spelling; what is left is done with plain text methods. No regular expression is
used, because the judge reads with one: a fault of ``re`` must not hide in both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache, reduce
from operator import getitem
from typing import Any

__all__ = ["MAX_DEPTH", "PrescanError", "behind_prescan", "forget_long_scans", "prescan_document"]

MAX_DEPTH = 128
_MAX_NUMBER = 1_000
_SAFE = 2**53 - 1
_SURELY_SAFE = 15
"""Digits of an integer that lies within :data:`_SAFE`, whatever they are."""

_PLAIN_NUMBER = 40
"""A fraction of more characters is respelled: some libraries drop digits or refuse exponents."""

_SHORT = 4_096
"""Bytes of a document up to which scans are remembered by the hundred."""

_NO_BRACKETS = frozenset({":", ",", ": ", ", "})
_ESCAPED = dict(zip('"\\/bfnrt', '"\\/\b\f\n\r\t', strict=True))
_BLANK = str.maketrans('[]{}:,"\t\n\r', " " * 10)
"""Turns all that stands between values into spaces, one for one."""


class PrescanError(ValueError):
    """The document breaks a rule of the strict profile; ``rule`` names it."""

    def __init__(self, rule: str) -> None:
        super().__init__(rule)
        self.rule = rule


_State = list[Any]
"""For each byte the state that follows it: another such list."""


def _build_machine() -> tuple[_State, frozenset[int]]:
    """The machine that reads tokens: its first state, and the ``id`` of each that may be last.

    Whatever may not follow leads to a state without a way out. Bytes of two and more belong to
    characters of UTF-8, which is checked before, and are allowed within strings only.
    """
    wrong: _State = []
    wrong += [wrong] * 256

    def state(ways: Iterable[tuple[bytes, _State]]) -> _State:
        made: _State = list(wrong)
        for accepted, following in ways:
            for byte in accepted:
                made[byte] = following
        return made

    digits, exponent = b"0123456789", b"eE"
    between = state([])
    end_of_token = [(b" \t\n\r[]{}:,", between)]
    after = state(end_of_token)  # a string, a literal

    string = state([])
    hexadecimal = string
    for _ in range(4):
        hexadecimal = state([(b"0123456789abcdefABCDEF", hexadecimal)])
    escape = state([(b'"\\/bfnrt', string), (b"u", hexadecimal)])
    string[0x20:] = [string] * (256 - 0x20)
    string[ord('"')], string[ord("\\")] = after, escape

    power = state(end_of_token)
    power[ord("0") : ord("9") + 1] = [power] * 10
    signed = state([(digits, power)])
    raised = state([(digits, power), (b"+-", signed)])
    fraction = state([*end_of_token, (exponent, raised)])
    fraction[ord("0") : ord("9") + 1] = [fraction] * 10
    point = state([(digits, fraction)])
    zero = state([*end_of_token, (b".", point), (exponent, raised)])
    whole = list(zero)
    whole[ord("0") : ord("9") + 1] = [whole] * 10
    minus = state([(b"0", zero), (b"123456789", whole)])

    for accepted, following in (
        (b" \t\n\r[]{}:,", between),
        (b'"', string),
        (b"-", minus),
        (b"0", zero),
        (b"123456789", whole),
    ):
        for byte in accepted:
            between[byte] = following
    for literal in (b"true", b"false", b"null"):
        following = after
        for byte in reversed(literal[1:]):
            following = state([(bytes([byte]), following)])
        between[literal[0]] = following
    return between, frozenset(map(id, (between, after, zero, whole, fraction, power)))


_BETWEEN, _LAST = _build_machine()


def _are_tokens(raw: bytes) -> bool:
    """Whether the bytes are tokens of JSON one behind the other, in whatever order."""
    # A loop here would be counted byte by byte where the fuzzer instruments this module.
    return id(reduce(getitem, raw, _BETWEEN)) in _LAST


def prescan_document(raw: bytes) -> str:
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
    if not _are_tokens(raw):
        raise PrescanError("json-syntax")
    parts = text.split('"') if "\\" not in text else _split_at_quotes(text)
    _check_surrogates(parts)
    outside = '"'.join(parts[::2])
    _check_structure(parts, outside)
    spelled = _respell_numbers(outside)
    if spelled is outside:
        return text
    parts[::2] = spelled.split('"')
    return '"'.join(parts)


def _split_at_quotes(text: str) -> list[str]:
    """What stands outside strings and, at the odd places, what stands inside them.

    A quote behind an odd number of backslashes belongs to the string.
    """
    parts: list[str] = []
    inside: list[str] = []
    for piece in text.split('"'):
        inside.append(piece)
        backslashes = len(piece) - len(piece.rstrip("\\"))
        if backslashes % 2 == 0:
            parts.append('"'.join(inside))
            inside.clear()
    return parts


def _check_surrogates(parts: list[str]) -> None:
    for string in parts[1::2]:
        if "\\u" in string:
            _unescape_string(string)


def _unescape_string(string: str) -> str:
    """The characters of a string; PrescanError where an escaped surrogate stands alone."""
    found = []
    at = 0
    while (escape := string.find("\\", at)) >= 0:
        found.append(string[at:escape])
        letter = string[escape + 1]
        if letter != "u":
            found.append(_ESCAPED[letter])
            at = escape + 2
            continue
        unit = int(string[escape + 2 : escape + 6], 16)
        at = escape + 6
        if 0xD800 <= unit < 0xE000:
            low = int(string[at + 2 : at + 6], 16) if string.startswith("\\u", at) else 0
            if unit >= 0xDC00 or not 0xDC00 <= low < 0xE000:
                raise PrescanError("json-lone-surrogate")
            unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)
            at += 6
        found.append(chr(unit))
    found.append(string[at:])
    return "".join(found)


def _respell_numbers(outside: str) -> str:
    """What stands outside strings, every number checked and spelled so that all read it alike."""
    words = outside.translate(_BLANK).split(" ")
    changed = {}
    for word in dict.fromkeys(words):  # in order, so that the first broken rule is named
        if word[-1:].isdigit() and (spelled := _respell_token(word)) != word:
            changed[word] = spelled
    if not changed:
        return outside
    made: list[str] = []
    end = -1
    for word in words:
        end += len(word) + 1
        made += (changed.get(word, word), outside[end : end + 1])
    return "".join(made)


def _respell_token(token: str) -> str:
    """Check a number token and return the spelling that every library reads alike."""
    if len(token) <= _SURELY_SAFE and token.isdigit():
        return token
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
        _walk_structure(parts)


def _walk_structure(parts: list[str]) -> None:
    outer: list[set[str]] = []
    names: set[str] = set()
    for name, after in zip(["", *parts[1::2]], parts[::2], strict=True):
        if outer and after.lstrip().startswith(":"):
            plain = _unescape_string(name)
            if plain in names:
                raise PrescanError("json-duplicate-name")
            names.add(plain)
        if after in _NO_BRACKETS:
            continue
        for mark in after:
            if mark in "[{":
                outer.append(names)
                names = set()
                if len(outer) > MAX_DEPTH:
                    raise PrescanError("json-depth")
            elif mark in "]}" and outer:
                names = outer.pop()


def behind_prescan(parse: Callable[[Any], object], *, text: bool) -> Callable[[bytes], object]:
    """A strict sibling: ``parse`` behind the prescan, given ``str`` or ``bytes``."""
    if text:
        return lambda raw: parse(_scan_document(raw)[0])
    return lambda raw: parse(_scan_document(raw)[1])


def _scan_document(raw: bytes) -> tuple[str, bytes]:
    """The text of :func:`prescan_document` and its bytes; remembered for other strict siblings."""
    text, data, rule = (_remembered if len(raw) <= _SHORT else _remembered_long)(raw)
    if rule:
        raise PrescanError(rule)
    return text, data


def _run_prescan(raw: bytes) -> tuple[str, bytes, str]:
    try:
        text = prescan_document(raw)
    except PrescanError as error:
        return "", b"", error.rule
    return text, text.encode(), ""


# Every strict sibling, and every gateway over one, reads the same document: it is scanned once.
_remembered = lru_cache(maxsize=1_024)(_run_prescan)
_remembered_long = lru_cache(maxsize=1)(_run_prescan)


def forget_long_scans() -> None:
    """Let go of the long document that was scanned last."""
    _remembered_long.cache_clear()
