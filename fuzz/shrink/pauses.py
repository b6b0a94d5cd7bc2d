"""Reduce the pauses of the writer, for an input that is being shrunk.

Most faults need no pauses, and most others also show with a pause after every byte. Both are rules
that hold for any bytes, so they survive every edit.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Cuts", "move_pauses", "pause_after_every_byte", "reduce_pauses", "without_pauses"]

Cuts = tuple[int, ...]


def without_pauses(_data: bytes) -> Cuts:
    """Return no cuts: everything in one write."""
    return ()


def pause_after_every_byte(data: bytes) -> Cuts:
    """Return cuts for one write of each byte."""
    return tuple(range(1, len(data)))


def move_pauses(cuts: Cuts, old: bytes, new: bytes) -> Cuts:
    """Return the offsets in ``new`` of the cuts in ``old``; ``new`` is an edit of ``old``."""
    head = _common_prefix_length(old, new)
    tail = min(_common_prefix_length(old[::-1], new[::-1]), min(len(old), len(new)) - head)
    shift = len(new) - len(old)
    places = {
        cut if cut <= head else cut + shift if cut >= len(old) - tail else head for cut in cuts
    }
    return tuple(sorted(place for place in places if 0 < place < len(new)))


def _common_prefix_length(one: bytes, other: bytes) -> int:
    """Return the length of the common prefix, by bisection: comparing slices is fast."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def reduce_pauses(cuts: Cuts, keeps: Callable[[Cuts], bool]) -> Cuts:
    """Remove runs of cuts, long ones first, while ``keeps`` holds."""
    size = len(cuts)
    while size:
        place = 0
        while place < len(cuts):
            fewer = cuts[:place] + cuts[place + size :]
            if keeps(fewer):
                cuts = fewer
            else:
                place += size
        size //= 2
    return cuts
