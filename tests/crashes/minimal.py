"""The minimal form of every planted fault, as pinned.

``python -m tests.crashes.minimal [FAULT...]`` makes the table anew, or only the forms of some
faults; a minute of CPU for all.

A start is the first case of the campaign of seed 7 that shows the fault by a rule that it is said
to break and is no longer than a frame of some size; with a pause after every byte if it must be.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from wirefence.fuzz.examination.cases import generate_block
from wirefence.fuzz.examination.examiner import Examiner, GatewayTarget
from wirefence.fuzz.shrink.deviation_guard import DeviationGuard
from wirefence.fuzz.shrink.pauses import pause_after_every_byte
from wirefence.fuzz.shrink.shrinker import ShrinkResult, shrink_input
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.oracles.records import Finding
from wirefence.strategies.records import Case
from wirefence.targets.planted import BY_NAME, PLANTED, Planted

TABLE = Path(__file__).with_name("minimal.json")
DEEP = "dies-on-deep-nesting"
_SEED, _BLOCKS, _LONGEST = 7, 150, 1_500


@dataclass(frozen=True, slots=True)
class Form:
    """A fault, what of it is kept, the bytes that a campaign found, and those that are left."""

    fault: str
    kind: str
    pauses: bool
    start: str
    smallest: str
    executions: int

    def found(self) -> bytes:
        """The bytes to begin with."""
        return self.start.encode("latin-1")

    def reduced(self) -> ShrinkResult:
        """What a reduction makes of them now."""
        return _reduced(BY_NAME[self.fault], self.found(), self.kind, pauses=self.pauses)


def table() -> list[Form]:
    """The forms as they are pinned."""
    return [Form(**each) for each in json.loads(TABLE.read_text())]


def examiner(planted: Planted) -> Examiner:
    """All oracles on one planted gateway."""
    target = GatewayTarget(f"planted:{planted.name}", planted.factory, planted.policy)
    return Examiner((), [[target]])


def kind_of(found: Finding) -> str:
    """A signature without the target's family."""
    return found.signature.partition("|")[2]


def _reduced(planted: Planted, data: bytes, kind: str, *, pauses: bool) -> ShrinkResult:
    return shrink_input(data, _shows(planted, data, kind, pauses=pauses))


def _shows(planted: Planted, start: bytes, kind: str, *, pauses: bool) -> Callable[[bytes], bool]:
    """A test for inputs that show a finding, and are wrong in no way in which ``start`` is not."""
    made = examiner(planted)
    guard = DeviationGuard.of(case_from_bytes(start, protocol=planted.version))

    def shows(data: bytes) -> bool:
        cuts = list(pause_after_every_byte(data)) if pauses else []
        case = case_from_bytes(data, protocol=planted.version, cuts=cuts)
        seen = made.examine_case(case) if guard.permits(case) else ()
        return any(kind_of(found) == kind for found in seen)

    return shows


def _starts(planted: Planted) -> Iterator[tuple[Case, Finding]]:
    made = examiner(planted)
    for number in range(_BLOCKS):
        for case in generate_block(_SEED, number, (planted.version,)):
            for found in made.examine_case(case):
                # The depth that kills is the interpreter's: one form of it is enough.
                deep = found.deviation == "RecursionError" and planted.name != DEEP
                if found.rule in planted.breaks and not deep:
                    yield case, found


def _form(planted: Planted) -> Form | None:
    for case, found in _starts(planted):
        kind, data = kind_of(found), case.data
        if len(data) > _LONGEST:
            continue
        for pauses in (False, True):
            if _shows(planted, data, kind, pauses=pauses)(data):
                small = _reduced(planted, data, kind, pauses=pauses)
                start, end = data.decode("latin-1"), small.data.decode("latin-1")
                return Form(planted.name, kind, pauses, start, end, small.executions)
    return None


def main(faults: Collection[str]) -> None:
    """Make the table anew, or only the forms of some faults."""
    kept = {form.fault: form for form in table()} if faults else {}
    forms = []
    for planted in PLANTED:
        anew = not faults or planted.name in faults
        form = _form(planted) if anew else kept.get(planted.name)
        said = f"{form.executions:4} {form.smallest.encode('latin-1')!r}" if form else "none"
        sys.stderr.write(f"{planted.name:34} {said}\n")
        forms += [asdict(form)] if form else []
    TABLE.write_text(json.dumps(forms, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
