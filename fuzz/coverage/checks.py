"""What each libFuzzer target does with an input: from raw bytes to findings.

Everything beside the bytes (which gateway, where the writer pauses) is a function of the bytes. So
an input file alone replays a finding.
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
from wirefence.fuzz.examination.plan import Plan, build_examiner, load_known_quirks
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.oracles.records import Finding
from wirefence.strategies.contract import Contract
from wirefence.strategies.records import VERSIONS, Case
from wirefence.targets.parsers.configs import ParserConfig
from wirefence.targets.planted import BY_NAME as PLANTED
from wirefence.targets.planted.reading import MinusZero
from wirefence.targets.planted.records import Rejected

__all__ = ["NAMES", "Check", "Name", "SessionCheck", "choose_cuts", "find_version", "make_check"]

Name = Literal["fuzz_parsers", "fuzz_gateway", "fuzz_session", "fuzz_judge", "fuzz_transcript"]
NAMES: tuple[Name, ...] = get_args(Name)

_VERSION = re.compile(rb'rotocolVersion"\s*:\s*"([0-9-]{10})"')
_VERSIONS = {version.encode(): version for version in VERSIONS}
_LAST_HANDSHAKE = VERSIONS[-2]


class Check(Protocol):
    """One target: ``valid`` counts JSON inputs, ``calls`` those with an accepted call."""

    form: Form
    valid: int
    calls: int

    def __call__(self, data: bytes) -> list[Finding]:
        """Run one input; return its findings."""

    def make_case(self, data: bytes) -> Case:
        """Return the input as a case, with version and cuts."""


def find_version(data: bytes) -> str:
    """Return the first protocol version in the input, else the last one with a handshake."""
    named = _VERSION.search(data)
    return _VERSIONS.get(named[1] if named else b"", _LAST_HANDSHAKE)


def choose_cuts(data: bytes) -> list[int]:
    """Choose where the writer pauses: nowhere, at a few places, or before every byte."""
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
    """Runs a session through gateways, with every oracle.

    Each input runs through one group of the examiner's gateways, chosen by its bytes. With ``cut``
    the writer pauses. ``only`` limits the oracles, by name.
    """

    examiner: Examiner
    note: Note
    cut: bool = False
    only: frozenset[str] = frozenset()
    form: Form = "session"
    valid: int = 0
    calls: int = 0

    def make_case(self, data: bytes) -> Case:
        """Return the input as a case: version by its content, pauses by its checksum."""
        return case_from_bytes(
            data, protocol=find_version(data), cuts=choose_cuts(data) if self.cut else []
        )

    def __call__(self, data: bytes) -> list[Finding]:
        """Examine one session."""
        case, tally = self.make_case(data), self.examiner.tally
        tally.rules.clear()
        tally.effects = tally.frames = 0
        found = self.examiner.examine_case(case, zlib.crc32(data))
        self.calls += tally.effects > 0
        self.valid += _is_mostly_json(tally.rules)
        self.note((tuple(sorted(tally.rules)), min(tally.effects, 4), min(tally.frames, 9)))
        return [each for each in found if each.oracle in self.only] if self.only else found


def _is_mostly_json(rules: Mapping[str, int]) -> bool:
    bad = sum(n for rule, n in rules.items() if rule.startswith(("json-syntax", "utf8", "frame")))
    return 2 * bad < sum(rules.values())


def make_check(name: str, targets: Sequence[str], note: Note) -> Check:
    """Return the check of a libFuzzer target for ``targets`` named as on the command line.

    Without ``targets``, uses the target's default. Raises UsageError for unknown names.
    """
    if name not in _CHECKS:
        raise UsageError(f"there is no fuzz target {name!r}", f"use one of {', '.join(NAMES)}")
    return _CHECKS[name](tuple(targets), note)


def _make_parsers_check(targets: tuple[str, ...], note: Note) -> Check:
    configs: dict[str, ParserConfig] = {}
    for name in targets or ("parsers",):
        if name.startswith("planted:"):
            configs[name] = make_planted_parser(name)
        else:
            configs.update((c.name, c) for c in build_examiner(Plan((name,))).parsers)
    if not configs:
        raise UsageError("fuzz_parsers was given no parser", "name parsers of docs/parsers.md")
    return DocumentCheck(Examiner(tuple(configs.values()), (), load_known_quirks()), note)


def make_planted_parser(name: str) -> ParserConfig:
    """Return the document stage of a planted gateway as a strict parser."""
    fault = name.partition(":")[2]
    if fault not in PLANTED:
        raise UsageError(f"there is no planted fault {fault!r}", "see docs/planted.md")
    reader: Any = PLANTED[fault].factory(_ignore_call, Contract())

    def parse(raw: bytes) -> object:
        return _strip_minus_zero(reader.parse(reader.decode(raw)))

    return ParserConfig(name, "planted", "read", parse, (Rejected,), strict=True)


def _strip_minus_zero(value: Any) -> object:
    """Return a value without the mark that distinguishes the id ``-0`` from ``0``."""
    if isinstance(value, list):
        return [_strip_minus_zero(item) for item in value]
    if isinstance(value, dict):
        return {name: _strip_minus_zero(member) for name, member in value.items()}
    return 0 if isinstance(value, MinusZero) else value


def _ignore_call(tool: str, arguments: Mapping[str, object]) -> None:
    """Ignore a call: an executor for a gateway that only parses."""


def _make_gateway_groups(targets: tuple[str, ...]) -> Sequence[Sequence[GatewayTarget]]:
    groups = build_examiner(Plan(targets or ("gateway",))).gateways
    if not groups:
        raise UsageError(
            "there is no gateway among the targets", "name gateway, planted:NAME or module:factory"
        )
    return groups


def _make_gateway_check(targets: tuple[str, ...], note: Note) -> Check:
    return SessionCheck(Examiner((), [group[:1] for group in _make_gateway_groups(targets)]), note)


def _make_session_check(targets: tuple[str, ...], note: Note) -> Check:
    return SessionCheck(Examiner((), _make_gateway_groups(targets)), note, cut=True)


def _make_judge_check(targets: tuple[str, ...], note: Note) -> Check:
    if targets:
        return SessionCheck(Examiner((), _make_gateway_groups(targets)), note)
    # One group: the judge under both profiles, beside the gateway under both policies.
    group = [
        each for made in _make_gateway_groups(("reference", "reference/spec")) for each in made
    ]
    return SessionCheck(Examiner((), [group]), note)


def _make_transcript_check(targets: tuple[str, ...], note: Note) -> Check:
    if targets:
        examiner = Examiner((), _make_gateway_groups(targets))
        return SessionCheck(examiner, note, only=frozenset({"transcript"}))
    return TranscriptCheck(note)


_CHECKS: dict[str, Callable[[tuple[str, ...], Note], Check]] = {
    "fuzz_parsers": _make_parsers_check,
    "fuzz_gateway": _make_gateway_check,
    "fuzz_session": _make_session_check,
    "fuzz_judge": _make_judge_check,
    "fuzz_transcript": _make_transcript_check,
}
