"""How many faults and files one mistake gives: the figures of docs/internals/faults.md.

``python -m tests.crashes.fault_counts`` writes the page anew, from the pinned tables that
``python -m tests.crashes.symptoms`` makes and from the committed reproducers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

from tests.crashes.symptoms import CASES, SEED, Subject, cases, found_in_campaign
from wirefence.fuzz.store.scan import scan_folder
from wirefence.oracles.faults import group_findings
from wirefence.targets.planted import BY_NAME, PLANTED

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "internals" / "faults.md"
_BEGIN, _END = "<!-- figures: begin -->\n", "<!-- figures: end -->\n"

SEVERAL = {
    "tutorial-form": "it does a dozen things wrong, each by its name",
    "splits-at-bare-cr": "a line that it splits is answered twice, also where nothing acts",
    "splits-at-line-separators": "it ends lines at CR and at other separators, and loses others",
    "skips-bad-lines": "an error after the close may carry the id of the rejected frame",
    "acts-on-unterminated-line": "it answers the empty rest behind the last LF as well",
    "reads-concatenated-values": "a CR and bytes that are no UTF-8 break earlier rules",
    "takes-half-numbers": "each part that a number may lack is a leniency of its own",
    "folds-case-of-members": "without a member in its own letters another rule is broken first",
    "executes-batch-eagerly": "it takes batches of any version, and runs half of a bad one",
    "takes-reused-id": "an id that is used again within a batch makes the batch a bad one",
    "takes-wrong-token-for-none": "a token of another type and a similar token have two signatures",
    "dies-on-deep-nesting": "it takes what is too deep, and dies of what is deeper",
    "dies-on-huge-integer": "it takes what is too large, and dies of what is larger",
    "keeps-permission": "the call shows it, or the difference to the session without the bad frame",
    "coerces-arguments": "it changes arguments of sound calls as well",
    "remembers-id-of-rejected": "few rejected frames have an id that is used again",
}
"""Planted faults that are told as several, and why."""

UNSEEN = {
    "buffers-without-bound": "shows only in frames of a megabyte, which the table leaves out",
}
"""Planted faults that the pinned campaign does not find, and why."""

BEFORE = {"acts-before-line-feed": 3, "buffers-without-bound": 0, "tutorial-form": 8}
"""Files of the planted faults that did not give one by attribution, with the table of then."""


@cache
def list_faults(fault: str) -> tuple[str, ...]:
    """The names of the faults that a campaign reports of a planted gateway."""
    return tuple(each.name.partition("|")[2] for each in group_findings(found_in_campaign(fault)))


@cache
def list_files(fault: str) -> tuple[str, ...]:
    """The names of the files that come of a planted gateway, as if all were of one family."""
    return tuple(Subject(BY_NAME[fault], "planted:x").files(cases(fault)))


def list_shared() -> dict[str, set[str]]:
    """The names of files that several planted faults share."""
    named = defaultdict(set)
    for planted in PLANTED:
        for name in list_files(planted.name):
            named[name].add(planted.name)
    return {name: faults for name, faults in named.items() if len(faults) > 1}


def render_figures() -> str:
    """The tables of the page."""
    return "\n".join([*_render_totals(), *_render_zoo(), *_render_shared(), *_render_committed()])


def _render_totals() -> list[str]:
    names = [planted.name for planted in PLANTED]
    seen = [name for name in names if list_faults(name)]
    signatures = sum(len(found_in_campaign(name)) for name in names)
    faults = sum(len(list_faults(name)) for name in names)
    before = [BEFORE.get(name, 1) for name in names if BEFORE.get(name, 1)]
    after = [len(list_files(name)) for name in names if list_files(name)]
    return [
        f"{CASES:,} generated cases (seed {SEED}), and one from the table of minimal forms for each"
        f" fault, show {len(seen)} of {len(names)} planted gateways by {signatures:,} signatures,",
        f"which are {faults} faults; {sum(len(list_faults(n)) == 1 for n in seen)} gateways have"
        " exactly one. A few findings for each effect, minimized, give:",
        "",
        "| | before (attribution by questions) | now |",
        "|---|---|---|",
        f"| planted gateways with symptoms on file | {len(before)} | {len(after)} |",
        f"| files | {sum(before)} | {sum(after)} |",
        f"| gateways with one file | {before.count(1)} | {after.count(1)} |",
        "",
    ]


def _render_zoo() -> list[str]:
    lines = [
        "Planted faults that give more than one fault or file, or none in that campaign; all others"
        " give one of each:",
        "",
        "| planted fault | signatures | faults | files | files before | why |",
        "|---|---|---|---|---|---|",
    ]
    for planted in PLANTED:
        name = planted.name
        why = SEVERAL.get(name) or UNSEEN.get(name)
        if why:
            counts = (len(found_in_campaign(name)), len(list_faults(name)), len(list_files(name)))
            cells = [*map(str, counts), str(BEFORE.get(name, 1)), why]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return [*lines, ""]


def _render_shared() -> list[str]:
    lines = [
        "Planted faults that share the name of a file, one leniency or one effect on any frame:",
        "",
        "| file | planted faults |",
        "|---|---|",
    ]
    for name, faults in sorted(list_shared().items()):
        lines.append(f"| `{name.replace('|', ' ')}` | {', '.join(sorted(faults))} |")
    return [*lines, ""]


def _render_committed() -> list[str]:
    entries = scan_folder(ROOT / "crashes").entries
    files = Counter(entry.metadata.target for entry in entries)
    faults = Counter(
        fault.findings[0].target
        for fault in group_findings(entry.metadata.to_finding() for entry in entries)
    )
    lines = [
        "Committed reproducers; each stood for a fault of its own before as well:",
        "",
        "| target | files | faults |",
        "|---|---|---|",
    ]
    return [*lines, *(f"| {name} | {files[name]} | {faults[name]} |" for name in sorted(files))]


def render_page(page: str) -> str:
    """The page with new figures."""
    head, rest = page.split(_BEGIN)
    return f"{head}{_BEGIN}\n{render_figures()}\n\n{_END}{rest.split(_END)[1]}"


def main() -> None:
    """Write the page anew."""
    PAGE.write_text(render_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
