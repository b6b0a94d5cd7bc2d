"""Quality: what a campaign finds in a planted gateway is filed once, and two faults twice."""

from __future__ import annotations

from functools import cache

import pytest

from fuzz.crashes.bucket import MANY, faults_of
from fuzz.crashes.reduce import reduce
from fuzz.crashes.same import same
from fuzz.crashes.schema import describe
from fuzz.crashes.shelf import Entry
from fuzz.drivers import block
from fuzz.examine import Examiner, GatewayTarget
from fuzz.store import case_from_bytes
from oracles.records import Finding
from targets.planted import BY_NAME

BLOCKS = 10

FAULTS = {
    "skips-bad-lines": 6,
    "decodes-with-replacement": 2,
    "takes-byte-order-mark": 1,
    "takes-nan": 1,
    "takes-trailing-commas": 1,
    "first-duplicate-wins": 2,
    "takes-float-id": 2,
    "ignores-version-member": 1,
    "acts-on-hybrids": 1,
    "retries-as-operator": 2,
    "acts-twice": 1,
}
"""Planted gateways, and the most files that what is found in each may become.

More than one: silence and answers to blank lines stand apart from a reader that goes on; a reader
that decodes with replacement shows bytes in its replies too; and a symptom that needs the frame
after a bad one has another cause if any bad frame will do.
"""


@cache
def smallest(name: str) -> list[Entry]:
    """A minimized entry for each signature that a short campaign finds."""
    planted = BY_NAME[name]
    target = f"planted:{name}"
    examiner = Examiner((), [[GatewayTarget(target, planted.factory, planted.policy)]])
    found: dict[str, tuple[Finding, bytes]] = {}
    for number in range(BLOCKS):
        for case in block(7, number, (planted.version,)):
            for each in examiner.examine(case):
                if not case.cuts and len(case.data) < 3_000:
                    found.setdefault(each.signature, (each, case.data))

    def entry(each: Finding, data: bytes) -> Entry:
        def shows(candidate: bytes) -> bool:
            case = case_from_bytes(candidate, protocol=planted.version)
            return any(map(same(each), examiner.examine(case)))

        case = case_from_bytes(reduce(data, shows, limit=700).data, protocol=planted.version)
        return Entry(None, describe(each, case, versions={}), case)  # type: ignore[arg-type]

    return [entry(*each) for each in list(found.values())[:10]]


@pytest.mark.parametrize("name", FAULTS)
def test_what_one_fault_shows_is_few_files(name):
    entries = smallest(name)
    assert entries
    names = set(faults_of(entries).values())
    assert len(names) <= FAULTS[name], sorted(names)


def test_two_faults_of_one_gateway_stay_two():
    entries = [*smallest("takes-byte-order-mark"), *smallest("takes-nan")]
    as_one = [_of("planted:both", entry) for entry in entries]
    assert len(set(faults_of(as_one).values())) >= 2


def _of(target: str, entry: Entry) -> Entry:
    found = entry.metadata.finding()
    signature = f"{target}|{found.signature.partition('|')[2]}"
    renamed = Finding(found.oracle, found.rule, target, signature, found.summary)
    return Entry(entry.path, describe(renamed, entry.case, versions={}), entry.case)


def test_signatures_of_different_gateways_are_different():
    names = ("takes-byte-order-mark", "takes-nan", "takes-trailing-commas", "acts-twice")
    signatures = [{e.metadata.signature for e in smallest(name)} for name in names]
    assert all(not a & b for i, a in enumerate(signatures) for b in signatures[i + 1 :])


def test_a_target_that_is_wrong_about_everything_has_one_fault():
    rules = [b"x\n", b"\xff\n", b"\xef\xbb\xbf1\n", b'{"a":1,"a":1}\n', b'"\\ud800"\n', b"1e999\n"]
    rules.append(b"99999999999999999\n")
    entries = []
    for place, raw in enumerate(rules):
        found = Finding("reply", "reply-code", "x", f"x|reply|reply-code|{place}", "s")
        case = case_from_bytes(raw)
        entries.append(Entry(None, describe(found, case, versions={}), case))  # type: ignore[arg-type]
    assert set(faults_of(entries).values()) == {"x|any rejected frame"}
    assert len(set(faults_of(entries[:MANY]).values())) == MANY
