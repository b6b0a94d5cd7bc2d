"""What short campaigns found in every planted gateway, made small, as pinned in a table.

``python -m tests.crashes.symptoms FOLDER`` makes the table anew from stores of minimized findings,
one for each fault. Those that are not below FOLDER are made first, with generated cases and one
worker: a quarter of an hour and more for all. What a campaign finds changes with the grammar, the
committed crashes and Hypothesis, so a new table may show symptoms for which no test has been
written; the one here also has symptoms of batches and of 2026-07-28 that were added to it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from pathlib import Path

from fuzz.crashes.bucket import Asker, faults_of, sort
from fuzz.crashes.cuts import after_every_byte
from fuzz.crashes.schema import describe
from fuzz.crashes.shelf import Entry, scan
from fuzz.crashes.simpler import order
from fuzz.errors import FOUND, NOTHING
from fuzz.examine import Examiner, GatewayTarget
from fuzz.store import case_from_bytes
from oracles.records import Finding
from strategies.records import VERSIONS, Case
from targets.planted import BY_NAME, PLANTED
from targets.planted.records import Planted

TABLE = Path(__file__).with_name("symptoms.json")
_LONGEST, _MOST, _CASES = 2_000, 10, 2_000
_SHORT = {
    "<initialize>": '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"",'
    '"capabilities":{},"clientInfo":{"name":"","version":""}}}\n',
    "<initialized>": '{"jsonrpc":"2.0","method":"notifications/initialized"}\n',
    "<record>": '"method":"tools/call","params":{"name":"record","arguments":{"action":""}}}\n',
}


@cache
def _table() -> dict[str, list[list[str]]]:
    return json.loads(TABLE.read_text())  # type: ignore[no-any-return]


def cases(fault: str) -> list[Case]:
    """The smallest cases of a fault.

    ``pauses`` beside one means after every byte, a version that it is not of that of the fault.
    """
    made = []
    for row, *marks in _table()[fault]:
        text = row
        for short, whole in _SHORT.items():
            text = text.replace(short, whole)
        data = text.encode("latin-1")
        cuts = after_every_byte(data) if "pauses" in marks else ()
        version = next((each for each in VERSIONS if each in marks), BY_NAME[fault].version)
        made.append(case_from_bytes(data, protocol=version, cuts=list(cuts)))
    return made


class Subject:
    """A gateway, and what is filed of all that some cases show of it."""

    def __init__(self, planted: Planted, name: str = "") -> None:
        target = name or f"planted:{planted.name}"
        self.examiner = Examiner((), [[GatewayTarget(target, planted.factory, planted.policy)]])

    def run(self, _entry: Entry, tried: Sequence[Case]) -> list[Collection[Finding]]:
        return [self.examiner.examine(case) for case in tried]

    def entries(self, tried: Iterable[Case]) -> list[Entry]:
        """The smallest case for each signature that any of them shows."""
        best: dict[str, tuple[Finding, Case]] = {}
        for case in tried:
            for found in self.examiner.examine(case):
                old = best.get(found.signature)
                if old is None or order(case.data) < order(old[1].data):
                    best[found.signature] = found, case
        return [
            Entry(Path(f"x-{place}.frame"), describe(found, case, versions={}), case)
            for place, (found, case) in enumerate(best.values())
        ]

    def files(self, tried: Iterable[Case]) -> list[str]:
        """The names of the faults that become a file each."""
        entries = self.entries(tried)
        taken, _ = sort(entries, [], lambda e: self.examiner.examine(e.case), self.run)
        names = faults_of(entries, Asker(self.run))
        return [names[entry.metadata.signature].partition("|")[2] for entry in taken]


def _chosen(fault: str, found: Iterable[Case]) -> list[list[str]]:
    rows = []
    for case in sorted(found, key=lambda case: order(case.data)):
        text = case.data.decode("latin-1")
        for short, whole in _SHORT.items():
            text = text.replace(whole, short)
        row = [text] + ["pauses"] * bool(case.cuts)
        row += [case.version] * (case.version != BY_NAME[fault].version)
        if len(case.data) <= _LONGEST and row not in rows:
            rows.append(row)
    return rows[:: max(1, -(-len(rows) // _MOST))]


def _store(folder: Path) -> Path:
    """The minimized findings of the fault that a folder is named after, made if there are none."""
    made = folder.exists()
    for words in (
        ("campaign", "--target", f"planted:{folder.name}", "--cases", _CASES, "--out", folder),
        ("minimize", "--all", "--from", folder),
    ):
        if not made:
            command = [sys.executable, "-m", "fuzz", *map(str, words), "--workers", "1"]
            ended = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
            if ended.returncode not in (NOTHING, FOUND):
                raise SystemExit(ended.returncode)
    return folder


def main(folder: Path) -> None:
    stores = {each.name: scan(_store(folder / each.name), findings=True) for each in PLANTED}
    table = {name: _chosen(name, (e.case for e in at.entries)) for name, at in stores.items()}
    TABLE.write_text(json.dumps(table, indent=0) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
