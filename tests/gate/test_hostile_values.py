"""What a server says is told in a sentence, however large and however deep it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.gate.paper import CALLED, Paper, ident, line, request
from wirefence.fuzz.gate.records import Observation
from wirefence.fuzz.gate.server.fresh import spell_id
from wirefence.fuzz.gate.server.names_sent import find_names
from wirefence.fuzz.gate.trials.messages import TrialNames, tokens_in
from wirefence.oracles.document import DEEPEST, UNKNOWN, LongInteger
from wirefence.oracles.value_text import describe_value
from wirefence.strategies.contract import UNREADABLE

HUGE = "1" + "0" * 5_000
"""More digits than Python writes or reads by itself."""
LONG = "1" + "0" * 100_000
"""More digits than the judge makes an integer of."""
DEEP = 3_000


@pytest.fixture
def good(bench) -> Paper:
    made = bench()
    return Paper.of(made, made.trial("good"))


def raw(name: str, said: str) -> bytes:
    return f'{{"jsonrpc":"2.0","id":{name},{said}}}'.encode()


@pytest.mark.parametrize("code", [HUGE, "-" + HUGE])
def test_an_error_code_of_thousands_of_digits_is_told_by_its_size(good, code):
    error = raw(f'"{ident(good.number, "p")}"', f'"error":{{"code":{code},"message":""}}')
    refused = Observation(good.lines(p=error))
    assert good.summaries(refused) == [
        "error an integer of 16,610 bits for a good tools/call",
    ]
    served = Observation(good.lines())
    assert (
        "error an integer of 16,610 bits; without the rejected frame"
        in good.summaries(refused, served)[0]
    )
    other = raw(f'"{ident(good.number, "p")}"', '"error":{"code":-1,"message":""}')
    assert good.summaries(refused, Observation(good.lines(p=other)))[0].startswith(
        "error an integer"
    )


@pytest.mark.parametrize(
    ("version", "told"),
    [
        (HUGE, "version an integer of 16,610 bits;"),
        (LONG, "version an integer of 100,001 digits;"),
        ("[" * DEEP + "]" * DEEP, "version [[[[...]]]];"),
        (f'{{"a":[{HUGE}]}}', "version {'a': [an integer of 16,610 bits]};"),
    ],
)
def test_a_version_of_any_kind_is_told_in_few_words(good, version, told):
    hello = raw(f'"{ident(good.number, "h")}"', f'"result":{{"protocolVersion":{version}}}')
    summaries = good.summaries(Observation(good.lines(h=hello)), Observation(good.lines()))
    malformed = "the result of initialize: capabilities is missing"
    assert [each for each in summaries if each != malformed and each.startswith(told)]


@pytest.mark.parametrize(
    ("name", "told"),
    [(HUGE, "an integer of 16,610 bits"), (LONG, "an integer of 100,001 digits"), ("7", "7")],
)
def test_a_reply_to_an_id_that_nobody_has_is_told_whatever_it_is(good, name, told):
    stray = Observation(good.lines(raw(name, '"result":{}')))
    assert good.summaries(stray) == [f"a reply to id {told}, which no request has"]


def test_every_id_can_be_shown_and_looked_for():
    keys = [(int, 10**5_000), (LongInteger, LongInteger("-" + LONG)), (str, "\ud800"), (int, -3)]
    assert [describe_value(key[1]) for key in keys] == [
        "an integer of 16,610 bits",
        "an integer of 100,001 digits",
        "'\\ud800'",
        "-3",
    ]
    assert len({spell_id(key) for key in keys}) == len(keys)


def test_strings_stay_whole_so_that_a_secret_in_them_can_be_hidden():
    secret = "x" * 10_000
    assert secret in describe_value({"a": [secret]})
    assert describe_value(UNKNOWN) == "..."


def test_a_reply_and_an_effect_are_told_whole(good, bench):
    """They are cut once secrets are hidden in them: half of one would not be known as such."""
    made = bench()
    bad = Paper.of(made, made.trial("ugly-debug-line"))
    tail = "z" * 500
    other = line(ident(good.number, "p"), error={"code": 1, "message": tail})
    [summary] = bad.summaries(Observation(bad.lines()), Observation(good.lines(p=other)))
    assert tail in summary
    unnamed = replace(bad.acted(), detail=b"acts/" + tail.encode())
    seen = Observation(bad.lines(), effects=(bad.acted(), unnamed), fresh=True)
    [summary] = bad.summaries(seen, Observation(good.lines(), effects=(good.acted(),)))
    assert tail in summary


def nested(paper: Paper, depth: int) -> bytes:
    said = '{"a":' * depth + f'"{TrialNames(paper.number).action_name("t")}"' + "}" * depth
    params = f'{{"name":"record","arguments":{{"action":{said}}}}}'
    return request(paper.number, "t", "tools/call", params)


@pytest.mark.parametrize("readable", [True, False])
@pytest.mark.parametrize("depth", [3, DEEP, 12_000])
def test_names_are_found_in_arguments_of_any_depth(bench, depth, readable):
    made = bench(profile="spec")
    paper = Paper.of(made, made.trial("good"))
    tool = paper.facts.tool if readable else replace(paper.facts.tool, input_schema=UNREADABLE)
    paper = replace(paper, facts=replace(paper.facts, tool=tool))
    paper = paper.with_frames(nested(paper, depth))
    acts = Observation(paper.lines(line(ident(paper.number, "t"), result=CALLED)),
                effects=(paper.acted("t"),))  # fmt: skip
    kept = readable and depth < DEEPEST  # what the judge does not keep fits or differs
    told = {"act-rejected|tool-arguments:object"} if kept else set()
    assert paper.shows(acts) == told


def test_what_the_judge_did_not_keep_is_looked_for_in_the_bytes():
    name = TrialNames(1).action_name("t").encode()
    assert find_names({"a": [UNKNOWN]}, b"..." + name) == tokens_in(name)
    assert find_names({"a": ["x"]}, b"..." + name) == set()
