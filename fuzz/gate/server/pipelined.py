"""Many trials in one living server: pipelined for speed, one at a time where that is in doubt.

The key insight: this is a screen and no verdict, so it may be wrong but not slow. The pipe is kept
full, each wait ends with what it waits for, and a reply that is missing is waited for while other
trials go on. Where a server falls silent the pipe is narrowed to one trial, so that the next
silence has one cause. Whatever looks wrong is run again in a fresh process by others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import count

from wirefence.fuzz.gate.records import Facts, Observation
from wirefence.fuzz.gate.server.demux import Demux, SentTrial
from wirefence.fuzz.gate.server.fresh import (
    FreshServers,
    PreparedTrial,
    RecordedServer,
    ReplyTracker,
)
from wirefence.fuzz.gate.server.trial_payload import (
    TrialPayload,
    foreign_ids,
    ids_after_handshake,
    must_be_sent_alone,
    sentinel_ids,
)
from wirefence.fuzz.gate.server.trial_queue import TrialQueue
from wirefence.fuzz.gate.server.trial_templates import Templates, TrialCopy, template_of
from wirefence.fuzz.gate.trials.messages import (
    INITIALIZED,
    OUR_NUMBER,
    STATELESS,
    TrialNames,
    make_initialize,
    make_ping,
    numbers_in,
)
from wirefence.fuzz.text import last_words
from wirefence.targets.command.session import Session
from wirefence.targets.effects.records import Observed
from wirefence.targets.errors import TargetError
from wirefence.targets.records import Ending

__all__ = ["PipelinedServer"]

_MOST_FLYING, _LEAST_FLYING = 256, 8
_AHEAD = 0.5
"""Seconds of a server's work that may be in the pipe: what is behind a silence is sent again."""
_LAG = 16
_LEAST_QUIET, _MOST_QUIET = 0.25, 1.0
_FENCE = 0.02
_HASTY = 0.1
_DYING = 2.0
_APART = 8
_SLICE = 0.001
"""Seconds of making trials, about, before the server is sent what there is."""
_RETIRED = 16 << 20
"""Bytes of stdout after which a server is let go: all of it is kept while it lives."""
_TICK = 0.05
_LOOKING = 10
"""What recorders tell is asked for so seldom that it takes a tenth of the time at most."""


class PipelinedServer:
    """One living server after another, for trials that can share one."""

    def __init__(self, servers: FreshServers, facts: Facts) -> None:
        self._servers, self._facts = servers, facts
        self._watched: RecordedServer | None = None
        # Who is slow to start is slow to answer, on a busy machine above all.
        self._patient = min(_MOST_QUIET, max(_LEAST_QUIET, facts.startup))
        self._quiet = self._patient
        self._silence = servers.options.patience
        self._is_time_spent: Callable[[], bool] = lambda: False
        self._demux = Demux(facts.version)
        self._window = _LEAST_FLYING
        self._began = 0.0, 0
        self._heard_at = self._look_at = 0.0
        self._orphans: list[PreparedTrial] = []
        self._used: set[object] = set()
        self._doubted: set[int] = set()
        self._effects: dict[int, list[Observed]] = {}
        self._fences = count()
        self.frames = 0
        self.last: tuple[str, ...] = ()
        """Trials that were in the pipe of the last server that ended or fell silent in it."""

    def close(self) -> None:
        """End the living server."""
        if self._watched is not None:
            self._watched.stop()
            self._watched = None
            self._orphans += [flight.prepared for flight in self._demux.take_incomplete()]
            self._demux.clear()
            self._used.clear()
            self._doubted.clear()

    def ensure_running(self) -> int:
        """Have a server ready; gives its process id. Raises TargetError."""
        return self._get_server().session.process.pid

    def _get_server(self) -> RecordedServer:
        """The living server, or a fresh one that has had its handshake. Raises TargetError."""
        if self._watched is None:
            self._watched = self._servers.take_server()
            self._open_session(self._watched)
        return self._watched

    def _open_session(self, watched: RecordedServer) -> None:
        session, version = watched.session, self._facts.version
        if version != STATELESS:
            ident = TrialNames(0).request_id("h")
            session.send(make_initialize(b'"%b"' % version.encode(), ident).raw)
            if not session.wait_for([ident.strip(b'"')], self._servers.start_patience):
                raise self._explain_refusal(session)
            session.send(INITIALIZED.raw)
        session.collect()

    def _explain_refusal(self, session: Session) -> TargetError:
        """The sentence for a server that does not answer ``initialize`` as one did before."""
        gone, status = _has_died(session), session.stop()
        limit = f"within {self._servers.start_patience:g} s"
        how = f"and ended ({status})" if gone else limit
        words = last_words(bytes(session.process.stderr.data))
        self.close()
        return TargetError(
            f"a fresh server answered no initialize {how}, though one did before{words}",
            "see whether its start depends on what another left behind",
        )

    def screen_trials(
        self,
        trials: Iterable[PreparedTrial],
        late: Callable[[], bool],
        *,
        hasty: bool = False,
        templates: Templates | None = None,
    ) -> Iterator[tuple[PreparedTrial, Observation]]:
        """What was seen of each trial, in no fixed order, until ``late``. Raises TargetError.

        ``hasty`` waits less for what is missing: for many small questions about one trial. With
        ``templates`` a server that is faster than trials are made is sent copies of them as well.
        """
        self._is_time_spent = late
        self._quiet = min(self._patient, _HASTY) if hasty else self._patient
        queue, traffic = TrialQueue(iter(trials), templates=templates), self._demux
        self._began = time.monotonic(), traffic.passed
        while True:
            more = self._send_trials(queue)
            if traffic.in_flight:
                if not self._read_replies(wait=not more):
                    yield from self._handle_silence(queue)
                yield from self._take_finished(queue, _LAG)
            else:
                yield from self._send_deferred(queue)
                if late() or queue.is_empty:
                    break

    def _send_trials(self, queue: TrialQueue) -> bool:
        """Send a few trials once half of the pipe has run empty; say whether more have room."""
        flying = self._demux.in_flight
        room = self._window - len(flying)
        if room * 2 < self._window or self._is_time_spent():
            return False
        # What was behind a silence has no copies beside it, or no silence would have one cause.
        starving = len(flying) * 8 <= self._window and not queue.again
        parts = list[bytes]()
        # To make a trial takes as long as a fast server takes for dozens: a few at a time.
        until = time.monotonic() + _SLICE
        while len(parts) < room and len(queue.alone) < _APART and not self._must_retire:
            each = queue.next_trial()
            if each is None:
                break
            parts += self._send_or_defer(each, queue)
            if starving:
                parts += map(self._register_trial, queue.make_copies())
            if time.monotonic() > until:
                break
        if parts:
            data = b"".join(parts)
            self.frames += data.count(b"\n")
            self._get_server().session.send(data)
        return len(parts) < room and bool(parts)

    def _send_or_defer(self, prepared: PreparedTrial, queue: TrialQueue) -> list[bytes]:
        """The bytes of a trial that can go now; another one has its turn later."""
        if isinstance(prepared, TrialCopy):  # of a template, which needs none of what follows
            return [self._register_trial(prepared)]
        if must_be_sent_alone(prepared):
            queue.alone.append(prepared)
        elif self._reuses_id(prepared):
            queue.next_server.append(prepared)
        else:
            return [self._register_trial(prepared)]
        return []

    def _register_trial(self, prepared: PreparedTrial) -> bytes:
        """What a living server is sent of a trial: no handshake, but a sentinel in any case."""
        if not self._demux.in_flight:
            self._heard_at = time.monotonic()
        if isinstance(prepared, TrialCopy):
            payload = prepared.payload
        else:
            payload = TrialPayload.of(prepared, self._facts.version)
        self._demux.add_trial(prepared, payload)
        return payload.data

    @property
    def _must_retire(self) -> bool:
        """Whether so much has been read from the living server that it is let go."""
        watched = self._watched
        return watched is not None and len(watched.session.process.stdout.data) > _RETIRED

    def _reuses_id(self, prepared: PreparedTrial) -> bool:
        """Whether the living session has had one of the ids; if not, now it has."""
        ids = foreign_ids(prepared)
        if ids & self._used or prepared.trial.number in self._doubted:
            return True
        self._used |= ids
        return False

    def _read_replies(self, *, wait: bool) -> bool:
        """Take in what comes next; false where the server is gone, or answers nothing any more.

        Without ``wait``, what has come already is all.
        """
        session, traffic = self._get_server().session, self._demux
        process, passed = session.process, traffic.passed
        patience = min(self._silence, self._patient) if self._is_time_spent() else self._silence
        if not wait:
            process.pump(0)
        while not (block := session.take()) and wait:
            left = self._heard_at + patience - time.monotonic()
            if left <= 0 or process.stdout.ended or (process.gone and not process.pump(_TICK)):
                return False
            process.pump(min(left, _TICK))
        traffic.match_lines(block)
        if traffic.passed > passed:
            self._heard_at = time.monotonic()
            self._widen_window(traffic.passed - passed)
        return True

    def _widen_window(self, passed: int) -> None:
        """Let more trials into the pipe, as far as the server gets through them in no time."""
        since, before = self._began
        rate = (self._demux.passed - before) / (time.monotonic() - since)
        most = max(_LEAST_FLYING, min(_MOST_FLYING, int(rate * _AHEAD)))
        self._window = min(most, self._window + passed)

    def _handle_silence(self, queue: TrialQueue) -> Iterator[tuple[PreparedTrial, Observation]]:
        """The server is gone or stuck: by one trial alone, or by one of those in flight."""
        flying, silence = list(self._demux.in_flight.values()), self._silence
        self.last = tuple(template_of(flight.prepared).trial.name for flight in flying)
        self._collect_effects()
        yield from self._take_finished(queue, 0)
        ending, status = self._detect_death()
        if len(flying) == 1:
            yield (
                flying[0].prepared,
                _mark_ended(self._make_observation(flying[0]), ending, status, silence),
            )
        elif not self._is_time_spent():
            queue.again.extendleft(flight.prepared for flight in reversed(flying))
        self._window = 1
        self.close()

    def _detect_death(self) -> tuple[Ending, str]:
        """How the living server ended, or that it hangs; one that hangs once is trusted less."""
        session = self._get_server().session
        if _has_died(session):
            status = session.stop()
            return ("exited" if status.code is not None else "crashed"), str(status)
        self._silence = min(self._silence, 4 * self._patient)
        return "hung", ""

    def _take_finished(
        self, queue: TrialQueue, keep: int
    ) -> Iterator[tuple[PreparedTrial, Observation]]:
        """Give away what has landed, with its effects; what is in doubt is sent again, alone."""
        if len(self._demux.finished) <= keep or (keep and time.monotonic() < self._look_at):
            return
        self._collect_effects()
        for flight in self._demux.take_finished(keep):
            if flight.doubted:
                self._doubted.add(flight.number)
                queue.alone.append(flight.prepared)
            else:
                yield flight.prepared, self._make_observation(flight)

    def _collect_effects(self) -> None:
        """Ask the recorders. Trials that are still in flight may have acted already."""
        began = time.monotonic()
        for effect in self._get_server().recording.take():
            for number in {*numbers_in(effect.detail), *numbers_in(effect.content)}:
                self._effects.setdefault(number, []).append(effect)
        now = time.monotonic()
        self._look_at = now + _LOOKING * (now - began)

    def _make_observation(self, flight: SentTrial) -> Observation:
        effects = tuple(self._effects.pop(flight.number, ()))
        payload, lines = flight.payload, flight.lines
        if payload.added:
            lines = [line for line in lines if payload.added not in line]
        return Observation(
            tuple(lines), effects=effects, complete=flight.is_complete, since=payload.since
        )

    def _send_deferred(self, queue: TrialQueue) -> Iterator[tuple[PreparedTrial, Observation]]:
        """Nothing is in flight: the time for whatever needs the server for itself."""
        if self._watched is not None:
            yield from self._take_finished(queue, 0)
        waiting, queue.alone = [*queue.alone, *self._orphans], []
        self._orphans = []
        yield from self.send_one_by_one(waiting)
        if self._watched is not None and (
            queue.spent or self._must_retire or self._is_time_spent()
        ):
            yield from self._wait_for_missing(queue)
        if self._must_retire:
            self.close()
        queue.alone += self._orphans
        self._orphans = []
        if queue.next_server and queue.is_empty and not self._is_time_spent():
            self.close()  # the next server has not had their ids
            queue.source, queue.next_server, queue.spent = iter(queue.next_server), [], False

    def _wait_for_missing(self, queue: TrialQueue) -> Iterator[tuple[PreparedTrial, Observation]]:
        """Wait once, and for all replies that are missing."""
        session, traffic = self._get_server().session, self._demux
        heard = time.monotonic()

        def done() -> bool:
            nonlocal heard
            if block := session.take():
                heard = time.monotonic()
                traffic.match_lines(block)
            return not traffic.incomplete or time.monotonic() - heard > self._quiet

        if traffic.incomplete:
            session.process.pump_until(done, self._servers.options.patience)
        yield from self._take_finished(queue, 0)
        for flight in traffic.take_incomplete():
            yield flight.prepared, self._make_observation(flight)

    def send_one_by_one(
        self, trials: Iterable[PreparedTrial]
    ) -> Iterator[tuple[PreparedTrial, Observation]]:
        """What was seen of each trial, sent alone to a living server. Raises TargetError."""
        for each in trials:
            if self._is_time_spent():  # each may cost all of one's patience
                return
            yield each, self.send_alone(each)

    def send_alone(self, prepared: PreparedTrial) -> Observation:
        """One trial, alone in a living server; a server that it spoils is not used again."""
        if self._reuses_id(prepared):
            self.close()
            self._used |= foreign_ids(prepared)
        watched = self._get_server()
        session, trial = watched.session, prepared.trial
        watched.recording.take()
        self._demux.match_lines(session.take())
        begun, replies = len(session.lines), ReplyTracker(session, trial.case.version)
        cuts = [cut - trial.opening for cut in trial.case.cuts if cut > trial.opening]
        data = trial.case.data[trial.opening :]
        session.send(data, cuts)
        self.frames += data.count(b"\n")
        silence = self._silence
        complete = self._wait_for_replies(prepared, replies, silence)
        answers = complete or bool(sentinel_ids(prepared) & replies.keys)
        fence = self._send_fence() if answers else b"\n"
        lines = session.lines[begun:]
        seen = Observation(
            tuple(
                line for line in lines if fence not in line and not self._demux.match_by_name(line)
            ),
            session.tail,
            tuple(watched.recording.take()),
            complete,
            peak_bytes=session.process.measure(),
            since=trial.opening,
        )
        if not answers or session.process.gone:
            seen = _mark_ended(seen, *self._detect_death(), silence)
        if seen.ending != "open" or seen.tail:
            self.close()
        return seen

    def _wait_for_replies(
        self, prepared: PreparedTrial, replies: ReplyTracker, patience: float
    ) -> bool:
        """Wait for every reply; one that is not there a while after the sentinel's is not waited
        for: a fresh process will be given all the time.
        """
        wanted, last, since = ids_after_handshake(prepared), sentinel_ids(prepared), [0.0]

        def done() -> bool:
            keys = replies.read_replies()
            if last & keys and not since[0]:
                since[0] = time.monotonic()
            waited = time.monotonic() - since[0] if since[0] else 0.0
            return wanted <= keys or waited > self._quiet

        assert self._watched is not None
        self._watched.session.process.pump_until(done, patience)
        return wanted <= replies.keys

    def _send_fence(self) -> bytes:
        """Ask once more: what comes late comes before the answer, as a rule. Gives the id."""
        watched = self._get_server()
        letters = "".join(chr(97 + int(digit)) for digit in str(next(self._fences)))
        ident = TrialNames(OUR_NUMBER).request_id(f"f{letters}")
        watched.session.send(make_ping(self._facts.version, ident).raw)
        watched.session.wait_for([ident.strip(b'"')], _FENCE)
        return ident.strip(b'"')


def _has_died(session: Session) -> bool:
    """Whether the server's process is gone; one that closed its stdout is given time to go."""
    if session.process.stdout.ended:
        session.process.wait(_DYING)
    return session.process.gone


def _mark_ended(seen: Observation, ending: Ending, status: str, seconds: float) -> Observation:
    """The same of a server that ended, or hangs."""
    return replace(seen, complete=False, alive=False, ending=ending, status=status, seconds=seconds)
