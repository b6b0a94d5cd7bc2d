"""Match each line of stdout to its trial, of many in flight: which reply answers which request.

All names and ids belong to one trial, so most lines match by name in any order. Where every line
before a sentinel's answer has the sentinel's name, the whole piece matches in one step. A line
without a name matches by order, as long as sentinels are answered in order; otherwise its trials
are doubted and run again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain, islice

from wirefence.fuzz.gate.server.fresh import PreparedTrial
from wirefence.fuzz.gate.server.trial_payload import TrialPayload
from wirefence.fuzz.gate.trials.messages import OUR_NUMBER, number_of, numbers_in, tokens_in
from wirefence.oracles.evidence import TypedId, list_responses
from wirefence.oracles.records import ReplyVerdict
from wirefence.oracles.transcript_judge import judge_reply
from wirefence.oracles.transcript_kinds import list_offences
from wirefence.strategies.records import Version
from wirefence.targets.command.session import answered_ids

__all__ = ["Demux", "SentTrial"]

_SENTINEL = re.compile(rb'"id"[ \t\r]*:[ \t\r]*"wf([0-9a-f]{4}c\d{6})si"[^\n]*\n')
_NUMBER = re.compile(rb"wf([0-9a-f]{4}c\d{6})[a-z]")
_HARMLESS = ("", "mcp-method")
"""Verdicts on a line of stdout that need no trial: servers may extend the protocol."""


def _may_lack_name(prepared: PreparedTrial) -> bool:
    """Whether the reply to a bad frame may lack our names: the frame has no id that we gave."""
    trial, data = prepared.trial, prepared.trial.case.data
    frames = prepared.judgement.frames
    bad = [f for f in frames if f.start >= trial.opening and not f.accepted]
    return any(
        not tokens_in(data[f.start : f.end]) or (not f.ids and f.layer == "rpc") for f in bad
    )


@dataclass(slots=True)
class SentTrial:
    """A trial in flight: the ids that it still waits for, and its lines so far.

    ``missing`` are ids as they are spelled on a line, ``others`` ids with several spellings.
    ``doubted`` says that its output cannot be separated from that of other trials.
    """

    prepared: PreparedTrial
    payload: TrialPayload
    number: int
    missing: set[bytes]
    others: set[TypedId]
    lines: list[bytes] = field(default_factory=list)
    doubted: bool = False
    stderr_at: int = 0
    """Bytes of stderr that the server had written when the trial was sent."""

    @classmethod
    def of(cls, prepared: PreparedTrial, payload: TrialPayload, stderr_at: int = 0) -> SentTrial:
        """Return a trial in flight that nothing has answered yet."""
        missing, others = set(payload.ids.split()), set(payload.others)
        return cls(prepared, payload, payload.number, missing, others, stderr_at=stderr_at)

    @property
    def is_complete(self) -> bool:
        """Whether every reply that is owed has come."""
        return not self.missing and not self.others


class Demux:
    """The trials in flight on one server, and the lines that belong to each.

    ``in_flight`` are trials whose sentinel is not answered, in the order of sending. ``incomplete``
    are those whose sentinel is answered while another reply is missing. ``finished`` have every
    reply; the last ones are kept for late lines.
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
        """Kinds of noise for which trials were doubted already."""
        self.noise: list[bytes] = []
        """The first line of each of these kinds, for a caller who takes them."""

    def clear(self) -> None:
        """Forget all trials: a new server starts."""
        self.in_flight, self.incomplete, self.finished = {}, {}, {}
        self._ordered, self._latest = True, None
        self._owed.clear()
        self._noise.clear()

    def add_trial(self, prepared: PreparedTrial, payload: TrialPayload, stderr_at: int = 0) -> None:
        """Add a trial that is being sent; the server has written ``stderr_at`` bytes of stderr."""
        self.in_flight[payload.number] = SentTrial.of(prepared, payload, stderr_at)
        if payload.others:
            self._owed.update(dict.fromkeys(payload.others, payload.number))

    def take_finished(self, keep: int = 0) -> list[SentTrial]:
        """Remove and return finished trials except the last ``keep``."""
        ready = list(islice(self.finished, max(0, len(self.finished) - keep)))
        return [self.finished.pop(number) for number in ready]

    def take_incomplete(self) -> list[SentTrial]:
        """Remove and return the incomplete trials: stop waiting for them."""
        left = list(self.incomplete.values())
        self.incomplete = {}
        return left

    def match_lines(self, block: bytes) -> None:
        """Match complete lines to their trials; a line without a name may be noise."""
        start = 0
        for sentinel in _SENTINEL.finditer(block):
            piece = block[start : sentinel.end()]
            start = sentinel.end()
            if not self._match_piece(piece, sentinel[1]):
                self._match_each_line(piece)
        self._match_each_line(block[start:])

    def _match_piece(self, piece: bytes, number: bytes) -> bool:
        """Match all lines up to a sentinel's answer in one step, if each belongs to its trial."""
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
        """Match one line: by name, then by id, then as noise or by order."""
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
        """Match a line to its trial by a name in it; return whether it matched.

        The name in an id comes first.
        """
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
        """Return the trial that waits for a reply with an id that is not a name of ours."""
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
        """Move a trial whose sentinel was answered to finished or incomplete."""
        self._ordered &= next(iter(self.in_flight)) == flight.number
        del self.in_flight[flight.number]
        self.passed += 1
        self._latest = flight
        (self.finished if flight.is_complete else self.incomplete)[flight.number] = flight

    def _finish_if_complete(self, flight: SentTrial) -> None:
        """Move an incomplete trial to finished once its last reply has come."""
        if flight.is_complete and flight.number in self.incomplete:
            self.finished[flight.number] = self.incomplete.pop(flight.number)

    def _doubt_noise(self, line: bytes, verdict: ReplyVerdict) -> None:
        """Doubt the trials that may have caused a line that is no message; once for each kind."""
        kinds = {offence.kind for offence in list_offences([line], [verdict], b"")}
        if kinds <= self._noise:
            return
        self._noise |= kinds
        self.noise.append(line)
        now = next(iter(self.in_flight.values()), None)
        _mark_doubted(filter(None, (self._latest, now)) if self._ordered else self._list_all())

    def _match_by_order(self, line: bytes) -> None:
        """Match a result without a name to the oldest trial in flight.

        Where sentinels are answered out of order, doubt every trial whose bad frame has no id of
        ours; a fresh process decides.
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
