"""Sides in this process, with planted faults: the same protocol, no environment, no process."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from wirefence.fuzz.compare.inputs.input_schedule import Batch, split_batches
from wirefence.fuzz.compare.inputs.seeds import FAMILIES
from wirefence.fuzz.compare.run import Budget, Comparison
from wirefence.fuzz.compare.sides import Form, Lane, Team
from wirefence.targets.environments import Observation, Usage
from wirefence.targets.environments.protocol import digest_of
from wirefence.targets.parsers.canonical import encode_value

Read = Callable[[bytes], Observation]


def plain(raw: bytes, *, loads: Callable[[str], object] = json.loads) -> Observation:
    """Python's json behind strict UTF-8, with every failure a documented one.

    How deep json itself goes depends on how deep its caller stands, so depth is bounded before.
    """
    if raw.count(b"[") + raw.count(b"{") > 850:
        return Observation("reject", b"", "toy.DepthError", "deep")
    try:
        return Observation("accept", encode_value(loads(raw.decode())))
    except UnicodeDecodeError as error:
        return Observation("reject", b"", "toy.DecodeError", str(error))
    except ValueError as error:
        return Observation("reject", b"", "toy.DecodeError", str(error))


def replaced(pattern: bytes, by: bytes) -> Read:
    """A reader that changes what matches before it reads."""
    compiled = re.compile(pattern)
    return lambda raw: plain(compiled.sub(by, raw))


def with_loads(**hooks: object) -> Read:
    """A reader with json's own hooks."""
    return partial(plain, loads=partial(json.loads, **hooks))


def when(test: Callable[[bytes], bool], seen: Observation) -> Read:
    """A reader with one outcome for all inputs that pass a test."""
    return lambda raw: seen if test(raw) else plain(raw)


@dataclass
class FakePending:
    digests: bytes

    def block(self) -> bytes:
        return self.digests


@dataclass
class FakeWorker:
    read: Read
    write: Callable[[object], str] = json.dumps
    usage: Usage = field(default_factory=Usage)
    looked: int = 0
    closed: int = 0

    def close(self) -> None:
        self.closed += 1

    def begin(self, inputs, *, reader="", named=True, project=False) -> FakePending:
        seen = [self.read(raw) for raw in inputs]
        return FakePending(b"".join(digest_of(each, named=named) for each in seen))

    def outcomes(self, inputs, *, reader="", project=False) -> list[Observation]:
        self.looked += len(inputs)
        return [self.read(raw) for raw in inputs]

    def serialize(self, values, *, writer="") -> list[Observation]:
        raise NotImplementedError


@dataclass(frozen=True)
class FakeSide:
    name: str
    readers: tuple[str, ...] = ("bytes",)
    writers: tuple[str, ...] = ()


def fake_team(*reads: Read) -> Team:
    sides = tuple(FakeSide(f"side{at}") for at in range(len(reads)))
    form = Form("bytes", ("bytes",) * len(reads))
    workers = [FakeWorker(read) for read in reads]
    return Team(
        sides, (form,), (Lane(workers, named=True, project=False),), tuple(workers), project=False
    )


def known_inputs(most: int = 200) -> list[Batch]:
    """Some of every family of known divergences: evenly spread, the whole ladder of depth."""
    found: list[bytes] = []
    for family in FAMILIES:
        inputs = [raw for raw in family.make() if len(raw) < 25_000]
        step = 1 if family.name == "depth" else max(1, len(inputs) // most)
        found += inputs[::step]
    return [Batch("known divergences", held) for held in split_batches(found)]


def explored(*reads: Read, every: Sequence[Batch]) -> Comparison:
    explorer = Comparison(fake_team(*reads), Budget(60.0))
    explorer._run_batches(iter(every))
    for pair in explorer.pairs:
        pair.ledger.shrink_rest(5.0)
    return explorer
