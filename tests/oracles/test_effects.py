"""Oracle *non-action*: an effect without ground is charged, a granted one is not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracles.judged import read_session
from tests.oracles.lines import Lines
from wirefence.oracles.arguments import same_arguments
from wirefence.oracles.document import DEEPEST, LongInteger, judge_document
from wirefence.oracles.effects import check_acts
from wirefence.oracles.records import Finding
from wirefence.oracles.rules import ORACLE_RULES
from wirefence.strategies.contract import Contract
from wirefence.targets.records import Effect, Trace

LINES = Lines("2025-11-25")
OPENED = LINES.opened()
GOOD = LINES.call(1, action="good", count=1)
HALF = LINES.call(2, action="half").replace(b'"2.0"', b'"2"')
ADMIN = LINES.call(3, "admin_reset", action="admin")
STRANGER = LINES.request(
    "tools/call",
    {"name": "record", "arguments": {"action": "who"}, "_meta": {"wirefence/token": "?"}},
    4,
)
DATA = OPENED + GOOD + ADMIN + STRANGER + HALF + LINES.call(5, action="late") + b'{"action":"tail"'
GOOD_END = len(OPENED + GOOD)
ARGUMENTS = {"action": "good", "count": 1}


def ran(action: str, tool: str = "record", fed: int = len(DATA)) -> Effect:
    return Effect(tool, {"action": action}, fed)


def good(tool: str = "record", fed: int = GOOD_END, **arguments: Any) -> Effect:
    return Effect(tool, {**ARGUMENTS, **arguments}, fed)


def check(data: bytes, contract: Contract, *effects: Effect, out: bytes = b"") -> list[Finding]:
    return list(check_acts(read_session(data, Trace("t", out, effects), contract)))


def charged(*effects: Effect, policy: Any = "close") -> list[str]:
    return [each.rule for each in check(DATA, Contract(policy=policy), *effects)]


GROUNDLESS = [
    ((ran("half"),), "act-rejected"),
    ((ran("admin", "admin_reset"),), "act-unauthorized"),
    ((ran("who"),), "act-unauthorized"),
    ((good(), good()), "act-twice"),
    ((good(fed=GOOD_END - 1),), "act-early"),
    ((ran("late"),), "act-after-close"),
    ((good(count=2),), "act-altered"),
    ((good(count=True),), "act-altered"),
    ((good(count=1.0),), "act-altered"),
    ((good(note="x"),), "act-altered"),
    ((ran("good"),), "act-altered"),
    ((good(tool="write_file"),), "act-altered"),
    ((ran("never"),), "act-unfounded"),
    ((Effect("record", {}, 9),), "act-unfounded"),
]


@pytest.mark.parametrize(("effects", "rule"), GROUNDLESS)
def test_an_effect_without_ground_is_charged(effects: tuple[Effect, ...], rule: str) -> None:
    assert charged(*effects) == [rule]


def test_a_refused_member_of_a_batch_is_charged_as_it_would_be_alone() -> None:
    lines = Lines("2025-03-26")
    calls = (lines.call(1, action="good"), lines.call(2, "admin_reset", action="admin"))
    data = lines.opened() + b"[" + b",".join(each[:-1] for each in calls) + b"]\n"
    acted = Effect("record", {"action": "good"}, len(data))
    admin = Effect("admin_reset", {"action": "admin"}, len(data))
    (found,) = check(data, Contract("2025-03-26"), acted, admin)
    assert found.signature == "t|act-unauthorized|authz-denied:no-token"


def test_every_rule_is_planted_but_the_one_that_replies_show() -> None:
    assert {rule for _, rule in GROUNDLESS} | {"act-missing"} == set(ORACLE_RULES["non-action"])


def test_an_action_asked_for_twice_may_run_twice_and_no_more() -> None:
    again = OPENED + GOOD + LINES.call(7, action="good", count=1) + LINES.call(8, action="other")

    def charged_again(*effects: Effect) -> list[str]:
        return [each.rule for each in check(again, Contract(), *effects)]

    last = len(again)
    assert charged_again(good(), good(fed=last)) == []
    assert charged_again(good(), good(fed=last), good(fed=last)) == ["act-twice"]
    assert charged_again(good(), good(fed=GOOD_END)) == ["act-early"]


def test_granted_effects_are_not_charged() -> None:
    assert charged() == charged(good()) == charged(good(fed=len(DATA))) == []
    assert charged(good(), ran("late"), policy="continue") == []


def test_the_unterminated_tail_is_rejected() -> None:
    assert charged(ran("tail"), policy="continue") == ["act-rejected"]


@pytest.mark.parametrize(
    ("said", "done", "same"),
    [
        ({"a": 1, "b": "x"}, {"b": "x", "a": 1}, True),
        ({"o": {"a": 1, "b": [{}, None]}}, {"o": {"b": [{}, None], "a": 1}}, True),
        ({"a": "x" * 2}, {"a": "".join(["x", "x"])}, True),
        ({"a": 1}, {"a": 1.0}, False),
        ({"a": 1}, {"a": True}, False),
        ({"a": [0]}, {"a": [False]}, False),
        ({"a": 0.0}, {"a": -0.0}, False),
        ({"a": None}, {}, False),
        ({"a": [1, 2]}, {"a": [2, 1]}, False),
        ({"a": [1]}, {"a": [1, 1]}, False),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 1}}, False),
        ({"a": "\u00e9"}, {"a": "e\u0301"}, False),
    ],
)
def test_arguments_are_compared_as_typed_values(
    said: dict[str, object], done: dict[str, object], *, same: bool
) -> None:
    assert same_arguments(said, done) is same_arguments(done, said) is same


def nested(value: object) -> dict[str, object]:
    for _ in range(100_000):
        value = [value]
    return {"a": value}


def test_deep_arguments_are_compared_by_type_as_well() -> None:
    assert same_arguments(nested(1), nested(1))
    assert not same_arguments(nested(1), nested(1.0))


@pytest.mark.parametrize(
    "spelled", [b"w\\u0068o \\u00e9", b"\\u0077ho\\u0020\xc3\xa9", b"who \xff"]
)
@pytest.mark.parametrize("broken", [b"", b"}"])
def test_an_action_escaped_in_a_rejected_frame_was_rejected_there(
    spelled: bytes, broken: bytes
) -> None:
    line = LINES.call(9, action="NAME")[:-1].replace(b"NAME", spelled).replace(b"2.0", b"2")
    data = OPENED + line + broken + b"\n"
    name = "who \ufffd" if spelled.endswith(b"\xff") else "who \u00e9"
    (found,) = check(data, Contract(), ran(name))
    assert found.rule == "act-rejected"


def test_what_the_judge_keeps_no_value_of_is_like_any_other() -> None:
    deep = b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1)
    value = judge_document(deep, profile="spec").value
    other: list[object] = [5]
    for _ in range(DEEPEST - 1):
        other = [other]
    assert same_arguments({"a": value, "n": LongInteger("9")}, {"a": other, "n": 9})
    assert not same_arguments({"a": value}, {"a": [1]})
    assert not same_arguments({"n": LongInteger("9")}, {"n": 9.0})


def signatures(data: bytes, *effects: Effect, out: bytes = b"") -> list[str]:
    return [each.signature for each in check(data, Contract(policy="continue"), *effects, out=out)]


BAD_INITIALIZE = LINES.initialize(clientInfo=1)
RESULT = b'{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}\n'
ERROR = b'{"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"no"}}\n'
NULL_ERROR = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"no"}}\n'


def test_a_call_too_early_is_due_to_the_bad_initialize_that_was_taken() -> None:
    data = BAD_INITIALIZE + LINES.call(1)
    assert signatures(data, ran("act-1"), out=RESULT) == [
        "t|act-rejected|mcp-params:clientInfo-type"
    ]


def test_a_call_too_early_is_an_effect_of_its_own_where_nothing_else_was_taken() -> None:
    early = ["t|act-rejected|life-not-initialized:request"]
    assert signatures(LINES.call(1), ran("act-1")) == early
    assert signatures(BAD_INITIALIZE + LINES.call(1), ran("act-1"), out=ERROR) == early
    refused = NULL_ERROR * 2
    assert signatures(BAD_INITIALIZE + LINES.call(1), ran("act-1"), out=refused) == early


def test_nothing_tells_whether_a_bad_initialize_without_a_reply_was_taken() -> None:
    data = BAD_INITIALIZE + LINES.call(1)
    assert signatures(data, ran("act-1")) == signatures(data, ran("act-1"), out=NULL_ERROR) == []


def test_an_effect_though_the_answer_was_an_error_is_another_effect() -> None:
    """Who is told of an error repeats the call; who is told of success does not."""
    data = OPENED + ADMIN
    acted = ran("admin", "admin_reset")
    no = b'{"jsonrpc":"2.0","id":3,"error":{"code":-32003,"message":"no"}}\n'
    done = b'{"jsonrpc":"2.0","id":3,"result":{"content":[]}}\n'
    assert signatures(data, acted, out=no) == ["t|act-unauthorized:denied|authz-denied:no-token"]
    assert signatures(data, acted, out=done) == ["t|act-unauthorized|authz-denied:no-token"]


def test_text_of_an_accepted_frame_that_acts_is_no_granted_call() -> None:
    (found,) = check(OPENED + LINES.call(1, note='"action":"inner"'), Contract(), ran("inner"))
    assert found.signature == "t|act-rejected|none"
