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

from wirefence.fuzz.gate.records import Facts, Seen
from wirefence.fuzz.gate.server.demux import Flight, Traffic
from wirefence.fuzz.gate.server.fresh import Lab, Ready, Replies, Watched
from wirefence.fuzz.gate.server.sent_trial import Parcel, apart, foreign_ids, last_ids, warm_ids
from wirefence.fuzz.gate.server.trial_copies import Copy, Templates, like
from wirefence.fuzz.gate.server.trial_queue import Queue
from wirefence.fuzz.gate.trials.messages import (
    INITIALIZED,
    LAST,
    STATELESS,
    Names,
    initialize,
    numbers_in,
    ping,
)
from wirefence.fuzz.text import last_words
from wirefence.targets.command.session import Session
from wirefence.targets.effects.records import Observed
from wirefence.targets.errors import TargetError
from wirefence.targets.records import Ending

__all__ = ["Warm"]

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


class Warm:
    """One living server after another, for trials that can share one."""

    def __init__(self, lab: Lab, facts: Facts) -> None:
        self._lab, self._facts = lab, facts
        self._watched: Watched | None = None
        # Who is slow to start is slow to answer, on a busy machine above all.
        self._patient = min(_MOST_QUIET, max(_LEAST_QUIET, facts.startup))
        self._quiet = self._patient
        self._silence = lab.options.patience
        self._late: Callable[[], bool] = lambda: False
        self._traffic = Traffic(facts.version)
        self._room = _LEAST_FLYING
        self._began = 0.0, 0
        self._heard = self._look_at = 0.0
        self._orphans: list[Ready] = []
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
            self._orphans += [flight.prepared for flight in self._traffic.give_up()]
            self._traffic.clear()
            self._used.clear()
            self._doubted.clear()

    def open(self) -> int:
        """Have a server ready; gives its process id. Raises TargetError."""
        return self._living().session.process.pid

    def _living(self) -> Watched:
        """The living server, or a fresh one that has had its handshake. Raises TargetError."""
        if self._watched is None:
            self._watched = self._lab.fresh()
            self._greet(self._watched)
        return self._watched

    def _greet(self, watched: Watched) -> None:
        session, version = watched.session, self._facts.version
        if version != STATELESS:
            ident = Names(0).ident("h")
            session.send(initialize(b'"%b"' % version.encode(), ident).raw)
            if not session.wait_for([ident.strip(b'"')], self._lab.start_patience):
                raise self._refused(session)
            session.send(INITIALIZED.raw)
        session.collect()

    def _refused(self, session: Session) -> TargetError:
        """The sentence for a server that does not answer ``initialize`` as one did before."""
        gone, status = _has_ended(session), session.stop()
        limit = f"within {self._lab.start_patience:g} s"
        how = f"and ended ({status})" if gone else limit
        words = last_words(bytes(session.process.stderr.data))
        self.close()
        return TargetError(
            f"a fresh server answered no initialize {how}, though one did before{words}",
            "see whether its start depends on what another left behind",
        )

    def screen(
        self,
        trials: Iterable[Ready],
        late: Callable[[], bool],
        *,
        hasty: bool = False,
        templates: Templates | None = None,
    ) -> Iterator[tuple[Ready, Seen]]:
        """What was seen of each trial, in no fixed order, until ``late``. Raises TargetError.

        ``hasty`` waits less for what is missing: for many small questions about one trial. With
        ``templates`` a server that is faster than trials are made is sent copies of them as well.
        """
        self._late = late
        self._quiet = min(self._patient, _HASTY) if hasty else self._patient
        queue, traffic = Queue(iter(trials), templates=templates), self._traffic
        self._began = time.monotonic(), traffic.passed
        while True:
            more = self._launch(queue)
            if traffic.flying:
                if not self._hear(wait=not more):
                    yield from self._fell_silent(queue)
                yield from self._settled(queue, _LAG)
            else:
                yield from self._pause(queue)
                if late() or queue.empty:
                    break

    def _launch(self, queue: Queue) -> bool:
        """Send a few trials once half of the pipe has run empty; say whether more have room."""
        flying = self._traffic.flying
        room = self._room - len(flying)
        if room * 2 < self._room or self._late():
            return False
        # What was behind a silence has no copies beside it, or no silence would have one cause.
        starving = len(flying) * 8 <= self._room and not queue.again
        parts = list[bytes]()
        # To make a trial takes as long as a fast server takes for dozens: a few at a time.
        until = time.monotonic() + _SLICE
        while len(parts) < room and len(queue.apart) < _APART and not self._retires:
            each = queue.next()
            if each is None:
                break
            parts += self._departed(each, queue)
            if starving:
                parts += map(self._sent, queue.copies())
            if time.monotonic() > until:
                break
        if parts:
            data = b"".join(parts)
            self.frames += data.count(b"\n")
            self._living().session.send(data)
        return len(parts) < room and bool(parts)

    def _departed(self, prepared: Ready, queue: Queue) -> list[bytes]:
        """The bytes of a trial that can go now; another one has its turn later."""
        if isinstance(prepared, Copy):  # of a template, which needs none of what follows
            return [self._sent(prepared)]
        if apart(prepared):
            queue.apart.append(prepared)
        elif self._reuses(prepared):
            queue.later.append(prepared)
        else:
            return [self._sent(prepared)]
        return []

    def _sent(self, prepared: Ready) -> bytes:
        """What a living server is sent of a trial: no handshake, but a sentinel in any case."""
        if not self._traffic.flying:
            self._heard = time.monotonic()
        if isinstance(prepared, Copy):
            parcel = prepared.parcel
        else:
            parcel = Parcel.of(prepared, self._facts.version)
        self._traffic.depart(prepared, parcel)
        return parcel.data

    @property
    def _retires(self) -> bool:
        """Whether so much has been read from the living server that it is let go."""
        watched = self._watched
        return watched is not None and len(watched.session.process.stdout.data) > _RETIRED

    def _reuses(self, prepared: Ready) -> bool:
        """Whether the living session has had one of the ids; if not, now it has."""
        ids = foreign_ids(prepared)
        if ids & self._used or prepared.trial.number in self._doubted:
            return True
        self._used |= ids
        return False

    def _hear(self, *, wait: bool) -> bool:
        """Take in what comes next; false where the server is gone, or answers nothing any more.

        Without ``wait``, what has come already is all.
        """
        session, traffic = self._living().session, self._traffic
        process, passed = session.process, traffic.passed
        patience = min(self._silence, self._patient) if self._late() else self._silence
        if not wait:
            process.pump(0)
        while not (block := session.take()) and wait:
            left = self._heard + patience - time.monotonic()
            if left <= 0 or process.stdout.ended or (process.gone and not process.pump(_TICK)):
                return False
            process.pump(min(left, _TICK))
        traffic.take(block)
        if traffic.passed > passed:
            self._heard = time.monotonic()
            self._widen(traffic.passed - passed)
        return True

    def _widen(self, passed: int) -> None:
        """Let more trials into the pipe, as far as the server gets through them in no time."""
        since, before = self._began
        rate = (self._traffic.passed - before) / (time.monotonic() - since)
        most = max(_LEAST_FLYING, min(_MOST_FLYING, int(rate * _AHEAD)))
        self._room = min(most, self._room + passed)

    def _fell_silent(self, queue: Queue) -> Iterator[tuple[Ready, Seen]]:
        """The server is gone or stuck: by one trial alone, or by one of those in flight."""
        flying, silence = list(self._traffic.flying.values()), self._silence
        self.last = tuple(like(flight.prepared).trial.name for flight in flying)
        self._look()
        yield from self._settled(queue, 0)
        ending, status = self._ending()
        if len(flying) == 1:
            yield flying[0].prepared, _ended(self._seen(flying[0]), ending, status, silence)
        elif not self._late():
            queue.again.extendleft(flight.prepared for flight in reversed(flying))
        self._room = 1
        self.close()

    def _ending(self) -> tuple[Ending, str]:
        """How the living server ended, or that it hangs; one that hangs once is trusted less."""
        session = self._living().session
        if _has_ended(session):
            status = session.stop()
            return ("exited" if status.code is not None else "crashed"), str(status)
        self._silence = min(self._silence, 4 * self._patient)
        return "hung", ""

    def _settled(self, queue: Queue, keep: int) -> Iterator[tuple[Ready, Seen]]:
        """Give away what has landed, with its effects; what is in doubt is sent again, alone."""
        if len(self._traffic.landed) <= keep or (keep and time.monotonic() < self._look_at):
            return
        self._look()
        for flight in self._traffic.settle(keep):
            if flight.doubted:
                self._doubted.add(flight.number)
                queue.apart.append(flight.prepared)
            else:
                yield flight.prepared, self._seen(flight)

    def _look(self) -> None:
        """Ask the recorders. Trials that are still in flight may have acted already."""
        began = time.monotonic()
        for effect in self._living().recording.take():
            for number in {*numbers_in(effect.detail), *numbers_in(effect.content)}:
                self._effects.setdefault(number, []).append(effect)
        now = time.monotonic()
        self._look_at = now + _LOOKING * (now - began)

    def _seen(self, flight: Flight) -> Seen:
        effects = tuple(self._effects.pop(flight.number, ()))
        parcel, lines = flight.parcel, flight.lines
        if parcel.added:
            lines = [line for line in lines if parcel.added not in line]
        return Seen(tuple(lines), effects=effects, complete=flight.complete, since=parcel.since)

    def _pause(self, queue: Queue) -> Iterator[tuple[Ready, Seen]]:
        """Nothing is in flight: the time for whatever needs the server for itself."""
        if self._watched is not None:
            yield from self._settled(queue, 0)
        waiting, queue.apart = [*queue.apart, *self._orphans], []
        self._orphans = []
        yield from self.one_by_one(waiting)
        if self._watched is not None and (queue.spent or self._retires or self._late()):
            yield from self._stragglers(queue)
        if self._retires:
            self.close()
        queue.apart += self._orphans
        self._orphans = []
        if queue.later and queue.empty and not self._late():
            self.close()  # the next server has not had their ids
            queue.source, queue.later, queue.spent = iter(queue.later), [], False

    def _stragglers(self, queue: Queue) -> Iterator[tuple[Ready, Seen]]:
        """Wait once, and for all replies that are missing."""
        session, traffic = self._living().session, self._traffic
        heard = time.monotonic()

        def done() -> bool:
            nonlocal heard
            if block := session.take():
                heard = time.monotonic()
                traffic.take(block)
            return not traffic.behind or time.monotonic() - heard > self._quiet

        if traffic.behind:
            session.process.pump_until(done, self._lab.options.patience)
        yield from self._settled(queue, 0)
        for flight in traffic.give_up():
            yield flight.prepared, self._seen(flight)

    def one_by_one(self, trials: Iterable[Ready]) -> Iterator[tuple[Ready, Seen]]:
        """What was seen of each trial, sent alone to a living server. Raises TargetError."""
        for each in trials:
            if self._late():  # each may cost all of one's patience
                return
            yield each, self.alone(each)

    def alone(self, prepared: Ready) -> Seen:
        """One trial, alone in a living server; a server that it spoils is not used again."""
        if self._reuses(prepared):
            self.close()
            self._used |= foreign_ids(prepared)
        watched = self._living()
        session, trial = watched.session, prepared.trial
        watched.recording.take()
        self._traffic.take(session.take())
        begun, replies = len(session.lines), Replies(session, trial.case.version)
        cuts = [cut - trial.opening for cut in trial.case.cuts if cut > trial.opening]
        data = trial.case.data[trial.opening :]
        session.send(data, cuts)
        self.frames += data.count(b"\n")
        silence = self._silence
        complete = self._wait(prepared, replies, silence)
        answers = complete or bool(last_ids(prepared) & replies.keys)
        fence = self._fence() if answers else b"\n"
        lines = session.lines[begun:]
        seen = Seen(
            tuple(line for line in lines if fence not in line and not self._traffic.late(line)),
            session.tail,
            tuple(watched.recording.take()),
            complete,
            peak_bytes=session.process.measure(),
            since=trial.opening,
        )
        if not answers or session.process.gone:
            seen = _ended(seen, *self._ending(), silence)
        if seen.ending != "open" or seen.tail:
            self.close()
        return seen

    def _wait(self, prepared: Ready, replies: Replies, patience: float) -> bool:
        """Wait for every reply; one that is not there a while after the sentinel's is not waited
        for: a fresh process will be given all the time.
        """
        wanted, last, since = warm_ids(prepared), last_ids(prepared), [0.0]

        def done() -> bool:
            keys = replies.look()
            if last & keys and not since[0]:
                since[0] = time.monotonic()
            waited = time.monotonic() - since[0] if since[0] else 0.0
            return wanted <= keys or waited > self._quiet

        assert self._watched is not None
        self._watched.session.process.pump_until(done, patience)
        return wanted <= replies.keys

    def _fence(self) -> bytes:
        """Ask once more: what comes late comes before the answer, as a rule. Gives the id."""
        watched = self._living()
        letters = "".join(chr(97 + int(digit)) for digit in str(next(self._fences)))
        ident = Names(LAST).ident(f"f{letters}")
        watched.session.send(ping(self._facts.version, ident).raw)
        watched.session.wait_for([ident.strip(b'"')], _FENCE)
        return ident.strip(b'"')


def _has_ended(session: Session) -> bool:
    """Whether the server's process is gone; one that closed its stdout is given time to go."""
    if session.process.stdout.ended:
        session.process.wait(_DYING)
    return session.process.gone


def _ended(seen: Seen, ending: Ending, status: str, seconds: float) -> Seen:
    """The same of a server that ended, or hangs."""
    return replace(seen, complete=False, alive=False, ending=ending, status=status, seconds=seconds)
