"""Short notation of inputs: repetitions are counted, so a thousand brackets fit one line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wirefence.fuzz.errors import UsageError

__all__ = ["format_hex", "format_readable", "parse_hex"]

_RUN = re.compile(rb"(.{1,8}?)\1{15,}", re.DOTALL)
_PIECE = re.compile(r"((?:[0-9a-f]{2})+)(?:\*([1-9][0-9]{0,7}))?")
_LARGEST = 64 << 20
"""Bytes; larger inputs must be given as a file."""
_SHOWN = 160
"""Characters of an input in a report."""


def _split_repetitions(raw: bytes) -> Iterator[tuple[bytes, int]]:
    end = 0
    for match in _RUN.finditer(raw):
        if match.start() > end:
            yield raw[end : match.start()], 1
        yield match[1], len(match[0]) // len(match[1])
        end = match.end()
    if end < len(raw) or not raw:
        yield raw[end:], 1


def format_readable(raw: bytes, limit: int = _SHOWN) -> str:
    """Return ``raw`` as a Python expression of at most ``limit`` characters."""
    words = [
        f"{piece!r}" + (f" * {count}" if count > 1 else "")
        for piece, count in _split_repetitions(raw)
    ]
    text = " + ".join(words)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(raw):,} bytes)"


def format_hex(raw: bytes) -> str:
    """Return ``raw`` in hexadecimal with counted repetitions: ``5b*995+5d*995``; ``-`` if empty."""
    words = [
        piece.hex() + (f"*{count}" if count > 1 else "") for piece, count in _split_repetitions(raw)
    ]
    return "+".join(words) or "-"


def parse_hex(text: str) -> bytes:
    """Return the bytes that :func:`format_hex` wrote. Raises UsageError."""
    parts: list[bytes] = []
    for word in text.split("+") if text != "-" else []:
        match = _PIECE.fullmatch(word)
        if match is None:
            raise UsageError(
                f"{word[:40]!r} is not an input in hexadecimal", "write it like 5b*995+5d*995"
            )
        parts.append(bytes.fromhex(match[1]) * int(match[2] or 1))
        if sum(map(len, parts)) > _LARGEST:
            raise UsageError("the input is larger than 64 MiB", "give it as a file with --corpus")
    return b"".join(parts)
