"""The records that join the parts of a comparison.

The key insight: two outcomes are the same exactly if kind, value and error are; a message is shown
and counted, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wirefence.targets.environments import Observation

__all__ = ["Item", "Look"]

Look = Callable[[Sequence[bytes], str], Sequence[tuple[Observation, Observation]]]
"""Asks both sides what they make of inputs in the named form."""


@dataclass(frozen=True, slots=True)
class Item:
    """One input and the name of the form in which it is handed over (``bytes``, ``str``, ...)."""

    raw: bytes
    form: str = "bytes"
