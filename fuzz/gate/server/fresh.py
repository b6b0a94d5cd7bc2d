"""Run trials in fresh processes of one launch, with effect recorders, and start servers ahead.

The bytes of a trial decide how it runs. The driver waits for the reply to an accepted
``initialize``, as clients do, and for every reply that the judge says is owed. So a replay needs
only the raw bytes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from wirefence.fuzz.gate.records import Facts, Observation, Options, Trial
from wirefence.fuzz.gate.trials.messages import (
    COMMON_NUMBER,
    OUR_NUMBER,
    TrialNames,
    ends_trial,
    make_ping,
    rename_tokens,
    stem_of,
)
from wirefence.fuzz.store.redaction import Redactor
from wirefence.oracles.document import LongInteger
from wirefence.oracles.evidence import TypedId, is_owed, list_responses
from wirefence.oracles.records import FrameVerdict, Judgement
from wirefence.oracles.session import judge_session
from wirefence.oracles.transcript_judge import judge_reply
from wirefence.strategies.contract import Contract
from wirefence.strategies.records import Version
from wirefence.targets.command.process import Process
from wirefence.targets.command.records import Launch
from wirefence.targets.command.session import Session, Spares
from wirefence.targets.effects.available import Recording, Watching
from wirefence.targets.effects.records import Observed
from wirefence.targets.records import Ending

__all__ = [
    "FreshServers",
    "PreparedTrial",
    "RecordedServer",
    "ReplyTracker",
    "prepare_trial",
    "rename_trial",
    "spell_id",
]

_COMMON = stem_of(COMMON_NUMBER)
_GRACE_SECONDS = 0.1
"""Seconds to wait for late output after the last reply, unless a caller says otherwise."""
_LEAST_GRACE, _GRACE_FACTOR = 0.01, 5
"""Least seconds of that wait, and how many reply times of this server it lasts."""
_EXIT_SECONDS = 2.0
"""Seconds for a process to exit after it closed its stdout: runtimes need some to shut down."""
_SHORT_PATIENCE = 1.0
"""Time-out of a reply in seconds, once a server is known to omit replies or the time is spent."""
_HOOKS = frozenset({"python", "node"})
"""Recorders that run inside the server; beside one of them strace is not needed."""


@dataclass(frozen=True, slots=True)
class RecordedServer:
    """A running server with its effect recorders."""

    session: Session
    recording: Recording

    def stop(self) -> None:
        """End the server and close the recorders."""
        self.session.stop()
        self.recording.close()


@dataclass(frozen=True, slots=True)
class PreparedTrial:
    """A trial with the judge's verdicts by ``contract``, and the ids that are owed a reply."""

    trial: Trial
    judgement: Judgement
    owed: frozenset[TypedId]
    contract: Contract


def _lacks_sentinel(prepared: PreparedTrial) -> bool:
    """Whether the last frame is owed no reply, so that no reply shows that it was read.

    Trials end with a sentinel request; shrinking may have removed it.
    """
    frames = prepared.judgement.frames
    return bool(prepared.owed) and not is_owed(frames[-1])


def _watched_folder(launch: Launch) -> tuple[Path, ...]:
    """The folders to watch for changed files if the user named none."""
    return (launch.cwd,) if launch.cwd is not None else ()


def _ends_trial(frame: FrameVerdict) -> bool:
    """Whether a frame is the last request of a trial."""
    return any(isinstance(name, str) and ends_trial(name.encode()) for name in frame.ids)


def prepare_trial(trial: Trial, contract: Contract) -> PreparedTrial:
    """Judge the bytes of a trial and collect the ids that are owed a reply."""
    opening = _judge_opening(trial, contract) if trial.opening else ()
    judgement = judge_session(trial.case.data, contract, opening)
    owed = frozenset((type(i), i) for f in judgement.frames if is_owed(f) for i in f.ids)
    return PreparedTrial(trial, judgement, owed, contract)


def _judge_opening(trial: Trial, contract: Contract) -> list[FrameVerdict]:
    """Judge the handshake of a trial: those of all trials are equal but for the name in an id."""
    stem, opening = stem_of(trial.number), trial.case.data[: trial.opening]
    own = stem.decode()
    return [  # the only id is that of initialize
        frame._replace(ids=(f"{own}hi",)) if frame.ids else frame
        for frame in _judge_common_opening(opening.replace(stem, _COMMON), contract)
    ]


@lru_cache(maxsize=64)
def _judge_common_opening(opening: bytes, contract: Contract) -> tuple[FrameVerdict, ...]:
    return judge_session(opening, contract).frames


def rename_trial(prepared: PreparedTrial, number: int) -> PreparedTrial:
    """Return the same trial under unused names: a call may work only once for a name."""
    trial = prepared.trial
    renamed, frames, start = rename_tokens(trial.case.data, number), [], 0
    for frame in trial.case.frames:
        frames.append(replace(frame, raw=renamed[start : start + len(frame.raw)]))
        start += len(frame.raw)
    case = replace(trial.case, frames=tuple(frames))
    return prepare_trial(replace(trial, case=case, number=number), prepared.contract)


def spell_id(key: TypedId) -> bytes:
    """Return an id as bytes; lone surrogates pass, as a server may have sent any.

    Integers become hexadecimal, as Python refuses to write thousands of decimal digits.
    """
    name: str | int | LongInteger = key[1]
    if isinstance(name, LongInteger):
        return name.token.encode()
    return name.encode("utf-8", "surrogatepass") if isinstance(name, str) else b"%x" % name


class ReplyTracker:
    """The typed ids that a session has answered so far."""

    def __init__(self, session: Session, version: Version) -> None:
        self._session = session
        self._version = version
        self._read = len(session.lines)
        self.keys: set[TypedId] = set()

    def read_replies(self) -> set[TypedId]:
        """Read new lines; return all answered ids."""
        self._session.collect()
        for line in self._session.lines[self._read :]:
            for reply in list_responses(judge_reply(line, self._version)):
                if reply.id is not None:
                    self.keys.add((type(reply.id), reply.id))
        self._read = len(self._session.lines)
        return self.keys

    def wait_for(self, keys: Iterable[TypedId], seconds: float) -> bool:
        """Wait until all of ``keys`` were answered; return whether they were."""
        wanted = frozenset(keys)
        return self._session.process.pump_until(lambda: wanted <= self.read_replies(), seconds)


class FreshServers:
    """Starts and ends the servers of one gate run, and runs trials in fresh processes."""

    def __init__(self, launch: Launch, options: Options, *, ahead: int = 0) -> None:
        self.launch = launch
        self.options = options
        self.hide = Redactor.for_launch(launch)
        self.names: tuple[str, ...] | None = options.effects or None
        self.processes = 0
        self.absent: dict[str, str] = {}
        self.blind: dict[str, str] = {}
        self.deadline = math.inf
        """When the time budget is spent (monotonic clock). Later replies get a short time-out."""
        self.start_patience = options.start_patience
        """Time-out of the first reply of a fresh server, in seconds."""
        self._spares: Spares[RecordedServer] = Spares(self._start_server, ahead)
        self._patience = options.patience

    def _start_server(self) -> RecordedServer:
        """Start a server process with its recorders."""
        watching = Watching(self.options.watch or _watched_folder(self.launch))
        recording = Recording.of(self.launch, self.names, watching)
        self.processes += 1
        try:
            return RecordedServer(Session(Process(recording.launch)), recording)
        except BaseException:
            recording.close()
            raise

    def take_server(self) -> RecordedServer:
        """Return a server that has been sent nothing. Raises TargetError."""
        watched = self._spares.take()
        # Other processes may have changed watched files while this server waited as a spare.
        watched.recording.take()
        return watched

    def note_recorders(self, watched: RecordedServer) -> None:
        """Note which recorders work; known only after a session."""
        status = watched.recording.status()
        on = [name for name, state in status.items() if state == "on"]
        if not self.options.effects and _HOOKS & set(on) and "strace" in on:
            on.remove("strace")
            status["strace"] = "not needed beside a hook; --effects strace turns it on"
        self.names = tuple(on)
        self.absent = {name: state for name, state in status.items() if name not in on}
        self.blind = {e.name: e.blind for e in watched.recording.recorders if e.name in on}

    def keep_spares(self, ahead: int) -> None:
        """Start ``ahead`` processes in advance from now on."""
        self._spares.close()
        self._spares = Spares(self._start_server, ahead)

    def close(self) -> None:
        """End the servers that were started ahead."""
        self._spares.close()

    def shorten_patience(self) -> None:
        """Shorten the time-out of replies: this server is known to omit some."""
        self._patience = min(self.options.patience, _SHORT_PATIENCE)

    def reply_patience(self, *, full: bool = True) -> float:
        """Return the time-out of one reply in seconds.

        With ``full``, :meth:`shorten_patience` has no influence.
        """
        most = self.options.patience if full else self._patience
        left = max(_SHORT_PATIENCE, self.deadline - time.monotonic())
        return min(most, left)

    def run_trial(
        self,
        prepared: PreparedTrial,
        facts: Facts,
        *,
        grace: float = _GRACE_SECONDS,
        full: bool = True,
    ) -> Observation:
        """Run one trial in a fresh process and return the observation.

        The process is ended by force unless the trial ends stdin itself. ``full`` is for
        :meth:`reply_patience`.
        """
        watched = self.take_server()
        try:
            return self._run_trial_in(
                watched, prepared, facts, grace, self.reply_patience(full=full)
            )
        finally:
            watched.stop()

    def _run_trial_in(
        self,
        watched: RecordedServer,
        prepared: PreparedTrial,
        facts: Facts,
        grace: float,
        patience: float,
    ) -> Observation:
        began = time.monotonic()
        session, trial = watched.session, prepared.trial
        replies = ReplyTracker(session, trial.case.version)
        effects: list[Observed] = []
        sent = self.send_trial(
            session, prepared, replies, lambda: effects.extend(watched.recording.take())
        )
        complete = replies.wait_for(prepared.owed, patience)
        if complete and not trial.eof and facts.policy == "continue" and _lacks_sentinel(prepared):
            self._still_answers(session, prepared, facts, patience)
        if session.process.stdout.ended:
            session.process.wait(_EXIT_SECONDS)
        gone = session.process.gone
        alive = not gone and (complete or self._still_answers(session, prepared, facts, patience))
        session.process.measure()
        # Where no reply is owed, only the exit after the end of stdin shows that all was read.
        eof = trial.eof or facts.policy == "close" or not prepared.owed
        # Late output follows soon after the replies; scale the wait by the server's own speed.
        pace = time.monotonic() - sent
        grace = min(grace, max(_LEAST_GRACE, _GRACE_FACTOR * pace)) if complete else grace
        ending, status = self._end_process(session, grace, eof=eof, alive=alive)
        effects += watched.recording.take()
        return Observation(
            tuple(session.lines),
            session.tail,
            tuple(effects),
            complete,
            alive,
            ending,
            status,
            self.read_stderr(session, redact=ending != "open"),
            bytes(session.process.sent),
            session.process.peak_bytes,
            time.monotonic() - began,
            fresh=True,
            hurried=not complete and not gone and patience < self.options.patience,
            times=session.process.times(),
        )

    def read_stderr(self, session: Session, start: int = 0, *, redact: bool) -> bytes:
        """Return what a server wrote to stderr behind its first ``start`` bytes.

        Redacted where a crash may be named after it: half a secret would not be recognized later.
        """
        written = bytes(session.process.stderr.data[start:])
        return self.hide.redact_bytes(written) if redact else written

    def send_trial(
        self,
        session: Session,
        prepared: PreparedTrial,
        replies: ReplyTracker,
        read_effects: Callable[[], None] = lambda: None,
    ) -> float:
        """Send a trial to the server; wait after each ``initialize`` that it must answer.

        A session of several trials is sent trial by trial, and ``read_effects`` is called between
        them: recorders do not count what is done to one file between two looks. Return the time of
        the last write.
        """
        data, start = prepared.trial.case.data, 0
        if prepared.trial.case.cuts:
            session.send(data, prepared.trial.case.cuts)
            return time.monotonic()
        answers = True
        for frame in prepared.judgement.frames:
            opens = frame.method == "initialize"
            ends = answers and frame.end < len(data) and _ends_trial(frame)
            if is_owed(frame) and (opens or ends):
                session.send(data[start : frame.end])
                start = frame.end
                keys = [(type(name), name) for name in frame.ids]
                patience = self.start_patience if opens else self.reply_patience()
                answers = replies.wait_for(keys, patience)
                read_effects()
        session.send(data[start:])
        return time.monotonic()

    @staticmethod
    def _still_answers(
        session: Session, prepared: PreparedTrial, facts: Facts, patience: float
    ) -> bool:
        """Whether a server that omitted a reply still answers a ping on a line of its own.

        No empty line is sent, as an empty line is a bad frame.
        """
        if facts.policy == "close":
            return not session.process.gone
        ident = TrialNames(OUR_NUMBER).request_id("s")
        ends = b"" if prepared.trial.case.data.endswith(b"\n") else b"\n"
        session.send(ends + make_ping(facts.version, ident).raw)
        return session.wait_for([ident.strip(b'"')], patience)

    def _end_process(
        self, session: Session, grace: float, *, eof: bool, alive: bool
    ) -> tuple[Ending, str]:
        """End the process; detect whether the server died, crashed or hung before.

        Return how it ended, and its exit status.
        """
        process = session.process
        before = process.gone
        if eof:
            process.end_input()
            process.wait(self.options.patience)
        session.linger(grace)
        gone = process.gone
        status = session.stop()
        if gone and (before or not eof):
            return ("exited" if status.code is not None else "crashed"), str(status)
        if gone and status.signal:
            return "crashed", str(status)
        return ("open" if alive else "hung"), ""
