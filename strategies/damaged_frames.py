"""One damaged frame: the smallest unit for a test of a reader.

A session is what a server sees; a parser, a function of a gateway or a client's reader sees one
frame. So the damage of :mod:`strategies.damage` is done here to one good frame, and what it says of
its result goes with the bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from wirefence.strategies.damage import FAMILIES, OPERATORS, Expect, Operator, Scene
from wirefence.strategies.damage.hosts import CALL
from wirefence.strategies.mcp import message
from wirefence.strategies.records import Direction, Frame, Version
from wirefence.strategies.sessions import frame, handshake
from wirefence.strategies.source import RandomSource, Source

__all__ = ["DamagedFrame", "Fit", "damaged_frame", "find_fits"]

Fit = tuple[Operator, tuple[Version, ...]]
"""An operator and the versions that have a frame with a place for it, simplest first."""

_ACTION = "a"
_HOST = "host"
_TRIES = 200
_CLIENT_ONLY = frozenset(
    {
        *("confuse-meta", "confuse-progress-token", "confuse-request-id", "confuse-reason"),
        *("confuse-cursor", "confuse-notification-token", "confuse-progress", "confuse-total"),
        *("absent-name", "absent-arguments", "absent-notification-token", "absent-progress"),
        *("absent-protocol-version", "absent-capabilities", "absent-request-id"),
        *("foreign-request", "foreign-notification"),
    }
)
"""Damage whose result a server must reject or ignore, while a client need not: it is in params that
a client need not read, or a method that a server may send."""


@dataclass(frozen=True, slots=True)
class DamagedFrame:
    """What goes onto the wire in place of one good frame.

    ``raw`` holds its LF, unless the damage took it away, and may hold several lines. ``damage``
    are the names of the operators, in order. ``expect`` is ``reject`` if a line of it must be
    rejected under both profiles of ``docs/contract.md``; ``accept`` if its lines are as accepted as
    the good frame was; ``profile`` if that depends on the profile, the version or the place.
    """

    raw: bytes
    damage: tuple[str, ...]
    expect: Expect
    version: Version
    direction: Direction = "client-to-server"

    @property
    def must_be_rejected(self) -> bool:
        """Whether a line of ``raw`` must be rejected by every reader."""
        return self.expect == "reject"


def damaged_frame(
    source: Source, fits: Sequence[Fit], direction: Direction = "client-to-server"
) -> DamagedFrame:
    """One good frame with one of the damages that :func:`find_fits` gave for ``direction``.

    A frame that has no place for the damage is replaced by one that has. Raises IndexError if
    ``fits`` is empty, and ValueError if it is for another direction.
    """
    part = source.split()
    operator, versions = part.choice(fits)
    version = part.choice(versions)
    raw = _damage(part, operator, _good_frame(source.split(), version, direction), version)
    if raw is None:
        host = _find_host(operator, version, direction)
        raw = None if host is None else _damage(part, operator, host, version)
    if raw is None:
        raise ValueError(f"{operator.name} fits no frame of {version} {direction}")
    return DamagedFrame(raw, (operator.name,), _expect(operator, direction), version, direction)


def _expect(operator: Operator, direction: Direction) -> Expect:
    client_only = direction == "server-to-client" and operator.name in _CLIENT_ONLY
    return "profile" if client_only else operator.expect


def _good_frame(source: Source, version: Version, direction: Direction) -> Frame:
    if direction == "client-to-server":
        return frame(source, version, _ACTION)
    return message(source, version, direction).frame()


def _damage(source: Source, operator: Operator, good: Frame, version: Version) -> bytes | None:
    """The bytes of ``good`` after damage; None if it has no place for that."""
    after = operator.apply(source, Scene((good,), 0, version))
    if after is None:
        return None
    raw = b"".join([each.raw for each in after.frames])
    return None if raw in (b"", good.raw) else raw


@lru_cache(maxsize=4096)
def _find_host(operator: Operator, version: Version, direction: Direction) -> Frame | None:
    """A good frame that has a place for the damage; None if none was found."""
    source = RandomSource(0)
    if direction == "client-to-server":
        line = (operator.host or CALL)(version, _HOST)
        candidates = [] if line is None else [Frame(line + b"\n", _HOST)]
        candidates += handshake(source, version)
    else:
        candidates = [_good_frame(source, version, direction) for _ in range(_TRIES)]
    for good in candidates:
        if all(_damage(source, operator, good, version) is not None for _ in range(8)):
            return good
    return None


@lru_cache(maxsize=256)
def find_fits(
    damage: tuple[str, ...] | None,
    versions: tuple[Version, ...],
    direction: Direction,
    expect: Expect | None,
) -> tuple[Fit, ...]:
    """The operators that damage one frame sent in ``direction``, each with those of ``versions``.

    ``damage`` are names of operators or families; without it all are meant, but for heavy ones.
    ``expect`` keeps those that say so of their result. Operators that need a whole session are
    left out. Raises ValueError for a name that means nothing.
    """
    known = {operator.name for operator in OPERATORS} | set(FAMILIES)
    unknown = [name for name in damage or () if name not in known]
    if unknown:
        raise ValueError(f"no damage operator or family is named {unknown[0]!r}")
    named = [
        (operator, tuple(each for each in versions if _find_host(operator, each, direction)))
        for operator in OPERATORS
        if not operator.session
        and _is_named(operator, damage)
        and expect in (None, _expect(operator, direction))
    ]
    return tuple((operator, fitting) for operator, fitting in named if fitting)


def _is_named(operator: Operator, damage: tuple[str, ...] | None) -> bool:
    if damage is None:
        return not operator.heavy
    return operator.name in damage or (operator.family in damage and not operator.heavy)
