"""What is sent: JSON texts, MCP messages, damage and sessions, from one grammar.

Each grammar function takes its choices from a :class:`Source`. Give it a
:class:`RandomSource` and it is a fast generator; the functions of this module give the same grammar
as Hypothesis strategies, which shrink.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, get_args

from wirefence.strategies.damage import Expect, apply_damage
from wirefence.strategies.damaged_frames import DamagedFrame, damaged_frame, find_fits
from wirefence.strategies.json_text import json_text
from wirefence.strategies.mcp import message
from wirefence.strategies.mcp_message import Message
from wirefence.strategies.records import VERSIONS, Case, Direction, Frame, Version
from wirefence.strategies.server_sessions import server_session
from wirefence.strategies.sessions import Damage, frame, session
from wirefence.strategies.source import RandomSource, Source

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = [
    "VERSIONS",
    "Case",
    "DamagedFrame",
    "Direction",
    "Expect",
    "Frame",
    "Message",
    "RandomSource",
    "Source",
    "Version",
    "damaged_frames",
    "frames",
    "from_grammar",
    "json_texts",
    "messages",
    "server_sessions",
    "sessions",
]

T = TypeVar("T")
P = ParamSpec("P")

_NEWEST_FIRST: tuple[Version, ...] = VERSIONS[::-1]
"""The simplest version comes first, and only the newest has no handshake."""


def from_grammar(
    function: Callable[Concatenate[Source, P], T], *args: P.args, **kwargs: P.kwargs
) -> SearchStrategy[T]:
    """A Hypothesis strategy for what ``function(source, *args, **kwargs)`` makes."""
    # Hypothesis takes longer to import than all the rest: only who draws from it pays for it.
    driver: Any = import_module("wirefence.strategies.hypothesis_driver")
    strategy: SearchStrategy[T] = driver.from_grammar(function, *args, **kwargs)
    return strategy


def _choose(source: Source, version: Version | None) -> Version:
    return source.choice(_NEWEST_FIRST) if version is None else version


def _check(name: str, value: str | None, allowed: Sequence[str]) -> None:
    if value is not None and value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")


_CELLS_OF_A_TEXT = 12
"""Cells of one draw: a text takes far more choices than a frame, and shrinks as well."""


def json_texts(*, size: int | None = None, lone_surrogates: bool = False) -> SearchStrategy[bytes]:
    """RFC 8259 texts: see :func:`wirefence.strategies.json_text.json_text`."""
    driver: Any = import_module("wirefence.strategies.hypothesis_driver")

    def grammar(source: Source) -> bytes:
        return json_text(source, size=size, lone_surrogates=lone_surrogates)

    strategy: SearchStrategy[bytes] = driver.from_pages(_CELLS_OF_A_TEXT, grammar)
    return strategy


def messages(
    version: Version | None = None, direction: Direction = "client-to-server"
) -> SearchStrategy[Message]:
    """Valid MCP messages of ``version``, or of any: see :func:`wirefence.strategies.mcp.message`.

    Raises ValueError for a version or direction that does not exist.
    """
    _check("version", version, VERSIONS)
    _check("direction", direction, get_args(Direction))

    def grammar(source: Source) -> Message:
        return message(source, _choose(source, version), direction)

    return from_grammar(grammar)


def frames(version: Version | None = None, nonce: str = "a") -> SearchStrategy[Frame]:
    """Good frames for a ready session: see :func:`wirefence.strategies.sessions.frame`.

    Raises ValueError for a version that does not exist.
    """
    _check("version", version, VERSIONS)

    def grammar(source: Source) -> Frame:
        return frame(source, _choose(source, version), nonce)

    return from_grammar(grammar)


def damaged_frames(
    version: Version | None = None,
    direction: Direction = "client-to-server",
    *,
    damage: str | Sequence[str] | None = None,
    expect: Expect | None = None,
) -> SearchStrategy[DamagedFrame]:
    """Good frames of ``version``, or of any, each with one damage done to it.

    ``damage`` names operators or families of them, ``expect`` keeps those whose result must be
    rejected (``"reject"``), must be accepted (``"accept"``) or depends (``"profile"``). Damage that
    takes readers long is done only if it is named. Raises ValueError for an unknown value, and if
    no damage is left.
    """
    _check("version", version, VERSIONS)
    _check("direction", direction, get_args(Direction))
    _check("expect", expect, get_args(Expect))
    names = (damage,) if isinstance(damage, str) else damage if damage is None else tuple(damage)
    versions = _NEWEST_FIRST if version is None else (version,)
    fits = find_fits(names, versions, direction, expect)
    if not fits:
        given = f"damage={damage!r}, expect={expect!r}, {version or 'any version'}, {direction}"
        raise ValueError(f"no damage fits one frame: {given}")
    return from_grammar(damaged_frame, fits, direction)


def sessions(
    version: Version | None = None, *, damage: Damage | None = apply_damage, prefix: str = ""
) -> SearchStrategy[Case]:
    """Whole sessions of ``version``, or of any: see :func:`wirefence.strategies.sessions.session`.

    ``damage`` is that of ``strategies.damage`` unless another is given; ``None`` is none. One in
    sixteen holds the damaged frames alone, without a handshake: what fails shrinks to those where
    no other frame has a part in it. Raises ValueError for a version that does not exist. This
    function takes the place of the module as an attribute of the package: import from the module
    by ``from wirefence.strategies.sessions import session``.
    """
    _check("version", version, VERSIONS)

    def grammar(source: Source) -> Case:
        chosen = _choose(source, version)
        whole = source.chance(15, 16)
        case = session(source, chosen, damage=damage, prefix=prefix)
        return case if whole else _drop_good_frames(case)

    return from_grammar(grammar)


def server_sessions(
    version: Version | None = None, *, damage: Damage | None = apply_damage
) -> SearchStrategy[Case]:
    """Whole sessions of a server: what it writes in answer to a client.

    See :func:`wirefence.strategies.server_sessions.server_session`. ``version`` and ``damage`` are
    those of :func:`sessions`; one in sixteen holds the damaged frames alone. Like ``sessions``, the
    name is that of a module too.
    """
    _check("version", version, VERSIONS)

    def grammar(source: Source) -> Case:
        chosen = _choose(source, version)
        whole = source.chance(15, 16)
        case = server_session(source, chosen, damage=damage)
        return case if whole else _drop_good_frames(case)

    return from_grammar(grammar)


def _drop_good_frames(case: Case) -> Case:
    """The damaged frames alone; the case itself where damage lies between frames, or is none."""
    damaged = tuple(frame for frame in case.frames if frame.damage)
    return case if case.damage or case.cuts or not damaged else replace(case, frames=damaged)
