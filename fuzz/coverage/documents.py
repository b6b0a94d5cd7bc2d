"""Run documents through every parser at once: the inner loop of ``fuzz_parsers``.

Parsers that agree with each other are nearly always right, and comparing their typed bytes is
cheap. The judge runs only if they differ, and on a sample. The examiner decides what is a finding,
as in every other command.
"""

from __future__ import annotations

import marshal
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from wirefence.fuzz.coverage.behaviour import Note
from wirefence.fuzz.coverage.mutator import Form
from wirefence.fuzz.examination.examiner import Examiner
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.oracles.records import Finding
from wirefence.strategies.records import Case
from wirefence.targets.parsers.outcomes import is_dangerous

__all__ = ["DocumentCheck"]

_SAMPLE = 63
"""Mask of a checksum: one agreeing document in 64 goes to the judge."""
_EXPLAINED_SAMPLE = 31
"""Mask of a checksum: one document in 32 with a known kind of difference goes to the judge."""
_ENOUGH = 2
"""Documents of one kind of difference that always go to the judge."""
_REMEMBERED = 100_000
"""Kinds, and messages, that are remembered, to bound memory."""
_DEEP_SAMPLE = 127
"""Mask of a checksum: one deep document in 128 runs, since each costs a process."""
_NO_DIGITS = {ord(digit): None for digit in "0123456789"}
_SHOWN = 48
"""Characters of a message that identify it."""
_Parse = Callable[[bytes], Any]
_MESSAGES = 4
"""Outcomes that describe a document that all parsers reject."""
_NO = "no"
_Answer = bytes | str
_Kind = tuple[object, ...]
_Row = tuple[_Parse, tuple[type[BaseException], ...]]


@dataclass(slots=True)
class DocumentCheck:
    """Runs each line of an input as one document through every parser of ``examiner``."""

    examiner: Examiner
    note: Note
    form: Form = "document"
    valid: int = 0
    calls: int = 0
    _rows: list[_Row] = field(default_factory=list)
    _explained: dict[_Kind, int] = field(default_factory=dict)
    _sorts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._rows = [(config.parse, config.documented) for config in self.examiner.parsers]

    def make_case(self, data: bytes) -> Case:
        """Return the documents as frames; an LF is added to the last one."""
        return case_from_bytes(data if data.endswith(b"\n") else data + b"\n")

    def __call__(self, data: bytes) -> list[Finding]:
        """Compare all parsers on each line."""
        if b"\n" not in data:
            return self._check_document(data)
        before, lines = self.valid, data.removesuffix(b"\n").split(b"\n")
        found = [each for line in lines for each in self._check_document(line)]
        self.valid = before + (self.valid - before == len(lines))
        return found

    def _check_document(self, raw: bytes) -> list[Finding]:
        if len(raw) > 900 and is_dangerous(raw):
            return self._check_deep_document(raw)
        answers = self._run_parsers(raw)
        lead = answers[0]
        first = lead if type(lead) is bytes else next((a for a in answers if type(a) is bytes), b"")
        self.valid += first != b""
        # All parsers reject it, or all accept it with the same value.
        alike = not first or answers.count(first) == len(answers)
        if alike:
            kind = _describe_agreement(answers, first)
            self.note((kind, ()))
        else:
            kind = _describe_difference(answers, first)
            self.note((kind, next((a for a in answers if type(a) is str), "")))
        return (
            self.examiner.examine_document(raw) if self._needs_judge(raw, kind, alike=alike) else []
        )

    def _check_deep_document(self, raw: bytes) -> list[Finding]:
        """Examine a sample of deep documents, which need a process and cost a hundred times as
        much.
        """
        self.note("deep")
        return [] if zlib.crc32(raw) & _DEEP_SAMPLE else self.examiner.examine_document(raw)

    def _needs_judge(self, raw: bytes, kind: _Kind, *, alike: bool) -> bool:
        """Return whether to examine a document: a sample of agreements, and the first of each
        difference.

        A difference of a kind that was examined several times is mostly a known one.
        """
        if len(self._rows) == 1:
            return True  # a single parser can be compared with the judge only
        seen = self._explained.get(kind, 0)
        if seen >= (1 if alike else _ENOUGH):
            return not zlib.crc32(raw) & (_SAMPLE if alike else _EXPLAINED_SAMPLE)
        if seen or len(self._explained) < _REMEMBERED:
            self._explained[kind] = seen + 1
        return True

    def _normalize_message(self, said: str) -> str:
        """Return an error message without numbers, which are offsets; results are cached."""
        if len(self._sorts) >= _REMEMBERED:
            self._sorts.clear()
        sort = self._sorts[said] = said[:_SHOWN].translate(_NO_DIGITS)
        return sort

    def _run_parsers(self, raw: bytes) -> list[_Answer]:
        """Return for each parser the typed bytes of its value, or its normalized error message."""
        answers: list[_Answer] = []
        sorts = self._sorts
        for parse, documented in self._rows:
            try:
                answers.append(marshal.dumps(parse(raw), 2))
            except documented as error:
                said = str(error)
                answers.append(sorts.get(said) or self._normalize_message(said))
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:  # noqa: BLE001 - the examiner classifies it
                # No value has such bytes, so this differs from all values.
                answers.append(b"escape " + type(error).__name__.encode())
        return answers


def _describe_agreement(answers: list[_Answer], first: bytes) -> _Kind:
    """Return the kind of an agreement: type and size of the value, or some error messages."""
    if first:
        return first[:1], len(first).bit_length() // 2
    return tuple(answers[:_MESSAGES])


def _describe_difference(answers: list[_Answer], first: bytes) -> _Kind:
    """Return the kind of a difference: which parsers reject, and which read another value.

    Messages are no part of it: with forty parsers, some combination is always new.
    """
    size = len(first)
    marks = [_NO if type(a) is str else len(a) > size if a != first else "" for a in answers]
    return (*marks, first[:1], size.bit_length() // 2)
