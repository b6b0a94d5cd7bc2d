"""The stdout validator against a second reader of its lines: ``fuzz_transcript``.

The key insight: a transcript is judged line by line from raw bytes, so what its validator calls
JSON can be compared with what parsers that share no code with it read, and nothing that a server
writes may make it fail.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from wirefence.fuzz.coverage.behaviour import Note
from wirefence.fuzz.coverage.mutator import Form
from wirefence.fuzz.examination.examiner import Examiner
from wirefence.fuzz.examination.plan import known_quirks
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.oracles.records import Finding
from wirefence.oracles.transcript import lines_of, transcript
from wirefence.oracles.transcript_judge import judge_reply
from wirefence.strategies.records import VERSIONS, Case
from wirefence.targets.parsers.configs import BY_NAME
from wirefence.targets.records import Trace

__all__ = ["READERS", "TranscriptCheck"]

READERS = ("json", "orjson", "json[strict]")
"""Independent readers of a line: two common ones, and one of the strict profile."""


def _examiner() -> Examiner:
    return Examiner([BY_NAME[name] for name in READERS], (), known_quirks())


@dataclass(slots=True)
class TranscriptCheck:
    """Judges the input as the stdout of a server of every version."""

    note: Note
    examiner: Examiner = field(default_factory=_examiner)
    form: Form = "session"
    valid: int = 0
    calls: int = 0

    def case(self, data: bytes) -> Case:
        """The transcript as it stands."""
        return case_from_bytes(data)

    def __call__(self, data: bytes) -> list[Finding]:
        """Validate the transcript for each version, then compare readings of each line."""
        kinds: list[tuple[int, tuple[str, ...]]] = []
        for version in VERSIONS:
            said = [judge_reply(line, version) for line in lines_of(data)]
            found = transcript(Trace("transcript", data, ()), said)
            kinds.append((len(found), tuple(sorted({each.rule or each.kind for each in said}))))
        self.note(tuple(kinds))
        self.valid += not any(each.startswith(("json", "utf8")) for each in kinds[0][1])
        return [
            each
            for line in dict.fromkeys(data.split(b"\n"))
            for each in self.examiner.examine_document(line)
        ]
