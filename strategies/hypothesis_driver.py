"""Every grammar function as a Hypothesis strategy.

A draw costs Hypothesis far more than a choice costs the grammar. So choices are not drawn one by
one: a :class:`HypothesisSource` draws pages of bytes, and takes each choice from a byte or a few.

How that shrinks: Hypothesis makes bytes smaller, and 0 is the smallest. A page is a row of cells,
and each part of what is made (:meth:`~strategies.source.Source.split`) has a cell of its own.

- A byte of 1 to 255 is a choice; 1 is the first option.
- A byte of 0 is left out, as if it had never been drawn: setting it to 0 deletes the choice.
- A cell of zeros is left out in the same way: the part is deleted, and the next takes its place.
- Past the end of its cell a part takes the first option of everything.

So the choices of one part never move into another, and what no longer matters goes away.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Concatenate, ParamSpec, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from wirefence.strategies.source import ALPHABETS, Source

__all__ = ["CELLS", "HypothesisSource", "from_grammar", "from_pages"]

T = TypeVar("T")
P = ParamSpec("P")

_CELL = 8
"""Bytes of a cell: most parts take fewer choices than that. A longer one goes on in another."""

CELLS = 4
"""Cells of one draw. Longer pages are faster, but bytes that nothing uses cost the shrinker a step
each, and it takes 500 at most."""


@lru_cache(maxsize=16)
def _make_pages(cells: int) -> SearchStrategy[bytes]:
    return st.binary(min_size=cells * _CELL, max_size=cells * _CELL)


_DIGITS = 255
"""Values of a byte that is a choice."""

_WIDEST = _DIGITS**8
"""Longer ranges than this are drawn by themselves: they would fill a cell."""


@lru_cache(maxsize=1024)
def _make_integers(low: int, high: int) -> SearchStrategy[int]:
    return st.integers(low, high)


class _Tape:
    """The cells of all pages, in order, each without its zeros."""

    __slots__ = ("_at", "_cells", "_draw", "_ended", "_pages")

    def __init__(self, draw: DrawFn, cells: int) -> None:
        self._draw = draw
        self._pages = _make_pages(cells)
        self._cells: list[bytes] = []
        self._at = 0
        self._ended = False

    def next_cell(self) -> bytes:
        """The next cell that holds a choice; ``b""`` once a page held none."""
        while self._at == len(self._cells):
            if self._ended:
                return b""
            page = self._draw(self._pages)
            starts = range(0, len(page), _CELL)
            cells = [page[at : at + _CELL].translate(None, b"\0") for at in starts]
            self._cells = [cell for cell in cells if cell]
            self._at = 0
            self._ended = not self._cells
        self._at += 1
        return self._cells[self._at - 1]


class HypothesisSource:
    """A :class:`~strategies.source.Source` that draws from the test case that Hypothesis builds."""

    __slots__ = ("_at", "_cell", "_draw", "_full", "_tape")

    def __init__(self, draw: DrawFn, tape: _Tape | None = None, *, cells: int = CELLS) -> None:
        self._draw = draw
        self._tape = tape or _Tape(draw, cells)
        self._cell = b""
        self._at = 0
        self._full = True

    def split(self) -> HypothesisSource:
        """A source for one part, with a cell of its own."""
        part = HypothesisSource(self._draw, self._tape)
        part._turn()
        return part

    def _turn(self) -> None:
        """Go on to the next cell."""
        self._cell = self._tape.next_cell()
        self._at = 0
        # Only a cell without zeros goes on in another: one that lost choices has no need to.
        self._full = len(self._cell) == _CELL

    def _byte(self) -> int:
        """The next choice, 0 to 254."""
        if self._at == len(self._cell):
            if not self._full:
                return 0
            self._turn()
            if not self._cell:
                return 0
        self._at += 1
        return self._cell[self._at - 1] - 1

    def _below(self, count: int) -> int:
        """One of ``range(count)``; 0 is the simplest."""
        if count <= _DIGITS:
            # One option takes a byte too: more or fewer options must not move later choices.
            at = self._at
            if at < len(self._cell):  # most choices, without a further call
                self._at = at + 1
                return (self._cell[at] - 1) * count // _DIGITS
            return self._byte() * count // _DIGITS
        value, span = self._byte(), _DIGITS
        while span < count:
            value, span = value * _DIGITS + self._byte(), span * _DIGITS
        return value * count // span

    def choice(self, options: Sequence[T]) -> T:
        return options[self._below(len(options))]

    def integer(self, low: int, high: int) -> int:
        """An integer of ``low .. high``; the nearest to 0 is the simplest."""
        if low > high:
            raise ValueError(f"no integer between {low} and {high}")
        if high - low >= _WIDEST:
            return self._draw(_make_integers(low, high))
        index = self._below(high - low + 1)
        if low >= 0:
            return low + index
        if high <= 0:
            return high - index
        return index if index <= high else high - index

    def weighted(self, options: Sequence[tuple[int, T]]) -> T:
        at = self._below(sum([weight for weight, _ in options]))
        for weight, value in options:
            at -= weight
            if at < 0:
                return value
        raise ValueError("weights must be positive")

    def chance(self, numerator: int, denominator: int) -> bool:
        return self._below(denominator) >= denominator - numerator

    def text(self, max_size: int) -> str:
        low, high = self.choice(ALPHABETS)
        points = [self.integer(low, high) for _ in range(self.integer(0, max_size))]
        if low == _SPACE:
            points = [_SPACE + (point - _SPACE + _ZERO - _SPACE) % _PRINTABLE for point in points]
        return "".join(map(chr, points))


_SPACE, _ZERO, _PRINTABLE = 0x20, 0x30, 0x5F
"""Printable ASCII starts with a space, but a digit is simpler to read."""


def from_grammar(
    function: Callable[Concatenate[Source, P], T], *args: P.args, **kwargs: P.kwargs
) -> SearchStrategy[T]:
    """A strategy for what ``function`` makes, called with a source and the given arguments.

    Any function whose first parameter is a :class:`~strategies.source.Source` will do. Raises, when
    drawn, whatever ``function`` raises.
    """
    return from_pages(CELLS, lambda source: function(source, *args, **kwargs))


def from_pages(cells: int, function: Callable[[Source], T]) -> SearchStrategy[T]:
    """The same, with pages of so many ``cells``: more for what takes many choices as a rule."""

    @st.composite
    def grammar(draw: DrawFn) -> T:
        return function(HypothesisSource(draw, cells=cells))

    return grammar()
