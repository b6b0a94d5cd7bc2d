"""Measure throughput and memory of the sides.

Machines are noisy. So the sides take turns on the same documents, and the ratio of their CPU times
is reported.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from wirefence.fuzz.compare.sides import Form
from wirefence.strategies.json_text import json_text
from wirefence.strategies.source import RandomSource
from wirefence.targets.environments import Side

__all__ = ["Speed", "choose_documents", "measure_speed"]

_ROUNDS = 7
"""Turns of each side; the median of them is reported."""
_DOCUMENTS = 600
"""Documents of one turn; enough that a turn takes milliseconds."""
_LARGE = 4_000_000
"""Bytes of the document that shows peak memory."""
_SEED = 2_718_281


@dataclass(frozen=True, slots=True)
class Speed:
    """``rate`` in documents a CPU second, ``megabytes`` the same in MB; ``peak_bytes`` resident.

    Reading and digesting a document is what is timed; digesting costs all sides the same.
    """

    rate: float
    megabytes: float
    peak_bytes: int


def choose_documents(traffic: Sequence[bytes] = ()) -> list[bytes]:
    """Return the documents to time: the user's own if there are any, else valid generated ones."""
    if traffic:
        return list(traffic[:_DOCUMENTS])
    source = RandomSource(random.Random(_SEED))
    return [json_text(source, size=300, duplicates=False) for _ in range(_DOCUMENTS)]


def measure_speed(sides: Sequence[Side], form: Form, docs: Sequence[bytes]) -> list[Speed]:
    """Time all sides in turns on the same documents, in processes of their own."""
    source = RandomSource(random.Random(_SEED))
    large = json_text(source, size=_LARGE, duplicates=False)
    size = sum(map(len, docs)) / 1e6
    with ExitStack() as stack:
        workers = [stack.enter_context(side.worker()) for side in sides]
        spent: list[list[float]] = [[] for _ in sides]
        for _ in range(_ROUNDS):
            for at, (worker, reader) in enumerate(zip(workers, form.readers, strict=True)):
                before = worker.usage.cpu_seconds
                worker.digests(docs, reader=reader)
                spent[at].append(worker.usage.cpu_seconds - before)
        for worker, reader in zip(workers, form.readers, strict=True):
            worker.digests([large], reader=reader)
        return [
            _make_speed(len(docs), size, statistics.median(times), worker.usage.peak_bytes)
            for times, worker in zip(spent, workers, strict=True)
        ]


def _make_speed(count: int, size: float, seconds: float, peak: int) -> Speed:
    seconds = max(seconds, 1e-9)
    return Speed(count / seconds, size / seconds, peak)
