"""What is sent: JSON texts, MCP messages, damage and sessions, from one grammar.

The key insight: each grammar function takes its choices from a :class:`Source`. Give it a
:class:`RandomSource` and it is a fast generator; the functions of this module give the same grammar
as Hypothesis strategies, which shrink.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from wirefence.strategies.damage import apply_damage
from wirefence.strategies.json_text import json_text
from wirefence.strategies.mcp import message
from wirefence.strategies.mcp_message import Message
from wirefence.strategies.records import VERSIONS, Case, Direction, Frame, Version
from wirefence.strategies.sessions import Damage, frame, session
from wirefence.strategies.source import RandomSource, Source

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = [
    "VERSIONS",
    "Case",
    "Direction",
    "Frame",
    "RandomSource",
    "Source",
    "Version",
    "frames",
    "from_grammar",
    "json_texts",
    "messages",
    "sessions",
]

T = TypeVar("T")
P = ParamSpec("P")


def from_grammar(
    function: Callable[Concatenate[Source, P], T], *args: P.args, **kwargs: P.kwargs
) -> SearchStrategy[T]:
    """A Hypothesis strategy for what ``function(source, *args, **kwargs)`` makes."""
    # Hypothesis takes longer to import than all the rest: only who draws from it pays for it.
    driver: Any = import_module("wirefence.strategies.hypothesis_driver")
    strategy: SearchStrategy[T] = driver.from_grammar(function, *args, **kwargs)
    return strategy


def _one(source: Source, version: Version | None) -> Version:
    return source.choice(VERSIONS) if version is None else version


def json_texts(*, size: int | None = None, lone_surrogates: bool = False) -> SearchStrategy[bytes]:
    """RFC 8259 texts: see :func:`wirefence.strategies.json_text.json_text`."""
    return from_grammar(json_text, size=size, lone_surrogates=lone_surrogates)


def messages(
    version: Version | None = None, direction: Direction = "client-to-server"
) -> SearchStrategy[Message]:
    """Valid MCP messages of ``version``, or of any: see :func:`strategies.mcp.message`."""

    def grammar(source: Source) -> Message:
        return message(source, _one(source, version), direction)

    return from_grammar(grammar)


def frames(version: Version | None = None, nonce: str = "a") -> SearchStrategy[Frame]:
    """Good frames for a ready session: see :func:`wirefence.strategies.sessions.frame`."""

    def grammar(source: Source) -> Frame:
        return frame(source, _one(source, version), nonce)

    return from_grammar(grammar)


def sessions(
    version: Version | None = None, *, damage: Damage | None = apply_damage, prefix: str = ""
) -> SearchStrategy[Case]:
    """Whole sessions of ``version``, or of any: see :func:`wirefence.strategies.sessions.session`.

    ``damage`` is that of ``strategies.damage`` unless another is given; ``None`` is none. This
    function takes the place of the module as an attribute of the package: import from the module
    by ``from wirefence.strategies.sessions import session``.
    """

    def grammar(source: Source) -> Case:
        return session(source, _one(source, version), damage=damage, prefix=prefix)

    return from_grammar(grammar)
