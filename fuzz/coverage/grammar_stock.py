"""Fresh grammar output in stock, for splicing into trees.

The key insight: a mutation costs less than a value of the grammar, and even less than a call or
two. So values are kept in a stock and used several times each, and draws from it are made in bulk;
with each, some of the stock are made anew, and so it never ages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import get_args

from wirefence.strategies.damage import apply_damage
from wirefence.strategies.json_text import DICTIONARY, json_text, load_words, number
from wirefence.strategies.mcp import message
from wirefence.strategies.mcp_calls import call
from wirefence.strategies.records import VERSIONS, Case, Direction
from wirefence.strategies.sessions import session
from wirefence.strategies.source import Source

__all__ = ["Fresh"]

_DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
_USES = 16
_FOLD = re.compile(rb"\n\s*")


class _Stock:
    """Up to ``size`` products of one rule of the grammar; of ``uses`` taken, one is new."""

    __slots__ = ("_drawn", "_full", "_made", "_make", "_source", "_uses")

    def __init__(
        self, source: Source, make: Callable[[], bytes], size: int, uses: int = _USES
    ) -> None:
        self._source = source
        self._make = make
        self._full = size
        self._uses = uses
        self._made: list[bytes] = []
        self._drawn: list[bytes] = []

    def take(self) -> bytes:
        """One product, new or used before."""
        drawn = self._drawn
        return drawn.pop() if drawn else self._more()

    def _more(self) -> bytes:
        """Fill the stock, by one; once it is full, draw from it, after a part of it was renewed."""
        made, new = self._made, self._make()
        if len(made) < self._full:
            made.append(new)
            return new
        choice, last = self._source.choice, self._full - 1
        made[self._source.integer(0, last)] = new
        self._drawn = [choice(made) for _ in range(self._uses - 1)]
        return new


class Fresh:
    """What the grammar of :mod:`strategies` makes, by what it can stand in for.

    ``words`` are more bodies of strings, beside those of the grammar's dictionary.
    """

    def __init__(self, source: Source, words: Sequence[bytes] = ()) -> None:
        self._source = source
        self._words = (*load_words(DICTIONARY), *words)
        self._made = 0
        self._values = _Stock(source, self._value, 192)
        self._numbers = _Stock(source, partial(number, source), 512)
        self._messages = _Stock(source, self._message, 128)
        self._sessions = _Stock(source, self._session, 64)
        # A document is edited before it is used, and the first time read into a tree.
        self._documents = _Stock(source, self._document, 256, 4 * _USES)
        self._calls = {
            stateless: _Stock(source, partial(self._call, stateless=stateless), 64)
            for stateless in (False, True)
        }

    def value(self) -> bytes:
        """A JSON value of some tens of bytes, on one line."""
        return self._values.take()

    def document(self) -> bytes:
        """One JSON document without LF: any text, or a message."""
        return self._documents.take()

    def message(self) -> bytes:
        """A valid MCP message of any version and direction, without LF."""
        return self._messages.take()

    def call(self, *, stateless: bool) -> bytes:
        """A ``tools/call`` of any tool by any caller, without LF; its action is its own."""
        return self._calls[stateless].take()

    def session(self) -> bytes:
        """A whole session of a client, mostly good; each line ends in LF."""
        return self._sessions.take()

    def word(self) -> bytes:
        """The inside of a JSON string."""
        return self._source.choice(self._words)

    def number(self) -> bytes:
        """A number token."""
        return self._numbers.take()

    def name(self) -> str:
        """A name that nothing made here had before."""
        self._made += 1
        return f"n{self._made}"

    def _value(self) -> bytes:
        return _FOLD.sub(b" ", json_text(self._source, size=self._source.choice((4, 16, 48, 160))))

    def _document(self) -> bytes:
        return self._value() if self._source.chance(1, 2) else self._message()

    def _call(self, *, stateless: bool) -> bytes:
        version = VERSIONS[-1] if stateless else self._source.choice(VERSIONS[:-1])
        made = call(self._source, version, self.name(), b"%d" % self._source.integer(1, 999))
        return made.frame().raw.removesuffix(b"\n")

    def _message(self) -> bytes:
        version = self._source.choice(VERSIONS)
        direction = self._source.choice(_DIRECTIONS)
        return message(self._source, version, direction).encode()

    def _session(self) -> bytes:
        damage = apply_damage if self._source.chance(1, 3) else None
        version = self._source.choice(VERSIONS)
        made: Case = session(self._source, version, damage=damage, prefix=self.name())
        return made.data
