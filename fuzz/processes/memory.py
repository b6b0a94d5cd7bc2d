"""A heavy case, and what is left of it in a process that goes on for hours.

The key insight: nothing leaks, and still a process would grow from one heavy case to the next. The
C library keeps what was freed for a next time that is a thousand cases away, and what was cached of
ten megabytes is never asked for again.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from wirefence.oracles.document import forget_long_documents
from wirefence.strategies.records import Case
from wirefence.targets.parsers.prescan import forget_long_scans

__all__ = ["HEAVY", "is_heavy", "relieve"]

HEAVY = 1 << 16
"""Bytes of a case from which on what is left of it is worth clearing away."""


def is_heavy(case: Case) -> bool:
    """Whether a case is of such a size."""
    return sum(len(frame.raw) for frame in case.frames) > HEAVY


def relieve() -> None:
    """Give back to the system what heavy cases before have left."""
    forget_long_documents()
    forget_long_scans()
    _trim(0)


def _trimmer() -> Callable[[int], object]:
    """The C library's ``malloc_trim``; others than glibc have none and keep less."""
    found: Callable[[int], object] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return found or (lambda _pad: 0)


_trim = _trimmer()
