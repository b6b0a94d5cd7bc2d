"""Documents through every parser at once: the hot loop of ``fuzz_parsers``.

The key insight: parsers that agree with each other are right nearly always, and agreement of typed
bytes is the cheapest comparison there is. Only where they differ, and on a sample, is the judge
asked; whether that is a finding, the examiner of every other command says.
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
from wirefence.targets.parsers.outcomes import dangerous

__all__ = ["DocumentCheck"]

_SAMPLE = 63
_EXPLAINED_SAMPLE = 31
_ENOUGH = 2
_REMEMBERED = 100_000
_DEEP_SAMPLE = 127
_NO_DIGITS = {ord(digit): None for digit in "0123456789"}
_SHOWN = 48
_Parse = Callable[[bytes], Any]
_MESSAGES = 4
_NO = "no"
_Answer = bytes | str
_Kind = tuple[object, ...]
_Row = tuple[_Parse, tuple[type[BaseException], ...]]


@dataclass(slots=True)
class DocumentCheck:
    """Each line of an input is one document, which every parser of ``examiner`` reads."""

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

    def case(self, data: bytes) -> Case:
        """The documents as frames; an LF is added to the last one."""
        return case_from_bytes(data if data.endswith(b"\n") else data + b"\n")

    def __call__(self, data: bytes) -> list[Finding]:
        """Compare all parsers on each line."""
        if b"\n" not in data:
            return self._one(data)
        before, lines = self.valid, data.removesuffix(b"\n").split(b"\n")
        found = [each for line in lines for each in self._one(line)]
        self.valid = before + (self.valid - before == len(lines))
        return found

    def _one(self, raw: bytes) -> list[Finding]:
        if len(raw) > 900 and dangerous(raw):
            return self._deep(raw)
        answers = self._answers(raw)
        lead = answers[0]
        first = lead if type(lead) is bytes else next((a for a in answers if type(a) is bytes), b"")
        self.valid += first != b""
        # Nobody accepted, or everybody did and read the same.
        alike = not first or answers.count(first) == len(answers)
        if alike:
            kind = _all_alike(answers, first)
            self.note((kind, ()))
        else:
            kind = _apart(answers, first)
            self.note((kind, next((a for a in answers if type(a) is str), "")))
        return self.examiner.examine_document(raw) if self._is_due(raw, kind, alike=alike) else []

    def _deep(self, raw: bytes) -> list[Finding]:
        """A sample of the documents that need a process of their own, a hundred times the cost."""
        self.note("deep")
        return [] if zlib.crc32(raw) & _DEEP_SAMPLE else self.examiner.examine_document(raw)

    def _is_due(self, raw: bytes, kind: _Kind, *, alike: bool) -> bool:
        """Whether to ask the judge: of agreement a sample, of a difference the first ones as well.

        A difference of one and the same kind that was explained many times is mostly known.
        """
        if len(self._rows) == 1:
            return True  # it has nobody to agree with but the judge
        seen = self._explained.get(kind, 0)
        if seen >= (1 if alike else _ENOUGH):
            return not zlib.crc32(raw) & (_SAMPLE if alike else _EXPLAINED_SAMPLE)
        if seen or len(self._explained) < _REMEMBERED:
            self._explained[kind] = seen + 1
        return True

    def _sort(self, said: str) -> str:
        """An error message without its numbers, which are offsets; messages repeat."""
        if len(self._sorts) >= _REMEMBERED:
            self._sorts.clear()
        sort = self._sorts[said] = said[:_SHOWN].translate(_NO_DIGITS)
        return sort

    def _answers(self, raw: bytes) -> list[_Answer]:
        """Of each parser the typed bytes of its value, or the sort of its error."""
        answers: list[_Answer] = []
        sorts = self._sorts
        for parse, documented in self._rows:
            try:
                answers.append(marshal.dumps(parse(raw), 2))
            except documented as error:
                said = str(error)
                answers.append(sorts.get(said) or self._sort(said))
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:  # noqa: BLE001 - the examiner says what it is
                # No value has such bytes, so this is like nothing.
                answers.append(b"escape " + type(error).__name__.encode())
        return answers


def _all_alike(answers: list[_Answer], first: bytes) -> _Kind:
    """What shows of agreement: sort and size of the value, or how some of them say no."""
    if first:
        return first[:1], len(first).bit_length() // 2
    return tuple(answers[:_MESSAGES])


def _apart(answers: list[_Answer], first: bytes) -> _Kind:
    """What shows of a difference: who says no, and who reads something else, longer or not.

    What they say is no part of it: of forty messages, some combination is always new.
    """
    size = len(first)
    marks = [_NO if type(a) is str else len(a) > size if a != first else "" for a in answers]
    return (*marks, first[:1], size.bit_length() // 2)
