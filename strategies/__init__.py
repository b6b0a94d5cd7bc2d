"""What is sent: JSON texts, MCP messages, damage and sessions, from one grammar.

The key insight: each grammar function takes its choices from a :class:`Source`. Give it a
:class:`RandomSource` and it is a fast generator; the functions of this module give the same grammar
as Hypothesis strategies, which shrink.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from strategies.records import VERSIONS, Case, Direction, Frame, Version
from strategies.source import RandomSource, Source

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from strategies.mcp_message import Message
    from strategies.session import Damage

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


def _load(module: str) -> Any:
    # Hypothesis takes longer to import than all the rest: only who draws from it pays for it.
    return import_module(f"strategies.{module}")


def from_grammar(
    function: Callable[Concatenate[Source, P], T], *args: P.args, **kwargs: P.kwargs
) -> SearchStrategy[T]:
    """A Hypothesis strategy for what ``function(source, *args, **kwargs)`` makes."""
    strategy: SearchStrategy[T] = _load("hypothesis_driver").from_grammar(function, *args, **kwargs)
    return strategy


def json_texts(*, size: int | None = None, lone_surrogates: bool = False) -> SearchStrategy[bytes]:
    """RFC 8259 texts: see :func:`strategies.json_text.json_text`."""
    make: Callable[..., bytes] = _load("json_text").json_text
    return from_grammar(make, size=size, lone_surrogates=lone_surrogates)


def messages(
    version: Version | None = None, direction: Direction = "client-to-server"
) -> SearchStrategy[Message]:
    """Valid MCP messages of ``version``, or of any: see :func:`strategies.mcp.message`."""
    make: Callable[..., Message] = _load("mcp").message

    def grammar(source: Source) -> Message:
        return make(source, version or source.choice(VERSIONS), direction)

    return from_grammar(grammar)


def frames(version: Version | None = None, nonce: str = "a") -> SearchStrategy[Frame]:
    """Good frames for a ready session: see :func:`strategies.session.frame`."""
    make: Callable[..., Frame] = _load("session").frame

    def grammar(source: Source) -> Frame:
        return make(source, version or source.choice(VERSIONS), nonce)

    return from_grammar(grammar)


def sessions(
    version: Version | None = None, *, damage: Damage | bool = True, prefix: str = ""
) -> SearchStrategy[Case]:
    """Whole sessions of ``version``, or of any: see :func:`strategies.session.session`.

    ``damage`` true is the damage of ``strategies.damage``, false none; a function is used as it is.
    """
    make: Callable[..., Case] = _load("session").session
    apply = _load("damage").apply_damage if damage is True else damage or None

    def grammar(source: Source) -> Case:
        return make(source, version or source.choice(VERSIONS), damage=apply, prefix=prefix)

    return from_grammar(grammar)
