"""Where a session stands: handshake and used ids.

Checking and remembering are two steps. A frame is checked against the state and
only remembered once nothing can reject it any more; for a batch both happen on a copy.
"""

from __future__ import annotations

from wirefence.strategies.contract import Contract
from wirefence.targets.gateway.message import STATELESS
from wirefence.targets.gateway.rpc import Id, Message, Notification, Request, Response
from wirefence.targets.gateway.verdicts import RejectedError

__all__ = ["Lifecycle"]


class Lifecycle:
    """State of one session. Ids are told apart by type: ``"1"`` and ``1`` differ."""

    __slots__ = ("_handshake", "_initialized", "_ready", "_strict", "_used")

    def __init__(self, contract: Contract) -> None:
        self._strict = contract.profile == "strict"
        self._handshake = contract.version != STATELESS
        self._initialized = self._ready = not self._handshake
        self._used: set[Id] = set()

    def copy(self) -> Lifecycle:
        """Return an equal state that can be tried out."""
        twin = object.__new__(Lifecycle)
        for name in self.__slots__:
            setattr(twin, name, getattr(self, name))
        twin._used = set(self._used)
        return twin

    def is_used(self, identifier: Id | None) -> bool:
        """Whether an accepted or refused request has had this id."""
        return identifier in self._used

    def check(self, message: Message) -> None:
        """Raise ``RejectedError`` with the lifecycle rule that ``message`` breaks, if any."""
        if isinstance(message, Request):
            self._check_request(message)
            return
        if self._strict and not self._initialized:
            raise RejectedError("life-not-initialized")
        if isinstance(message, Notification):
            self._check_notification(message)
        elif self._strict and isinstance(message, Response):
            raise RejectedError("life-unsolicited-response")

    def remember(self, message: Message) -> None:
        """Take in a message that was checked."""
        if isinstance(message, Request):
            self._used.add(message.id)
            if self._handshake and message.method == "initialize":
                self._initialized = True
        elif self._is_ready_note(message) and self._initialized:
            self._ready = True

    def _check_request(self, request: Request) -> None:
        first = request.method == "initialize"
        ping = request.method == "ping"
        if not self._initialized and not (first or ping):
            raise RejectedError("life-not-initialized")
        if self._strict and self._initialized and not self._ready and not ping:
            raise RejectedError("life-not-ready")
        if self._handshake and first and self._initialized:
            raise RejectedError("life-reinitialize")
        if request.id in self._used:
            raise RejectedError("life-id-reuse")

    def _check_notification(self, note: Notification) -> None:
        if self._strict and self._ready and self._is_ready_note(note):
            raise RejectedError("life-reinitialize")

    def _is_ready_note(self, message: Message) -> bool:
        return (
            self._handshake
            and isinstance(message, Notification)
            and message.method == "notifications/initialized"
        )
