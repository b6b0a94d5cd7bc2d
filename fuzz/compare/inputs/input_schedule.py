"""The order of a comparison's inputs: existing ones, known divergences, small shapes, random ones.

Committed reproducers and the user's traffic always run. Generators of known divergences come before
the search. Finished shapes become claims. Random inputs fill the budget, in turn with the larger
shapes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Literal

from wirefence.fuzz.compare.inputs.corpus import read_reproducers, read_traffic
from wirefence.fuzz.compare.inputs.exhaustive import SHAPES
from wirefence.fuzz.compare.inputs.mutation import generate_block
from wirefence.fuzz.compare.inputs.seeds import FAMILIES

__all__ = ["Batch", "Origin", "Stage", "generate_batches", "split_batches"]

Stage = Literal["reproducers", "traffic", "known divergences", "exhaustive", "grammar and mutation"]
_MAX_INPUTS, _MAX_BYTES = 2_048, 1 << 19
_LONG = 1 << 14
"""Bytes of an input that ends its batch, so that a death is soon attributed."""
_FIRST_SHAPES = 7
"""Shapes that run before random inputs: those that finish within seconds."""
_TURN = 4
"""Blocks of random inputs between batches of the larger shapes."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Some inputs of one stage.

    ``claim`` is that of a shape, or the name of a family; ``last`` marks the end of it.
    """

    stage: Stage
    inputs: Sequence[bytes]
    claim: str = ""
    last: bool = False


@dataclass(frozen=True, slots=True)
class Origin:
    """Sources of inputs: seed, the user's corpus, strings found in the libraries."""

    seed: int = 0
    corpus: Sequence[Path] = ()
    crashes: Path = Path("crashes")
    words: Sequence[bytes] = ()


def split_batches(inputs: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Split inputs into lists of up to 2,048 inputs and about half a megabyte."""
    held: list[bytes] = []
    size = 0
    for raw in inputs:
        held.append(raw)
        size += len(raw)
        if len(held) >= _MAX_INPUTS or size >= _MAX_BYTES or len(raw) >= _LONG:
            yield held
            held, size = [], 0
    if held:
        yield held


def generate_batches(origin: Origin) -> Iterator[Batch]:
    """Yield batches without end; the consumer stops when its budget is spent."""
    yield from _batch_inputs("reproducers", read_reproducers(origin.crashes))
    yield from _batch_inputs("traffic", read_traffic(origin.corpus))
    for family in FAMILIES:
        yield from _batch_with_end("known divergences", family.make(), family.name)
    yield from _batch_inputs("known divergences", _generate_mined(origin.words))
    first, later = _generate_shapes(0, _FIRST_SHAPES), _generate_shapes(_FIRST_SHAPES, len(SHAPES))
    yield from first
    for number in count():
        inputs = (
            raw for turn in range(_TURN) for raw in _generate_block(origin, number * _TURN + turn)
        )
        yield from _batch_inputs("grammar and mutation", inputs)
        for _ in range(_TURN):
            batch = next(later, None)
            if batch is not None:
                yield batch


def _batch_inputs(stage: Stage, inputs: Iterable[bytes]) -> Iterator[Batch]:
    return (Batch(stage, held) for held in split_batches(inputs))


def _generate_block(origin: Origin, number: int) -> Iterator[bytes]:
    return generate_block(origin.seed, number, origin.words)


def _generate_mined(words: Sequence[bytes]) -> Iterator[bytes]:
    """Yield strings found in the libraries as documents, strings and names."""
    for word in words:
        yield from (word, b"[%b]" % word, b'"%b"' % word, b'"\\%b"' % word, b'{"%b":1}' % word)
        yield from (b"-" + word, b'{"%b":{"a":"%b"}}' % (word, word))


def _generate_shapes(start: int, end: int) -> Iterator[Batch]:
    for shape in SHAPES[start:end]:
        yield from _batch_with_end("exhaustive", shape.make(), shape.claim)


def _batch_with_end(stage: Stage, inputs: Iterable[bytes], claim: str) -> Iterator[Batch]:
    """Yield batches, and mark the last one."""
    held: list[bytes] = []
    for following in split_batches(inputs):
        if held:
            yield Batch(stage, held, claim)
        held = following
    yield Batch(stage, held, claim, last=True)
