"""Records that the stages of the gate exchange: options, trials, findings, the report.

A *trial* is a case with its place in a session. An *observation* is everything that was seen of one
trial. A *flaw* is a confirmed finding with its files. The judge needs only a trial and an
observation, so a pipelined server and a fresh process are judged by the same code.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Literal, TypeVar, get_args

from wirefence.fuzz.errors import UsageError
from wirefence.oracles.records import Finding
from wirefence.strategies.contract import Contract, Policy, Profile, Tool
from wirefence.strategies.records import VERSIONS, Case, Version
from wirefence.targets.command.records import Times
from wirefence.targets.effects.records import Observed
from wirefence.targets.records import Ending

__all__ = [
    "Attempt",
    "Budget",
    "Event",
    "Facts",
    "Flaw",
    "FlawFound",
    "Listener",
    "NominatedTool",
    "Observation",
    "Options",
    "Place",
    "Progress",
    "Reason",
    "Report",
    "RunStarted",
    "SentHistory",
    "SentPart",
    "Sign",
    "Tally",
    "Trial",
]

T = TypeVar("T")
_NO_TIMES = Times()
_MOST_HISTORY, _MOST_PARTS = 1 << 20, 1_024
"""Bytes and trials that are kept of what a process was sent: nobody reads a longer reproducer."""
Place = Literal["before", "within", "after", "end"]
"""Where a session has the bad frame: before, within or after the handshake, or as the last
bytes."""

Budget = Literal["quick", "release", "nightly"]

Reason = Literal["done", "budget", "interrupted", "lost"]
"""How a run ended. ``lost``: no server process could be started or opened any more."""


@dataclass(frozen=True, slots=True)
class NominatedTool:
    """A tool that the gate may call, and its arguments.

    ``arguments`` is JSON text in which ``{nonce}`` marks the place of the action name.
    """

    name: str
    arguments: str = "{}"

    @property
    def carries_name(self) -> bool:
        """Whether the arguments carry the action name to the tool."""
        return "{nonce}" in self.arguments


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one gate run.

    ``policy`` is what the server documents about a session after a rejected frame; ``None``: probe
    it. ``protocol`` is the version to ask for; ``None``: the newest that the server speaks.
    ``patience`` is the time-out of one reply in seconds, ``start_patience`` that of the first
    reply. ``effects`` names the recorders to use; empty: all that are available. ``watch`` holds
    folders in which created or changed files count as effects. ``label`` names the server in
    signatures; ``""``: its own name, else that of its command.
    """

    profile: Profile = "strict"
    policy: Policy | None = None
    protocol: Version | None = None
    nominee: NominatedTool | None = None
    expected_tools: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    watch: tuple[Path, ...] = ()
    patience: float = 5.0
    start_patience: float = 30.0
    seed: int = 0
    label: str = ""

    def as_settings(self) -> dict[str, str]:
        """Return the options that decide the judgement of a case, as text for its metadata."""
        values = {
            "profile": self.profile,
            "policy": self.policy or "",
            "protocol": self.protocol or "",
            "tool": self.nominee.name if self.nominee else "",
            "args": self.nominee.arguments if self.nominee else "",
            "effects": ",".join(self.effects),
            "watch": os.pathsep.join(map(str, self.watch)),
            "patience": f"{self.patience:g}",
            "start-patience": f"{self.start_patience:g}",
            "expect-tool": ",".join(self.expected_tools),
        }
        return {name: value for name, value in values.items() if value}

    @classmethod
    def from_settings(cls, settings: Mapping[str, str], label: str = "") -> Options:
        """Read the options that :meth:`as_settings` wrote. Raises UsageError for unusable ones."""
        get = settings.get
        try:
            return cls(
                _one_of(get("profile", "strict"), get_args(Profile)),
                _one_of(get("policy"), get_args(Policy)) if get("policy") else None,
                _one_of(get("protocol"), VERSIONS) if get("protocol") else None,
                NominatedTool(settings["tool"], get("args", "{}")) if get("tool") else None,
                _split_list(get("expect-tool", "")),
                _split_list(get("effects", "")),
                tuple(map(Path, filter(None, get("watch", "").split(os.pathsep)))),
                float(get("patience", "5")),
                float(get("start-patience", "30")),
                label=label,
            )
        except ValueError as error:
            raise UsageError(
                f"unusable options of the gate ({error})", "correct the .json file"
            ) from error


def _split_list(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))


def _one_of(value: str | None, choices: tuple[T, ...]) -> T:
    found = next((each for each in choices if each == value), None)
    if found is None:
        raise ValueError(f"{value!r} is not one of {', '.join(map(str, choices))}")
    return found


@dataclass(frozen=True, slots=True)
class Facts:
    """What discovery learned about the server.

    ``versions`` are the protocol versions that it speaks. ``tool`` is the declaration of the called
    tool. ``startup`` is the time to the first reply in seconds, ``startup_cpu`` the CPU seconds of
    the server's processes in that time. ``promised`` are the methods of requests that it must know:
    its capabilities promise them, or the gate sends them.
    """

    label: str
    name: str
    release: str
    version: Version
    versions: tuple[Version, ...]
    tools: tuple[str, ...]
    nominee: NominatedTool | None
    tool: Tool | None
    policy: Policy
    startup: float
    peak_bytes: int
    startup_cpu: float = 0.0
    promised: tuple[str, ...] = ()

    def make_contract(self, profile: Profile, version: Version | None = None) -> Contract:
        """Return the terms by which a session with this server is judged."""
        tools = (self.tool,) if self.tool else ()
        served = frozenset(self.promised if version in (None, self.version) else ())
        return Contract(version or self.version, profile, self.policy, tools, served=served)


@dataclass(frozen=True, slots=True)
class Trial:
    """One case and its place in a session.

    ``case`` is a complete stdin. ``warm`` says that a running server can be sent the trial; it then
    gets only the bytes after the first ``opening`` ones, which are the handshake. ``name`` is the
    damage operator or the idea. ``eof`` says that stdin ends with the case. ``number`` is part of
    all names in the trial. ``parts`` are the trials that share this one's process: each runs alone
    if the whole shows anything.
    """

    name: str
    family: str
    place: Place
    case: Case
    opening: int = 0
    eof: bool = False
    number: int = 0
    warm: bool = False
    parts: tuple[Trial, ...] = ()


@dataclass(frozen=True, slots=True)
class SentPart:
    """One trial as a server process was sent it, without a handshake and with a sentinel."""

    number: int
    data: bytes


@dataclass(slots=True)
class SentHistory:
    """The last trials that one server process was sent, in order; older ones are forgotten."""

    _parts: deque[SentPart] = field(default_factory=deque)
    _size: int = 0

    def add_part(self, number: int, data: bytes) -> None:
        """Note a trial as sent."""
        self._parts.append(SentPart(number, data))
        self._size += len(data)
        while self._size > _MOST_HISTORY or len(self._parts) > _MOST_PARTS:
            self._size -= len(self._parts.popleft().data)

    def list_before(self, number: int) -> tuple[SentPart, ...]:
        """Return the trials that were sent before one; all of them if it was not sent."""
        return tuple(takewhile(lambda part: part.number != number, self._parts))


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """Everything observed of one trial: raw lines of stdout, effects, and how the process ended.

    ``tail`` is what stdout held after its last LF. ``complete``: every reply that is owed came.
    ``alive``: the server still answered afterwards. ``ending`` describes a process that ended by
    itself or hung, ``status`` its exit status. ``since`` counts the bytes of the case that were not
    sent because a running server already had its handshake. ``fresh``: the process was sent nothing
    else. ``hurried``: a reply was given less than its full time-out. ``times`` are known only for a
    process whose output is recorded from its first byte. ``stderr`` of a process that
    ended by itself holds no secrets, as a crash is named after it. ``history`` is what a running
    server had been sent before; ``None`` for a process of its own.
    """

    lines: tuple[bytes, ...]
    tail: bytes = b""
    effects: tuple[Observed, ...] = ()
    complete: bool = True
    alive: bool = True
    ending: Ending = "open"
    status: str = ""
    stderr: bytes = b""
    stdin: bytes = b""
    peak_bytes: int = 0
    seconds: float = 0.0
    since: int = 0
    fresh: bool = False
    hurried: bool = False
    times: Times = _NO_TIMES
    history: SentHistory | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """How often something was tried, and how often it acted or left the server unusable."""

    sent: int = 0
    acted: int = 0
    unusable: int = 0

    def add_trial(self, *, acted: bool, usable: bool) -> Attempt:
        """Return the counts with one more trial."""
        return Attempt(self.sent + 1, self.acted + acted, self.unusable + (not usable))


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign of a fault that was seen ``count`` times and not confirmed.

    ``trial`` and ``sent`` are the trial that showed it and its bytes, raw. ``pending``: there was
    no time to run it again; else it was not shown again. ``known``: a baseline accepts it.
    """

    finding: Finding
    trial: str
    sent: bytes
    count: int = 1
    pending: bool = False
    known: bool = False


@dataclass(slots=True)
class Tally:
    """What was exercised: trials by family and place, frames, processes, and what was skipped.

    ``skipped`` names planned trials
    that did not run, by ``"FAMILY PLACE"``. ``signs`` are what no fresh process showed again, or
    what there was no time to run again, by signature. ``uncounted`` counts by signature what a
    pipelined server cannot tell: a reply that was given little time, effects between two looks.
    """

    attempts: dict[tuple[str, str], Attempt] = field(default_factory=dict)
    frames: int = 0
    processes: int = 0
    skipped: dict[str, tuple[str, ...]] = field(default_factory=dict)
    signs: dict[str, Sign] = field(default_factory=dict)
    uncounted: dict[str, int] = field(default_factory=dict)

    @property
    def unconfirmed(self) -> dict[str, int]:
        """How often each sign was seen that was run again and not shown."""
        return {name: sign.count for name, sign in self.signs.items() if not sign.pending}

    @property
    def pending(self) -> dict[str, int]:
        """How often each sign was seen that there was no time to run again."""
        return {name: sign.count for name, sign in self.signs.items() if sign.pending}


@dataclass(frozen=True, slots=True)
class Flaw:
    """A confirmed finding with everything a maintainer needs.

    ``offending`` are the first offending bytes, raw. ``path`` is the reproducer; ``transcript`` and
    ``stderr`` are files beside it; ``replay`` is the command line that reproduces it. ``trials``
    names the trials that showed it, ``deviations`` what was wrong with each of them.
    """

    finding: Finding
    trial: str
    place: Place
    case: Case
    offending: bytes
    path: str
    transcript: str
    stderr: str
    replay: str
    trials: tuple[str, ...] = ()
    deviations: tuple[str, ...] = ()
    known: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one gate run.

    ``command`` and ``changes`` are the launch with secrets redacted. ``recorders`` maps each active
    recorder to what it cannot see, ``absent`` each inactive one to the reason. ``gap`` says why the
    run is no pass even without findings; ``""`` where there is no reason.
    """

    facts: Facts
    command: str
    changes: Mapping[str, str]
    profile: Profile
    budget: Budget
    flaws: tuple[Flaw, ...]
    tally: Tally
    recorders: Mapping[str, str]
    absent: Mapping[str, str]
    seconds: float
    reason: Reason = "done"
    notes: tuple[str, ...] = ()
    gap: str = ""


@dataclass(frozen=True, slots=True)
class RunStarted:
    """Event: the server is known, and trials begin."""

    facts: Facts
    command: str
    recorders: tuple[str, ...]
    trials: int


@dataclass(frozen=True, slots=True)
class Progress:
    """Event: seconds since the start, trials done, and flaws found so far."""

    seconds: float
    trials: int
    flaws: int


@dataclass(frozen=True, slots=True)
class FlawFound:
    """Event: a flaw was confirmed in a fresh process and written to disk."""

    flaw: Flaw


Event = RunStarted | Progress | FlawFound
Listener = Callable[[Event], None]
