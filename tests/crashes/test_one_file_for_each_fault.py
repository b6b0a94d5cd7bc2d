"""Quality: what a campaign finds in a planted gateway is filed once, and two faults twice."""

from __future__ import annotations

from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from fuzz.crashes.bucket import faults_of, sort, stood_in
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
ENOUGH = 10
"""Signatures of a fault that are looked at, the first ones that show."""

FAULTS = (
    "skips-bad-lines",
    "decodes-with-replacement",
    "takes-byte-order-mark",
    "takes-nan",
    "takes-trailing-commas",
    "first-duplicate-wins",
    "takes-float-id",
    "ignores-version-member",
    "acts-on-hybrids",
    "retries-as-operator",
    "acts-twice",
    "replies-to-notifications",
    "is-silent-on-refusal",
    "pretty-prints-replies",
)
"""Planted gateways of which everything that is found becomes one file."""

MORE = {"splits-at-bare-cr": 2, "takes-second-initialize": 2, "folds-case-of-members": 3}
"""Those that become more: the same leniency, met at places that break different rules."""


@cache
def smallest(name: str) -> list[Entry]:
    """A minimized entry for each signature that a short campaign finds."""
    planted = BY_NAME[name]
    target = f"planted:{name}"
    examiner = Examiner((), [[GatewayTarget(target, planted.factory, planted.policy)]])
    found: dict[str, tuple[Finding, bytes]] = {}
    for case in chain.from_iterable(block(7, n, (planted.version,)) for n in range(BLOCKS)):
        if case.cuts or len(case.data) >= 3_000:
            continue
        for each in examiner.examine(case):
            found.setdefault(each.signature, (each, case.data))
        if len(found) >= ENOUGH:
            break

    def entry(each: Finding, data: bytes) -> Entry:
        def shows(candidate: bytes) -> bool:
            case = case_from_bytes(candidate, protocol=planted.version)
            return any(map(same(each), examiner.examine(case)))

        case = case_from_bytes(reduce(data, shows, limit=700).data, protocol=planted.version)
        place = Path(f"{each.rule}-{len(data)}.frame")
        return Entry(place, describe(each, case, versions={}), case)

    return [entry(*each) for each in list(found.values())[:ENOUGH]]


def files(name: str) -> list[Entry]:
    """What is committed of all that is found in a planted gateway."""
    planted = BY_NAME[name]
    target = GatewayTarget(f"planted:{name}", planted.factory, planted.policy)
    examiner = Examiner((), [[target]])
    taken, _ = sort(
        smallest(name),
        [],
        lambda entry: examiner.examine(entry.case),
        lambda _, cases: [examiner.examine(case) for case in cases],
    )
    return taken


@pytest.mark.parametrize("name", FAULTS)
def test_what_one_fault_shows_is_one_file(name):
    taken = [entry.metadata.signature for entry in files(name)]
    assert len(taken) == 1, taken


@pytest.mark.parametrize("name", MORE)
def test_what_one_fault_shows_is_few_files(name):
    taken = [entry.metadata.signature for entry in files(name)]
    assert 1 <= len(taken) <= MORE[name], taken


def test_any_rejected_frame_will_do_for_a_reader_that_goes_on_and_not_for_a_lenient_one():
    def tried(name: str) -> list[bool]:
        planted = BY_NAME[name]
        target = GatewayTarget(f"planted:{name}", planted.factory, planted.policy)
        examiner = Examiner((), [[target]])
        return [
            stood_in(entry, lambda _, cases: [examiner.examine(case) for case in cases]) is not None
            for entry in smallest(name)
        ]

    assert all(tried("skips-bad-lines"))
    assert not any(tried("takes-nan"))


def test_what_shows_in_the_reproducer_of_another_is_not_filed_beside_it():
    small, large = smallest("takes-nan")[0], smallest("takes-float-id")[0]
    both = {small.metadata.finding(), large.metadata.finding()}
    taken, refused = sort([small, large], [], lambda _: both, lambda _, cases: [[] for _ in cases])
    assert len(taken) == len(refused) == 1
    assert "reproducer" in refused[0].why
    apart, _ = sort([small, large], [], lambda entry: [entry.metadata.finding()], None)
    assert len(apart) == 2


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


def test_a_fault_of_any_rejected_frame_has_the_name_of_what_shows_then():
    def entry(oracle: str, rule: str, raw: bytes) -> Entry:
        found = Finding(oracle, rule, "x", f"x|{oracle}|{rule}|{raw!r}", "s")
        case = case_from_bytes(raw)
        return Entry(Path("x.frame"), describe(found, case, versions={}), case)

    bad, worse = entry("reply", "reply-code", b"x\n"), entry("reply", "reply-id", b"\xff\n")
    good = entry("reply", "reply-missing", b"")
    plain, one, other = (each.metadata.signature for each in (good, bad, worse))
    names = faults_of([good, bad, worse], {one: frozenset(), other: frozenset({plain})})
    assert names == {
        plain: "x|reply|reply-missing",
        one: "x|any rejected frame",
        other: "x|reply|reply-missing",
    }
