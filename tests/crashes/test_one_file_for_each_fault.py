"""Quality: what campaigns find in a planted gateway is filed once, and two faults twice."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.crashes import symptoms
from tests.crashes.symptoms import Subject, cases
from wirefence.fuzz.crashes.bucket import Asker, sort
from wirefence.fuzz.store.metadata import make_metadata
from wirefence.fuzz.store.scan import Entry
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.oracles.records import Finding
from wirefence.targets.planted import BY_NAME, PLANTED
from wirefence.targets.planted.records import Planted

ELSEWHERE = {"buffers-without-bound"}
"""Shows only in frames of a megabyte."""

SEVERAL = {
    "tutorial-form": {
        "json-syntax UTF-16 or UTF-32",
        "json-syntax not a number",
        "json-duplicate-name",
        "utf8-bom",
        "utf8-invalid",
        "frame-cr",
        "rpc-id -0",
        "deeper nesting",
        "integers beyond 2^53",
        "fractions beyond binary64",
        "lone surrogates",
        "liveness|live-crash|UnicodeDecodeError",
    },
    "acts-before-line-feed": {
        "non-action|act-early",
        "the end of stdin for an end of line",
        "more after a value, in pieces",
    },
}
"""Gateways that do several things wrong, and each by its name: a campaign need not find all."""

ALIKE = {
    "another end of line": {"splits-at-bare-cr", "splits-at-line-separators"},
    "the end of stdin for an end of line": {"acts-on-unterminated-line", "repairs-at-eof"},
    "more after a value": {"ignores-trailing-garbage", "reads-concatenated-values"},
    "json-duplicate-name": {"last-duplicate-wins", "first-duplicate-wins"},
    "rpc-batch": {"executes-batch-eagerly", "takes-batch-in-any-version"},
}
"""Planted faults with one name: the same leniency, whatever is done with what was let in."""

NEAR = """\
takes-nan takes-trailing-commas
takes-nan takes-control-characters
takes-control-characters takes-byte-order-mark
takes-cr-lf takes-byte-order-mark
takes-cr-lf strips-unicode-space
takes-nan strips-unicode-space
first-duplicate-wins takes-nan
takes-float-id takes-boolean-id
takes-float-id takes-null-id-for-notification
ignores-version-member ignores-unknown-members
acts-on-hybrids ignores-version-member
overflows-to-infinity dies-on-huge-integer
dies-on-deep-nesting dies-on-huge-integer
dies-on-lone-surrogate decodes-with-replacement
acts-before-initialize takes-reused-id
takes-second-initialize takes-reused-id
acts-on-unterminated-line takes-second-initialize
acts-on-unterminated-line first-duplicate-wins
acts-on-unterminated-line takes-boolean-id
acts-on-unterminated-line ignores-unknown-members
merges-unknown-arguments coerces-arguments
evaluates-string-params folds-case-of-members
remembers-operator takes-wrong-token-for-none
takes-wrong-token-for-none retries-as-operator
acts-twice takes-nan
runs-self-test takes-nan
prints-banner takes-nan
prints-banner pretty-prints-replies
writes-nan prints-banner
logs-json-to-stdout prints-banner
logs-json-to-stdout writes-nan
forgets-line-feed prints-banner
skips-bad-lines leaks-frame-in-error
skips-bad-lines takes-nan
uses-one-error-code takes-cr-lf
leaks-frame-in-error takes-float-id
is-silent-on-refusal takes-boolean-id
ignores-version-member keeps-half-request
ignores-version-member keeps-handshake-of-rejected
ignores-version-member remembers-id-of-rejected
keeps-half-request keeps-handshake-of-rejected
keeps-half-request keeps-permission
keeps-handshake-of-rejected keeps-permission
remembers-id-of-rejected keeps-permission
remembers-id-of-rejected uses-one-error-code
skips-bad-lines uses-one-error-code
skips-bad-lines answers-rejected-with-result
swallows-next-frame uses-one-error-code
swallows-next-frame answers-rejected-with-result
uses-one-error-code answers-rejected-with-result
"""
"""Pairs of faults that one gateway can have at once, most of them near each other."""

HIDDEN = """\
keeps-permission remembers-operator
retries-as-operator remembers-operator
swallows-next-frame remembers-id-of-rejected
loses-split-frames acts-after-close
"""
"""Pairs of which the first hides the second: it breaks the same rules wherever that does."""


@cache
def files(fault: str) -> tuple[str, ...]:
    """The names of the files that come of a planted gateway, as if all were of one family."""
    return tuple(Subject(BY_NAME[fault], "planted:x").files(cases(fault)))


SINGLE = [each.name for each in PLANTED if each.name not in {*ELSEWHERE, *SEVERAL}]


@pytest.mark.parametrize("fault", SINGLE)
def test_what_one_fault_shows_is_one_file(fault):
    assert Subject(BY_NAME[fault]).entries(cases(fault)), "the pinned cases show it"
    assert len(files(fault)) == 1, files(fault)


@pytest.mark.parametrize("fault", SEVERAL)
def test_what_several_faults_show_is_a_file_for_each(fault):
    assert len(files(fault)) == len(set(files(fault))) > 2
    assert set(files(fault)) <= SEVERAL[fault]


def files_of_both(pair: str) -> list[str]:
    one, other = (BY_NAME[name] for name in pair.split())
    assert one.version == other.version
    policy = one.policy if one.policy == other.policy else "continue"
    both = type("Both", (one.factory, other.factory), {})
    planted: Planted = replace(one, name="both", factory=both, policy=policy)
    return Subject(planted).files([*cases(one.name), *cases(other.name)])


@pytest.mark.parametrize("pair", NEAR.splitlines())
def test_two_faults_of_one_gateway_are_two_files_each_with_the_name_of_its_fault(pair):
    assert sorted(files_of_both(pair)) == sorted(
        name for each in pair.split() for name in files(each)
    )


def test_of_two_faults_that_share_their_gravest_rule_another_rule_stands_for_one():
    made = files_of_both("answers-twice crosses-replies")
    assert made == ["reply|reply-twice", "reply|reply-missing"]


@pytest.mark.parametrize("pair", HIDDEN.splitlines())
def test_a_fault_that_hides_another_stands_alone_until_it_is_mended(pair):
    assert files_of_both(pair) == list(files(pair.split()[0]))


def test_faults_share_a_name_only_where_they_are_one_leniency():
    named = defaultdict(set)
    for fault in SINGLE:
        for name in files(fault):
            named[name].add(fault)
    assert {name: faults for name, faults in named.items() if len(faults) > 1} == ALIKE


def test_the_table_has_every_fault_and_what_is_added_to_it():
    assert {each.name for each in PLANTED} == set(symptoms.rows())
    for fault, rows in symptoms.ADDED.items():
        assert all(row in symptoms.rows()[fault] for row in rows)


def test_the_table_can_be_made_anew(tmp_path, monkeypatch):
    (tmp_path / "prints-banner.part").mkdir()  # of one that was interrupted
    made = symptoms.make(tmp_path, ["prints-banner"], cases=20)
    assert made == {"prints-banner": symptoms.rows()["prints-banner"]}
    assert [each.name for each in tmp_path.iterdir()] == ["prints-banner"]
    monkeypatch.setattr(symptoms.subprocess, "run", None)
    assert symptoms.make(tmp_path, ["prints-banner"], cases=20) == made


def entry(oracle: str, rule: str, raw: bytes) -> Entry:
    found = Finding(oracle, rule, "x", f"x|{oracle}|{rule}|{raw!r}", "s")
    case = case_from_bytes(raw)
    return Entry(Path("x.frame"), make_metadata(found, case, versions={}), case)


def test_of_what_no_input_explains_one_case_with_both_is_enough():
    ping = b'{"jsonrpc":"2.0","id":0,"method":"ping"}\n'
    twice, missing = entry("reply", "reply-twice", ping), entry("reply", "reply-missing", b"")
    both = [each.metadata.to_finding() for each in (twice, missing)]
    seen = {ping: both, b"": both[1:]}

    def run(_entry, tried):
        return [seen.get(each.data, []) for each in tried]

    taken, refused = sort([twice, missing], [], lambda each: seen[each.case.data], run)
    assert len(taken) == len(refused) == 1
    apart, _ = sort([twice, missing], [], lambda each: [each.metadata.to_finding()], None)
    assert len(apart) == 2


def test_a_lenient_reading_is_named_only_where_the_target_reads_so():
    for fault, name in (("splits-at-bare-cr", "another end of line"), ("takes-cr-lf", "frame-cr")):
        subject = Subject(BY_NAME[fault])
        found = next(e for e in subject.entries(cases(fault)) if b"\r" in e.case.data)
        assert Asker(subject.run).cause(found).cause == name
