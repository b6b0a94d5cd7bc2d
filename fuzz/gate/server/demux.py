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

from wirefence.fuzz.gate.server.fresh import PreparedTrial, TypedId, list_responses
from wirefence.fuzz.gate.server.trial_payload import TrialPayload
from wirefence.fuzz.gate.trials.messages import OUR_NUMBER, number_of, numbers_in, tokens_in
from wirefence.oracles.records import ReplyVerdict
from wirefence.oracles.transcript_judge import judge_reply
from wirefence.oracles.transcript_kinds import offences
from wirefence.strategies.records import Version
from wirefence.targets.command.session import answered_ids

__all__ = ["Demux", "SentTrial"]

_SENTINEL = re.compile(rb'"id"[ \t\r]*:[ \t\r]*"wf([0-9a-f]{4}c\d{6})si"[^\n]*\n')
_NUMBER = re.compile(rb"wf([0-9a-f]{4}c\d{6})[a-z]")
_HARMLESS = ("", "mcp-method")


def _may_lack_name(prepared: PreparedTrial) -> bool:
    """Whether what a bad frame brings about may bear no name of ours: it has no id that we gave."""
    trial, data = prepared.trial, prepared.trial.case.data
    frames = prepared.judgement.frames
    bad = [f for f in frames if f.start >= trial.opening and not f.accepted]
    return any(
        not tokens_in(data[f.start : f.end]) or (not f.ids and f.layer == "rpc") for f in bad
    )


@dataclass(slots=True)
class SentTrial:
    """A trial that was sent, the ids that it still waits for, and the lines that have come.

    ``missing`` are ids as they stand on a line, ``others`` those that can be spelled in many ways.
    ``doubted`` says that what came of it cannot be told from what came of others.
    """

    prepared: PreparedTrial
    payload: TrialPayload
    number: int
    missing: set[bytes]
    others: set[TypedId]
    lines: list[bytes] = field(default_factory=list)
    doubted: bool = False

    @classmethod
    def of(cls, prepared: PreparedTrial, payload: TrialPayload) -> SentTrial:
        """A trial as it is sent."""
        return cls(prepared, payload, payload.number, set(payload.ids.split()), set(payload.others))

    @property
    def is_complete(self) -> bool:
        """Whether every reply has come that is owed."""
        return not self.missing and not self.others


class Demux:
    """Trials by how far they have come, and what has come of each.

    ``flying`` are those whose sentinel is not answered, in the order in which they were sent;
    ``behind`` those whose sentinel is answered while another reply is missing; ``landed`` those of
    which everything is there. These are kept a while for lines that come late.
    """

    def __init__(self, version: Version) -> None:
        self._version = version
        self.in_flight: dict[int, SentTrial] = {}
        self.incomplete: dict[int, SentTrial] = {}
        self.finished: dict[int, SentTrial] = {}
        self.passed = 0
        """How many sentinels were answered."""
        self._ordered = True
        self._latest: SentTrial | None = None
        self._owed: dict[TypedId, int] = {}
        self._noise: set[str] = set()
        """Kinds of noise that have put trials in doubt."""

    def clear(self) -> None:
        """Another server: nothing is in flight, and nothing is known of its order."""
        self.in_flight, self.incomplete, self.finished = {}, {}, {}
        self._ordered, self._latest = True, None
        self._owed.clear()
        self._noise.clear()

    def add_trial(self, prepared: PreparedTrial, payload: TrialPayload) -> None:
        """A trial is sent."""
        self.in_flight[payload.number] = SentTrial.of(prepared, payload)
        if payload.others:
            self._owed.update(dict.fromkeys(payload.others, payload.number))

    def take_finished(self, keep: int = 0) -> list[SentTrial]:
        """Give away what has landed, but for the ``keep`` latest."""
        ready = list(islice(self.finished, max(0, len(self.finished) - keep)))
        return [self.finished.pop(number) for number in ready]

    def take_incomplete(self) -> list[SentTrial]:
        """Give away what is behind: it is not waited for any more."""
        left = list(self.incomplete.values())
        self.incomplete = {}
        return left

    def match_lines(self, block: bytes) -> None:
        """Lead complete lines to their trials; what has no name is harmless, or a stray."""
        start = 0
        for sentinel in _SENTINEL.finditer(block):
            piece = block[start : sentinel.end()]
            start = sentinel.end()
            if not self._match_piece(piece, sentinel[1]):
                self._match_each_line(piece)
        self._match_each_line(block[start:])

    def _match_piece(self, piece: bytes, number: bytes) -> bool:
        """Take the lines up to the answer to a sentinel at once, if every one is of its trial."""
        flight = self.in_flight.get(number_of(number))
        ids = answered_ids(piece)
        if (
            flight is None
            or len(ids) != piece.count(b"\n")
            or set(_NUMBER.findall(piece)) != {number}
        ):
            return False
        flight.lines += piece.split(b"\n")[:-1]
        flight.missing.difference_update(ids)
        self._pass_sentinel(flight)
        return True

    def _match_each_line(self, piece: bytes) -> None:
        for line in piece.split(b"\n")[:-1]:
            self._match_line(line)

    def _match_line(self, line: bytes) -> None:
        if self.match_by_name(line) or OUR_NUMBER in numbers_in(line):
            return
        verdict = judge_reply(line, self._version)
        flight = self._match_by_id(verdict)
        if flight is not None:
            flight.lines.append(line)
            self._finish_if_complete(flight)
        elif verdict.rule not in _HARMLESS:
            self._doubt_noise(line, verdict)
        elif any(reply.is_result for reply in list_responses(verdict)):
            self._match_by_order(line)

    def match_by_name(self, line: bytes) -> bool:
        """Lead a line home by a name in it, that of an id first; say whether there is such."""
        ids = answered_ids(line)
        numbers = chain(chain.from_iterable(map(numbers_in, ids)), numbers_in(line))
        flight = next(filter(None, map(self._find_trial, numbers)), None)
        if flight is None:
            return False
        flight.lines.append(line)
        flight.missing.difference_update(ids)
        if flight.number in self.in_flight and any(name.endswith(b"si") for name in ids):
            self._pass_sentinel(flight)
        self._finish_if_complete(flight)
        return True

    def _find_trial(self, number: int) -> SentTrial | None:
        found = self.in_flight.get(number) or self.incomplete.get(number)
        return found or self.finished.get(number)

    def _match_by_id(self, verdict: ReplyVerdict) -> SentTrial | None:
        """The trial that waits for a reply with an id that anybody may use."""
        for reply in list_responses(verdict):
            if reply.id is None:
                continue
            key = type(reply.id), reply.id
            flight = self._find_trial(self._owed.get(key, -1))
            if flight is not None:
                flight.others.discard(key)
                return flight
        return None

    def _pass_sentinel(self, flight: SentTrial) -> None:
        """The sentinel of a trial was answered."""
        self._ordered &= next(iter(self.in_flight)) == flight.number
        del self.in_flight[flight.number]
        self.passed += 1
        self._latest = flight
        (self.finished if flight.is_complete else self.incomplete)[flight.number] = flight

    def _finish_if_complete(self, flight: SentTrial) -> None:
        if flight.is_complete and flight.number in self.incomplete:
            self.finished[flight.number] = self.incomplete.pop(flight.number)

    def _doubt_noise(self, line: bytes, verdict: ReplyVerdict) -> None:
        """What is no message may be of any trial; of each kind of it, once is enough."""
        kinds = {offence.kind for offence in offences([line], [verdict], b"")}
        if kinds <= self._noise:
            return
        self._noise |= kinds
        now = next(iter(self.in_flight.values()), None)
        _mark_doubted(filter(None, (self._latest, now)) if self._ordered else self._list_all())

    def _match_by_order(self, line: bytes) -> None:
        """A result without a name is taken for that of the trial whose turn it is.

        Where turns are not kept, it may be of any whose frame has no id of ours. A fresh process
        will tell.
        """
        now = next(iter(self.in_flight.values()), None)
        if self._ordered and now is not None:
            now.lines.append(line)
        else:
            _mark_doubted(flight for flight in self._list_all() if _may_lack_name(flight.prepared))

    def _list_all(self) -> list[SentTrial]:
        return [*self.finished.values(), *self.incomplete.values(), *self.in_flight.values()]


def _mark_doubted(flights: Iterable[SentTrial]) -> None:
    for flight in flights:
        flight.doubted = True
