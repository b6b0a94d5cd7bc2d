"""Detect large cases, and free the memory that they leave behind.

Nothing leaks, but a process that runs for hours would still grow: the C library keeps freed memory
for reuse, and caches keep large inputs that do not occur again.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from wirefence.oracles.document import forget_long_documents
from wirefence.strategies.records import Case
from wirefence.targets.parsers.prescan import forget_long_scans

__all__ = ["HEAVY", "is_heavy", "release_memory"]

HEAVY = 1 << 16
"""Bytes of a case above which its leftovers are worth freeing; freeing costs more than a small
case.
"""


def is_heavy(case: Case) -> bool:
    """Return whether a case has more than :data:`HEAVY` bytes."""
    return sum(len(frame.raw) for frame in case.frames) > HEAVY


def release_memory() -> None:
    """Clear caches of long inputs, and return freed memory to the system."""
    forget_long_documents()
    forget_long_scans()
    _malloc_trim(0)


def _find_malloc_trim() -> Callable[[int], object]:
    """Return glibc's ``malloc_trim``; other C libraries have none, and keep some memory."""
    found: Callable[[int], object] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return found or (lambda _pad: 0)


_malloc_trim = _find_malloc_trim()
