"""Examination is a function of the case: which targets meet it, what is counted, what is said."""

from __future__ import annotations

import pytest

from wirefence.fuzz.examination.examiner import Examiner, agrees_with_judge, make_reading
from wirefence.fuzz.examination.plan import POLICIES, Plan, build_examiner
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.oracles.document import DEEPEST, judge_document
from wirefence.strategies.records import Case, Frame
from wirefence.targets.errors import TargetError
from wirefence.targets.parsers.configs import BY_NAME
from wirefence.targets.parsers.outcomes import outcome_of
from wirefence.targets.records import Outcome

PING = case_from_bytes(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')


def examiner(*targets: str) -> Examiner:
    return build_examiner(Plan(targets))


def test_with_an_index_one_group_of_gateways_meets_the_case_and_else_all() -> None:
    both = examiner("planted:healthy", "planted:acts-twice")
    for index in (0, 1, 2):
        both.examine_case(PING, index)
    assert both.tally.targets == {"planted:healthy": 2, "planted:acts-twice": 1}
    both.examine_case(PING)
    assert both.tally.targets == {"planted:healthy": 3, "planted:acts-twice": 2}


def test_a_factory_of_the_user_runs_under_each_policy(hostile) -> None:
    (group,) = examiner("hostile:kills").gateways
    assert [target.policy for target in group] == list(POLICIES)
    assert [target.name for target in group] == [f"hostile:kills/{name}" for name in POLICIES]


def test_a_document_seen_before_is_not_parsed_again() -> None:
    one = examiner("orjson")
    one.examine_case(case_from_bytes(b"[1]\n[1]\n[2]\n"))
    one.examine_case(case_from_bytes(b"[2]\n"))
    assert one.tally.cases == 2
    assert one.tally.documents == one.tally.comparisons == 3  # the empty end is one, too


def test_frames_are_counted_by_the_rule_they_break() -> None:
    one = examiner("planted:healthy")
    one.examine_case(case_from_bytes(b"{\n"))
    assert one.tally.rules == {"json-syntax": 1}
    assert one.tally.frames == 1


def test_what_a_server_says_meets_parsers_and_the_judge_of_its_lines_alone() -> None:
    line = Frame(b'{"jsonrpc":"2.0","id":1,"result":5}\n')
    one = examiner("orjson", "planted:healthy")
    assert one.examine_case(Case((line,), direction="server-to-client")) == []
    assert one.tally.rules == {"rpc-result": 1}
    assert one.tally.documents == 2
    assert one.tally.targets == {}


def test_a_value_that_the_judge_does_not_keep_differs_from_none() -> None:
    deep = b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1)
    expect = make_reading(judge_document(deep, profile="spec"))
    assert agrees_with_judge(Outcome("accept", b"any"), expect)
    assert not agrees_with_judge(Outcome("reject", b""), expect)


def test_an_unusable_target_is_an_error_and_not_a_finding(hostile) -> None:
    with pytest.raises(TargetError, match="no luck today"):
        examiner("hostile:raises").examine_case(PING)


def test_a_new_difference_of_a_parser_is_a_finding_and_a_known_one_is_not() -> None:
    case = case_from_bytes(b"NaN\n")
    assert Examiner([BY_NAME["json"]], (), {}).examine_case(case)
    assert examiner("json").examine_case(case) == []


@pytest.mark.parametrize(
    ("raw", "outcome_kind", "value", "same"),
    [
        (b"1", "accept", b"", False),
        (b"1", "reject", b"", False),
        (b"1", "escape", b"", False),
        (b"1", "death", b"", False),
        (b"{", "reject", b"", True),
        (b"{", "accept", b"", False),
        (b"{", "escape", b"", False),
    ],
)
def test_only_the_judges_own_reading_agrees(raw, outcome_kind, value, same) -> None:
    assert (
        agrees_with_judge(Outcome(outcome_kind, value), make_reading(judge_document(raw))) is same
    )


def test_an_equal_value_agrees_and_an_equal_looking_one_does_not() -> None:
    expect = make_reading(judge_document(b"[1]"))
    assert agrees_with_judge(outcome_of(BY_NAME["orjson"], b"[1]"), expect)
    assert not agrees_with_judge(outcome_of(BY_NAME["orjson"], b"[1.0]"), expect)
    assert not agrees_with_judge(outcome_of(BY_NAME["orjson"], b"[true]"), expect)


def test_a_document_that_differs_is_found_each_time_it_comes() -> None:
    examiner = Examiner((BY_NAME["json[bytes]"],), ())
    case = case_from_bytes(b"[NaN]\n")
    first = examiner.examine_case(case)
    assert [each.rule for each in first] == ["agree-accept"]
    assert examiner.examine_case(case) == first


def test_what_does_not_repeat_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wirefence.fuzz.examination.examiner._MAX_REMEMBERED", 3)
    one = examiner("orjson")
    for number in range(20):
        one.examine_case(case_from_bytes(b"[1]\n[%d]\n" % (number + 10)))
        one.examine_case(case_from_bytes(b'"%s"' % (b"x" * 600)))
    assert one.tally.documents == 2 + 20 + 20  # once each: what repeats, and what does not
    assert len(one._seen) == 3
