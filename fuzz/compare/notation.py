"""Inputs as text for people and shells: repetitions are counted, not printed.

The key insight: the smallest input of a class may be a thousand brackets and must still fit a line
that can be copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from wirefence.fuzz.errors import UsageError

__all__ = ["parse", "readable", "spelled"]

_RUN = re.compile(rb"(.{1,8}?)\1{15,}", re.DOTALL)
_PIECE = re.compile(r"((?:[0-9a-f]{2})+)(?:\*([1-9][0-9]{0,7}))?")
_LARGEST = 64 << 20
_SHOWN = 160


def _pieces(raw: bytes) -> Iterator[tuple[bytes, int]]:
    end = 0
    for match in _RUN.finditer(raw):
        if match.start() > end:
            yield raw[end : match.start()], 1
        yield match[1], len(match[0]) // len(match[1])
        end = match.end()
    if end < len(raw) or not raw:
        yield raw[end:], 1


def readable(raw: bytes, limit: int = _SHOWN) -> str:
    """``raw`` as a Python expression, cut where it is longer than ``limit`` characters."""
    words = [f"{piece!r}" + (f" * {count}" if count > 1 else "") for piece, count in _pieces(raw)]
    text = " + ".join(words)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(raw):,} bytes)"


def spelled(raw: bytes) -> str:
    """``raw`` in hexadecimal with counted repetitions: ``5b*995+5d*995``; ``-`` for no bytes."""
    words = [piece.hex() + (f"*{count}" if count > 1 else "") for piece, count in _pieces(raw)]
    return "+".join(words) or "-"


def parse(text: str) -> bytes:
    """The bytes that :func:`spelled` wrote. Raises UsageError."""
    parts: list[bytes] = []
    for word in text.split("+") if text != "-" else []:
        match = _PIECE.fullmatch(word)
        if match is None:
            raise UsageError(
                f"{word[:40]!r} is no input in hexadecimal", "write it like 5b*995+5d*995"
            )
        parts.append(bytes.fromhex(match[1]) * int(match[2] or 1))
        if sum(map(len, parts)) > _LARGEST:
            raise UsageError("the input is larger than 64 MiB", "give it as a file with --corpus")
    return b"".join(parts)
