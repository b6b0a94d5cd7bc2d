"""Oracle *transcript*: each offence on stdout is found once; permitted lines are not."""

from __future__ import annotations

import time

import pytest

from wirefence.oracles.records import Finding
from wirefence.oracles.rules import ORACLE_RULES
from wirefence.oracles.transcript import check_startup, find_offences, lines_of
from wirefence.oracles.transcript_judge import judge_reply
from wirefence.oracles.transcript_kinds import KINDS, holds_message, manner_of

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


PRETTY = b'{\n "jsonrpc": "2.0",\n "id": 1,\n "result": {\n  "a": [\n   1,\n   "}"\n  ]\n }\n}\n'
ALIKE = {
    "text": (
        *(b"mini gateway 1.0 ready\n", b"[12:30] INFO ready\n", b"[1] up\n", b"{gateway} up\n"),
        *(b"Welcome!\n\n  *  \n42\n[1, 2]\nready\n", b"\x1b[32mcaf\xe9\n", b"{'a': 1}\n"),
        *(b"nan\n", b'"NaN"x\n', b"data: {}\n", b"[\n", b"[[[\nready\n"),
        b'Traceback (most recent call last):\n  File "x"\n\nKeyError: {"a"\n',
    ),
    "blank-line": (b"\n", b" \t\r\n", b"\n\n\n"),
    "JSON-over-several-lines": (
        *(PRETTY, PRETTY * 3, PRETTY.replace(b"\n", b"\r\n"), b'[\n{"a":1}\n]\n', b"{\n}\n"),
        b'{"jsonrpc":"2.0",\n\n"id":1}\n',
    ),
    "cut-JSON": (b'{"jsonrpc":"2.0","id"\n', b'{"a":"b\n', b'[{"a":1\n', b'{"a":[\n' + GOOD),
    "more-after-a-value": (GOOD[:-1] + GOOD, GOOD[:-1] + b" done: NaN\n", b"{}}\n", b'{"a":1},\n'),
    "non-finite-number": (b'{"a":NaN}\n', b'{"a":[-Infinity]}\n', b' [{"a": nan}]\n'),
    "malformed-JSON": (b'{"a":1,}\n', b'{"NaN":01}\n', b'{"a":"\x01"}\n', b'{"a":/**/1}\n'),
    "not-UTF-8": (b'{"a":"\xff"}\n', b'[{"caf\xe9":NaN}]\n'),
    "UTF-16-or-UTF-32": (GOOD[:-1].decode().encode("utf-16-le") + b"\n",),
    "byte-order-mark": (b"\xef\xbb\xbf" + GOOD,),
}
"""Lines that are one offence of one kind, in whatever words."""
TAILS = {
    "whole-message": (GOOD[:-1], GOOD[:-1] * 2, b'{"a":1} x'),
    "cut-JSON": (GOOD[:-5], b'{"a":"\xc3'),
    "text": (b"> ", b"ready", b"1"),
    "blank-line": (b" ",),
}


def findings(stdout: bytes) -> list[Finding]:
    lines = lines_of(stdout)
    said = [judge_reply(each, "2025-11-25") for each in lines]
    return find_offences("t", lines, said, stdout[stdout.rfind(b"\n") + 1 :])


def found_in(stdout: bytes) -> list[str]:
    return [each.rule for each in findings(stdout)]


def kinds_in(stdout: bytes) -> list[str]:
    found = findings(stdout)
    assert {each.deviation for each in found} <= {"none"}
    return [each.effect.partition(":")[2] for each in found]


@pytest.mark.parametrize(("line", "rule"), BAD)
def test_an_offence_among_good_lines_is_one_finding(line: bytes, rule: str) -> None:
    assert found_in(GOOD + line) == [rule]


def test_every_rule_is_planted() -> None:
    assert {rule for _, rule in BAD} == set(ORACLE_RULES["transcript"])


@pytest.mark.parametrize("stdout", [b"", GOOD, GOOD * 3, GOOD[:-1] + b"\r\n"])
def test_permitted_lines_are_no_finding(stdout: bytes) -> None:
    assert found_in(stdout) == []


def test_the_same_offence_twice_is_one_finding_and_another_is_another() -> None:
    assert found_in(b"oops\noops\n" + GOOD + b"1\n") == ["out-not-json", "out-not-message"]


@pytest.mark.parametrize(("kind", "raw"), [(k, raw) for k, raws in ALIKE.items() for raw in raws])
def test_what_was_written_has_one_kind_in_whatever_words(kind: str, raw: bytes) -> None:
    assert kinds_in(raw) == kinds_in(GOOD + raw + GOOD) == [kind]


@pytest.mark.parametrize(("kind", "raw"), [(k, raw) for k, raws in TAILS.items() for raw in raws])
def test_what_lacks_its_line_feed_has_a_kind(kind: str, raw: bytes) -> None:
    assert kinds_in(GOOD + raw) == [kind]


def test_every_kind_is_planted() -> None:
    assert {*ALIKE, *TAILS} == {kind.replace(" ", "-") for kind in KINDS}


def test_what_several_faults_wrote_is_several_findings() -> None:
    nan = b'{"jsonrpc":"2.0","id":1,"result":{"seconds":NaN}}\n'
    assert kinds_in(b"ready\n" + nan) == ["text", "non-finite-number"]
    assert kinds_in(b"ready\n" + PRETTY) == ["text", "JSON-over-several-lines"]
    assert kinds_in(PRETTY.replace(b"1", b"NaN")) == [
        "JSON-over-several-lines",
        "non-finite-number",
    ]
    assert kinds_in(b'ready\n{"event":"up"}\n') == ["text", "rpc-version"]
    assert kinds_in(PRETTY[:-1]) == ["JSON-over-several-lines", "text"]
    assert kinds_in(b'settings {\n"a": [\n1\n]\n}\n') == ["text"]


def test_kinds_of_one_way_of_writing_and_those_that_may_be_replies() -> None:
    ways = {manner_of(kind) for kind in KINDS}
    assert {manner_of(way) for way in ways} == ways
    assert manner_of("blank line") == manner_of("text") != manner_of("non-finite number")
    assert {kind for kind in KINDS if not holds_message(kind)} == {"text", "blank line"}
    assert not holds_message("rpc-batch")
    assert holds_message("rpc-result")


def test_lines_that_open_and_never_close_cost_no_more_than_their_number() -> None:
    few, many = (_seconds(b"{\n" * count) for count in (500, 4_000))
    assert many < 8 * 4 * few


def _seconds(stdout: bytes) -> float:
    lines = lines_of(stdout)
    said = [judge_reply(each, "2025-11-25") for each in lines]
    times = []
    for _ in range(3):
        start = time.process_time()
        find_offences("t", lines, said, b"")
        times.append(time.process_time() - start)
    return min(times)


def test_a_hostile_line_is_shown_escaped_and_cut() -> None:
    stdout = b"\x1b]0;owned\x07" + b"A" * 1_000_000 + b"\n"
    (found,) = findings(stdout)
    assert "\x1b" not in found.summary
    assert len(found.summary) < 400
    assert found.summary.endswith(" ...")
    assert not findings(b"short\n")[0].summary.endswith(" ...")


NOISE = b"starting\nready\n"


def start(stdout: bytes, last: bytes | None = None) -> list[Finding]:
    said = [judge_reply(each, "2025-11-25") for each in lines_of(stdout)]
    about = "TERM=odd (exit 0)"
    return list(check_startup("t", "startup-odd", about=about, stdout=stdout, said=said, last=last))


def test_noise_of_a_start_is_one_finding_for_each_rule_and_names_the_start() -> None:
    (found,) = start(NOISE + GOOD)
    assert found.signature == "t|out-not-json|startup-odd"
    assert (found.oracle, found.offending) == ("transcript", b"starting")
    assert found.summary == "TERM=odd (exit 0): 'starting' on stdout"
    assert [each.rule for each in start(NOISE + GOOD + b"1\n" + GOOD + b"end")] == [
        *("out-not-json", "out-not-message", "out-unterminated"),
    ]


def test_a_start_that_does_not_answer_is_a_finding_beside_its_noise() -> None:
    assert start(GOOD) == []
    silent = start(b"", b"last words")
    assert [(each.oracle, each.signature) for each in silent] == [
        ("reply", "t|reply-missing|startup-odd")
    ]
    assert silent[0].offending == b"last words"
    assert [each.rule for each in start(NOISE, b"")] == ["out-not-json", "reply-missing"]
