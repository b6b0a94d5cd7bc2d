"""Judge noise on stdout at start and end: run each of :mod:`.startup_variants` in its own session.

Output that a plain start prints as well does not count against a variant. Lines are compared with
those of a plain start, with dates and numbers made equal; only what the variant added is reported.
While one start runs, the next ones are started ahead.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from wirefence.fuzz.gate.records import Facts, Options
from wirefence.fuzz.gate.trials.messages import (
    INITIALIZED,
    STATELESS,
    TrialNames,
    make_initialize,
    make_ping,
    make_tools_list,
)
from wirefence.fuzz.gate.trials.startup_variants import (
    PLAIN,
    VARIANTS,
    StartupVariant,
    find_variant,
)
from wirefence.oracles.records import Finding
from wirefence.oracles.transcript import check_startup, lines_of
from wirefence.oracles.transcript_judge import judge_reply
from wirefence.targets.command.process import Process
from wirefence.targets.command.records import Launch, Times
from wirefence.targets.command.session import Session
from wirefence.targets.effects.counting import normalize_text

__all__ = ["StartupFinding", "StartupRun", "StartupRunner", "startup_findings", "variant_of"]

_STARTUP_NUMBER = 999_990
"""Trial number of the names in these sessions, which share no session with trials."""
_LAST_OUTPUT_SECONDS = 0.3
"""Seconds to read output after the process exited, as children may still hold its stdout."""
_EXIT_SECONDS = 2.0
"""Most seconds to wait for an exit: some servers ignore both EOF and signals."""
_KIND_PREFIX = "startup-"
_LAST_BYTES = 200
"""Bytes of stdout that show a start whose request was not answered."""


@dataclass(frozen=True, slots=True)
class StartupRun:
    """One start: its raw streams, whether every request was answered, and the exit status."""

    variant: StartupVariant
    launch: Launch
    stdin: bytes
    stdout: bytes
    stderr: bytes
    answered: bool
    status: str
    times: Times


@dataclass(frozen=True, slots=True)
class StartupFinding:
    """A finding, and the start that showed it."""

    finding: Finding
    run: StartupRun


def variant_of(found: Finding) -> StartupVariant | None:
    """Return the startup variant that a finding names; ``None`` for other findings."""
    kind = found.signature.rpartition("|")[2]
    return find_variant(kind.removeprefix(_KIND_PREFIX)) if kind.startswith(_KIND_PREFIX) else None


def startup_findings(
    launch: Launch, facts: Facts, options: Options, variants: Sequence[StartupVariant] = VARIANTS
) -> Iterator[StartupFinding]:
    """Run each variant in turn; yield what it adds to a plain start.

    Trials judge what a plain start shows. The caller may stop early: no process is left behind.
    Raises TargetError where a command cannot be started.
    """
    starts = StartupRunner(launch, facts, options)
    try:
        for variant in variants:
            yield from starts.judge_variant(variant)
    finally:
        starts.close()


class StartupRunner:
    """Runs one launch under one variant after another, and compares with a plain start.

    ``ahead`` is how many of the variants that :meth:`start_ahead` names are started before their
    turn.
    """

    def __init__(self, launch: Launch, facts: Facts, options: Options, *, ahead: int = 0) -> None:
        self._launch, self._facts, self._options = launch, facts, options
        self._ahead = ahead
        self._coming: deque[StartupVariant] = deque()
        self._begun: dict[str, Session] = {}
        self._plain: StartupRun | None = None

    def start_ahead(self, variants: Iterable[StartupVariant]) -> None:
        """Note which variants will be asked for, in order, and start the first ones.

        Raises TargetError.
        """
        self._coming.extend(variants)
        self._start_next()

    def judge_variant(self, variant: StartupVariant) -> list[StartupFinding]:
        """Return what a variant adds to a plain start. Raises TargetError.

        For a variant with parts: what its parts show alone, else what it shows itself.
        """
        found = self._compare_with_plain(variant)
        alone = [each for part in variant.parts if found for each in self._compare_with_plain(part)]
        return alone or found

    def _compare_with_plain(self, variant: StartupVariant) -> list[StartupFinding]:
        plain = self._plain = self._plain or self._run_variant(PLAIN)
        started = self._run_variant(variant)
        known = _split_output(plain.stdout) + (
            _split_output(plain.stderr) if variant.merges else []
        )
        usual = {normalize_text(line) for line in known}
        return list(_judge_run(started, usual, self._facts, plain))

    def _run_variant(self, variant: StartupVariant) -> StartupRun:
        """Run one session under one variant, to its end."""
        session = self._begun.pop(variant.name, None) or self._start_server(variant)
        process = session.process
        try:
            self._start_next()
            answered = _hold_session(session, variant, self._facts, self._options)
        finally:
            status = process.stop()
        return StartupRun(
            variant,
            process.launch,
            bytes(process.sent),
            bytes(process.stdout.data),
            bytes(process.stderr.data),
            answered,
            str(status),
            process.times(),
        )

    def _start_server(self, variant: StartupVariant) -> Session:
        session = Session(Process(variant.change(self._launch)))
        if variant.end == "eof-at-once":
            session.process.end_input()
        return session

    def _start_next(self) -> None:
        while self._coming and len(self._begun) < self._ahead:
            variant = self._coming.popleft()
            self._begun[variant.name] = self._start_server(variant)

    def close(self) -> None:
        """End servers that were started ahead and not used."""
        self._coming.clear()
        while self._begun:
            self._begun.popitem()[1].stop()


def _hold_session(
    session: Session, variant: StartupVariant, facts: Facts, options: Options
) -> bool:
    """Open a session, send two requests, end it; return whether all owed replies came."""
    if variant.idle:
        session.linger(variant.idle - (time.monotonic() - session.process.began))
    if variant.end == "eof-at-once":
        _end_stdin(session, options)
        return True
    names = TrialNames(_STARTUP_NUMBER)
    answered = _send_handshake(session, names, facts, options)
    asked = (
        make_tools_list(facts.version, names.request_id("l")).raw
        + make_ping(facts.version, names.request_id("s")).raw
    )
    session.send(asked)
    if variant.signal is not None and variant.end in ("signal", "crash"):
        session.process.send_signal(variant.signal)
        _wait_for_end(session, options)
        return True
    wanted = [_bare_id(names.request_id("l")), _bare_id(names.request_id("s"))]
    answered = answered and session.wait_for(wanted, options.patience)
    _end_stdin(session, options)
    return answered


def _bare_id(ident: bytes) -> bytes:
    return ident.strip(b'"')


def _send_handshake(session: Session, names: TrialNames, facts: Facts, options: Options) -> bool:
    if facts.version == STATELESS:
        return True
    hello = make_initialize(f'"{facts.version}"'.encode(), names.request_id("h"))
    session.send(hello.raw)
    answered = session.wait_for([_bare_id(names.request_id("h"))], options.start_patience)
    session.send(INITIALIZED.raw)
    return answered


def _end_stdin(session: Session, options: Options) -> None:
    """End stdin and read until the server exits; some never exit."""
    session.process.end_input()
    _wait_for_end(session, options)


def _wait_for_end(session: Session, options: Options) -> None:
    """Wait for the process to exit: its stdout may end earlier, or be held open by children."""
    if session.process.wait(_end_patience(options)):
        session.linger(_LAST_OUTPUT_SECONDS)


def _end_patience(options: Options) -> float:
    """Return the most seconds to wait for an exit."""
    return min(options.patience, _EXIT_SECONDS)


def _split_output(stdout: bytes) -> list[bytes]:
    """Return complete lines, empty ones too, and the text after the last LF."""
    *lines, tail = stdout.split(b"\n")
    return [*lines, tail] if tail else lines


def _judge_run(
    started: StartupRun, usual: set[bytes], facts: Facts, plain: StartupRun
) -> Iterator[StartupFinding]:
    """Yield the findings of one start, one for each rule, whatever its exit code."""
    news = b"".join(
        piece + b"\n" if whole else piece
        for piece, whole in _split_with_ends(started.stdout)
        if normalize_text(piece) not in usual
    )
    unanswered = started.variant.works and plain.answered and not started.answered
    for each in check_startup(
        facts.label,
        _KIND_PREFIX + started.variant.name,
        about=f"{started.variant.about} ({started.status})",
        stdout=news,
        said=[judge_reply(line, facts.version) for line in lines_of(news)],
        last=started.stdout[-_LAST_BYTES:] if unanswered else None,
    ):
        yield StartupFinding(each, started)


def _split_with_ends(stdout: bytes) -> Iterator[tuple[bytes, bool]]:
    """Yield pieces of stdout, each with whether a LF ended it."""
    lines = lines_of(stdout)
    yield from ((line, True) for line in lines)
    tail = stdout[stdout.rfind(b"\n") + 1 :]
    if tail:
        yield tail, False
