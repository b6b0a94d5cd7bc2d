"""What is sent: frames and the cases made of them.

A case knows nothing about any target. It is bytes, the places where the writer
pauses, and the names of the damage that was done, so that one case can be given to a parser, a
gateway and a real server and their traces compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

__all__ = ["VERSIONS", "Case", "Direction", "Frame", "Version"]

Version = Literal["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
Direction = Literal["client-to-server", "server-to-client"]

VERSIONS: tuple[Version, ...] = (
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    "2026-07-28",
)


@dataclass(frozen=True, slots=True)
class Frame:
    """One unit of sending, exactly as it goes onto the wire.

    ``raw`` holds its own terminator (LF), unless damage took that away; damage may also have put
    several lines into it. ``nonce`` is the action name that no other frame of the case uses, or
    ``""`` for a frame that names no action. ``damage`` lists operator names, in order.
    """

    raw: bytes
    nonce: str = ""
    damage: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """A whole stdin: frames in order and the offsets at which the writer pauses.

    ``cuts`` are strictly increasing offsets into :attr:`data`, each inside ``1 .. len(data) - 1``;
    empty means one write. ``damage`` names session-wide operators (chunking, lifecycle).
    """

    frames: tuple[Frame, ...]
    cuts: tuple[int, ...] = ()
    version: Version = "2025-11-25"
    direction: Direction = "client-to-server"
    damage: tuple[str, ...] = ()

    @property
    def data(self) -> bytes:
        """Every byte of the case, in order."""
        return b"".join(frame.raw for frame in self.frames)

    def chunks(self) -> list[bytes]:
        """The writes that make up the case: :attr:`data`, cut at :attr:`cuts`."""
        data = self.data
        edges = (0, *self.cuts, len(data))
        return [data[a:b] for a, b in pairwise(edges) if a < b]

    def damages(self) -> tuple[str, ...]:
        """Names of all operators applied, session-wide ones first, each once."""
        names = dict.fromkeys(self.damage)
        for frame in self.frames:
            names.update(dict.fromkeys(frame.damage))
        return tuple(names)
