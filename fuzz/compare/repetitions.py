"""Traits of inputs that may be long: long repetitions are cut before an input is read."""

from __future__ import annotations

import re
from functools import lru_cache

from wirefence.oracles.traits import find_traits

__all__ = ["find_input_traits", "squeeze_runs"]

_LONG = 4_096
"""Bytes of an input from which cutting takes less time than reading what was cut."""
_SQUEEZED, _DIGITS = 300, 4_400
"""No trait depends on more repetitions than that, or on more digits."""
_RUN = re.compile(rb"(.{1,8}?)\1{15,}", re.DOTALL)


@lru_cache(maxsize=4_096)  # one input comes in several forms, and shrinking comes back to some
def find_input_traits(raw: bytes) -> frozenset[str]:
    """Return the traits of an input; empty where nothing is unusual."""
    return find_traits(raw if len(raw) <= _LONG else squeeze_runs(raw))


def squeeze_runs(raw: bytes) -> bytes:
    """``raw`` with long repetitions cut: equal ones stay equal, and longer ones longer.

    So brackets that match still match, and no trait depends on what is left out.
    """
    counts = {len(run[0]) // len(run[1]) for run in _RUN.finditer(raw)}
    ranks = {count: _SQUEEZED + at for at, count in enumerate(sorted(counts)) if count > _SQUEEZED}

    def cut(run: re.Match[bytes]) -> bytes:
        most = _DIGITS if run[1].isdigit() else ranks.get(len(run[0]) // len(run[1]), _SQUEEZED)
        return run[0][: len(run[1]) * most]

    return _RUN.sub(cut, raw)
