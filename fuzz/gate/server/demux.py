"""Which of many trials in flight a line of stdout belongs to.

The key insight: every name and id is a trial's own, so most of what comes back can be told apart
whatever its order, and where all that stands before the answer to a sentinel bears the sentinel's
name, one look at the whole piece will do. What bears no name is led to its trial by its place, as
far as sentinels are answered in the order of their trials; otherwise its trial is in doubt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain, islice

from wirefence.fuzz.gate.server.fresh import Key, Ready, responses
from wirefence.fuzz.gate.server.sent_trial import Parcel
from wirefence.fuzz.gate.trials.messages import LAST, number_of, numbers_in, tokens_in
from wirefence.oracles.records import ReplyVerdict
from wirefence.oracles.transcript_judge import judge_reply
from wirefence.oracles.transcript_kinds import offences
from wirefence.strategies.records import Version
from wirefence.targets.command.session import answered_ids

__all__ = ["Flight", "Traffic"]

_SENTINEL = re.compile(rb'"id"[ \t\r]*:[ \t\r]*"wf([0-9a-f]{4}c\d{6})si"[^\n]*\n')
_NUMBER = re.compile(rb"wf([0-9a-f]{4}c\d{6})[a-z]")
_HARMLESS = ("", "mcp-method")


def _nameless(prepared: Ready) -> bool:
    """Whether what a bad frame brings about may bear no name of ours: it has no id that we gave."""
    trial, data = prepared.trial, prepared.trial.case.data
    frames = prepared.judgement.frames
    bad = [f for f in frames if f.start >= trial.opening and not f.accepted]
    return any(
        not tokens_in(data[f.start : f.end]) or (not f.ids and f.layer == "rpc") for f in bad
    )


@dataclass(slots=True)
class Flight:
    """A trial that was sent, the ids that it still waits for, and the lines that have come.

    ``missing`` are ids as they stand on a line, ``others`` those that can be spelled in many ways.
    ``doubted`` says that what came of it cannot be told from what came of others.
    """

    prepared: Ready
    parcel: Parcel
    number: int
    missing: set[bytes]
    others: set[Key]
    lines: list[bytes] = field(default_factory=list)
    doubted: bool = False

    @classmethod
    def of(cls, prepared: Ready, parcel: Parcel) -> Flight:
        """A trial as it is sent."""
        return cls(prepared, parcel, parcel.number, set(parcel.ids.split()), set(parcel.others))

    @property
    def complete(self) -> bool:
        """Whether every reply has come that is owed."""
        return not self.missing and not self.others


class Traffic:
    """Trials by how far they have come, and what has come of each.

    ``flying`` are those whose sentinel is not answered, in the order in which they were sent;
    ``behind`` those whose sentinel is answered while another reply is missing; ``landed`` those of
    which everything is there. These are kept a while for lines that come late.
    """

    def __init__(self, version: Version) -> None:
        self._version = version
        self.flying: dict[int, Flight] = {}
        self.behind: dict[int, Flight] = {}
        self.landed: dict[int, Flight] = {}
        self.passed = 0
        """How many sentinels were answered."""
        self._ordered = True
        self._latest: Flight | None = None
        self._owed: dict[Key, int] = {}
        self._noise: set[str] = set()
        """Kinds of noise that have put trials in doubt."""

    def clear(self) -> None:
        """Another server: nothing is in flight, and nothing is known of its order."""
        self.flying, self.behind, self.landed = {}, {}, {}
        self._ordered, self._latest = True, None
        self._owed.clear()
        self._noise.clear()

    def depart(self, prepared: Ready, parcel: Parcel) -> None:
        """A trial is sent."""
        self.flying[parcel.number] = Flight.of(prepared, parcel)
        if parcel.others:
            self._owed.update(dict.fromkeys(parcel.others, parcel.number))

    def settle(self, keep: int = 0) -> list[Flight]:
        """Give away what has landed, but for the ``keep`` latest."""
        ready = list(islice(self.landed, max(0, len(self.landed) - keep)))
        return [self.landed.pop(number) for number in ready]

    def give_up(self) -> list[Flight]:
        """Give away what is behind: it is not waited for any more."""
        left = list(self.behind.values())
        self.behind = {}
        return left

    def take(self, block: bytes) -> None:
        """Lead complete lines to their trials; what has no name is harmless, or a stray."""
        start = 0
        for sentinel in _SENTINEL.finditer(block):
            piece = block[start : sentinel.end()]
            start = sentinel.end()
            if not self._whole(piece, sentinel[1]):
                self._each(piece)
        self._each(block[start:])

    def _whole(self, piece: bytes, number: bytes) -> bool:
        """Take the lines up to the answer to a sentinel at once, if every one is of its trial."""
        flight = self.flying.get(number_of(number))
        ids = answered_ids(piece)
        if (
            flight is None
            or len(ids) != piece.count(b"\n")
            or set(_NUMBER.findall(piece)) != {number}
        ):
            return False
        flight.lines += piece.split(b"\n")[:-1]
        flight.missing.difference_update(ids)
        self._pass(flight)
        return True

    def _each(self, piece: bytes) -> None:
        for line in piece.split(b"\n")[:-1]:
            self._sort(line)

    def _sort(self, line: bytes) -> None:
        if self.late(line) or LAST in numbers_in(line):
            return
        verdict = judge_reply(line, self._version)
        flight = self._owing(verdict)
        if flight is not None:
            flight.lines.append(line)
            self._advance(flight)
        elif verdict.rule not in _HARMLESS:
            self._noisy(line, verdict)
        elif any(reply.is_result for reply in responses(verdict)):
            self._result(line)

    def late(self, line: bytes) -> bool:
        """Lead a line home by a name in it, that of an id first; say whether there is such."""
        ids = answered_ids(line)
        numbers = chain(chain.from_iterable(map(numbers_in, ids)), numbers_in(line))
        flight = next(filter(None, map(self._find, numbers)), None)
        if flight is None:
            return False
        flight.lines.append(line)
        flight.missing.difference_update(ids)
        if flight.number in self.flying and any(name.endswith(b"si") for name in ids):
            self._pass(flight)
        self._advance(flight)
        return True

    def _find(self, number: int) -> Flight | None:
        found = self.flying.get(number) or self.behind.get(number)
        return found or self.landed.get(number)

    def _owing(self, verdict: ReplyVerdict) -> Flight | None:
        """The trial that waits for a reply with an id that anybody may use."""
        for reply in responses(verdict):
            if reply.id is None:
                continue
            key = type(reply.id), reply.id
            flight = self._find(self._owed.get(key, -1))
            if flight is not None:
                flight.others.discard(key)
                return flight
        return None

    def _pass(self, flight: Flight) -> None:
        """The sentinel of a trial was answered."""
        self._ordered &= next(iter(self.flying)) == flight.number
        del self.flying[flight.number]
        self.passed += 1
        self._latest = flight
        (self.landed if flight.complete else self.behind)[flight.number] = flight

    def _advance(self, flight: Flight) -> None:
        if flight.complete and flight.number in self.behind:
            self.landed[flight.number] = self.behind.pop(flight.number)

    def _noisy(self, line: bytes, verdict: ReplyVerdict) -> None:
        """What is no message may be of any trial; of each kind of it, once is enough."""
        kinds = {offence.kind for offence in offences([line], [verdict], b"")}
        if kinds <= self._noise:
            return
        self._noise |= kinds
        now = next(iter(self.flying.values()), None)
        _doubt(filter(None, (self._latest, now)) if self._ordered else self._all())

    def _result(self, line: bytes) -> None:
        """A result without a name is taken for that of the trial whose turn it is.

        Where turns are not kept, it may be of any whose frame has no id of ours. A fresh process
        will tell.
        """
        now = next(iter(self.flying.values()), None)
        if self._ordered and now is not None:
            now.lines.append(line)
        else:
            _doubt(flight for flight in self._all() if _nameless(flight.prepared))

    def _all(self) -> list[Flight]:
        return [*self.landed.values(), *self.behind.values(), *self.flying.values()]


def _doubt(flights: Iterable[Flight]) -> None:
    for flight in flights:
        flight.doubted = True
