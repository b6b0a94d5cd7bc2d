"""What a side of a comparison is and what it says of an input.

A death, a hang and a memory blow-up are outcomes like a value or an error, so the
comparison of two sides never has to ask whether a side is still there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["KINDS", "Context", "Facts", "Kind", "Observation", "Program", "Usage"]

Kind = Literal["accept", "reject", "escape", "death", "hang", "memory"]

KINDS: Mapping[bytes, Kind] = {
    b"+": "accept",
    b"-": "reject",
    b"!": "escape",
    b"M": "memory",
    b"*": "death",
    b"~": "hang",
}
"""The first byte of a digest, and of a record on the wire, for each kind."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a side made of one input, or of one value it was to write.

    ``value`` is the canonical typed encoding of an accepted value (the text itself when written);
    ``error`` the qualified type of what was raised, or the signal or time-out that ended the
    process; ``bases`` are the qualified bases of the type, nearest first, without ``object``.
    """

    kind: Kind
    value: bytes = b""
    error: str = ""
    message: str = ""
    bases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """The circumstances of every call of a parser, the same on all sides.

    ``frames`` is how deep the caller of the parser stands, at least 2 (in a function of the main
    program). ``stack`` and ``memory`` (address space) are in bytes; ``deadline`` is how many
    seconds a worker may stay silent within a batch.
    """

    recursion_limit: int = 1_000
    frames: int = 2
    stack: int = 8 * 1_048_576
    memory: int = 2_048 * 1_048_576
    deadline: float = 10.0


@dataclass(frozen=True, slots=True)
class Program:
    """What starts a worker: a command, and what it is told to load.

    ``distribution`` is empty for what comes with the language; ``option`` keeps one reader.
    """

    command: tuple[str, ...]
    module: str
    distribution: str = ""
    option: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a worker says of itself when it starts.

    ``readers`` are the ways in which the library reads that take part, ``writers`` those in which
    it writes. ``numbers`` is ``typed`` where integers and floats differ, ``binary64`` where there
    is one number type. ``files`` are what the library consists of, ``idle_bytes`` the
    resident memory before the first input. ``context`` holds the pinned circumstances as far as
    they exist in that language.
    """

    language: str
    implementation: str
    version: str
    library: str
    library_version: str
    readers: tuple[str, ...]
    writers: tuple[str, ...]
    numbers: Literal["typed", "binary64"]
    files: tuple[str, ...]
    idle_bytes: int
    context: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Usage:
    """What a worker has cost so far.

    ``inputs`` and ``bytes`` were asked for; ``cpu_seconds`` is CPU time of the worker within
    batches, ``peak_bytes`` the largest resident memory of any of its processes. ``restarts``
    counts processes that ended; ``unsteady`` the endings that no input caused by itself.
    """

    inputs: int = 0
    bytes: int = 0
    cpu_seconds: float = 0.0
    peak_bytes: int = 0
    restarts: int = 0
    unsteady: int = 0
