"""The dictionary of a fuzzing run: words of the grammar, and words of the parsers themselves.

The key insight: a library that treats a word in its own way has to name it, so the names stand in
its compiled file, and a reader of printable strings finds what no source would tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from wirefence.strategies.json_text import DICTIONARY, load_words

__all__ = ["LIBRARIES", "as_dictionary", "compiled_files", "printable_words", "words"]

LIBRARIES = (
    *("orjson", "ujson", "rapidjson", "simplejson._speedups", "msgspec._core"),
    *("simdjson", "csimdjson", "jiter", "pydantic_core._pydantic_core", "_json"),
)
"""Modules with compiled parsers; those that are not installed are left out."""

# One expression each: with a literal head, a search of megabytes takes milliseconds.
_MAGIC = (
    re.compile(rb"\$[a-z_]{2,20}(?:::[A-Za-z_]{2,20}){1,3}"),
    re.compile(rb"__[a-z]{2,12}(?:_[a-z]{2,12}){0,2}__"),
    re.compile(rb"-?Infinity"),
    re.compile(rb"NaN"),
    re.compile(rb"\x00([a-z]{2,12}(?:[A-Z_][a-z]{1,12}){1,2}|[a-z]{4,12})(?=\x00)"),
)
_MARKS = (
    *(b"{", b"}", b"[", b"]", b":", b",", b'"', b"\n", b"\r\n", b"\\u0000", b"\\ud800", b"\\"),
    *(b"true", b"false", b"null", b"NaN", b"-Infinity", b"1e400", b"-0", b"0x1", b"/*", b"//"),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\xc0\xaf", b"\xed\xa0\x80", b"\xe2\x80\xa8", b"\x1e"),
    *(b'"jsonrpc":"2.0"', b'"id":', b'"method":', b'"params":', b'"result":', b'"error":'),
)
_MOST = 400
_FROM_EACH = 60


def compiled_files(modules: Iterable[str] = LIBRARIES) -> list[Path]:
    """The compiled files of modules, those that are installed and compiled."""
    found = []
    for name in modules:
        try:
            spec = find_spec(name)
        except ImportError:
            continue
        for path in _files(spec.origin if spec else None):
            found.append(path)
    return found


def _files(origin: str | None) -> list[Path]:
    if origin is None:
        return []
    path = Path(origin)
    if path.suffix == ".so":
        return [path]
    # A package whose parser is a compiled file inside it, as most wheels have it.
    return sorted(path.parent.glob("*.so")) if path.name == "__init__.py" else []


def printable_words(content: bytes) -> set[bytes]:
    """The words of a compiled file that look like magic names, special numbers or plain names."""
    return {word for sort in _MAGIC for word in sort.findall(content)}


@lru_cache(maxsize=2)
def words(limit: int = _MOST) -> tuple[bytes, ...]:
    """Words of the installed parsers' compiled files, magic ones first, at most ``limit``."""
    found: dict[bytes, None] = {}
    for path in compiled_files():
        # A few of each library: one with thousands of names must not crowd out the others.
        found |= dict.fromkeys(sorted(printable_words(path.read_bytes()), key=_rank)[:_FROM_EACH])
    return tuple(sorted(found, key=_rank)[:limit])


def _rank(word: bytes) -> tuple[bool, bool, int, bytes]:
    """Rare kinds first: ``$`` members, numbers, names with underscores or capitals, then others."""
    return word[:1] != b"$", word.isalpha() and word.islower(), -len(word), word


def as_dictionary(more: Sequence[bytes] = ()) -> str:
    """The text of a ``-dict`` file for libFuzzer: the grammar's words and marks, and ``more``."""
    every = dict.fromkeys((*_MARKS, *load_words(DICTIONARY), *more))
    return "".join(f'"{_spelled(word)}"\n' for word in every if len(word) <= 64)


def _spelled(word: bytes) -> str:
    return "".join(
        chr(byte) if 0x20 <= byte < 0x7F and byte not in b'"\\' else f"\\x{byte:02x}"
        for byte in word
    )
