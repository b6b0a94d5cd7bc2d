"""Run client mode: every attack on one client, each in a process of its own.

A client must pass a good session first. A client that reports no results is judged by its handshake
only, and the report says so.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.gate.client.artifacts import PLACES, ClientArtifactWriter, trial_of
from wirefence.fuzz.gate.client.attacks import ATTACKS, GOOD
from wirefence.fuzz.gate.client.judge import judge_client
from wirefence.fuzz.gate.client.records import Attack, ClientPlace, PlayedAttack
from wirefence.fuzz.gate.client.session import ACTIONS, ClientTerms, play_attack
from wirefence.fuzz.gate.records import (
    Attempt,
    Budget,
    Facts,
    Flaw,
    FlawFound,
    Listener,
    Options,
    Progress,
    Reason,
    Report,
    RunStarted,
    Sign,
    Tally,
)
from wirefence.fuzz.gate.report.artifacts import shown_command
from wirefence.fuzz.gate.report.signs import explain_signs
from wirefence.fuzz.gate.server.server_name import name_server
from wirefence.fuzz.gate.trials.skipped import explain_gap
from wirefence.fuzz.store.redaction import Redactor
from wirefence.fuzz.store.store import Store
from wirefence.fuzz.text import last_words
from wirefence.oracles.records import Finding
from wirefence.targets.command.records import Launch
from wirefence.targets.errors import TargetError

__all__ = ["examine_client", "gate_client", "select_attacks"]

_MOST_WORKERS = 4
"""Plays at once: they mostly wait, but each starts a client."""
_MOST_QUOTED = 80
"""Characters of a client's text that a sentence quotes."""
_CONVENTION = "see docs/gate-client.md for the few lines that a client needs"


def select_attacks(names: Sequence[str]) -> tuple[Attack, ...]:
    """Return the attacks of these names, or all. Raises UsageError for an unknown name."""
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
    terms: ClientTerms | None = None,
) -> Report:
    """Play every attack to a client and return the report.

    Findings are written below ``out`` as they come. ``seconds`` is how long new plays are started.
    Raises TargetError for a client that cannot start or does not pass a good session, and
    UsageError where ``out`` cannot be written.
    """
    store = Store(out)
    store.check_writable()
    terms = terms or _make_terms(options)
    patient = min(terms.start_patience, max(seconds, terms.patience))
    terms = replace(terms, ended=Event(), start_patience=patient)
    runner = _ClientRun(launch, options, budget, store, listener, terms)
    runner.play_good_session()
    reason = runner.run(attacks, seconds)
    return runner.make_report(reason)


def examine_client(launch: Launch, settings: Mapping[str, str], target: str) -> list[Finding]:
    """Return what one attack shows of a client; ``settings`` name attack and place.

    Raises UsageError for unusable settings, TargetError for a client that cannot start.
    """
    options = Options.from_settings(settings, label=target)
    place: ClientPlace = "handshake" if settings.get("at") == "handshake" else "call"
    [attack] = select_attacks([settings["attack"]])
    played = play_attack(launch, attack, place, _make_terms(options))
    return judge_client(played, target, options.profile)


def _make_terms(options: Options) -> ClientTerms:
    return ClientTerms(options.start_patience, options.patience, version=options.protocol)


@dataclass(slots=True)
class _ClientRun:
    """The state of one run."""

    launch: Launch
    options: Options
    budget: Budget
    store: Store
    listener: Listener
    terms: ClientTerms
    began: float = field(default_factory=time.monotonic)
    hide: Redactor = field(init=False)
    artifacts: ClientArtifactWriter = field(init=False)
    facts: Facts = field(init=False)
    tally: Tally = field(default_factory=Tally)
    flaws: dict[str, Flaw] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    reports: bool = False
    played: int = 0
    lost: str = ""
    """Why the run could not go on; ``""`` where it could."""
    left: list[tuple[Attack, ClientPlace]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.hide = Redactor.for_launch(self.launch)

    def play_good_session(self) -> None:
        """Play a good session: learn the client's name and whether it reports results."""
        good = play_attack(self.launch, GOOD, "handshake", replace(self.terms, doubtful=True))
        self.tally.processes += 1
        _require_good(good, self.terms, self.hide)
        self.reports = bool(good.reports)
        version = good.version or "2025-11-25"
        self.facts = Facts(
            self.options.label or name_server(self.launch),
            self.hide.redact_and_shorten(good.name),
            self.hide.redact_and_shorten(good.release),
            version,
            (version,),
            tools=(),
            nominee=None,
            tool=None,
            policy="continue",
            startup=good.seconds,
            peak_bytes=0,
        )
        self.artifacts = ClientArtifactWriter(
            self.store, self.launch, self.options, self.facts, self.hide
        )
        if not self.reports:
            self.notes.append(
                f"The client reports no results, so only its handshake was judged; {_CONVENTION}."
            )

    def run(self, attacks: Sequence[Attack], seconds: float) -> Reason:
        """Play all attacks, several at once, within the time budget; return how the run ended."""
        self.left = [(a, p) for a in attacks for p in self._list_places(a)]
        self.listener(
            RunStarted(self.facts, shown_command(self.launch, self.hide), (), len(self.left))
        )
        with ThreadPoolExecutor(min(_MOST_WORKERS, os.cpu_count() or 1)) as pool:
            try:
                return self._play_all(pool, seconds)
            except KeyboardInterrupt:
                return "interrupted"
            except TargetError as error:
                self.lost = self.hide.redact_text(str(error))
                return "lost"
            finally:  # before the pool is waited for
                self.terms.ended.set()

    def _play_all(self, pool: ThreadPoolExecutor, seconds: float) -> Reason:
        waiting: list[Future[PlayedAttack]] = []
        reason: Reason = "done"
        for attack, place in list(self.left):
            if time.monotonic() - self.began >= seconds:
                reason = "budget"
                break
            waiting.append(pool.submit(play_attack, self.launch, attack, place, self.terms))
            self._take_results(waiting, _MOST_WORKERS)
        self._take_results(waiting, 0)
        return reason

    def _list_places(self, attack: Attack) -> Iterator[ClientPlace]:
        """Yield the places of an attack, a call first: reported results are stronger evidence."""
        if self.reports and "call" in attack.places:
            yield "call"
        if "handshake" in attack.places:
            yield "handshake"

    def _list_skipped(self) -> dict[str, tuple[str, ...]]:
        keys = {place: f"client {PLACES[place]}" for _, place in self.left}
        return {
            key: tuple(attack.name for attack, at in self.left if at == place)
            for place, key in keys.items()
        }

    def _take_results(self, waiting: list[Future[PlayedAttack]], left: int) -> None:
        """Take results in order until at most ``left`` are outstanding."""
        while len(waiting) > left:
            self._judge_play(waiting.pop(0).result())

    def _judge_play(self, played: PlayedAttack) -> None:
        self.tally.processes += 1
        self.played += 1
        self.left.remove((played.attack, played.place))
        findings = judge_client(played, self.facts.label, self.options.profile)
        if played.exercised:
            self._count_play(played, findings)
        for finding in findings:
            signature = finding.signature
            if signature in self.flaws:
                self.flaws[signature] = self._add_trial(self.flaws[signature], played)
            elif self._confirm_play(played, finding):
                self._file_finding(played, finding)
        self.listener(Progress(time.monotonic() - self.began, self.played, len(self.flaws)))

    def _count_play(self, played: PlayedAttack, findings: Sequence[Finding]) -> None:
        key = f"client {played.attack.expected}", PLACES[played.place]
        attempt = self.tally.attempts.get(key, Attempt())
        taken = any(finding.oracle == "client" for finding in findings)
        usable = played.ending == "exited" and _reported_every_answer(played)
        self.tally.attempts[key] = attempt.add_trial(acted=taken, usable=usable)
        self.tally.frames += played.sent.count(b"\n")

    def _confirm_play(self, played: PlayedAttack, finding: Finding) -> bool:
        """Return whether another process shows a finding; it is pending until that ends."""
        signature, signs = finding.signature, self.tally.signs
        sign = Sign(finding, trial_of(played), played.sent, pending=True)
        signs[signature] = sign
        again = play_attack(self.launch, played.attack, played.place, self.terms)
        self.tally.processes += 1
        findings = judge_client(again, self.facts.label, self.options.profile)
        shown = any(each.signature == signature for each in findings)
        if shown:
            del signs[signature]
        else:
            signs[signature] = replace(sign, pending=False)
        return shown

    def _add_trial(self, flaw: Flaw, played: PlayedAttack) -> Flaw:
        name = trial_of(played)
        if name in flaw.trials:
            return flaw
        deviations = (*flaw.deviations, played.attack.name)
        return replace(flaw, trials=(*flaw.trials, name), deviations=deviations)

    def _file_finding(self, played: PlayedAttack, finding: Finding) -> None:
        flaw = self.artifacts.write_finding(played, finding)
        self.flaws[flaw.finding.signature] = flaw
        self.listener(FlawFound(flaw))

    def make_report(self, reason: Reason) -> Report:
        """Return the report of the run."""
        self.tally.skipped = self._list_skipped()
        seconds = time.monotonic() - self.began
        why = "" if self.tally.attempts else "the time was spent before any attack was played"
        sees = "what the client keeps to itself" if self.reports else "results of calls"
        return Report(
            self.facts,
            shown_command(self.launch, self.hide),
            self.hide.redact_env(self.launch.env),
            self.options.profile,
            self.budget,
            tuple(self.flaws.values()),
            self.tally,
            {"wire and results" if self.reports else "wire": sees},
            {},
            seconds,
            reason,
            (*self.notes, *self.artifacts.lost),
            explain_gap(reason, self.tally.skipped, seconds, self.lost)
            or why
            or explain_signs(self.tally.signs.values()),
        )


def _reported_every_answer(played: PlayedAttack) -> bool:
    """Whether the client reported every true answer."""
    if played.place == "handshake" or played.attack.expected == "reject":
        return True
    reported = {each.action for each in played.reports if not each.error}
    return set(played.truth) <= reported


def _require_good(good: PlayedAttack, terms: ClientTerms, hide: Redactor) -> None:
    """Raise TargetError for a client that does not pass a good session."""
    why = last_words(good.stderr)
    if not good.received:
        hung = good.ending == "hung"
        limit = f"within {terms.start_patience:g} s" if hung else f"and ended ({good.status})"
        raise TargetError(
            f"the client started no server {limit}{why}",
            f"it must start $WIREFENCE_SERVER, or {{server}} in its command; {_CONVENTION}",
        )
    if not good.exercised:
        hint = "check that it is an MCP client"
        if b'"server/discover"' in good.received:
            hint = "it seems to speak only 2026-07-28: add --protocol 2026-07-28"
        raise TargetError(f"the client sent no initialize ({good.status}){why}", hint)
    if good.ending != "exited":
        raise TargetError(
            f"the client did not end a good session by itself ({good.ending}){why}",
            f"it must end when its work is done; {_CONVENTION}",
        )
    wrong = [t for t in good.reports if good.truth.get(t.action) not in t.text.split()]
    if wrong:
        raise TargetError(
            f"the client reported {hide.redact_and_shorten(wrong[0].text, _MOST_QUOTED)!r} for "
            f"{hide.redact_and_shorten(wrong[0].action, _MOST_QUOTED)!r} in a good session",
            f"it must report the text of the result of each of {', '.join(ACTIONS)}; {_CONVENTION}",
        )
