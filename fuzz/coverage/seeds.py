"""The committed seed corpora: a few small inputs for each libFuzzer target, made by the grammar.

The key insight: a corpus grows by itself where it is fuzzed; what is committed only has to spare
the first seconds, so it is small enough to be read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from fuzz.coverage.checks import NAMES, Name
from strategies.json_text import json_text
from strategies.mcp import message
from strategies.records import VERSIONS, Version
from strategies.sessions import session
from strategies.source import RandomSource

__all__ = ["inputs", "write_seeds"]

_DOCUMENTS = 6
_LONGEST = 1_200


def inputs(name: Name) -> Iterator[bytes]:
    """The seeds of a target: the same ones each time."""
    source = RandomSource(NAMES.index(name))
    if name == "fuzz_parsers":
        # One frame each: the line feeds of a document that is spread out are white space as well.
        documents = [json_text(source, size=48) for _ in range(_DOCUMENTS)]
        yield from (document.replace(b"\n", b" ") for document in documents)
        yield from (message(source, version).encode() for version in VERSIONS)
    elif name == "fuzz_transcript":
        for version in VERSIONS:
            said = [message(source, version, "server-to-client") for _ in range(2)]
            yield b"".join([each.encode() + b"\n" for each in said])
    else:
        for version in VERSIONS:
            yield _short(source, version)


def _short(source: RandomSource, version: Version) -> bytes:
    while True:
        data = session(source, version, prefix="seed-").data
        if len(data) <= _LONGEST:
            return data


def write_seeds(folder: Path) -> int:
    """Write ``folder/TARGET/<sha1>`` for every target; return the number of files."""
    count = 0
    for name in NAMES:
        (folder / name).mkdir(parents=True, exist_ok=True)
        for data in inputs(name):
            digest = hashlib.sha1(data, usedforsecurity=False).hexdigest()
            (folder / name / digest).write_bytes(data)
            count += 1
    return count
