"""The dictionary of a fuzzing run: words of the grammar, and words found in compiled parsers.

A library that treats a word specially has it as a string in its compiled file. So the printable
strings of the file contain it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from wirefence.strategies.json_text import DICTIONARY, load_words

__all__ = [
    "LIBRARIES",
    "find_compiled_files",
    "find_printable_words",
    "format_dictionary",
    "load_parser_words",
]

LIBRARIES = (
    *("orjson", "ujson", "rapidjson", "simplejson._speedups", "msgspec._core"),
    *("simdjson", "csimdjson", "jiter", "pydantic_core._pydantic_core", "_json"),
)
"""Modules with compiled parsers; those that are not installed are skipped."""

# One expression each, since a literal prefix makes searching megabytes fast.
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
_MAX_WORDS = 400
"""Words in a dictionary; more would make each one too rare."""
_MAX_WORDS_OF_LIBRARY = 60
"""Words of one library, so that one with thousands of names does not displace the others."""


def find_compiled_files(modules: Iterable[str] = LIBRARIES) -> list[Path]:
    """Return the compiled files of those modules that are installed."""
    found = []
    for name in modules:
        try:
            spec = find_spec(name)
        except ImportError:
            continue
        for path in _list_compiled_files(spec.origin if spec else None):
            found.append(path)
    return found


def _list_compiled_files(origin: str | None) -> list[Path]:
    if origin is None:
        return []
    path = Path(origin)
    if path.suffix == ".so":
        return [path]
    # Most wheels have the compiled parser as a file within a package.
    return sorted(path.parent.glob("*.so")) if path.name == "__init__.py" else []


def find_printable_words(content: bytes) -> set[bytes]:
    """Return the words of a compiled file that look like magic names, numbers or plain names."""
    return {word for sort in _MAGIC for word in sort.findall(content)}


@lru_cache(maxsize=2)
def load_parser_words(limit: int = _MAX_WORDS) -> tuple[bytes, ...]:
    """Return words of the installed parsers' compiled files, special ones first."""
    found: dict[bytes, None] = {}
    for path in find_compiled_files():
        # A few of each library, so that all of them are in it.
        found |= dict.fromkeys(
            sorted(find_printable_words(path.read_bytes()), key=_rank_word)[:_MAX_WORDS_OF_LIBRARY]
        )
    return tuple(sorted(found, key=_rank_word)[:limit])


def _rank_word(word: bytes) -> tuple[bool, bool, int, bytes]:
    """Sort key: ``$`` members first, then numbers, names with underscores or capitals, then
    others.
    """
    return word[:1] != b"$", word.isalpha() and word.islower(), -len(word), word


def format_dictionary(more: Sequence[bytes] = ()) -> str:
    """Return the text of a libFuzzer ``-dict`` file: words of the grammar, marks, and ``more``."""
    every = dict.fromkeys((*_MARKS, *load_words(DICTIONARY), *more))
    return "".join(f'"{_escape_word(word)}"\n' for word in every if len(word) <= 64)


def _escape_word(word: bytes) -> str:
    return "".join(
        chr(byte) if 0x20 <= byte < 0x7F and byte not in b'"\\' else f"\\x{byte:02x}"
        for byte in word
    )
