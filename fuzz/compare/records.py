"""Records shared by the parts of a comparison.

Two outcomes are equal if kind, value and error are equal. Messages are counted and shown, but are
not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wirefence.targets.environments import Observation

__all__ = ["Item", "Look"]

Look = Callable[[Sequence[bytes], str], Sequence[tuple[Observation, Observation]]]
"""Returns what both sides make of inputs in the named form."""


@dataclass(frozen=True, slots=True)
class Item:
    """One input and the name of the form in which it is passed (``bytes``, ``str``, ...)."""

    raw: bytes
    form: str = "bytes"
