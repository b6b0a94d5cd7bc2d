"""Sessions of the other direction: what a server writes to its client.

A client has the same questions to ask of a line as a server, so the same damage is
done to it; only the messages differ.
"""

from __future__ import annotations

from wirefence.strategies.mcp import message, message_of
from wirefence.strategies.mcp_kinds import Sort, kinds
from wirefence.strategies.records import Case, Frame, Version
from wirefence.strategies.sessions import Damage
from wirefence.strategies.source import Source

__all__ = ["server_session"]

_SORTS: tuple[Sort, ...] = ("result", "result", "result", "notification", "request", "error")


def server_session(
    source: Source, version: Version = "2025-11-25", *, damage: Damage | None = None
) -> Case:
    """What a server says: the result of ``initialize`` where there is one, and one to five lines.

    Results and errors answer requests of ids 1, 2, ... in order, or out of it. Without ``damage``
    every line is one that the version permits. Raises whatever ``damage`` raises.
    """
    damaging = source.split()
    frames = _opening(source.split(), version)
    for number in range(source.integer(1, 5)):
        part = source.split()
        sort = part.choice(_SORTS)
        if not kinds(version, "server-to-client", sort):
            sort = "result"
        made = message(part, version, "server-to-client", sort=sort, ident=b"%d" % (number + 1))
        frames.append(made.frame())
    cuts: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    if damage is not None and damaging.chance(7, 8):
        frames, cuts, names = damage(damaging, frames, version)
    return Case(tuple(frames), cuts, version, "server-to-client", names)


def _opening(source: Source, version: Version) -> list[Frame]:
    if version >= "2026-07-28":
        return []
    kind = next(k for k in kinds(version, "server-to-client") if k.name == "InitializeResult")
    return [message_of(source, version, kind, ident=b"0").frame()]
