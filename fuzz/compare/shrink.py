"""Smaller inputs of the same class: repetitions by bisection first, then the general reducer.

The key insight: sizes are what is slow to reduce byte by byte. Long repetitions are found, those of
equal count (brackets that open and close) shrink together, and bisection finds the smallest count
in twenty tries, which also is the library's limit, named in the report.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from wirefence.fuzz.shrink.shrinker import reduce

__all__ = ["shrink"]

KeepsMany = Callable[[Sequence[bytes]], Sequence[bool]]

_REPEATED = re.compile(rb"(.{1,8}?)\1{11,}", re.DOTALL)
_GENERAL = 3_000
"""Longer inputs than this, in bytes, are not worth the general reducer's many tries."""
_NESTINGS = ((b"[", b"]"), (b'{"":', b"}"))
"""Opening and closing of a level, the shortest first."""
_WIDTH = 24
_PLACES = 7


@dataclass(frozen=True, slots=True)
class _Run:
    start: int
    unit: bytes
    count: int


def shrink(
    raw: bytes, keeps_many: KeepsMany, *, seconds: float = 10.0, costly: bool = False
) -> bytes:
    """The smallest form of ``raw`` found within ``seconds`` for which ``keeps_many`` holds.

    ``keeps_many`` answers for several inputs at once; it must hold for ``raw`` itself, otherwise
    ``raw`` is returned as it is. ``costly`` says that an input that keeps costs far more than one
    that does not, as one that ends a process.
    """
    deadline = time.monotonic() + seconds

    def in_time(raws: Sequence[bytes]) -> Sequence[bool]:
        return keeps_many(raws) if time.monotonic() < deadline else [False] * len(raws)

    if not in_time([raw])[0]:
        return raw
    width = 1 if costly else _PLACES
    raw = _shorter_runs(raw, in_time, width)
    plainer = _plainer_nesting(raw, in_time)
    raw = _shorter_runs(plainer, in_time, width) if plainer else raw
    if len(raw) > _GENERAL or time.monotonic() >= deadline:
        return raw
    try:
        return reduce(
            raw,
            lambda candidate: bool(keeps_many([candidate])[0]),
            limit=6_000,
            deadline=deadline,
            keeps_many=keeps_many,
            width=_WIDTH,
        ).data
    except ValueError:  # a side that answers now so, now otherwise: what was seen stays as it was
        return raw


def _shorter_runs(raw: bytes, keeps_many: KeepsMany, width: int) -> bytes:
    """Shrink runs of equal count together, then each alone."""
    for group in list(_groups(_runs(raw))):
        raw = _searched(raw, group, keeps_many, width)
    for place in range(len(_runs(raw))):
        runs = _runs(raw)
        if place < len(runs):
            raw = _searched(raw, [runs[place]], keeps_many, width)
    return raw


def _plainer_nesting(raw: bytes, keeps_many: KeepsMany) -> bytes | None:
    """Nesting of the plainest kind in place of brackets too many for the general reducer."""
    if len(raw) <= _GENERAL or not any(run.unit[:1] in b"[{" for run in _runs(raw)):
        return None
    for opening, closing in _NESTINGS:
        if raw.startswith(opening * 2):
            return None
        levels = (len(raw) - 1) // len(opening + closing)
        plainer = opening * levels + b"1" * (closing == b"}") + closing * levels
        if keeps_many([plainer])[0]:
            return plainer
    return None


def _runs(raw: bytes) -> list[_Run]:
    return [
        _Run(match.start(), match[1], len(match[0]) // len(match[1]))
        for match in _REPEATED.finditer(raw)
    ]


def _groups(runs: list[_Run]) -> Iterator[list[_Run]]:
    """Runs that may be brackets of each other, those with the most repetitions first."""
    for count in sorted({run.count for run in runs}, reverse=True):
        group = [run for run in runs if run.count == count]
        if len(group) > 1:
            yield group


def _searched(raw: bytes, runs: Sequence[_Run], keeps_many: KeepsMany, width: int) -> bytes:
    """``raw`` with the fewest repetitions that keep, if they are fewer than some that don't.

    ``width`` counts are tried at once, evenly spread over what is left.
    """
    low, high, best = 0, runs[0].count, raw
    while low < high:
        span = high - low
        counts = sorted({low + span * part // (width + 1) for part in range(1, width + 1)})
        candidates = [_with_count(raw, runs, count) for count in counts]
        for count, candidate, kept in zip(counts, candidates, keeps_many(candidates), strict=True):
            if kept:
                high, best = count, candidate
                break
            low = count + 1
    return best


def _with_count(raw: bytes, runs: Sequence[_Run], count: int) -> bytes:
    parts, end = [], 0
    for run in runs:
        parts += [raw[end : run.start], run.unit * count]
        end = run.start + len(run.unit) * run.count
    return b"".join([*parts, raw[end:]])
