"""A worker that breaks the protocol is dead, not believed."""

from __future__ import annotations

import json
import sys

import pytest

from wirefence.targets.environments import Context, Worker
from wirefence.targets.environments.records import Program
from wirefence.targets.errors import TargetError

_HELLO = {
    "protocol": 1, "language": "x", "implementation": "X", "version": "1", "library": "l",
    "library_version": "2", "readers": ["str"], "writers": [], "numbers": "typed", "files": [],
    "idle_bytes": 0, "context": {},
}  # fmt: skip


def program(hello: bytes, reply: bytes = b"") -> Program:
    """A worker that says ``hello``, and ``reply`` to whatever it is asked."""
    code = (
        "import os, struct, sys\n"
        f"hello, reply = {hello!r}, {reply!r}\n"
        "frame = lambda body: os.write(1, struct.pack('<I', len(body)) + body)\n"
        "frame(hello)\n"
        "while os.read(0, 1 << 20):\n"
        "    frame(reply) if reply else os._exit(0)\n"
    )
    return Program((sys.executable, "-I", "-S", "-c", code), "x")


def head(count: int) -> bytes:
    return count.to_bytes(4, "little") + bytes(16)


@pytest.mark.parametrize(
    ("hello", "words"),
    [
        (b"not json", "cannot work"),
        (json.dumps({**_HELLO, "protocol": 2}).encode(), "protocol 2"),
        (json.dumps({"protocol": 1, "error": "no such library"}).encode(), "no such library"),
        (json.dumps({"protocol": 1}).encode(), "language"),
        (json.dumps([1]).encode(), "cannot work"),
    ],
)
def test_a_bad_hello_says_what_is_wrong(hello, words):
    with pytest.raises(TargetError, match=words):
        Worker(program(hello), Context())


def test_a_command_that_ends_at_once_is_told_by_its_last_words():
    silent = Program((sys.executable, "-c", "raise SystemExit('out of order')"), "x")
    with pytest.raises(TargetError, match="ended at once: out of order"):
        Worker(silent, Context())


def test_a_command_that_is_not_there_is_named():
    with pytest.raises(TargetError, match="cannot run nowhere/at-all"):
        Worker(Program(("nowhere/at-all",), "x"), Context())


@pytest.mark.parametrize(
    "reply",
    [
        b"x",
        head(0),
        head(2) + bytes(16),
        head(1) + bytes(7),
        head(1) + bytes(9),
    ],
    ids=["too short", "no results", "more than asked", "half a digest", "a digest and more"],
)
def test_a_reply_that_does_not_fit_is_a_death(reply):
    worker = Worker(program(json.dumps(_HELLO).encode(), reply), Context())
    try:
        assert [digest[:1] for digest in worker.digests([b"1"])] == [b"*"]
    finally:
        worker.close()


@pytest.mark.parametrize(
    "record",
    [b"?" + bytes(16), b"+" + bytes(15), b"+" + bytes(17), b"+\xff\xff\xff\xff" + bytes(12)],
    ids=["no kind", "cut", "longer", "beyond its end"],
)
def test_a_record_that_does_not_fit_is_a_death(record):
    worker = Worker(program(json.dumps(_HELLO).encode(), head(1) + record), Context())
    try:
        assert [one.kind for one in worker.outcomes([b"1"])] == ["death"]
    finally:
        worker.close()


def test_a_worker_of_the_protocol_is_believed():
    reply = head(1) + b"+" + b"\x01\x00\x00\x00N" + bytes(12)
    worker = Worker(program(json.dumps(_HELLO).encode(), reply), Context())
    try:
        assert worker.outcomes([b"1"])[0].value == b"N"
        with pytest.raises(ValueError, match="there are none"):
            worker.serialize([b"N"])
    finally:
        worker.close()
