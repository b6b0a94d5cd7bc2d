"""Run trials pipelined in one long-lived server.

Results are provisional: ``confirm`` runs suspects again in a fresh process. The driver keeps the
pipe full and waits for missing replies while other trials go on. When the server stops answering,
it sends one trial at a time, to find the one that causes the silence.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count

from wirefence.fuzz.gate.records import Facts, Observation, SentHistory, SentPart
from wirefence.fuzz.gate.server.demux import Demux, SentTrial
from wirefence.fuzz.gate.server.fresh import (
    FreshServers,
    PreparedTrial,
    RecordedServer,
    ReplyTracker,
)
from wirefence.fuzz.gate.server.trial_payload import TrialPayload
from wirefence.fuzz.gate.server.trial_queue import TrialQueue
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

__all__ = ["PipelinedServer", "SharedNoise"]

_MOST_IN_FLIGHT, _LEAST_IN_FLIGHT = 256, 8
"""Bounds of the trials in flight: more fill the pipe to the server and add no speed; fewer leave
a fast server idle."""
_WINDOW_SECONDS = 0.5
"""Seconds of server work that may be in flight: all of it is sent again after a silence."""
_KEPT_FINISHED = 16
"""Finished trials that are kept back, as a late line may still belong to one of them."""
_LEAST_QUIET, _MOST_QUIET = 0.25, 1.0
"""Bounds of the wait in seconds for a missing reply after the last line."""
_FENCE_SECONDS = 0.02
"""Seconds to wait for the reply to a closing ping: it only catches late output."""
_HASTY_QUIET = 0.1
"""Most seconds to wait for a missing reply while shrinking, which asks many small questions."""
_EXIT_SECONDS = 2.0
"""Seconds for a process to exit after it closed its stdout: runtimes need some to shut down."""
_MOST_DEFERRED = 8
"""Deferred trials after which the pipe drains to send them: more would wait too long."""
_GENERATE_SECONDS = 0.01
"""Seconds of generating trials after which the server is sent those that are ready: each write
wakes it, and it works on one lot while the next is generated."""
_MOST_STDOUT = 16 << 20
"""Bytes of stdout after which a server is replaced, since all of its output is kept in memory."""
_TICK_SECONDS = 0.05
"""Seconds of one wait for output; bounds how late an exit is noticed."""
_EFFECT_READ_FACTOR = 10
"""Recorders are read at most once in ten times the duration of a read: a tenth of the time."""


@dataclass(frozen=True, slots=True)
class SharedNoise:
    """A line that is no message, the last trial that was sent before it, and those before that."""

    line: bytes
    last: PreparedTrial
    before: tuple[SentPart, ...]


class PipelinedServer:
    """A long-lived server for trials that can share one, and its successors when it ends."""

    def __init__(self, servers: FreshServers, facts: Facts) -> None:
        self._servers, self._facts = servers, facts
        self._watched: RecordedServer | None = None
        # A server that starts slowly answers slowly, above all on a busy machine.
        self._patient = min(_MOST_QUIET, max(_LEAST_QUIET, facts.startup))
        self._quiet = self._patient
        self._silence = servers.options.patience
        self._is_time_spent: Callable[[], bool] = lambda: False
        self._demux = Demux(facts.version)
        self._window = _LEAST_IN_FLIGHT
        self._began = 0.0, 0
        self._heard_at = self._look_at = 0.0
        self._orphans: list[PreparedTrial] = []
        self._used: set[object] = set()
        self._doubted: set[int] = set()
        self._effects: dict[int, list[Observed]] = {}
        self._fences = count()
        self._history = SentHistory()
        self._sent: PreparedTrial | None = None
        self._noise: list[SharedNoise] = []
        self.frames = 0
        self.last: tuple[str, ...] = ()
        """Names of the trials in flight when the last server ended or stopped answering."""

    def close(self) -> None:
        """End the running server."""
        if self._watched is not None:
            self._watched.stop()
            self._watched = None
            self._orphans += [flight.prepared for flight in self._demux.take_incomplete()]
            self._demux.clear()
            self._history, self._sent = SentHistory(), None
            self._used.clear()
            self._doubted.clear()

    def take_noise(self) -> list[SharedNoise]:
        """Return lines that were no messages and named no trial, each kind once a process."""
        taken, self._noise = self._noise, []
        return taken

    def _match_lines(self, block: bytes) -> None:
        """Match lines to their trials, and keep what is noise with all that was sent before it."""
        self._demux.match_lines(block)
        noise, self._demux.noise = self._demux.noise, []
        if self._sent is not None:
            before = self._history.list_before(self._sent.trial.number) if noise else ()
            self._noise += [SharedNoise(line, self._sent, before) for line in noise]

    def ensure_running(self) -> int:
        """Start a server unless one runs; return its process id. Raises TargetError."""
        return self._get_server().session.process.pid

    def _get_server(self) -> RecordedServer:
        """Return the running server, or a fresh one after its handshake. Raises TargetError."""
        if self._watched is None:
            self._watched = self._servers.take_server()
            self._open_session(self._watched)
        return self._watched

    def _open_session(self, watched: RecordedServer) -> None:
        """Send the handshake. Raises TargetError where it is not answered."""
        session, version = watched.session, self._facts.version
        if version != STATELESS:
            ident = TrialNames(0).request_id("h")
            session.send(make_initialize(b'"%b"' % version.encode(), ident).raw)
            if not session.wait_for([ident.strip(b'"')], self._servers.start_patience):
                raise self._explain_refusal(session)
            session.send(INITIALIZED.raw)
        session.collect()

    def _explain_refusal(self, session: Session) -> TargetError:
        """Return the error for a server that no longer answers ``initialize``."""
        gone, status = _has_died(session), session.stop()
        limit = f"within {self._servers.start_patience:g} s"
        how = f"and ended ({status})" if gone else limit
        words = last_words(bytes(session.process.stderr.data))
        self.close()
        return TargetError(
            f"a fresh server answered no initialize {how}, though one did before{words}",
            "check whether its start depends on files that an earlier process left",
        )

    def screen_trials(
        self,
        trials: Iterable[PreparedTrial],
        late: Callable[[], bool],
        *,
        hasty: bool = False,
    ) -> Iterator[tuple[PreparedTrial, Observation]]:
        """Send trials pipelined and yield each with its observation, in no fixed order.

        Ends when ``late`` returns true. ``hasty`` waits less for missing replies: for many small
        questions about one trial. Raises TargetError.
        """
        self._is_time_spent = late
        self._quiet = min(self._patient, _HASTY_QUIET) if hasty else self._patient
        queue, demux = TrialQueue(iter(trials)), self._demux
        self._began = time.monotonic(), demux.passed
        while True:
            more = self._send_trials(queue)
            if demux.in_flight:
                if not self._read_replies(wait=not more):
                    yield from self._handle_silence(queue)
                yield from self._take_finished(queue, _KEPT_FINISHED)
            else:
                yield from self._send_deferred(queue)
                if late() or queue.is_empty:
                    break

    def _send_trials(self, queue: TrialQueue) -> bool:
        """Send trials once half of the window is free; return whether more may be sent at once."""
        in_flight = self._demux.in_flight
        room = self._window - len(in_flight)
        if room * 2 < self._window or self._is_time_spent():
            return False
        parts = list[bytes]()
        until = time.monotonic() + _GENERATE_SECONDS
        while len(parts) < room and len(queue.alone) < _MOST_DEFERRED and not self._must_retire:
            each = queue.next_trial()
            if each is None:
                break
            parts += self._send_or_defer(each, queue)
            if time.monotonic() > until:
                break
        if parts:
            data = b"".join(parts)
            self.frames += data.count(b"\n")
            self._get_server().session.send(data)
        return len(parts) < room and bool(parts)

    def _send_or_defer(self, prepared: PreparedTrial, queue: TrialQueue) -> list[bytes]:
        """Return the bytes of a trial that can go now; queue one that cannot."""
        payload = TrialPayload.of(prepared, self._facts.version)
        if payload.alone:
            queue.alone.append(prepared)
        elif self._reuses_id(payload):
            queue.next_server.append(prepared)
        else:
            return [self._register_trial(prepared, payload)]
        return []

    def _register_trial(self, prepared: PreparedTrial, payload: TrialPayload) -> bytes:
        """Register a trial as sent; return its bytes without the handshake, with a sentinel."""
        if not self._demux.in_flight:
            self._heard_at = time.monotonic()
        stderr_at = len(self._get_server().session.process.stderr.data)
        self._demux.add_trial(prepared, payload, stderr_at)
        self._note_sent(prepared, payload.number, payload.data)
        return payload.data

    def _note_sent(self, prepared: PreparedTrial, number: int, data: bytes) -> None:
        self._history.add_part(number, data)
        self._sent = prepared

    @property
    def _must_retire(self) -> bool:
        """Whether the running server has written so much that it must be replaced."""
        watched = self._watched
        return watched is not None and len(watched.session.process.stdout.data) > _MOST_STDOUT

    def _reuses_id(self, payload: TrialPayload) -> bool:
        """Whether this session already had one of the trial's ids; if not, note its ids."""
        if payload.foreign & self._used or payload.number in self._doubted:
            return True
        self._used |= payload.foreign
        return False

    def _read_replies(self, *, wait: bool) -> bool:
        """Read replies; return false where the server died or stopped answering.

        Without ``wait``, read only what has already come.
        """
        session, demux = self._get_server().session, self._demux
        process, passed = session.process, demux.passed
        patience = min(self._silence, self._patient) if self._is_time_spent() else self._silence
        if not wait:
            process.pump(0)
        while not (block := session.take()) and wait:
            left = self._heard_at + patience - time.monotonic()
            if (
                left <= 0
                or process.stdout.ended
                or (process.gone and not process.pump(_TICK_SECONDS))
            ):
                return False
            process.pump(min(left, _TICK_SECONDS))
        self._match_lines(block)
        if demux.passed > passed:
            self._heard_at = time.monotonic()
            self._widen_window(demux.passed - passed)
        return True

    def _widen_window(self, passed: int) -> None:
        """Allow more trials in flight, up to half a second of this server's work."""
        since, before = self._began
        rate = (self._demux.passed - before) / (time.monotonic() - since)
        most = max(_LEAST_IN_FLIGHT, min(_MOST_IN_FLIGHT, int(rate * _WINDOW_SECONDS)))
        self._window = min(most, self._window + passed)

    def _handle_silence(self, queue: TrialQueue) -> Iterator[tuple[PreparedTrial, Observation]]:
        """Handle a server that died or hangs: one of the trials in flight is the cause.

        A single one is yielded; several are sent again one at a time.
        """
        in_flight, silence = list(self._demux.in_flight.values()), self._silence
        self.last = tuple(flight.prepared.trial.name for flight in in_flight)
        self._collect_effects()
        yield from self._take_finished(queue, 0)
        ending, status = self._detect_death()
        if len(in_flight) == 1:
            flight = in_flight[0]
            seen = self._make_observation(flight)
            session = self._get_server().session
            stderr = self._servers.read_stderr(session, flight.stderr_at, redact=True)
            seen = replace(seen, stderr=stderr)
            yield (
                flight.prepared,
                _mark_ended(seen, ending, status, silence, self._servers.options.patience),
            )
        elif not self._is_time_spent():
            queue.again.extendleft(flight.prepared for flight in reversed(in_flight))
        self._window = 1
        self.close()

    def _detect_death(self) -> tuple[Ending, str]:
        """Detect how the server died, or that it hangs; after one hang, shorten the time-out."""
        session = self._get_server().session
        if _has_died(session):
            status = session.stop()
            return ("exited" if status.code is not None else "crashed"), str(status)
        self._silence = min(self._silence, 4 * self._patient)
        return "hung", ""

    def _take_finished(
        self, queue: TrialQueue, keep: int
    ) -> Iterator[tuple[PreparedTrial, Observation]]:
        """Yield finished trials with their effects; queue doubted ones to be sent alone."""
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
        """Read the recorders. Trials that are still in flight may have acted already."""
        began = time.monotonic()
        for effect in self._get_server().recording.take():
            for number in {*numbers_in(effect.detail), *numbers_in(effect.content)}:
                self._effects.setdefault(number, []).append(effect)
        now = time.monotonic()
        self._look_at = now + _EFFECT_READ_FACTOR * (now - began)

    def _make_observation(self, flight: SentTrial) -> Observation:
        """Return what was observed of one sent trial."""
        effects = tuple(self._effects.pop(flight.number, ()))
        payload, lines = flight.payload, flight.lines
        if payload.added:
            lines = [line for line in lines if payload.added not in line]
        complete = flight.is_complete
        return Observation(
            tuple(lines),
            effects=effects,
            complete=complete,
            since=payload.since,
            hurried=not complete,
            history=self._history,
        )

    def _send_deferred(self, queue: TrialQueue) -> Iterator[tuple[PreparedTrial, Observation]]:
        """With nothing in flight, send the trials that need the server for themselves."""
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
            self.close()  # the next server has not seen their ids
            queue.source, queue.next_server, queue.spent = iter(queue.next_server), [], False

    def _wait_for_missing(self, queue: TrialQueue) -> Iterator[tuple[PreparedTrial, Observation]]:
        """Wait once for all missing replies; then yield the trials, complete or not."""
        session, demux = self._get_server().session, self._demux
        heard = time.monotonic()

        def done() -> bool:
            nonlocal heard
            if block := session.take():
                heard = time.monotonic()
                self._match_lines(block)
            return not demux.incomplete or time.monotonic() - heard > self._quiet

        if demux.incomplete:
            session.process.pump_until(done, self._servers.options.patience)
        yield from self._take_finished(queue, 0)
        for flight in demux.take_incomplete():
            yield flight.prepared, self._make_observation(flight)

    def send_one_by_one(
        self, trials: Iterable[PreparedTrial]
    ) -> Iterator[tuple[PreparedTrial, Observation]]:
        """Yield each trial, sent alone, with its observation. Raises TargetError."""
        for each in trials:
            if self._is_time_spent():  # each may take the full time-out
                return
            yield each, self.send_alone(each)

    def send_alone(self, prepared: PreparedTrial) -> Observation:
        """Send one trial alone to a running server; end a server that it spoils."""
        payload = TrialPayload.of(prepared, self._facts.version)
        if self._reuses_id(payload):
            self.close()
            self._used |= payload.foreign
        watched = self._get_server()
        session, trial = watched.session, prepared.trial
        watched.recording.take()
        self._match_lines(session.take())
        begun, replies = len(session.lines), ReplyTracker(session, trial.case.version)
        stderr_at = len(session.process.stderr.data)
        cuts = [cut - trial.opening for cut in trial.case.cuts if cut > trial.opening]
        data = trial.case.data[trial.opening :]
        session.send(data, cuts)
        self._note_sent(prepared, trial.number, data)
        self.frames += data.count(b"\n")
        silence = self._silence
        complete = self._wait_for_replies(payload, replies, silence)
        answers = complete or bool(payload.last & replies.keys)
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
            hurried=not complete,
            history=self._history,
        )
        if not answers or session.process.gone:
            seen = _mark_ended(seen, *self._detect_death(), silence, self._servers.options.patience)
            stderr = self._servers.read_stderr(session, stderr_at, redact=True)
            seen = replace(seen, stderr=stderr)
        if seen.ending != "open" or seen.tail:
            self.close()
        return seen

    def _wait_for_replies(
        self, payload: TrialPayload, replies: ReplyTracker, patience: float
    ) -> bool:
        """Wait for every reply; a reply that is missing a while after the sentinel's is given up.

        A fresh process will give it the full time-out.
        """
        wanted, last, since = payload.wanted, payload.last, [0.0]

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
        """Send a closing ping, as late output usually comes before its reply; return its id."""
        watched = self._get_server()
        letters = "".join(chr(97 + int(digit)) for digit in str(next(self._fences)))
        ident = TrialNames(OUR_NUMBER).request_id(f"f{letters}")
        watched.session.send(make_ping(self._facts.version, ident).raw)
        watched.session.wait_for([ident.strip(b'"')], _FENCE_SECONDS)
        return ident.strip(b'"')


def _has_died(session: Session) -> bool:
    """Whether the server's process died; one that closed its stdout gets time to exit."""
    if session.process.stdout.ended:
        session.process.wait(_EXIT_SECONDS)
    return session.process.gone


def _mark_ended(
    seen: Observation, ending: Ending, status: str, seconds: float, full: float
) -> Observation:
    """Return the observation of a server that died or hangs."""
    hung = ending == "hung"
    return replace(
        seen,
        complete=False,
        alive=False,
        ending=ending,
        status=status,
        seconds=seconds,
        hurried=hung and seconds < full,
    )
