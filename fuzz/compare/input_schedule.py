"""The inputs of a comparison in their order: what exists, what is known, what is small, the rest.

The key insight: the order is a promise. Committed reproducers and the user's traffic always run;
generators of known divergences come before search; finished shapes are claims; random inputs fill
the budget, turn by turn with the larger shapes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Literal

from wirefence.fuzz.compare.corpus import reproducers, traffic
from wirefence.fuzz.compare.exhaustive import SHAPES
from wirefence.fuzz.compare.mutation import block
from wirefence.fuzz.compare.seeds import FAMILIES

__all__ = ["Batch", "Origin", "Stage", "batches", "stream"]

Stage = Literal["reproducers", "traffic", "known divergences", "exhaustive", "grammar and mutation"]
_MOST, _BYTES = 2_048, 1 << 19
_LONG = 1 << 14
"""An input as long as this ends its batch, so that what kills a side is soon known."""
_FIRST_SHAPES = 7
_TURN = 4


@dataclass(frozen=True, slots=True)
class Batch:
    """Some inputs of one origin.

    ``claim`` is that of a shape, or the name of a family; ``last`` ends the shape or family.
    """

    stage: Stage
    inputs: Sequence[bytes]
    claim: str = ""
    last: bool = False


@dataclass(frozen=True, slots=True)
class Origin:
    """Where inputs come from: seed, the user's corpus, strings mined from the libraries."""

    seed: int = 0
    corpus: Sequence[Path] = ()
    crashes: Path = Path("crashes")
    words: Sequence[bytes] = ()


def batches(inputs: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Cut inputs into lists of up to 2,048 inputs and about half a megabyte."""
    held: list[bytes] = []
    size = 0
    for raw in inputs:
        held.append(raw)
        size += len(raw)
        if len(held) >= _MOST or size >= _BYTES or len(raw) >= _LONG:
            yield held
            held, size = [], 0
    if held:
        yield held


def stream(origin: Origin) -> Iterator[Batch]:
    """Every batch, without end; a consumer stops when its budget is spent."""
    yield from _each("reproducers", reproducers(origin.crashes))
    yield from _each("traffic", traffic(origin.corpus))
    for family in FAMILIES:
        yield from _whole("known divergences", family.make(), family.name)
    yield from _each("known divergences", _mined(origin.words))
    first, later = _shapes(0, _FIRST_SHAPES), _shapes(_FIRST_SHAPES, len(SHAPES))
    yield from first
    for number in count():
        inputs = (raw for turn in range(_TURN) for raw in _block(origin, number * _TURN + turn))
        yield from _each("grammar and mutation", inputs)
        for _ in range(_TURN):
            batch = next(later, None)
            if batch is not None:
                yield batch


def _each(stage: Stage, inputs: Iterable[bytes]) -> Iterator[Batch]:
    return (Batch(stage, held) for held in batches(inputs))


def _block(origin: Origin, number: int) -> Iterator[bytes]:
    return block(origin.seed, number, origin.words)


def _mined(words: Sequence[bytes]) -> Iterator[bytes]:
    """Strings of the libraries themselves, as documents, strings and names."""
    for word in words:
        yield from (word, b"[%b]" % word, b'"%b"' % word, b'"\\%b"' % word, b'{"%b":1}' % word)
        yield from (b"-" + word, b'{"%b":{"a":"%b"}}' % (word, word))


def _shapes(start: int, end: int) -> Iterator[Batch]:
    for shape in SHAPES[start:end]:
        yield from _whole("exhaustive", shape.make(), shape.claim)


def _whole(stage: Stage, inputs: Iterable[bytes], claim: str) -> Iterator[Batch]:
    """Batches of which the last one says that it is."""
    held: list[bytes] = []
    for following in batches(inputs):
        if held:
            yield Batch(stage, held, claim)
        held = following
    yield Batch(stage, held, claim, last=True)
