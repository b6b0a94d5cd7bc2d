"""Ids, batches, chunks, bounds and the journal of the reference gateway."""

from __future__ import annotations

import json

import pytest

from tests.gateway.wire import (
    HANDSHAKE,
    INITIALIZE,
    LATEST,
    META,
    READY,
    actions,
    after,
    call,
    play,
    raw_id,
)
from wirefence.strategies.contract import Contract
from wirefence.strategies.records import VERSIONS, Case, Frame, Version
from wirefence.targets.gateway import Execution, Journal, ReferenceGateway, Rejection
from wirefence.targets.recorder import Recorder


def test_ids_are_told_apart_by_type_and_echoed_as_they_came() -> None:
    big = b"9" * 5_000
    played = play(
        call(id="1") + call(id=1) + call(id="\u00e9\U0001f600") + call(id=""),
        Contract(),
    )
    assert [reply["id"] for reply in played.replies] == ["1", 1, "\u00e9\U0001f600", ""]
    gateway = ReferenceGateway(Recorder(), Contract(profile="spec"))
    assert b'"id":' + big + b"," in gateway.feed(raw_id(big))


def test_minus_zero_is_an_integer_everywhere_but_in_an_id() -> None:
    data = call({"action": "n", "count": 0}).replace(b'"count": 0', b'"count": -0')
    played = play(data, Contract())
    assert [effect.arguments["count"] for effect in played.recorder.effects] == [0]


@pytest.mark.parametrize("profile", ["strict", "spec"])
def test_a_batch_acts_in_order_and_is_answered_by_one_array(profile: str) -> None:
    members = [READY, call({"action": "a"}), call({"action": "b"}, id=8), call({}, id=9)]
    batch = b"[" + b",".join(one.strip() for one in members) + b"]\n"
    contract = Contract(version="2025-03-26", profile=profile)  # type: ignore[arg-type]
    played = play(batch, contract, opening=INITIALIZE)
    assert actions(played) == ["a", "b"]
    (array,) = played.replies
    assert [reply["id"] for reply in array] == [7, 8, 9]
    assert "error" in array[2]


def test_what_a_batch_changed_stays_and_what_a_rejected_one_changed_does_not() -> None:
    contract = Contract(version="2025-03-26", policy="continue")
    bad = b"[" + READY.strip() + b"," + call({"action": "a"}).strip() + b",7]\n"
    good = b"[" + READY.strip() + b"," + call({"action": "b"}).strip() + b"]\n"
    late = call({"action": "c"}, id=8)
    played = play(bad + late + good + late + call(), contract, opening=INITIALIZE)
    assert played.rules == ["rpc-batch", "life-not-ready", "life-id-reuse"]
    assert actions(played) == ["b", "c"]


def test_a_batch_of_notifications_is_not_answered() -> None:
    played = play(b"[" + READY.strip() + b"]\n", Contract(version="2025-03-26"), opening=INITIALIZE)
    assert (played.replies, played.rules) == ([], [])


@pytest.mark.parametrize("version", VERSIONS)
def test_chunks_do_not_matter(version: Version) -> None:
    good = call(meta=META if version == LATEST else None)
    opening = b"" if version == LATEST else HANDSHAKE
    data = opening + good + b"x" * 700 + b"\n\xff\n" + after(version) + b"{"
    contract = Contract(version=version, policy="continue", max_frame=600)
    whole = play(data, contract, opening=b"")
    assert actions(whole) == ["n", "after"]
    for size in (1, 2, 7, 64, 599, 601):
        gateway = ReferenceGateway(recorder := Recorder(), contract, journal=Journal(key=b"k"))
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        said = b"".join([*(gateway.feed(piece) for piece in pieces), gateway.eof()])
        assert [json.loads(line) for line in said.splitlines()] == whole.replies
        assert [effect.action for effect in recorder.effects] == ["n", "after"]
        places = [entry.offset for entry in gateway.journal.entries]
        assert places == [entry.offset for entry in whole.gateway.journal.entries]


def test_offsets_in_the_journal_are_the_starts_of_the_frames() -> None:
    data = HANDSHAKE + b"x" * 700 + b"\n" + call() + b"\n"
    gateway = ReferenceGateway(Recorder(), Contract(policy="continue", max_frame=600))
    gateway.feed(data)
    start = len(HANDSHAKE)
    assert [entry.offset for entry in gateway.journal.entries] == [
        start,
        start + 701,
        start + 701 + len(call()),
    ]


def test_a_line_without_end_is_rejected_at_the_limit_and_not_kept() -> None:
    gateway = ReferenceGateway(Recorder(), Contract(policy="continue", max_frame=100))
    assert gateway.feed(b"x" * 100) == b""
    assert b"-32700" in gateway.feed(b"x")
    for _ in range(50):
        assert gateway.feed(b"x" * 90) == b""
        assert gateway.buffered <= 100
    gateway.feed(b"\n" + HANDSHAKE[:50])
    assert gateway.buffered == 50


def test_a_given_parser_is_trusted_with_the_json_layer_and_its_failures_reject() -> None:
    def failing(raw: bytes) -> object:
        if b"boom" in raw:
            raise RecursionError
        return json.loads(raw)

    recorder = Recorder()
    gateway = ReferenceGateway(recorder, Contract(policy="continue"), parse=failing)
    gateway.feed(HANDSHAKE + b'"boom"\n' + raw_id(b"-0") + call().replace(b"\n", b"\r\n") + call())
    rejected = [e.rule for e in gateway.journal.entries if isinstance(e, Rejection)]
    assert rejected == ["json-syntax", "rpc-id", "frame-cr"]
    assert len(recorder.effects) == 1


def test_the_journal_names_rules_and_places_but_holds_no_content() -> None:
    contract = Contract()
    secret = call({"action": "nonce-1", "extra": contract.token})
    gateway = ReferenceGateway(Recorder(), contract)
    gateway.feed(HANDSHAKE + call({"action": "nonce-0"}, id=1) + secret + secret)
    written = repr(gateway.journal.entries)
    assert "nonce" not in written
    assert contract.token not in written
    execution, refused, reused = gateway.journal.entries
    assert isinstance(execution, Execution)
    assert isinstance(refused, Rejection)
    assert isinstance(reused, Rejection)
    assert refused.fingerprint == reused.fingerprint
    assert (refused.layer, reused.layer) == ("tool", "lifecycle")


def test_the_journal_is_bounded_and_its_fingerprints_are_keyed() -> None:
    journal = Journal(capacity=3)
    gateway = ReferenceGateway(Recorder(), Contract(policy="continue"), journal=journal)
    gateway.feed(b"\n" * 10)
    assert (len(journal.entries), journal.total) == (3, 10)
    other = ReferenceGateway(Recorder(), Contract(policy="continue"))
    other.feed(b"\n")
    mine, theirs = journal.entries[0], other.journal.entries[0]
    assert isinstance(mine, Rejection)
    assert isinstance(theirs, Rejection)
    assert mine.fingerprint != theirs.fingerprint


def test_case_and_frame_feed_the_gateway_as_they_are() -> None:
    case = Case((Frame(HANDSHAKE), Frame(call())), cuts=(3, 50))
    gateway = ReferenceGateway(recorder := Recorder(), Contract())
    for chunk in case.chunks():
        gateway.feed(chunk)
    assert len(recorder.effects) == 1
