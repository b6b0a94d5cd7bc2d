"""Every grammar function as a Hypothesis strategy.

The key insight: Hypothesis shrinks the choices, not the bytes. A function whose options stand
simplest first therefore shrinks to the simplest text that still fails, with no shrinker of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Concatenate, ParamSpec, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from wirefence.strategies.source import Source

__all__ = ["HypothesisSource", "from_grammar"]

T = TypeVar("T")
P = ParamSpec("P")


@lru_cache(maxsize=1024)
def _integers(low: int, high: int) -> SearchStrategy[int]:
    return st.integers(low, high)


@lru_cache(maxsize=64)
def _texts(max_size: int) -> SearchStrategy[str]:
    return st.text(st.characters(codec="utf-8"), max_size=max_size)


class HypothesisSource:
    """A :class:`~strategies.source.Source` that draws from the test case that Hypothesis builds."""

    __slots__ = ("_draw",)

    def __init__(self, draw: DrawFn) -> None:
        self._draw = draw

    def choice(self, options: Sequence[T]) -> T:
        return options[self._draw(_integers(0, len(options) - 1)) if len(options) > 1 else 0]

    def integer(self, low: int, high: int) -> int:
        if low > high:
            raise ValueError(f"no integer between {low} and {high}")
        return self._draw(_integers(low, high))

    def weighted(self, options: Sequence[tuple[int, T]]) -> T:
        at = self._draw(_integers(0, sum(weight for weight, _ in options) - 1))
        for weight, value in options:
            at -= weight
            if at < 0:
                return value
        raise ValueError("weights must be positive")

    def chance(self, numerator: int, denominator: int) -> bool:
        # True lies in the middle, as Hypothesis likes both ends: what is meant to be rare is rare,
        # and 0, its simplest integer, is false.
        first = (denominator - numerator + 1) // 2
        return first <= self._draw(_integers(0, denominator - 1)) < first + numerator

    def text(self, max_size: int) -> str:
        return self._draw(_texts(max_size))


def from_grammar(
    function: Callable[Concatenate[Source, P], T], *args: P.args, **kwargs: P.kwargs
) -> SearchStrategy[T]:
    """A strategy for what ``function`` makes, called with a source and the given arguments.

    Any function whose first parameter is a :class:`~strategies.source.Source` will do. Raises, when
    drawn, whatever ``function`` raises.
    """

    @st.composite
    def grammar(draw: DrawFn) -> T:
        return function(HypothesisSource(draw), *args, **kwargs)

    return grammar()
