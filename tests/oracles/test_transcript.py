"""Oracle *transcript*: each offence on stdout is found once; permitted lines are not."""

from __future__ import annotations

import pytest

from oracles.rules import ORACLE_RULES
from oracles.transcript import lines_of, transcript
from oracles.transcript_judge import judge_reply
from targets.records import Trace

GOOD = b'{"jsonrpc":"2.0","id":1,"result":{}}\n'
BAD = [
    (b"Traceback (most recent call last):\n", "out-not-json"),
    (b"\n", "out-not-json"),
    (b"\xef\xbb\xbf" + GOOD, "out-not-json"),
    (b'"\xff"\n', "out-not-json"),
    (GOOD[:-1] + GOOD, "out-not-json"),
    (b"1\n", "out-not-message"),
    (b"[]\n", "out-not-message"),
    (b'{"jsonrpc":"2.0","id":1}\n', "out-not-message"),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}\n', "out-not-message"),
    (GOOD[:-1], "out-unterminated"),
    (b" ", "out-unterminated"),
]


def found_in(stdout: bytes) -> list[str]:
    said = [judge_reply(each, "2025-11-25") for each in lines_of(stdout)]
    return [each.rule for each in transcript(Trace("t", stdout, ()), said)]


@pytest.mark.parametrize(("line", "rule"), BAD)
def test_an_offence_among_good_lines_is_one_finding(line: bytes, rule: str) -> None:
    assert found_in(GOOD + line) == [rule]


def test_every_rule_is_planted() -> None:
    assert {rule for _, rule in BAD} == set(ORACLE_RULES["transcript"])


@pytest.mark.parametrize("stdout", [b"", GOOD, GOOD * 3, GOOD[:-1] + b"\r\n"])
def test_permitted_lines_are_no_finding(stdout: bytes) -> None:
    assert found_in(stdout) == []


def test_the_same_offence_twice_is_one_finding_and_another_is_another() -> None:
    assert found_in(b"oops\noops\n1\n") == ["out-not-json", "out-not-message"]


def test_a_hostile_line_is_shown_escaped_and_cut() -> None:
    stdout = b"\x1b]0;owned\x07" + b"A" * 1_000_000 + b"\n"
    (found,) = transcript(Trace("t", stdout, ()), [judge_reply(stdout[:-1], "2025-11-25")])
    assert "\x1b" not in found.summary
    assert len(found.summary) < 400
