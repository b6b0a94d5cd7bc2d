"""What short campaigns found in every planted gateway, made small, as pinned in a table.

``python -m tests.crashes.symptoms FOLDER`` makes the table anew from stores of minimized findings,
one for each fault, and from what is added to them here. Stores that are not below FOLDER are made
first, with generated cases and one worker: half an hour and more for all. Interrupted, it goes on
with the next one. What a campaign finds changes with the grammar, the committed crashes and
Hypothesis, so another table has other symptoms; which file a fault becomes must not depend on them,
but for those that do several things wrong.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from pathlib import Path

from wirefence.fuzz.crashes.bucket import Asker, faults_of, sort
from wirefence.fuzz.errors import FOUND, NOTHING
from wirefence.fuzz.examination.examiner import Examiner, GatewayTarget
from wirefence.fuzz.shrink.ordering import simplicity_key
from wirefence.fuzz.shrink.pauses import pause_after_every_byte
from wirefence.fuzz.store.metadata import make_metadata
from wirefence.fuzz.store.scan import Entry, scan_folder
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.oracles.records import Finding
from wirefence.strategies.records import VERSIONS, Case
from wirefence.targets.planted import BY_NAME, PLANTED
from wirefence.targets.planted.records import Planted

TABLE = Path(__file__).with_name("symptoms.json")
_LONGEST, _MOST, _CASES = 2_000, 10, 2_000
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


class Subject:
    """A gateway, and what is filed of all that some cases show of it."""

    def __init__(self, planted: Planted, name: str = "") -> None:
        target = name or f"planted:{planted.name}"
        self.examiner = Examiner((), [[GatewayTarget(target, planted.factory, planted.policy)]])

    def run(self, _entry: Entry, tried: Sequence[Case]) -> list[Collection[Finding]]:
        return [self.examiner.examine_case(case) for case in tried]

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

    def files(self, tried: Iterable[Case]) -> list[str]:
        """The names of the faults that become a file each."""
        entries = self.entries(tried)
        taken, _ = sort(entries, [], lambda e: self.examiner.examine_case(e.case), self.run)
        names = faults_of(entries, Asker(self.run))
        return [names[entry.metadata.signature].partition("|")[2] for entry in taken]


def _chosen(fault: str, found: Iterable[Case]) -> list[list[str]]:
    chosen = []
    for case in sorted(found, key=lambda case: simplicity_key(case.data)):
        text = case.data.decode("latin-1")
        for short, whole in _SHORT.items():
            text = text.replace(whole, short)
        row = [text] + ["pauses"] * bool(case.cuts)
        row += [case.version] * (case.version != BY_NAME[fault].version)
        if len(case.data) <= _LONGEST and row not in chosen:
            chosen.append(row)
    return chosen[:: max(1, -(-len(chosen) // _MOST))]


def _store(folder: Path, cases: int) -> Path:
    """The minimized findings of the fault that a folder is named after, made if there are none."""
    if folder.exists():
        return folder
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    for words in (
        ("campaign", "--target", f"planted:{folder.name}", "--cases", cases, "--out", part),
        ("minimize", "--all", "--from", part),
    ):
        command = [sys.executable, "-m", "wirefence", *map(str, words), "--workers", "1"]
        ended = subprocess.run(command, capture_output=True, check=False)
        if ended.returncode not in (NOTHING, FOUND):
            raise SystemExit(ended.stderr.decode(errors="replace"))
    part.mkdir(exist_ok=True)  # a fault that cases of the usual size don't show
    return part.rename(folder)


def make(folder: Path, faults: Iterable[str], cases: int = _CASES) -> dict[str, list[list[str]]]:
    """The rows of some faults, from their stores below ``folder``."""
    made = {}
    for fault in faults:
        found = scan_folder(_store(folder / fault, cases), findings=True).entries
        chosen = _chosen(fault, (entry.case for entry in found))
        made[fault] = chosen + [row for row in ADDED.get(fault, []) if row not in chosen]
        sys.stderr.write(f"{fault}: {len(made[fault])} of {len(found)}\n")
    return made


def main(folder: Path) -> None:
    table = make(folder, [each.name for each in PLANTED])
    TABLE.write_text(json.dumps(table, indent=0) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
