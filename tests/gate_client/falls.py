"""The example client and the gate's peer in one process: who says what is played, and no pipe.

A peer knows neither clock nor pipe, and the client's faults are in how it reads.
So each attack can be played to each client in a millisecond; that pipes carry the same bytes is
what the tests with processes are for.
"""

from __future__ import annotations

import contextlib
from collections import deque
from itertools import pairwise

from tests.gate_client.example_client import Client
from wirefence.fuzz.gate.client.attacks import ATTACKS
from wirefence.fuzz.gate.client.fake_server import FakeServer
from wirefence.fuzz.gate.client.judge import judge_client
from wirefence.fuzz.gate.client.records import (
    Attack,
    ClientPlace,
    Close,
    PlayedAttack,
    Send,
    Step,
)
from wirefence.oracles.client import ClientReport
from wirefence.strategies.contract import Profile

__all__ = ["BY_NAME", "played", "rules"]

BY_NAME = {attack.name: attack for attack in ATTACKS}


class Wire:
    """The way between the two; a server that has nothing to say any more has gone.

    What comes behind a pause is not there yet when somebody only looks.
    """

    def __init__(self, peer: FakeServer) -> None:
        self.peer = peer
        self.sent, self.received = bytearray(), bytearray()
        self._coming: deque[tuple[bytes, bool]] = deque()
        self._closed = False

    def send(self, data: bytes) -> None:
        """What the client sends, and what that brings about."""
        self.received += data
        paused = False
        for step in self.peer.receive_bytes(data):
            for piece in self._pieces(step):
                self._coming.append((piece, not paused))
                paused = paused or (isinstance(step, Send) and bool(step.cuts))
            paused = paused or (isinstance(step, Send) and step.pause > 0)

    def _pieces(self, step: Step) -> list[bytes]:
        if self._closed:
            return []
        if isinstance(step, Close):
            self._closed = True
            return [b""]
        return _cut(step)

    def ready(self) -> bool:
        return bool(self._coming) and self._coming[0][1]

    def more(self) -> bytes:
        """What comes next; nothing at the end."""
        data = self._coming.popleft()[0] if self._coming else b""
        self.sent += data
        return data


def _cut(step: Send) -> list[bytes]:
    edges = (0, *step.cuts, len(step.data))
    return [step.data[a:b] for a, b in pairwise(edges) if a < b]


def played(faults: str, attack: Attack, place: ClientPlace) -> PlayedAttack:
    """What is seen of a client with these faults."""
    peer = FakeServer(attack, place, None, 1.0, "mark")
    wire = Wire(peer)
    told: list[dict[str, str]] = []
    with contextlib.suppress(EOFError, ValueError, TypeError, KeyError):  # as its main() ends
        Client(set(faults.split(",")), wire, told.append).run()
    return PlayedAttack(
        attack,
        place,
        bytes(wire.sent),
        bytes(wire.received),
        bytes(peer.after),
        peer.offending,
        dict(peer.truth),
        peer.false,
        tuple(
            ClientReport(t["action"], t.get("result", t.get("error", "")), "error" in t)
            for t in told
        ),
        peer.exercised,
        ending="exited",
        status="exit code 0",
        stderr=b"",
        version=peer.version,
    )


def rules(
    faults: str, name: str, place: ClientPlace = "call", profile: Profile = "strict"
) -> list[str]:
    """The signatures of what a client with these faults does with an attack."""
    seen = played(faults, BY_NAME[name], place)
    assert seen.exercised
    return [finding.signature for finding in judge_client(seen, "c", profile)]
