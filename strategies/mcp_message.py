"""A message before it becomes bytes.

Members are kept in order and their values raw, so that a message can say what no
dictionary can (order, duplicates, spelling) and emitting one is a join.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wirefence.strategies.records import Frame
from wirefence.strategies.source import Source

__all__ = ["Message", "batch", "notification", "reorder", "request", "response"]

Member = tuple[bytes, bytes]

_VERSION: Member = (b"jsonrpc", b'"2.0"')


@dataclass(frozen=True, slots=True)
class Message:
    """One JSON-RPC message.

    ``kind`` is the name of its definition in the official schema (``CallToolRequest``).
    ``members`` are pairs of a name as it is spelled between its quotes, and a raw JSON value.
    ``nonce`` is the action that it asks for, ``""`` if none.
    """

    kind: str
    members: tuple[Member, ...]
    nonce: str = ""

    def encode(self, *, spaced: bool = False) -> bytes:
        """The message as one line without LF; ``spaced`` as Python's ``json`` would space it."""
        if spaced:
            return b"{%b}" % b", ".join([b'"%b": %b' % member for member in self.members])
        return b"{%b}" % b",".join([b'"%b":%b' % member for member in self.members])

    def frame(self, *, spaced: bool = False) -> Frame:
        """The message as it goes onto the wire, LF included."""
        return Frame(self.encode(spaced=spaced) + b"\n", self.nonce)


def request(kind: str, ident: bytes, method: bytes, params: bytes, nonce: str = "") -> Message:
    """A request; ``ident`` and ``params`` are raw JSON, ``b""`` leaves the params out."""
    head = (_VERSION, (b"id", ident), (b"method", b'"%b"' % method))
    return Message(kind, (*head, (b"params", params)) if params else head, nonce)


def notification(kind: str, method: bytes, params: bytes) -> Message:
    """A notification; ``b""`` leaves the params out."""
    head = (_VERSION, (b"method", b'"%b"' % method))
    return Message(kind, (*head, (b"params", params)) if params else head)


def response(kind: str, ident: bytes, name: bytes, value: bytes) -> Message:
    """A response whose ``name`` is ``result`` or ``error``; no id where ``ident`` is ``b""``."""
    head = (_VERSION, (b"id", ident)) if ident else (_VERSION,)
    return Message(kind, (*head, (name, value)))


def reorder(source: Source, message: Message) -> Message:
    """The same message with its members in another order, which means the same."""
    members = list(message.members)
    for last in range(len(members) - 1, 0, -1):
        at = last - source.integer(0, last)
        members[last], members[at] = members[at], members[last]
    return Message(message.kind, tuple(members), message.nonce)


def batch(messages: Sequence[Message]) -> bytes:
    """The raw array of 2025-03-26's JSON-RPC batches, without LF."""
    return b"[%b]" % b",".join([message.encode() for message in messages])
