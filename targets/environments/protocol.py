"""The bytes between a comparison and its workers: docs/internals/workers.md as code.

A worker is not trusted to be there. Every read and write has a deadline, every
length is checked, and what does not fit the protocol counts as the worker's end.
"""

from __future__ import annotations

import json
import os
import select
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from wirefence.targets.environments.records import KINDS, Facts, Observation

__all__ = [
    "DIGEST",
    "PROTOCOL",
    "Broken",
    "Channel",
    "Garbled",
    "Reply",
    "Request",
    "Silent",
    "digest_of",
    "parse_facts",
    "parse_observations",
]

PROTOCOL = 1
DIGEST = 8
"""Bytes of a digest: the kind's byte and seven of a hash."""
_SIZE = struct.Struct("<I")
_REQUEST = struct.Struct("<cBHII")
_REPLY = struct.Struct("<IdQ")
_MAX_REPLY = 1 << 30
_CODES = {kind: code for code, kind in KINDS.items()}


class Silent(Exception):  # noqa: N818 - a state of the other end, not an error of ours
    """The worker did not answer in time."""


class Broken(Exception):  # noqa: N818 - a state of the other end, not an error of ours
    """The worker is gone."""


class Garbled(Broken):
    """The worker says what is not of the protocol."""


@dataclass(frozen=True, slots=True)
class Request:
    """One batch. ``flush`` is how many results a worker may hold back."""

    operation: Literal[b"d", b"o", b"s"]
    items: Sequence[bytes]
    which: int = 0
    project: bool = False
    named: bool = True
    flush: int = 64

    def encoded(self) -> bytes:
        """The frame of this request."""
        flags = self.project | self.named << 1
        count = len(self.items)
        head = _REQUEST.pack(self.operation, flags, self.which, self.flush, count)
        sizes = struct.pack(f"<{count}I", *map(len, self.items))
        body = b"".join((head, sizes, *self.items))
        return _SIZE.pack(len(body)) + body


@dataclass(frozen=True, slots=True)
class Reply:
    """Some results of a batch, with CPU seconds and peak bytes of the worker so far."""

    count: int
    cpu_seconds: float
    peak_bytes: int
    body: bytes


class Channel:
    """The two pipes of a worker, with deadlines in seconds. Raises Silent and Broken."""

    def __init__(self, to_worker: int, from_worker: int) -> None:
        self._to, self._from = to_worker, from_worker
        os.set_blocking(to_worker, False)
        self._writable = select.poll()
        self._writable.register(to_worker, select.POLLOUT)
        self._readable = select.poll()
        self._readable.register(from_worker, select.POLLIN)

    def send(self, data: bytes, patience: float) -> None:
        """Write a whole frame."""
        view, end = memoryview(data), time.monotonic() + patience
        while view:
            _wait_ready(self._writable, end)
            try:
                view = view[os.write(self._to, view) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise Broken from None

    def frame(self, patience: float) -> bytes:
        """Read the body of one frame."""
        end = time.monotonic() + patience
        size = _SIZE.unpack(self._exactly(_SIZE.size, end))[0]
        if size > _MAX_REPLY:
            raise Garbled
        return self._exactly(size, end)

    def reply(self, patience: float) -> Reply:
        """Read one reply."""
        body = self.frame(patience)
        if len(body) < _REPLY.size:
            raise Garbled
        count, seconds, peak = _REPLY.unpack_from(body)
        return Reply(count, seconds, peak, body[_REPLY.size :])

    def _exactly(self, size: int, end: float) -> bytes:
        parts, missing = [], size
        while missing:
            _wait_ready(self._readable, end)
            part = os.read(self._from, min(missing, 1 << 20))
            if not part:
                raise Broken
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)


def _wait_ready(poll: select.poll, end: float) -> None:
    left = end - time.monotonic()
    if left <= 0 or not poll.poll(left * 1000):
        raise Silent


def parse_observations(reply: Reply) -> list[Observation]:
    """The records of a reply. Raises Garbled where they are none."""
    found, body, at = [], reply.body, 0
    try:
        for _ in range(reply.count):
            kind, fields = KINDS[body[at : at + 1]], []
            at += 1
            for _ in range(4):
                (size,) = _SIZE.unpack_from(body, at)
                at += _SIZE.size + size
                fields.append(body[at - size : at])
            texts = [field.decode(errors="replace") for field in fields[1:]]
            bases = tuple(texts[2].split("\n")) if texts[2] else ()
            found.append(Observation(kind, fields[0], texts[0], texts[1], bases))
    except (KeyError, struct.error):
        raise Garbled from None
    if at != len(body):
        raise Garbled
    return found


def digest_of(seen: Observation, *, named: bool = True) -> bytes:
    """The digest that a worker gives for this outcome."""
    content = seen.value if seen.kind == "accept" else seen.error.encode() if named else b""
    return _CODES[seen.kind] + sha256(content).digest()[: DIGEST - 1]


def parse_facts(body: bytes) -> Facts:
    """What the first frame of a worker says. Raises ValueError with what is wrong with it."""
    hello = json.loads(body)
    if not isinstance(hello, dict):
        raise ValueError("its first frame is no JSON object")  # noqa: TRY004 - told like the others
    if "error" in hello:
        raise ValueError(hello["error"])
    if hello.get("protocol") != PROTOCOL:
        raise ValueError(f"it speaks protocol {hello.get('protocol')!r}, not {PROTOCOL}")
    try:
        return Facts(
            language=str(hello["language"]),
            implementation=str(hello["implementation"]),
            version=str(hello["version"]),
            library=str(hello["library"]),
            library_version=str(hello["library_version"]),
            readers=tuple(map(str, hello["readers"])),
            writers=tuple(map(str, hello["writers"])),
            numbers="typed" if hello["numbers"] == "typed" else "binary64",
            files=tuple(map(str, hello["files"])),
            idle_bytes=int(hello["idle_bytes"]),
            context=dict(hello["context"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"its first frame is not as it must be ({error})") from None
