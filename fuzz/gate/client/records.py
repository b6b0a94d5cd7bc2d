"""What the stages of client mode hand each other.

The key insight: every answer exists twice, a *true* one and a *false* one. They differ in a token
that stands nowhere else, so wherever a false token turns up, a response was taken that had to be
rejected, and wherever a true one turns up under another action, one was given to the wrong request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from wirefence.strategies.records import Version

__all__ = [
    "Attack",
    "ClientPlace",
    "ClientReport",
    "ClientRequest",
    "Close",
    "Expected",
    "PlayedAttack",
    "Send",
    "Step",
]

ClientPlace = Literal["handshake", "call"]
Expected = Literal["reject", "ignore", "accept"]
_LONGEST = 600
"""Digits that Python reads and writes whatever limit it was given."""


@dataclass(frozen=True, slots=True)
class Send:
    """Bytes for the client in one write, or several with a pause at each of ``cuts``."""

    data: bytes
    cuts: tuple[int, ...] = ()
    pause: float = 0.0
    """Seconds to wait afterwards, in which what the client sends is only noted."""


@dataclass(frozen=True, slots=True)
class Close:
    """The end of the server's output; what the client still sends is read on."""


Step = Send | Close


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """A request of the client that is to be answered, and what can be said to it.

    ``ident`` is its id as spelled. ``true`` and ``false`` are complete responses without LF;
    ``forge`` makes a false one with another raw id. ``previous`` is the id of an earlier request
    that was answered, ``None`` for the first. ``quiet`` is the pause, in seconds, in which a client
    may show that it took a false answer.
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
        """The id where it is an integer that the next one can be told of in digits."""
        plain = self.ident.isdigit() and len(self.ident) <= _LONGEST
        return int(self.ident) if plain else None


@dataclass(frozen=True, slots=True)
class Attack:
    """One way to answer badly.

    ``rule`` is the rule of the contract that its bytes break, ``""`` where they are fine and belong
    to no request of the client's. ``expected`` is what must become of them: ``reject`` (a false
    answer that must not be taken), ``ignore`` (noise without an answer; the session may go on or
    end), ``accept`` (permitted, if unusual). ``build`` gives ``None`` where it does not apply.
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
class ClientReport:
    """What the client says came of one action: the text of its result, or of its error."""

    action: str
    text: str
    error: bool


@dataclass(frozen=True, slots=True)
class PlayedAttack:
    """Everything seen of one client that was played one attack.

    ``sent`` and ``received`` are raw and whole; ``after`` holds what the client sent once the
    attack had begun. ``truth`` maps actions to the tokens of their true answers. ``exercised`` is
    false where the client never came as far as the attack.
    """

    attack: Attack
    place: ClientPlace
    sent: bytes
    received: bytes
    after: bytes
    offending: bytes
    truth: dict[str, str]
    false: str
    told: tuple[ClientReport, ...]
    exercised: bool
    ending: Literal["exited", "crashed", "hung"]
    status: str
    stderr: bytes
    name: str = ""
    release: str = ""
    version: Version | None = None
    seconds: float = 0.0
