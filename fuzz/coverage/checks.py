"""What each libFuzzer target does with an input: from raw bytes to findings.

The key insight: everything that an input does not say in so many bytes (which parser, where the
writer pauses) is a function of those bytes, so that a file replays by itself.
"""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

from wirefence.fuzz.coverage.behaviour import Note
from wirefence.fuzz.coverage.documents import DocumentCheck
from wirefence.fuzz.coverage.mutator import Form
from wirefence.fuzz.coverage.transcripts import TranscriptCheck
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.examination.examiner import Examiner, GatewayTarget
from wirefence.fuzz.examination.plan import Plan, build, known_quirks
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.oracles.records import Finding
from wirefence.strategies.contract import Contract
from wirefence.strategies.records import VERSIONS, Case
from wirefence.targets.parsers.configs import ParserConfig
from wirefence.targets.planted import BY_NAME as PLANTED
from wirefence.targets.planted.reading import MinusZero
from wirefence.targets.planted.records import Rejected

__all__ = ["NAMES", "Check", "Name", "SessionCheck", "check_of", "cuts_of", "version_of"]

Name = Literal["fuzz_parsers", "fuzz_gateway", "fuzz_session", "fuzz_judge", "fuzz_transcript"]
NAMES: tuple[Name, ...] = get_args(Name)

_VERSION = re.compile(rb'rotocolVersion"\s*:\s*"([0-9-]{10})"')
_VERSIONS = {version.encode(): version for version in VERSIONS}
_LAST_HANDSHAKE = VERSIONS[-2]


class Check(Protocol):
    """One target. ``valid`` counts inputs that are JSON, ``calls`` those with an accepted call."""

    form: Form
    valid: int
    calls: int

    def __call__(self, data: bytes) -> list[Finding]:
        """Run one input; return what is wrong with how the targets took it."""

    def case(self, data: bytes) -> Case:
        """The input as it is saved: with its version and cuts."""


def version_of(data: bytes) -> str:
    """The protocol version that the input names first, else the last one with a handshake."""
    named = _VERSION.search(data)
    return _VERSIONS.get(named[1] if named else b"", _LAST_HANDSHAKE)


def cuts_of(data: bytes) -> list[int]:
    """Where the writer pauses: nowhere, at a few places, or before every byte."""
    digest = zlib.crc32(data)
    way, size = digest & 3, len(data)
    if size < 2 or way == 0:
        return []
    if way == 1 and size <= 600:
        return list(range(1, size))
    places = random.Random(digest)
    return sorted({places.randrange(1, size) for _ in range(1 + way)})


@dataclass(slots=True)
class SessionCheck:
    """A session through gateways, under every oracle.

    Each input meets one group of the examiner's gateways, chosen by its bytes. ``cut`` says whether
    the writer pauses. ``only`` limits the oracles, by name.
    """

    examiner: Examiner
    note: Note
    cut: bool = False
    only: frozenset[str] = frozenset()
    form: Form = "session"
    valid: int = 0
    calls: int = 0

    def case(self, data: bytes) -> Case:
        """The input as a case: version by its content, pauses by its checksum."""
        return case_from_bytes(
            data, protocol=version_of(data), cuts=cuts_of(data) if self.cut else []
        )

    def __call__(self, data: bytes) -> list[Finding]:
        """Examine one session."""
        case, tally = self.case(data), self.examiner.tally
        tally.rules.clear()
        tally.effects = tally.frames = 0
        found = self.examiner.examine(case, zlib.crc32(data))
        self.calls += tally.effects > 0
        self.valid += _mostly_json(tally.rules)
        self.note((tuple(sorted(tally.rules)), min(tally.effects, 4), min(tally.frames, 9)))
        return [each for each in found if each.oracle in self.only] if self.only else found


def _mostly_json(rules: Mapping[str, int]) -> bool:
    bad = sum(n for rule, n in rules.items() if rule.startswith(("json-syntax", "utf8", "frame")))
    return 2 * bad < sum(rules.values())


def check_of(name: str, targets: Sequence[str], note: Note) -> Check:
    """The check of a libFuzzer target over ``targets`` as they are named on the command line.

    Without ``targets``, those of the target's own stage. Raises UsageError for names that mean
    nothing to it.
    """
    if name not in _CHECKS:
        raise UsageError(f"there is no fuzz target {name!r}", f"use one of {', '.join(NAMES)}")
    return _CHECKS[name](tuple(targets), note)


def _parsers(targets: tuple[str, ...], note: Note) -> Check:
    configs: dict[str, ParserConfig] = {}
    for name in targets or ("parsers",):
        if name.startswith("planted:"):
            configs[name] = planted_reader(name)
        else:
            configs.update((c.name, c) for c in build(Plan((name,))).parsers)
    if not configs:
        raise UsageError("fuzz_parsers was given no parser", "name parsers of docs/parsers.md")
    return DocumentCheck(Examiner(tuple(configs.values()), (), known_quirks()), note)


def planted_reader(name: str) -> ParserConfig:
    """The document stage of a planted gateway as a parser of the strict profile."""
    fault = name.partition(":")[2]
    if fault not in PLANTED:
        raise UsageError(f"there is no planted fault {fault!r}", "see docs/planted.md")
    reader: Any = PLANTED[fault].factory(_ignore, Contract())

    def parse(raw: bytes) -> object:
        return _plain(reader.parse(reader.decode(raw)))

    return ParserConfig(name, "planted", "read", parse, (Rejected,), strict=True)


def _plain(value: Any) -> object:
    """A value without the mark that tells ``-0`` from ``0`` as an id."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    return 0 if isinstance(value, MinusZero) else value


def _ignore(tool: str, arguments: Mapping[str, object]) -> None:
    """An executor for what only reads."""


def _groups(targets: tuple[str, ...]) -> Sequence[Sequence[GatewayTarget]]:
    groups = build(Plan(targets or ("gateway",))).gateways
    if not groups:
        raise UsageError(
            "there is no gateway among the targets", "name gateway, planted:NAME or module:factory"
        )
    return groups


def _gateway(targets: tuple[str, ...], note: Note) -> Check:
    return SessionCheck(Examiner((), [group[:1] for group in _groups(targets)]), note)


def _session(targets: tuple[str, ...], note: Note) -> Check:
    return SessionCheck(Examiner((), _groups(targets)), note, cut=True)


def _judge(targets: tuple[str, ...], note: Note) -> Check:
    if targets:
        return SessionCheck(Examiner((), _groups(targets)), note)
    # One group: the judge under both profiles, beside the gateway under both policies.
    group = [each for made in _groups(("reference", "reference/spec")) for each in made]
    return SessionCheck(Examiner((), [group]), note)


def _transcript(targets: tuple[str, ...], note: Note) -> Check:
    if targets:
        examiner = Examiner((), _groups(targets))
        return SessionCheck(examiner, note, only=frozenset({"transcript"}))
    return TranscriptCheck(note)


_CHECKS: dict[str, Callable[[tuple[str, ...], Note], Check]] = {
    "fuzz_parsers": _parsers,
    "fuzz_gateway": _gateway,
    "fuzz_session": _session,
    "fuzz_judge": _judge,
    "fuzz_transcript": _transcript,
}
