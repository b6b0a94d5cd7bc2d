"""A stock of generated values, for insertion into inputs.

A mutation costs less than generating a value, or even than a few calls. So each value is used
several times, and draws are made in bulk. A part of the stock is replaced with each bulk, so it
stays fresh.
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

__all__ = ["GrammarStock"]

_DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
_USES = 16
"""Uses of a value for each new one; generating costs about as much as that many mutations."""
_FOLD = re.compile(rb"\n\s*")


class _Stock:
    """Up to ``size`` values of one rule of the grammar; one of ``uses`` taken values is new."""

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

    def take_value(self) -> bytes:
        """Return a value, new or used before."""
        drawn = self._drawn
        return drawn.pop() if drawn else self._refill()

    def _refill(self) -> bytes:
        """Add one new value; if the stock is full, replace one and draw the next ``uses - 1``
        from it.
        """
        made, new = self._made, self._make()
        if len(made) < self._full:
            made.append(new)
            return new
        choice, last = self._source.choice, self._full - 1
        made[self._source.integer(0, last)] = new
        self._drawn = [choice(made) for _ in range(self._uses - 1)]
        return new


class GrammarStock:
    """Output of :mod:`strategies` by where it can be inserted.

    ``words`` are further string contents, in addition to the grammar's dictionary.
    """

    def __init__(self, source: Source, words: Sequence[bytes] = ()) -> None:
        self._source = source
        self._words = (*load_words(DICTIONARY), *words)
        self._made = 0
        self._values = _Stock(source, self._generate_value, 192)
        self._numbers = _Stock(source, partial(number, source), 512)
        self._messages = _Stock(source, self._generate_message, 128)
        self._sessions = _Stock(source, self._generate_session, 64)
        # A document is parsed into a tree once and edited at each use, so it is used more often.
        self._documents = _Stock(source, self._generate_document, 256, 4 * _USES)
        self._calls = {
            stateless: _Stock(source, partial(self._generate_call, stateless=stateless), 64)
            for stateless in (False, True)
        }

    def take_value(self) -> bytes:
        """Return a JSON value of some tens of bytes, on one line."""
        return self._values.take_value()

    def take_document(self) -> bytes:
        """Return one JSON document without LF: any text, or a message."""
        return self._documents.take_value()

    def take_message(self) -> bytes:
        """Return a valid MCP message of any version and direction, without LF."""
        return self._messages.take_value()

    def take_call(self, *, stateless: bool) -> bytes:
        """Return a ``tools/call`` of any tool by any caller, without LF, with a unique action."""
        return self._calls[stateless].take_value()

    def take_session(self) -> bytes:
        """Return a whole session of a client, mostly valid; each line ends in LF."""
        return self._sessions.take_value()

    def take_word(self) -> bytes:
        """Return the content of a JSON string."""
        return self._source.choice(self._words)

    def take_number(self) -> bytes:
        """Return a number token."""
        return self._numbers.take_value()

    def make_name(self) -> str:
        """Return a name that was not used before."""
        self._made += 1
        return f"n{self._made}"

    def _generate_value(self) -> bytes:
        return _FOLD.sub(b" ", json_text(self._source, size=self._source.choice((4, 16, 48, 160))))

    def _generate_document(self) -> bytes:
        return self._generate_value() if self._source.chance(1, 2) else self._generate_message()

    def _generate_call(self, *, stateless: bool) -> bytes:
        version = VERSIONS[-1] if stateless else self._source.choice(VERSIONS[:-1])
        made = call(self._source, version, self.make_name(), b"%d" % self._source.integer(1, 999))
        return made.frame().raw.removesuffix(b"\n")

    def _generate_message(self) -> bytes:
        version = self._source.choice(VERSIONS)
        direction = self._source.choice(_DIRECTIONS)
        return message(self._source, version, direction).encode()

    def _generate_session(self) -> bytes:
        damage = apply_damage if self._source.chance(1, 3) else None
        version = self._source.choice(VERSIONS)
        made: Case = session(self._source, version, damage=damage, prefix=self.make_name())
        return made.data
