"""One fault has one signature; a fault that is accepted as known hides no graver one."""

from __future__ import annotations

import ast
from itertools import combinations
from pathlib import Path
from typing import get_args

import pytest

from tests.oracles.judged import judge_trace
from tests.oracles.lines import Lines
from wirefence.fuzz.examination.examiner import Examiner, GatewayTarget
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.oracles.evidence import Fault
from wirefence.oracles.records import rule_of
from wirefence.oracles.rules import BY_ID, ORACLE_RULES
from wirefence.strategies.contract import Contract
from wirefence.targets.planted import BY_NAME
from wirefence.targets.records import Effect, Trace

ROOT = Path(__file__).resolve().parents[2]
LINES = Lines("2025-11-25")
HELLO = LINES.opened()
KEPT = Contract(policy="continue")
SESSION_RULES = {rule for name in ("non-action", "reply", "session") for rule in ORACLE_RULES[name]}
CALL = LINES.call(7, action="acted")


def acted_on(raw: bytes) -> set[str]:
    """Return the signatures of a target that runs the call of one bad line."""
    data = HELLO + raw
    trace = Trace("t", b"", (Effect("record", {"action": "acted"}, len(data)),))
    found = judge_trace(data, trace, KEPT)
    return {each.signature for each in found if each.oracle == "non-action"}


def with_id(text: str) -> bytes:
    return CALL.replace(b'"id":7', b'"id":%b' % text.encode())


IDS = {text: acted_on(with_id(text)) for text in ("-0", "1.0", "1e2", "1.5", "true", "null", "[]")}
ONE_RULE = {
    "frame-cr": {
        "white space": CALL.replace(b'"id":', b'"id":\r'),
        "separator": b'{"x":1}\r' + CALL,
        "in a string": CALL.replace(b"record", b"rec\rord"),
    },
    "json-syntax": {
        "trailing comma": CALL.replace(b"}}}", b"},}}"),
        "comment": CALL.replace(b'"id"', b'/**/"id"'),
        "NaN": CALL.replace(b'"acted"', b'"acted","count":NaN'),
        "control character": CALL.replace(b'"acted"', b'"acted","note":"\x01"'),
        "single quotes": CALL.replace(b'"tools/call"', b"'tools/call'"),
        "leading zero": CALL.replace(b'"id":7', b'"id":07'),
        "text behind it": CALL[:-1] + b" log\n",
    },
    "tool-unknown": {
        "white space": LINES.call(7, "record ", action="acted"),
        "other case": LINES.call(7, "RECORD", action="acted"),
        "another name": LINES.call(7, "nothing", action="acted"),
    },
    "rpc-version": {
        "absent": CALL.replace(b'"jsonrpc":"2.0",', b""),
        "another string": CALL.replace(b'"2.0"', b'"1.0"'),
        "a number": CALL.replace(b'"2.0"', b"2.0"),
    },
}


def test_a_known_id_hides_no_other_id() -> None:
    """A baseline that accepts the id -0 must not let a release pass that takes the id true."""
    for text, signatures in IDS.items():
        assert len(signatures) == 1, text
        assert {rule_of(each) for each in signatures} == {"act-rejected"}
    known = IDS["-0"]
    for text in ("1.0", "true", "[]", "1e2", "null"):
        assert known.isdisjoint(IDS[text]), text
    assert len({frozenset(each) for each in IDS.values()}) == len(IDS)


@pytest.mark.parametrize("rule", ONE_RULE)
def test_ways_to_break_one_rule_have_signatures_of_their_own(rule: str) -> None:
    named = {name: acted_on(raw) for name, raw in ONE_RULE[rule].items()}
    for name, signatures in named.items():
        (signature,) = signatures
        assert signature.startswith(f"t|act-rejected|{rule}:"), name
    for one, other in combinations(named, 2):
        assert named[one].isdisjoint(named[other]), (one, other)


def test_effects_of_one_deviation_have_signatures_of_their_own() -> None:
    """Who answers a bad call is not as bad as who runs it."""
    data = HELLO + with_id("true")
    answered = Trace("t", b'{"jsonrpc":"2.0","id":true,"result":{"content":[]}}\n', ())
    found = {each.signature for each in judge_trace(data, answered, KEPT)}
    assert found.isdisjoint(acted_on(with_id("true")))


def test_a_signature_does_not_depend_on_names_values_or_places() -> None:
    other = LINES.call("another id", action="acted", note="é").replace(b"}}}", b"},}}")
    again = LINES.call(5, action="before") + other
    assert acted_on(ONE_RULE["json-syntax"]["trailing comma"]) == acted_on(other)
    data = HELLO + again
    ran = tuple(Effect("record", {"action": name}, len(data)) for name in ("before", "acted"))
    found = judge_trace(data, Trace("t", b"", ran), KEPT)
    assert {each.signature for each in found if each.rule == "act-rejected"} == acted_on(other)


def test_a_crash_at_every_bad_frame_has_one_signature() -> None:
    dead = Trace("t", b"", (), "crashed", "KeyError")
    every = [raw for named in ONE_RULE.values() for raw in named.values()]
    found = {each.signature for raw in every for each in judge_trace(HELLO + raw, dead, KEPT)}
    assert found == {"t|live-crash|KeyError"}


@pytest.mark.parametrize(
    ("mild", "grave"),
    [("takes-cr-lf", "splits-at-bare-cr"), ("takes-float-id", "takes-boolean-id")],
)
def test_a_mild_planted_fault_hides_no_grave_one(mild: str, grave: str) -> None:
    """Both break the same rule of the contract; a baseline of one must not accept the other."""
    hidden = b'{"jsonrpc":"2.0",\r%b\r"method":"ping","id":9}\n' % CALL[:-1]
    lines = (hidden, CALL.replace(b"\n", b"\r\n"), with_id("1.0"), with_id("true"))

    def examine(name: str) -> set[str]:
        fault = BY_NAME[name]
        target = GatewayTarget("one", fault.factory, "continue")
        examiner = Examiner((), [[target]])
        return {
            each.signature
            for raw in lines
            for each in examiner.examine_case(case_from_bytes(HELLO + raw))
        }

    known, found = examine(mild), examine(grave)
    assert any(rule_of(each) == "act-rejected" for each in found - known)


def test_each_rule_about_sessions_is_decided_in_one_module() -> None:
    """A rule in two places drifts, and gives one fault two signatures.

    That nothing outside of oracles/ makes a finding is a rule of the project.
    """
    found: dict[str, set[str]] = {}
    deciding = set((ROOT / "oracles").glob("*.py")) - {ROOT / "oracles/faults.py"}  # groups them
    for path in sorted(deciding):
        for rule in _list_decided(path):
            found.setdefault(rule, set()).add(path.stem)
    assert set(found) == SESSION_RULES
    assert {rule: places for rule, places in found.items() if len(places) > 1} == {
        # What only the replies of another's server show, and what a start does not answer.
        "act-rejected": {"effects", "replies"},
        "act-after-close": {"effects", "replies"},
        "reply-missing": {"replies", "transcript"},
    }


def _list_decided(path: Path) -> set[str]:
    """Return the rules about sessions that functions of a module name; lists decide nothing."""
    named: set[str] = set()
    for function in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(function, ast.FunctionDef):
            named |= {
                each.value.rstrip(":").partition(":")[0]
                for statement in function.body
                for each in ast.walk(statement)
                if isinstance(each, ast.Constant) and isinstance(each.value, str)
            }
    faults = {f"act-{fault}" for fault in get_args(Fault)} if "act-" in named else set()
    return SESSION_RULES & (named | faults)


def test_a_deviation_names_a_rule_of_the_contract() -> None:
    for named in ONE_RULE.values():
        for raw in named.values():
            for signature in acted_on(raw):
                assert signature.split("|")[2].partition(":")[0] in BY_ID
