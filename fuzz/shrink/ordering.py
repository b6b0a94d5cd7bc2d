"""Define which input is simpler, and propose simpler spellings of a token.

Shortlex order (shorter first, then by bytes) makes reductions repeatable. Digits and letters rank
before other bytes, so that results are readable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["propose_simpler_tokens", "simplicity_key"]

_PLAIN = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_REST = bytes(byte for byte in (*range(32, 128), *range(32), *range(128, 256)))
_BY_RANK = bytes(dict.fromkeys(_PLAIN + _REST))
_RANK = bytes.maketrans(_BY_RANK, bytes(range(256)))

_NUMBER = re.compile(rb"[-+]?[0-9.][0-9.eE+-]*")
_DIGIT = re.compile(rb"[0-9]")
_DIGITS = re.compile(rb"[0-9]+")
_LETTERS = re.compile(rb"[A-Za-z0-9]")
_ESCAPE = re.compile(rb"\\(?:u[0-9a-fA-F]{4}|[^u\n])")
_NEEDLESS = re.compile(rb"\\u00(2[013-9a-fA-F]|[346][0-9a-fA-F]|5[0-9abdefABDEF]|7[0-9a-eA-E])")
_ESCAPES = (rb"\u0000", rb"\udc00", rb"\ud800")
_ODD = re.compile(rb"[\xc2-\xf4][\x80-\xbf]{1,3}|[^ -~\t\r\n]")
_ODD_FORMS = (b"a", b"\x01", b"\x80", b"\xff")
_LONG = 40
"""Bytes of a number up to which each digit is tried by itself; one run for each would be too
many.
"""


def simplicity_key(data: bytes) -> tuple[int, bytes]:
    """Return the sort key of simplicity: length, then bytes, with digits and letters first."""
    return len(data), data.translate(_RANK)


def propose_simpler_tokens(token: bytes) -> Iterator[bytes]:
    """Yield simpler spellings of a token of the same kind, simplest first."""
    if token.startswith(b'"'):
        yield _NEEDLESS.sub(lambda hit: bytes.fromhex(hit[1].decode()), token)
        yield _LETTERS.sub(b"a", _ESCAPE.sub(b"a", token))
        yield _flatten_letters_outside(token, _ESCAPE, b"a")
        yield from _replace_parts(token, _ESCAPE, _ESCAPES)
    elif _NUMBER.fullmatch(token):
        yield from (b"0", b"1", b"-1", b"0.5")
        yield _DIGITS.sub(lambda run: b"1" + b"0" * (len(run.group()) - 1), token)
        yield _DIGITS.sub(lambda run: b"1" * len(run.group()), token)
        yield _DIGIT.sub(b"0", token)
        yield from _round_digits(token)
        if len(token) <= _LONG:
            yield from _replace_parts(token, _DIGIT, (b"0", b"1"))
    else:
        yield _LETTERS.sub(b"a", token)
        yield _DIGIT.sub(b"0", token)
    yield from _replace_parts(token, _ODD, _ODD_FORMS)


def _flatten_letters_outside(token: bytes, kept: re.Pattern[bytes], letter: bytes) -> bytes:
    """Return the token with letters and digits replaced by ``letter``, except within ``kept``."""
    made, at = [], 0
    for match in kept.finditer(token):
        made += [_LETTERS.sub(letter, token[at : match.start()]), match.group()]
        at = match.end()
    return b"".join([*made, _LETTERS.sub(letter, token[at:])])


def _replace_parts(
    token: bytes, part: re.Pattern[bytes], forms: tuple[bytes, ...]
) -> Iterator[bytes]:
    """Yield the token with all parts replaced by each form, then with one part at a time."""
    for form in forms:
        yield part.sub(form.replace(b"\\", b"\\\\"), token)
    if len(token) > 50 * _LONG:
        return
    for match in part.finditer(token):
        for form in forms:
            yield token[: match.start()] + form + token[match.end() :]


def _round_digits(token: bytes) -> Iterator[bytes]:
    """Yield the number with one run of digits at a time rounded to its first digit and zeros."""
    for run in _DIGITS.finditer(token):
        zeros = b"0" * (run.end() - run.start() - 1)
        yield token[: run.start() + 1] + zeros + token[run.end() :]
