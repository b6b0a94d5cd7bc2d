"""Records that the stages of client mode exchange.

Every answer exists twice, a *true* one and a *false* one, which differ in a unique token. A false
token in a client's results proves that it accepted a response that it must reject; a true token
under another action proves that a response was given to the wrong request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from wirefence.oracles.client import ClientReport
from wirefence.strategies.records import Version

__all__ = [
    "Attack",
    "ClientPlace",
    "ClientRequest",
    "Close",
    "Expected",
    "PlayedAttack",
    "Send",
    "Step",
]

ClientPlace = Literal["handshake", "call"]
Expected = Literal["reject", "ignore", "accept"]
_MOST_DIGITS = 600
"""Digits of an integer that Python converts under every setting of its limit."""


@dataclass(frozen=True, slots=True)
class Send:
    """Bytes for the client in one write, or several with a pause at each of ``cuts``."""

    data: bytes
    cuts: tuple[int, ...] = ()
    pause: float = 0.0
    """Seconds to wait afterwards, in which bytes of the client are only recorded."""


@dataclass(frozen=True, slots=True)
class Close:
    """The end of the server's output; bytes of the client are still read."""


Step = Send | Close


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """A request of the client, and the possible answers.

    ``ident`` is its id as spelled. ``true`` and ``false`` are complete responses without LF;
    ``forge`` makes a false one with another raw id. ``previous`` is the id of an earlier answered
    request, ``None`` for the first. ``quiet`` is the pause in seconds in which a client may show
    that it accepted a false answer.
    """

    ident: bytes
    true: bytes
    false: bytes
    forge: Callable[[bytes], bytes]
    previous: bytes | None
    version: Version
    quiet: float

    @property
    def numeric_id(self) -> int | None:
        """The id as an integer, if it is one; ``None`` otherwise."""
        plain = self.ident.isdigit() and len(self.ident) <= _MOST_DIGITS
        return int(self.ident) if plain else None


@dataclass(frozen=True, slots=True)
class Attack:
    """One way to answer badly.

    ``rule`` is the rule of the contract that its bytes break; ``""`` where they are valid and
    belong to no request of the client. ``expected`` is what the client must do with them:
    ``reject`` (a false answer), ``ignore`` (noise without an answer; the session may go on or end),
    ``accept`` (permitted, if unusual). ``build`` returns ``None`` where the attack does not apply.
    ``final`` says that it ends the session itself.
    """

    name: str
    about: str
    rule: str
    expected: Expected
    build: Callable[[ClientRequest], list[Step] | None]
    strict: bool = False
    final: bool = False
    places: tuple[ClientPlace, ...] = ("handshake", "call")


@dataclass(frozen=True, slots=True)
class PlayedAttack:
    """Everything observed of one client under one attack.

    ``sent`` and ``received`` are raw and complete; ``after`` holds what the client sent after the
    attack began. ``truth`` maps actions to the tokens of their true answers. ``exercised`` is false
    where the client did not get as far as the attack.
    """

    attack: Attack
    place: ClientPlace
    sent: bytes
    received: bytes
    after: bytes
    offending: bytes
    truth: dict[str, str]
    false: str
    reports: tuple[ClientReport, ...]
    exercised: bool
    ending: Literal["exited", "crashed", "hung"]
    status: str
    stderr: bytes
    name: str = ""
    release: str = ""
    version: Version | None = None
    seconds: float = 0.0
