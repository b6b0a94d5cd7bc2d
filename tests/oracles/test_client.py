"""Oracle *client*: what a client did with a bad answer is named by the answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from wirefence.oracles.client import NOT_A_SIGN, ClientEvidence, ClientReport, check_client
from wirefence.oracles.rules import ORACLE_RULES

GOOD = ClientEvidence(
    target="c",
    attack="wrong-id",
    about="a reply with another id",
    rule="",
    expected="reject",
    lenient=False,
    handshake=False,
    opening=False,
    methods=("notifications/initialized",),
    truth={"alpha": "T-1", "beta": "T-2"},
    false="F-1",
    reports=(
        ClientReport("alpha", "said T-1", error=False),
        ClientReport("beta", "said T-2", error=False),
    ),
    ending="exited",
    status="",
    stderr=b"",
    offending=b"bad",
)
FOOLED = (ClientReport("beta", "said F-1", error=False),)
CROSSED = (ClientReport("alpha", "said T-2", error=False),)
TRACEBACK = b"Traceback (most recent call last):\nKeyError: 'id'\n"


def judge(**changes: Any) -> list[str]:
    return [each.signature for each in check_client(replace(GOOD, **changes))]


RIGHT: dict[str, dict[str, Any]] = {
    "true answers": {},
    "no report": {"reports": ()},
    "errors": {"reports": (ClientReport("alpha", "closed", error=True),)},
    "goes on after a call": {"methods": ("tools/call", "tools/list")},
    "asks what needs no answer": {"opening": True, "methods": tuple(NOT_A_SIGN)},
    "takes what the profile allows": {"lenient": True, "reports": FOOLED},
    "takes a permitted answer": {"expected": "accept"},
    "goes on after a permitted handshake": {
        "expected": "accept",
        "handshake": True,
        "methods": ("tools/list",),
    },
    "dies without a report of a permitted answer": {"expected": "accept", "reports": ()},
    "a token within another word": {"truth": {"alpha": "T-1", "beta": "T"}},
}


@pytest.mark.parametrize("changes", RIGHT.values(), ids=RIGHT)
def test_a_right_client_has_no_finding(changes: dict[str, Any]) -> None:
    if changes.get("truth"):
        changes = {**changes, "reports": GOOD.reports[:1]}
    assert judge(**changes) == []


WRONG: dict[str, tuple[dict[str, Any], list[str]]] = {
    "takes an answer to nobody": ({"reports": FOOLED}, ["c|client-association|wrong-id"]),
    "takes a broken answer": (
        {"attack": "nan", "rule": "json-syntax", "reports": FOOLED},
        ["c|client-accepts|nan"],
    ),
    "reports a false error": (
        {"reports": (ClientReport("beta", "F-1", error=True),)},
        ["c|client-association|wrong-id"],
    ),
    "goes on after a bad handshake": (
        {"opening": True, "methods": ("tools/list",), "rule": "rpc-id"},
        ["c|client-accepts|wrong-id"],
    ),
    "crosses answers": ({"reports": CROSSED}, ["c|client-association|wrong-id"]),
    "does not take a permitted answer": (
        {"expected": "accept", "reports": GOOD.reports[:1]},
        ["c|client-deaf|wrong-id"],
    ),
    "does not go on after a permitted handshake": (
        {"expected": "accept", "handshake": True, "methods": ("ping",)},
        ["c|client-deaf|wrong-id"],
    ),
    "dies": (
        {"ending": "crashed", "status": "exit 1", "stderr": TRACEBACK},
        ["c|live-crash|exit 1: KeyError"],
    ),
    "does not end": ({"ending": "hung"}, ["c|live-hang|server-gone"]),
    "takes it and dies": (
        {"reports": FOOLED, "ending": "crashed", "status": "SIGSEGV"},
        ["c|client-association|wrong-id", "c|live-crash|SIGSEGV"],
    ),
}


@pytest.mark.parametrize(("changes", "found"), WRONG.values(), ids=WRONG)
def test_a_wrong_client_has_a_finding_named_by_the_answer(
    changes: dict[str, Any], found: list[str]
) -> None:
    assert judge(**changes) == found


def test_every_rule_is_planted() -> None:
    named = {each.split("|")[1] for _, found in WRONG.values() for each in found}
    assert set(ORACLE_RULES["client"]) <= named


def test_a_crash_is_named_by_its_place_and_not_by_the_answer() -> None:
    dead = {"ending": "crashed", "status": "exit 1", "reports": ()}
    other = TRACEBACK.replace(b"'id'", b"'method'")
    one = judge(**dead, attack="nan", stderr=TRACEBACK)
    assert one == judge(**dead, attack="wrong-id", stderr=other)
    assert one != judge(**dead, stderr=b"TypeError: no\n")
    assert one != judge(**{**dead, "status": "exit 2"}, stderr=TRACEBACK)


def test_a_finding_shows_the_answer_and_says_which_rule_it_breaks() -> None:
    (found,) = check_client(replace(GOOD, rule="json-syntax", reports=FOOLED))
    assert (found.oracle, found.offending) == ("client", b"bad")
    assert found.summary.startswith("the client accepted as the result of 'beta' what it must")
    assert GOOD.about in found.summary
