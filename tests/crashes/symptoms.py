"""What short campaigns found in every planted gateway, minimized, as pinned in two tables.

``python -m tests.crashes.symptoms [FAULT...]`` makes both anew, or only the rows of some faults;
five minutes of CPU for all; make ``tests.crashes.minimal`` first. Cases come from the grammar with
a fixed seed, and one for each fault from the table of minimal forms. ``campaigns.json`` has the
signatures that they show. Of each fault a few findings for each effect are minimized in this
process, as ``wirefence minimize`` does it: it keeps its signature and gains no deviation; these
cases are in ``symptoms.json``. ``ADDED`` holds further cases, from earlier campaigns.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from pathlib import Path

from tests.crashes import minimal
from wirefence.fuzz.crashes.selection import select_findings
from wirefence.fuzz.examination.cases import BLOCK, generate_block
from wirefence.fuzz.examination.examiner import Examiner, GatewayTarget
from wirefence.fuzz.shrink.deviation_guard import DeviationGuard
from wirefence.fuzz.shrink.ordering import simplicity_key
from wirefence.fuzz.shrink.pauses import pause_after_every_byte
from wirefence.fuzz.shrink.shrinker import shrink_input
from wirefence.fuzz.store.metadata import make_metadata
from wirefence.fuzz.store.scan import Entry
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.oracles.faults import name_faults, rank_finding
from wirefence.oracles.records import Finding, make_finding
from wirefence.oracles.rules import ORACLE_OF
from wirefence.strategies.records import VERSIONS, Case
from wirefence.targets.planted import BY_NAME, PLANTED
from wirefence.targets.planted.records import Planted

TABLE = Path(__file__).with_name("symptoms.json")
CAMPAIGNS = Path(__file__).with_name("campaigns.json")
SEED, CASES = 11, 640
_LONGEST_CASE, _LONGEST = 100_000, 2_000
"""Bytes of a case that is run, and of a row."""
_RULES, _MOST = 5, 25
"""Findings of one effect of a fault that are minimized, each of another rule, and of one fault."""
_LIMIT = 1_200
"""Inputs that one reduction may run."""
_SHORT = {
    "<initialize>": '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"",'
    '"capabilities":{},"clientInfo":{"name":"","version":""}}}\n',
    "<initialized>": '{"jsonrpc":"2.0","method":"notifications/initialized"}\n',
    "<record>": '"method":"tools/call","params":{"name":"record","arguments":{"action":""}}}\n',
}

_READY = "<initialize><initialized>"
_CALL = '"method":"tools/call","params":{"name":"record","arguments":{"action":""}'
_NULL = _READY + '[{"jsonrpc":"2.0","id":1,' + _CALL + ',"_meta":{"wirefence/token":0}}}]\n'
_INITIALIZE = (
    '{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":"",'
    '"capabilities":{},"clientInfo":{"name":"%s","version":""}}}\n'
)
ADDED: dict[str, list[list[str]]] = {
    "skips-bad-lines": [
        ['\n{"id":0,"method":0}\n'],
        ['{"jsonrpc":"2.0","id":0,"method":"tools/call"}\n\n', "2026-07-28"],
        ['{"jsonrpc":"2.0","id":0,"method":"notifications/cancelled"}\n0\n', "2024-11-05"],
    ],
    "splits-at-line-separators": [
        ["\n{\n0\r\n", "2025-06-18"],
        [
            _INITIALIZE % (0, "\u2028".encode().decode("latin-1"))
            + '{"jsonrpc":"2.0"}\n{"jsonrpc":"2.0","id":0,"method":""}\n',
            "2024-11-05",
        ],
    ],
    "swallows-next-frame": [['{"id":1,"method":0}\n' + _INITIALIZE % (1, "")]],
    "takes-reused-id": [
        [_READY + '[{"jsonrpc":"2.0","id":0,' + _CALL + "}}]\n", "2025-03-26"],
        [
            _READY
            + '[{"jsonrpc":"2.0","id":0,"method":""},{"jsonrpc":"2.0","id":1,'
            + _CALL
            + "}}]\n",
            "2025-03-26",
        ],
    ],
    "takes-wrong-token-for-none": [[_NULL, "2025-03-26"]],
    "executes-before-authorization": [[_NULL, "2025-03-26"]],
    "merges-unknown-arguments": [
        [
            _READY + '[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
            '{"name":"http_call","arguments":{"action":"","url":"","":0}}}]\n',
            "2025-03-26",
        ]
    ],
    "is-silent-on-refusal": [
        ['{"jsonrpc":"2.0","id":0,"method":"subscriptions/listen"}\n', "2026-07-28"]
    ],
}
"""Symptoms that once became a file of their own, whatever the campaign finds today."""


@cache
def rows() -> dict[str, list[list[str]]]:
    """The table: for each fault its cases, smallest first, with their marks."""
    return json.loads(TABLE.read_text())  # type: ignore[no-any-return]


def cases(fault: str) -> list[Case]:
    """The smallest cases of a fault.

    ``pauses`` beside one means after every byte, a version that it is not of that of the fault.
    """
    made = []
    for row, *marks in rows()[fault]:
        text = row
        for short, whole in _SHORT.items():
            text = text.replace(short, whole)
        data = text.encode("latin-1")
        cuts = pause_after_every_byte(data) if "pauses" in marks else ()
        version = next((each for each in VERSIONS if each in marks), BY_NAME[fault].version)
        made.append(case_from_bytes(data, protocol=version, cuts=list(cuts)))
    return made


def found_in_campaign(fault: str) -> list[Finding]:
    """The findings of a campaign in a planted gateway, by their signatures alone."""
    return [restore_finding(each) for each in campaigns()[fault]]


@cache
def campaigns() -> dict[str, list[str]]:
    """For each planted fault the signatures that a campaign found."""
    return json.loads(CAMPAIGNS.read_text())  # type: ignore[no-any-return]


def restore_finding(signature: str) -> Finding:
    """A finding that has a signature."""
    family, effect, deviation = signature.split("|", 2)
    rule = effect.partition(":")[0]
    return make_finding(ORACLE_OF[rule], effect, family, deviation, "")


class Subject:
    """A gateway, and what is filed of all that some cases show of it."""

    def __init__(self, planted: Planted, name: str = "") -> None:
        target = name or f"planted:{planted.name}"
        self.examiner = Examiner((), [[GatewayTarget(target, planted.factory, planted.policy)]])

    def entries(self, tried: Iterable[Case]) -> list[Entry]:
        """The smallest case for each signature that any of them shows."""
        best: dict[str, tuple[Finding, Case]] = {}
        for case in tried:
            for found in self.examiner.examine_case(case):
                old = best.get(found.signature)
                if old is None or simplicity_key(case.data) < simplicity_key(old[1].data):
                    best[found.signature] = found, case
        return [
            Entry(Path(f"x-{place}.frame"), make_metadata(found, case, versions={}), case)
            for place, (found, case) in enumerate(best.values())
        ]

    def show(self, entry: Entry) -> Collection[Finding]:
        """What the case of an entry shows."""
        return self.examiner.examine_case(entry.case)

    def files(self, tried: Iterable[Case]) -> list[str]:
        """The names of the faults that become a file each."""
        entries = self.entries(tried)
        names = name_faults([entry.metadata.to_finding() for entry in entries])
        taken, _ = select_findings(entries, [], self.show)
        return [names[entry.metadata.signature].partition("|")[2] for entry in taken]


@cache
def generate_cases(number: int = CASES, seed: int = SEED) -> tuple[Case, ...]:
    """Generated cases of a fixed seed, as a campaign takes them; those of megabytes left out."""
    made = (each for at in range(-(-number // BLOCK)) for each in generate_block(seed, at))
    return tuple(each for each in made if len(each.data) <= _LONGEST_CASE)


def find_symptoms(subject: Subject, tried: Iterable[Case]) -> list[tuple[Finding, Case]]:
    """The shortest of some cases for each signature that they show."""
    best: dict[str, tuple[Finding, Case]] = {}
    for case in tried:
        for found in subject.examiner.examine_case(case):
            old = best.get(found.signature)
            if old is None or len(case.data) < len(old[1].data):
                best[found.signature] = found, case
    return list(best.values())


def minimize_symptom(subject: Subject, found: Finding, case: Case) -> Case:
    """The smallest case that shows a finding and has no deviation that ``case`` lacks."""
    guard = DeviationGuard.of(case)
    for pauses in (False, True):
        make = _make_case(case, pauses=pauses)

        def shows(data: bytes, make: Callable[[bytes], Case] = make) -> bool:
            tried = make(data)
            seen = subject.examiner.examine_case(tried) if guard.permits(tried) else ()
            return any(each.signature == found.signature for each in seen)

        if shows(case.data):
            return make(shrink_input(case.data, shows, limit=_LIMIT).data)
    return case


def _make_case(case: Case, *, pauses: bool) -> Callable[[bytes], Case]:
    def make(data: bytes) -> Case:
        cuts = list(pause_after_every_byte(data)) if pauses else []
        return case_from_bytes(data, protocol=case.version, cuts=cuts)

    return make


def choose_findings(found: Sequence[tuple[Finding, Case]]) -> list[tuple[Finding, Case]]:
    """A few findings for each effect of each fault, of as many rules, the gravest first."""
    names = name_faults([each for each, _ in found])
    chosen: dict[tuple[str, str], dict[str, tuple[Finding, Case]]] = defaultdict(dict)
    for each, case in sorted(found, key=lambda pair: rank_finding(pair[0])):
        some = chosen[names[each.signature], each.effect]
        rule = each.deviation.partition(":")[0]
        if rule not in some and len(some) < _RULES:
            some[rule] = each, case
    return [each for some in chosen.values() for each in some.values()][:_MOST]


def _list_starts(fault: str) -> list[Case]:
    """The case that a longer campaign found for the minimal form of a fault: some are rare."""
    return [
        case_from_bytes(
            form.found(),
            protocol=BY_NAME[fault].version,
            cuts=list(pause_after_every_byte(form.found())) if form.pauses else [],
        )
        for form in minimal.table()
        if form.fault == fault
    ]


def make_rows(fault: str, number: int = CASES) -> tuple[list[str], list[list[str]]]:
    """The signatures of a fault, and its rows: one for each smallest case, and those added."""
    subject = Subject(BY_NAME[fault])
    found = find_symptoms(subject, (*generate_cases(number), *_list_starts(fault)))
    small = [minimize_symptom(subject, *each) for each in choose_findings(found)]
    chosen: list[list[str]] = []
    for case in sorted(small, key=lambda case: simplicity_key(case.data)):
        row = _write_row(fault, case)
        if len(case.data) <= _LONGEST and row not in chosen:
            chosen.append(row)
    chosen += [row for row in ADDED.get(fault, []) if row not in chosen]
    return sorted(each.signature for each, _ in found), chosen


def _write_row(fault: str, case: Case) -> list[str]:
    text = case.data.decode("latin-1")
    for short, whole in _SHORT.items():
        text = text.replace(whole, short)
    row = [text] + ["pauses"] * bool(case.cuts)
    return row + [case.version] * (case.version != BY_NAME[fault].version)


def main(faults: Collection[str]) -> None:
    """Make the tables anew, or only the rows of some faults."""
    signatures, table = (dict(campaigns()), dict(rows())) if faults else ({}, {})
    for each in PLANTED:
        if not faults or each.name in faults:
            signatures[each.name], table[each.name] = make_rows(each.name)
            sys.stderr.write(f"{each.name}: {len(signatures[each.name])} signatures\n")
    for path, made in ((TABLE, table), (CAMPAIGNS, signatures)):
        ordered = {each.name: made[each.name] for each in PLANTED}
        path.write_text(json.dumps(ordered, indent=0) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
