"""Each attack's bytes, judged: they break the rule that the attack names, or none."""

from __future__ import annotations

import json

import pytest

from wirefence.fuzz.gate.client.attacks import ATTACKS, GOOD
from wirefence.fuzz.gate.client.fake_server import FakeServer
from wirefence.fuzz.gate.client.records import Attack, ClientPlace, Close, Send, Step
from wirefence.oracles.message import judge_message
from wirefence.oracles.protocol import find_result_fault
from wirefence.strategies.records import VERSIONS, Version

BY_NAME = {attack.name: attack for attack in ATTACKS}
REJECTED = [
    (attack, place)
    for attack in ATTACKS
    if attack.expected == "reject" and not attack.final
    for place in attack.places
]


def hello(version: str = "2025-11-25", ident: object = 1) -> bytes:
    info = {"name": "c", "version": "1"}
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": info}
    return line(ident, "initialize", params)


def line(ident: object, method: str, params: object) -> bytes:
    message = {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}
    return json.dumps(message).encode() + b"\n"


def call(ident: object, action: str) -> bytes:
    return line(ident, "tools/call", {"name": "record", "arguments": {"action": action}})


def played(
    attack: Attack, place: ClientPlace, version: Version | None = None, *, text_ids: bool = False
) -> tuple[FakeServer, list[Step]]:
    """A peer that has answered the attacked request, and its steps there.

    The number 1 is the attacked one, since 1 is what ``true`` is taken for.
    """
    peer = FakeServer(attack, place, version, 0.0, "mark")
    shape = str if text_ids else int
    if place == "handshake":
        return peer, peer.receive_bytes(hello(ident=shape(1)))
    peer.receive_bytes(hello(ident=shape(7)))
    peer.receive_bytes(call(shape(8), "alpha"))
    return peer, peer.receive_bytes(call(shape(1), "beta"))


def sent(steps: list[Step]) -> bytes:
    return b"".join(step.data for step in steps if isinstance(step, Send))


@pytest.mark.parametrize(
    ("attack", "place"), REJECTED, ids=[f"{attack.name}-{place}" for attack, place in REJECTED]
)
def test_a_false_answer_breaks_the_rule_that_is_named(attack: Attack, place: ClientPlace) -> None:
    peer, steps = played(attack, place)
    assert peer.exercised
    assert peer.version is not None
    false = [raw for raw in sent(steps).split(b"\n")[:-1] if b"F-mark" in raw]
    verdicts = {
        profile: {
            judge_message(raw, peer.version, "server-to-client", profile).rule for raw in false
        }
        for profile in ("strict", "spec")
    }
    if attack.rule == "mcp-result":
        assert verdicts == {"strict": {""}, "spec": {""}}
        (result,) = [json.loads(raw)["result"] for raw in false]
        assert find_result_fault(peer.version, "tools/call", result) is not None
    elif attack.rule == "frame-cr":  # a notification, in which the answer is only data
        assert verdicts["spec"] == {""}
    elif attack.name == "text-behind-a-pause":
        assert verdicts["spec"] == {"json-syntax"}
    elif not attack.rule:
        assert verdicts["spec"] <= {"", "rpc-id"}
    elif attack.name in ("utf16", "spread"):
        assert all(judge_message(raw, peer.version).rule for raw in sent(steps).split(b"\n")[:1])
    else:
        assert verdicts["strict"] == {attack.rule}
        assert verdicts["spec"] == {"" if attack.strict else attack.rule}


@pytest.mark.parametrize("attack", [each for each in ATTACKS if each.expected == "reject"])
def test_no_true_answer_follows_a_bad_one_to_the_handshake(attack: Attack) -> None:
    if "handshake" in attack.places:
        _, steps = played(attack, "handshake")
        assert isinstance(steps[-1], Close)
        good = [
            raw
            for raw in sent(steps).split(b"\n")
            if judge_message(raw, "2025-11-25").rule == "" and b'"result"' in raw
        ]
        assert all(b"F-mark" in raw for raw in good)


@pytest.mark.parametrize("attack", [each for each in ATTACKS if not each.final])
def test_a_true_answer_comes_to_every_attacked_call(attack: Attack) -> None:
    peer, steps = played(attack, "call")
    assert peer.truth.keys() == {"alpha", "beta"}
    answers = [
        json.loads(raw)
        for raw in sent(steps).split(b"\n")
        if peer.truth["beta"].encode() in raw and raw[:1] == b"{" and _json(raw)
    ]
    assert [answer["id"] for answer in answers if answer["id"] == 1][:1] == [1]


def _json(raw: bytes) -> bool:
    try:
        json.loads(raw)
    except ValueError:
        return False
    return True


def test_every_attack_fits_numeric_ids_and_most_fit_text_ids() -> None:
    for attack in ATTACKS:
        assert played(attack, "call")[0].exercised
    unfit = {a.name for a in ATTACKS if not played(a, "call", text_ids=True)[0].exercised}
    assert unfit == {"id-boolean", "id-fraction", "id-exponent", "early-answer"}


@pytest.mark.parametrize("ident", [b"9" * 4_300, b'"' + b"9" * 10_000 + b'"', b"9" * 5_000])
def test_an_id_of_any_length_can_be_answered(ident: bytes) -> None:
    """Python reads integers of 4,300 digits, but can't write the next one."""
    for attack in ATTACKS:
        peer = FakeServer(attack, "handshake", None, 0.0, "mark")
        steps = peer.receive_bytes(hello(ident=0).replace(b'"id": 0', b'"id": ' + ident))
        assert steps or len(ident) == 5_000, attack.name


@pytest.mark.parametrize("version", VERSIONS)
def test_true_answers_are_permitted_in_every_version(version: Version) -> None:
    peer = FakeServer(GOOD, "call", version, 0.0, "mark")
    requests = [hello(version), line(2, "tools/list", {}), call(3, "alpha"), line(4, "ping", {})]
    requests.append(line(5, "resources/list", {}))
    if version == "2026-07-28":
        requests[0] = line(1, "server/discover", {})
    for raw in requests:
        [step] = peer.receive_bytes(raw)
        assert isinstance(step, Send)
        assert judge_message(step.data[:-1], version, "server-to-client").rule == ""


def test_a_client_may_send_requests_in_pieces_and_several_at_once() -> None:
    peer = FakeServer(GOOD, "call", None, 0.0, "mark")
    raw = hello() + call(2, "alpha") + call("x", "beta")
    steps = [step for at in range(0, len(raw), 7) for step in peer.receive_bytes(raw[at : at + 7])]
    assert [json.loads(sent([step]))["id"] for step in steps] == [1, 2, "x"]
    assert set(peer.truth.values()) == {"T-mark-1", "T-mark-2"}


def test_what_is_no_request_is_not_answered() -> None:
    peer = FakeServer(GOOD, "call", None, 0.0, "mark")
    for raw in (b"\n", b"nonsense\n", b"[1]\n", b'{"method":"x"}\n', b'{"id":1,"result":{}}\n'):
        assert peer.receive_bytes(raw) == []
