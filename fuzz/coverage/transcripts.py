"""Compare the stdout validator with independent parsers: ``fuzz_transcript``.

A transcript is judged line by line from raw bytes. So what the validator calls JSON can be compared
with parsers that share no code with it, and no output of a server may make it fail.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from wirefence.fuzz.coverage.behaviour import Note
from wirefence.fuzz.coverage.mutator import Form
from wirefence.fuzz.examination.examiner import Examiner
from wirefence.fuzz.examination.plan import load_known_quirks
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.oracles.records import Finding
from wirefence.oracles.transcript import find_offences, lines_of
from wirefence.oracles.transcript_judge import judge_reply
from wirefence.strategies.records import VERSIONS, Case
from wirefence.targets.parsers.configs import BY_NAME

__all__ = ["READERS", "TranscriptCheck"]

READERS = ("json", "orjson", "json[strict]")
"""Independent parsers of a line: two common ones, and one of the strict profile."""


def _make_examiner() -> Examiner:
    return Examiner([BY_NAME[name] for name in READERS], (), load_known_quirks())


@dataclass(slots=True)
class TranscriptCheck:
    """Judges the input as the stdout of a server, for every version."""

    note: Note
    examiner: Examiner = field(default_factory=_make_examiner)
    form: Form = "session"
    valid: int = 0
    calls: int = 0

    def make_case(self, data: bytes) -> Case:
        """Return the transcript as a case."""
        return case_from_bytes(data)

    def __call__(self, data: bytes) -> list[Finding]:
        """Validate the transcript for each version, then compare all parsers on each line."""
        kinds: list[tuple[int, tuple[str, ...]]] = []
        for version in VERSIONS:
            said = [judge_reply(line, version) for line in lines_of(data)]
            tail = data[data.rfind(b"\n") + 1 :]
            found = find_offences("transcript", lines_of(data), said, tail)
            kinds.append((len(found), tuple(sorted({each.rule or each.kind for each in said}))))
        self.note(tuple(kinds))
        self.valid += not any(each.startswith(("json", "utf8")) for each in kinds[0][1])
        return [
            each
            for line in dict.fromkeys(data.split(b"\n"))
            for each in self.examiner.examine_document(line)
        ]
