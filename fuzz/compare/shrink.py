"""Shrink a differing input: first repetitions by bisection, then with the general shrinker.

Long inputs are slow to shrink byte by byte. So long repetitions are found, those of equal count
(opening and closing brackets) shrink together, and bisection finds the smallest count in about
twenty tries. That count often is the library's limit.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from wirefence.fuzz.shrink.shrinker import shrink_input

__all__ = ["shrink_difference"]

KeepsMany = Callable[[Sequence[bytes]], Sequence[bool]]

_REPEATED = re.compile(rb"(.{1,8}?)\1{11,}", re.DOTALL)
_GENERAL = 3_000
"""Bytes; the general shrinker needs too many tries for longer inputs."""
_NESTINGS = ((b"[", b"]"), (b'{"":', b"}"))
"""Opening and closing of a level, the shortest first."""
_WIDTH = 24
"""Candidates that the general shrinker sends at a time."""
_PLACES = 7
"""Counts that bisection tries at a time."""


@dataclass(frozen=True, slots=True)
class _Run:
    start: int
    unit: bytes
    count: int


def shrink_difference(
    raw: bytes, keeps_many: KeepsMany, *, seconds: float = 10.0, costly: bool = False
) -> bytes:
    """Return the smallest form of ``raw`` found within ``seconds`` for which ``keeps_many`` holds.

    ``keeps_many`` takes several inputs at once. If it does not hold for ``raw``, ``raw`` is
    returned. With ``costly``, an input that keeps the difference is far more expensive than others,
    as one that kills a process.
    """
    deadline = time.monotonic() + seconds

    def in_time(raws: Sequence[bytes]) -> Sequence[bool]:
        return keeps_many(raws) if time.monotonic() < deadline else [False] * len(raws)

    if not in_time([raw])[0]:
        return raw
    width = 1 if costly else _PLACES
    raw = _shorten_runs(raw, in_time, width)
    plainer = _replace_nesting(raw, in_time)
    raw = _shorten_runs(plainer, in_time, width) if plainer else raw
    if len(raw) > _GENERAL or time.monotonic() >= deadline:
        return raw
    try:
        return shrink_input(
            raw,
            lambda candidate: bool(keeps_many([candidate])[0]),
            limit=6_000,
            deadline=deadline,
            keeps_many=keeps_many,
            width=_WIDTH,
        ).data
    except ValueError:  # a side with unsteady results: keep the input as it is
        return raw


def _shorten_runs(raw: bytes, keeps_many: KeepsMany, width: int) -> bytes:
    """Shrink runs of equal count together, then each alone."""
    for group in list(_group_runs(_find_runs(raw))):
        raw = _bisect_count(raw, group, keeps_many, width)
    for place in range(len(_find_runs(raw))):
        runs = _find_runs(raw)
        if place < len(runs):
            raw = _bisect_count(raw, [runs[place]], keeps_many, width)
    return raw


def _replace_nesting(raw: bytes, keeps_many: KeepsMany) -> bytes | None:
    """Return the plainest nesting in place of brackets that are too many for the general
    shrinker.
    """
    if len(raw) <= _GENERAL or not any(run.unit[:1] in b"[{" for run in _find_runs(raw)):
        return None
    for opening, closing in _NESTINGS:
        if raw.startswith(opening * 2):
            return None
        levels = (len(raw) - 1) // len(opening + closing)
        plainer = opening * levels + b"1" * (closing == b"}") + closing * levels
        if keeps_many([plainer])[0]:
            return plainer
    return None


def _find_runs(raw: bytes) -> list[_Run]:
    return [
        _Run(match.start(), match[1], len(match[0]) // len(match[1]))
        for match in _REPEATED.finditer(raw)
    ]


def _group_runs(runs: list[_Run]) -> Iterator[list[_Run]]:
    """Yield runs of equal count, which may be matching brackets, highest count first."""
    for count in sorted({run.count for run in runs}, reverse=True):
        group = [run for run in runs if run.count == count]
        if len(group) > 1:
            yield group


def _bisect_count(raw: bytes, runs: Sequence[_Run], keeps_many: KeepsMany, width: int) -> bytes:
    """Return ``raw`` with the lowest count of repetitions that keeps the difference.

    ``width`` counts are tried at a time, evenly spread.
    """
    low, high, best = 0, runs[0].count, raw
    while low < high:
        span = high - low
        counts = sorted({low + span * part // (width + 1) for part in range(1, width + 1)})
        candidates = [_repeat_runs(raw, runs, count) for count in counts]
        for count, candidate, kept in zip(counts, candidates, keeps_many(candidates), strict=True):
            if kept:
                high, best = count, candidate
                break
            low = count + 1
    return best


def _repeat_runs(raw: bytes, runs: Sequence[_Run], count: int) -> bytes:
    parts, end = [], 0
    for run in runs:
        parts += [raw[end : run.start], run.unit * count]
        end = run.start + len(run.unit) * run.count
    return b"".join([*parts, raw[end:]])
