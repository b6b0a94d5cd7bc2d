"""What the stages of the gate hand each other.

The key insight: a *trial* is a case with its place in a session, *seen* is everything observed of
one trial, and a *flaw* is a finding with all that a maintainer needs to act on it. The judgement of
a trial needs nothing but the first two, so it is the same for a warm session and a fresh process.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
    "Tally",
    "Trial",
]

T = TypeVar("T")
_NO_TIMES = Times()
Place = Literal["before", "within", "after", "end"]
"""Where the bad frame stands: before, within or after the handshake, or as the last thing sent."""

Budget = Literal["quick", "release", "nightly"]

Reason = Literal["done", "budget", "interrupted", "lost"]
"""How a run ended: ``lost`` where no process came to run any more that could be talked to."""


@dataclass(frozen=True, slots=True)
class NominatedTool:
    """A tool that may be called, and its arguments.

    ``arguments`` is JSON text in which ``{nonce}`` marks where the action name goes.
    """

    name: str
    arguments: str = "{}"

    @property
    def carries_name(self) -> bool:
        """Whether the action name reaches the tool."""
        return "{nonce}" in self.arguments


@dataclass(frozen=True, slots=True)
class Options:
    """How the gate is to go about it.

    ``policy`` is what the server documents about a session after a rejected frame; ``None`` to find
    out. ``protocol`` is the version to ask for, ``None`` for the newest that the server speaks.
    ``patience`` is in seconds and for one reply, ``start_patience`` for the first one. ``effects``
    names the recorders to use; empty for those that are available. ``watch`` holds folders in which
    files that appear or change are effects. ``label`` is the name of the
    server in signatures, ``""`` to take it from the command.
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
        """What decides the judgement of one case, as text to be kept beside its bytes."""
        said = {
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
        return {name: value for name, value in said.items() if value}

    @classmethod
    def from_settings(cls, settings: Mapping[str, str], label: str = "") -> Options:
        """Read the options that :meth:`as_settings` wrote. Raises UsageError for unusable ones."""
        said = settings.get
        try:
            return cls(
                _one_of(said("profile", "strict"), get_args(Profile)),
                _one_of(said("policy"), get_args(Policy)) if said("policy") else None,
                _one_of(said("protocol"), VERSIONS) if said("protocol") else None,
                NominatedTool(settings["tool"], said("args", "{}")) if said("tool") else None,
                _split_list(said("expect-tool", "")),
                _split_list(said("effects", "")),
                tuple(map(Path, filter(None, said("watch", "").split(os.pathsep)))),
                float(said("patience", "5")),
                float(said("start-patience", "30")),
                label=label,
            )
        except ValueError as error:
            raise UsageError(f"unusable options of the gate ({error})", "mend the .json") from error


def _split_list(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))


def _one_of(value: str | None, choices: tuple[T, ...]) -> T:
    found = next((each for each in choices if each == value), None)
    if found is None:
        raise ValueError(f"{value!r} is none of {', '.join(map(str, choices))}")
    return found


@dataclass(frozen=True, slots=True)
class Facts:
    """What the server told about itself in a good session, and how it takes a bad frame.

    ``versions`` are the protocol versions that it speaks. ``tool`` is the declaration of the tool
    that is called; ``declared`` is false where its schema says more than the judge can, so that
    what the judge thinks of arguments doesn't count. ``startup`` is the time to the first reply, in
    seconds, and ``startup_cpu`` what of it the server's processes computed.
    """

    label: str
    name: str
    release: str
    version: Version
    versions: tuple[Version, ...]
    tools: tuple[str, ...]
    nominee: NominatedTool | None
    tool: Tool | None
    declared: bool
    policy: Policy
    startup: float
    peak_bytes: int
    startup_cpu: float = 0.0

    def make_contract(self, profile: Profile, version: Version | None = None) -> Contract:
        """The terms by which a session with this server is judged."""
        tools = (self.tool,) if self.tool else ()
        return Contract(version or self.version, profile, self.policy, tools)


@dataclass(frozen=True, slots=True)
class Trial:
    """One case and its place in a session.

    ``case`` is a complete stdin. ``opening`` counts the bytes of its handshake where that comes
    first and whole, so that a warm session, which has had one, is sent only what follows; ``warm``
    says that it can be sent to one. ``name`` is the damage or the idea; ``eof`` says that stdin
    ends with the case. ``number`` is that of its names, ``origin`` that of the trial that it is a
    copy of, 0 for none. ``parts`` are the trials that share this one's process: each is
    run alone where the whole shows anything.
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
    origin: int = 0


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything observed of one trial: raw lines of stdout, effects, and how it ended.

    ``tail`` is what stdout held after its last LF. ``complete`` says that every reply came that was
    waited for; ``alive`` that the server still answered afterwards. ``ending`` is of a process that
    ended by itself, or hung; ``status`` says how. ``since`` counts the bytes of the case that were
    not sent, since a living server has had its handshake; ``fresh`` says that the process was sent
    nothing else, ``hurried`` that a reply was not given all the time that it may take. ``times``
    are those of a process whose output is here from its first byte.
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


@dataclass(frozen=True, slots=True)
class Attempt:
    """How often something was tried, and the two verdicts, which are independent of each other."""

    sent: int = 0
    acted: int = 0
    unusable: int = 0

    def add_trial(self, *, acted: bool, usable: bool) -> Attempt:
        return Attempt(self.sent + 1, self.acted + acted, self.unusable + (not usable))


@dataclass(slots=True)
class Tally:
    """What was exercised: trials by family and place, frames, processes, and what was left out.

    ``copies`` counts trials that were sent again under new names, which is all that is told of
    them. ``skipped`` names the trials that were planned and not run, by ``"FAMILY PLACE"``.
    ``unconfirmed`` counts by signature what a fresh process did not show again, ``pending`` what
    there was no time to run again.
    """

    attempts: dict[tuple[str, str], Attempt] = field(default_factory=dict)
    frames: int = 0
    copies: int = 0
    processes: int = 0
    skipped: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unconfirmed: dict[str, int] = field(default_factory=dict)
    pending: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Flaw:
    """A confirmed finding with everything a maintainer needs.

    ``offending`` are the first offending bytes, raw. ``path`` is the reproducer, ``transcript`` and
    ``stderr`` are files beside it, and ``replay`` is the one line that shows it again. ``trials``
    names what led to it.
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
    known: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """The whole result of one gate.

    ``command`` and ``changes`` are the launch with secrets redacted. ``recorders`` maps the name of
    each recorder that was on to what it can't see, ``absent`` those that were not on to the reason.
    ``gap`` says why the run is no pass though it may have found nothing, ``""`` where it is one.
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
    """The server is known, and trials begin."""

    facts: Facts
    command: str
    recorders: tuple[str, ...]
    trials: int


@dataclass(frozen=True, slots=True)
class Progress:
    """So far: seconds since the start, trials done, and flaws found."""

    seconds: float
    trials: int
    flaws: int


@dataclass(frozen=True, slots=True)
class FlawFound:
    """A flaw, confirmed in a fresh process and on disk."""

    flaw: Flaw


Event = RunStarted | Progress | FlawFound
Listener = Callable[[Event], None]
