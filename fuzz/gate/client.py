"""Client mode of the gate: every attack on one client, in processes of their own.

The key insight: nothing is concluded about a client that does not pass a good session first, and
no more than it lets us see: one that reports no results is judged by its handshake alone, and the
report says so.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event

from fuzz.errors import UsageError
from fuzz.gate.client_attacks import ATTACKS, GOOD
from fuzz.gate.client_judge import judge_client
from fuzz.gate.client_records import Attack, ClientPlace, Played
from fuzz.gate.client_session import ACTIONS, Terms, play
from fuzz.gate.learn import label_of
from fuzz.gate.left import gap
from fuzz.gate.records import (
    Attempt,
    Begun,
    Budget,
    Facts,
    Flaw,
    FlawFound,
    Listener,
    Options,
    Place,
    Report,
    Step,
    Tally,
)
from fuzz.gate.redact import Redactor
from fuzz.gate.verdicts import Charge
from fuzz.report import last_words
from fuzz.store import Store
from oracles.records import Finding
from strategies.records import Case, Frame
from targets.command.records import Launch
from targets.errors import TargetError

__all__ = ["examine_client", "gate_client", "named"]

_PLACES: dict[ClientPlace, Place] = {"handshake": "within", "call": "after"}
_MOST_WORKERS = 4
_LONG = 4_096
_CONVENTION = "see docs/gate-client.md for the few lines that a client needs"


def named(names: Sequence[str]) -> tuple[Attack, ...]:
    """The attacks of these names, or all of them. Raises UsageError for a name that is none."""
    known = {attack.name: attack for attack in ATTACKS}
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        raise UsageError(f"there is no attack {unknown!r}", f"choose from {', '.join(known)}")
    return tuple(known[name] for name in names) or ATTACKS


def gate_client(  # noqa: PLR0913 - the terms of one gate
    launch: Launch,
    options: Options,
    budget: Budget,
    out: Path,
    listener: Listener,
    *,
    seconds: float,
    attacks: Sequence[Attack] = ATTACKS,
    terms: Terms | None = None,
) -> Report:
    """Play every attack to a client; findings are put below ``out`` as they come.

    ``seconds`` is how long new plays are begun. Raises TargetError for a client that can't be
    started or does not get through a good session, and UsageError where ``out`` can't be written.
    """
    store = Store(out)
    store.prepare()
    terms = terms or _terms(options)
    patient = min(terms.start_patience, max(seconds, terms.patience))
    terms = replace(terms, ended=Event(), start_patience=patient)
    runner = _Runner(launch, options, budget, store, listener, terms)
    runner.learn()
    reason = runner.run(attacks, seconds)
    return runner.report(reason)


def examine_client(launch: Launch, settings: Mapping[str, str], target: str) -> list[Finding]:
    """What one attack shows of a client, as it was filed: ``settings`` name attack and place.

    Raises UsageError for settings that mean nothing, TargetError for a client that can't start.
    """
    options = Options.of(settings, label=target)
    place: ClientPlace = "handshake" if settings.get("at") == "handshake" else "call"
    [attack] = named([settings["attack"]])
    played = play(launch, attack, place, _terms(options))
    return [charge.finding for charge in judge_client(played, target, options.profile)]


def _terms(options: Options) -> Terms:
    return Terms(options.start_patience, options.patience, version=options.protocol)


@dataclass(slots=True)
class _Runner:
    """One run in the making."""

    launch: Launch
    options: Options
    budget: Budget
    store: Store
    listener: Listener
    terms: Terms
    began: float = field(default_factory=time.monotonic)
    hide: Redactor = field(init=False)
    facts: Facts = field(init=False)
    tally: Tally = field(default_factory=Tally)
    flaws: dict[str, Flaw] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    reports: bool = False
    played: int = 0
    left: list[tuple[Attack, ClientPlace]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.hide = Redactor.of(self.launch)

    @property
    def command(self) -> str:
        return shlex.join(self.hide.argv(self.launch.argv))

    def learn(self) -> None:
        """A good session, which says who the client is and what it lets us see."""
        good = play(self.launch, GOOD, "handshake", replace(self.terms, doubtful=True))
        self.tally.processes += 1
        _require_good(good, self.terms)
        self.reports = bool(good.told)
        version = good.version or "2025-11-25"
        self.facts = Facts(
            self.options.label or label_of(self.launch),
            good.name,
            good.release,
            version,
            (version,),
            tools=(),
            nominee=None,
            tool=None,
            declared=False,
            policy="continue",
            startup=good.seconds,
            peak_bytes=0,
        )
        if not self.reports:
            self.notes.append(
                f"The client reports no results, so only its handshake was judged; {_CONVENTION}."
            )

    def run(self, attacks: Sequence[Attack], seconds: float) -> str:
        """All plays, several at a time, until the budget is spent; says how it ended."""
        self.left = [(a, p) for a in attacks for p in self._places(a)]
        self.listener(Begun(self.facts, self.command, (), len(self.left)))
        with ThreadPoolExecutor(min(_MOST_WORKERS, os.cpu_count() or 1)) as pool:
            try:
                return self._play_all(pool, seconds)
            except KeyboardInterrupt:
                return "interrupted"
            finally:  # before the pool is waited for
                self.terms.ended.set()

    def _play_all(self, pool: ThreadPoolExecutor, seconds: float) -> str:
        waiting: list[Future[Played]] = []
        reason = "done"
        for attack, place in list(self.left):
            if time.monotonic() - self.began >= seconds:
                reason = "budget"
                break
            waiting.append(pool.submit(play, self.launch, attack, place, self.terms))
            self._drain(waiting, _MOST_WORKERS)
        self._drain(waiting, 0)
        return reason

    def _places(self, attack: Attack) -> Iterator[ClientPlace]:
        """Where an attack can be seen, a call first: what the client tells is the stronger sign."""
        if self.reports and "call" in attack.places:
            yield "call"
        if "handshake" in attack.places:
            yield "handshake"

    def _skipped(self) -> dict[str, tuple[str, ...]]:
        keys = {place: f"client {_PLACES[place]}" for _, place in self.left}
        return {
            key: tuple(attack.name for attack, at in self.left if at == place)
            for place, key in keys.items()
        }

    def _drain(self, waiting: list[Future[Played]], left: int) -> None:
        """Take results in order until at most ``left`` are out."""
        while len(waiting) > left:
            self._take(waiting.pop(0).result())

    def _take(self, played: Played) -> None:
        self.tally.processes += 1
        self.played += 1
        self.left.remove((played.attack, played.place))
        charges = judge_client(played, self.facts.label, self.options.profile)
        if played.exercised:
            self._count(played, charges)
        for charge in charges:
            signature = charge.finding.signature
            if signature in self.flaws:
                self.flaws[signature] = self._also(self.flaws[signature], played)
            elif self._again(played, signature):
                self._file(played, charge)
            else:
                self.tally.unconfirmed[signature] = 1
        self.listener(Step(time.monotonic() - self.began, self.played, len(self.flaws)))

    def _count(self, played: Played, charges: Sequence[Charge]) -> None:
        key = f"client {played.attack.expected}", _PLACES[played.place]
        attempt = self.tally.attempts.get(key, Attempt())
        taken = any(charge.finding.oracle == "client" for charge in charges)
        usable = played.ending == "exited" and _usable(played)
        self.tally.attempts[key] = attempt.plus(acted=taken, usable=usable)
        self.tally.frames += played.sent.count(b"\n")

    def _again(self, played: Played, signature: str) -> bool:
        """Whether another process shows it too."""
        again = play(self.launch, played.attack, played.place, self.terms)
        self.tally.processes += 1
        charges = judge_client(again, self.facts.label, self.options.profile)
        return any(charge.finding.signature == signature for charge in charges)

    def _also(self, flaw: Flaw, played: Played) -> Flaw:
        name = _trial(played)
        return flaw if name in flaw.trials else replace(flaw, trials=(*flaw.trials, name))

    def _file(self, played: Played, charge: Charge) -> None:
        case = _case(played)
        try:
            kept = self._kept(played, charge, case)
        except (UsageError, OSError) as error:
            why = error.cause if isinstance(error, UsageError) else error.strerror
            self.notes.append(f"not kept on disk: {why}")
            kept = Path()
        path, transcript, stderr, replay = _beside(kept)
        flaw = Flaw(
            charge.finding,
            _trial(played),
            _PLACES[played.place],
            case,
            self.hide.raw(charge.offending),
            path=path,
            transcript=transcript,
            stderr=stderr,
            replay=replay,
            trials=(_trial(played),),
        )
        self.flaws[charge.finding.signature] = flaw
        self.listener(FlawFound(flaw))

    def _kept(self, played: Played, charge: Charge, case: Case) -> Path:
        """Put a finding on disk. Raises UsageError and OSError where that fails."""
        versions = {self.facts.name or self.facts.label: self.facts.release}
        path = self.store.save(
            replace(charge.finding, summary=self.hide.text(charge.finding.summary)),
            case,
            versions=versions,
            launch=self.launch,
            options={
                **self.options.settings(),
                "attack": played.attack.name,
                "at": played.place,
            },
            note="bytes of a server, played to a client",
        )
        transcript, stderr = path.with_suffix(".transcript"), path.with_suffix(".stderr")
        transcript.write_text(self._transcript(played, charge), encoding="utf-8")
        stderr.write_bytes(self.hide.raw(played.stderr))
        return path

    def _transcript(self, played: Played, charge: Charge) -> str:
        told = [f"= {t.action}: {'error' if t.error else 'result'} {t.text!r}" for t in played.told]
        lines = [
            f"finding   {charge.finding.signature}",
            f"summary   {charge.finding.summary}",
            f"command   {self.command}",
            f"client    {played.name} {played.release}, MCP {played.version}",
            f"attack    {played.attack.name}: {played.attack.about}, at the {played.place}",
            "",
            *(f"> {_shown(line)}" for line in _lines(played.received)),
            *(f"< {_shown(line)}" for line in _lines(played.sent)),
            *told,
            f"ending    {played.ending} {played.status}",
        ]
        return self.hide.text("\n".join(lines)) + "\n"

    def report(self, reason: str) -> Report:
        """The result."""
        self.tally.skipped = self._skipped()
        seconds = time.monotonic() - self.began
        why = "" if self.tally.attempts else "the time was spent before any attack was played"
        sees = "what the client keeps to itself" if self.reports else "results of calls"
        return Report(
            self.facts,
            self.command,
            self.hide.env(self.launch.env),
            self.options.profile,
            self.budget,
            tuple(self.flaws.values()),
            self.tally,
            {"wire and results" if self.reports else "wire": sees},
            {},
            seconds,
            reason,  # type: ignore[arg-type]
            tuple(self.notes),
            gap(reason, self.tally.skipped, seconds) or why,
        )


def _beside(path: Path) -> tuple[str, str, str, str]:
    """Reproducer, transcript, stderr and the line that replays it; empty where nothing is kept."""
    if not path.name:
        return "", "", "", ""
    transcript, stderr = path.with_suffix(".transcript"), path.with_suffix(".stderr")
    return str(path), str(transcript), str(stderr), shlex.join(["wirefence", "replay", str(path)])


def _usable(played: Played) -> bool:
    """Whether every call that was answered truly was told so."""
    if played.place == "handshake" or played.attack.expected == "reject":
        return True
    told = {each.action for each in played.told if not each.error}
    return set(played.truth) <= told


def _trial(played: Played) -> str:
    return f"{played.attack.name} ({played.place})"


def _case(played: Played) -> Case:
    return Case(
        tuple(Frame(line) for line in _lines(played.sent)),
        version=played.version or "2025-11-25",
        direction="server-to-client",
        damage=(played.attack.name,),
    )


def _lines(data: bytes) -> Iterator[bytes]:
    """Split at LF alone: a lone CR ends no frame."""
    *lines, rest = data.split(b"\n")
    yield from (line + b"\n" for line in lines)
    if rest:
        yield rest


def _shown(raw: bytes) -> str:
    text = repr(raw[:_LONG])[2:-1]
    return text if len(raw) <= _LONG else f"{text} ... {len(raw):,} bytes"


def _require_good(good: Played, terms: Terms) -> None:
    """Raise TargetError for a client that does not get through a good session."""
    why = last_words(good.stderr)
    if not good.received:
        hung = good.ending == "hung"
        limit = f"within {terms.start_patience:g} s" if hung else f"and ended ({good.status})"
        raise TargetError(
            f"the client started no server {limit}{why}",
            f"it must start $WIREFENCE_SERVER, or {{server}} in its command; {_CONVENTION}",
        )
    if not good.exercised:
        hint = "is it a client of MCP?"
        if b'"server/discover"' in good.received:
            hint = "it speaks 2026-07-28 alone, it seems: add --protocol 2026-07-28"
        raise TargetError(f"the client sent no initialize ({good.status}){why}", hint)
    if good.ending != "exited":
        raise TargetError(
            f"the client did not end a good session by itself ({good.ending}){why}",
            f"it must end when its work is done; {_CONVENTION}",
        )
    wrong = [t for t in good.told if good.truth.get(t.action) not in t.text.split()]
    if wrong:
        raise TargetError(
            f"the client reported {wrong[0].text[:80]!r} for {wrong[0].action!r} in a good session",
            f"it must report the text of the result of each of {', '.join(ACTIONS)}; {_CONVENTION}",
        )
