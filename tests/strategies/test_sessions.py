"""A session without damage breaks no rule; with damage, it is the damage alone that does."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from wirefence.oracles.document import judge_document
from wirefence.strategies.contract import DEFAULT_TOOLS, Contract
from wirefence.strategies.mcp_calls import PLANS, Plan, call
from wirefence.strategies.records import VERSIONS, Case, Frame, Version
from wirefence.strategies.sessions import frame, handshake, session
from wirefence.strategies.source import RandomSource, Source

SAMPLE = 300
SERVED = {"initialize", "ping", "server/discover", "tools/list", "tools/call"}


def sample(version: Version, count: int = SAMPLE) -> list[Case]:
    source = RandomSource(VERSIONS.index(version))
    return [session(source, version, prefix="s-") for _ in range(count)]


def messages(case: Case) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for each in case.frames:
        document = json.loads(each.raw)
        found += document if isinstance(document, list) else [document]
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_every_frame_is_one_line_that_the_strict_judge_accepts(version: Version) -> None:
    for case in sample(version):
        for each in case.frames:
            assert each.raw.count(b"\n") == 1
            assert each.raw.endswith(b"\n")
            assert b"\r" not in each.raw
            verdict = judge_document(each.raw[:-1])
            assert verdict.accepted, (verdict.rule, each.raw)
            assert not each.damage


@pytest.mark.parametrize("version", VERSIONS)
def test_ids_are_usable_and_never_repeat(version: Version) -> None:
    for case in sample(version):
        ids = [message["id"] for message in messages(case) if "id" in message]
        assert all(type(ident) in (int, str) for ident in ids)
        assert len({(type(ident), ident) for ident in ids}) == len(ids)
        assert b'"id":-0,' not in case.data


@pytest.mark.parametrize("version", VERSIONS[:4])
def test_the_handshake_comes_first_and_once(version: Version) -> None:
    for case in sample(version):
        methods = [message["method"] for message in messages(case)]
        ready = methods.index("notifications/initialized")
        assert [method for method in methods[: ready + 1] if method != "ping"] == [
            *("initialize", "notifications/initialized")
        ]
        assert Counter(methods)["initialize"] == Counter(methods)["notifications/initialized"] == 1


def test_pings_come_before_and_in_the_middle_of_the_handshake() -> None:
    openings = [
        [message["method"] for message in messages(case)[:2]] for case in sample("2025-11-25")
    ]
    assert ["ping", "initialize"] in openings
    assert ["initialize", "ping"] in openings


def test_2026_has_no_handshake_and_carries_its_terms_in_each_request() -> None:
    assert handshake(RandomSource(0), "2026-07-28") == []
    for case in sample("2026-07-28"):
        for message in messages(case):
            if "id" not in message:
                continue
            meta = message["params"]["_meta"]
            assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
            assert isinstance(meta["io.modelcontextprotocol/clientCapabilities"], dict)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_acting_frame_names_an_action_of_its_own(version: Version) -> None:
    for case in sample(version):
        nonces = [each.nonce for each in case.frames if each.nonce]
        assert len(set(nonces)) == len(nonces)
        for each in case.frames:
            assert each.nonce.startswith("s-") or not each.nonce
            assert case.data.count(b'"action":"%b"' % each.nonce.encode()) == bool(each.nonce)


@pytest.mark.parametrize("version", VERSIONS)
def test_sessions_hold_calls_above_all_and_some_of_everything(version: Version) -> None:
    methods = Counter(message["method"] for case in sample(version) for message in messages(case))
    unserved = {method for method in methods if "notifications/" not in method} - SERVED
    assert methods["tools/call"] > sum(methods.values()) / 3
    assert methods["tools/list"]
    assert methods["server/discover" if version == "2026-07-28" else "ping"]
    assert methods["notifications/cancelled"]
    assert len(unserved) > 4


@pytest.mark.parametrize("version", VERSIONS)
def test_no_response_is_sent_unasked(version: Version) -> None:
    assert all("method" in message for case in sample(version) for message in messages(case))


def test_batches_come_in_the_one_version_that_has_them() -> None:
    batches = {
        version: sum(each.raw.startswith(b"[") for case in sample(version) for each in case.frames)
        for version in VERSIONS
    }
    assert batches.pop("2025-03-26")
    assert not any(batches.values())


def test_a_good_session_has_one_to_five_frames_after_its_handshake() -> None:
    sizes = Counter(len(case.frames) for case in sample("2026-07-28"))
    assert set(sizes) == {1, 2, 3, 4, 5}


def test_some_good_sessions_are_written_in_pieces() -> None:
    cases = sample("2025-11-25")
    assert any(case.cuts for case in cases)
    assert not all(case.cuts for case in cases)
    for case in cases:
        assert b"".join(case.chunks()) == case.data
        assert len(case.chunks()) == len(case.cuts) + 1


def test_damage_is_done_to_a_session_that_is_good() -> None:
    seen: list[list[Frame]] = []

    def drop_all(
        _source: Source, frames: list[Frame], _version: Version
    ) -> tuple[list[Frame], tuple[int, ...], tuple[str, ...]]:
        seen.append(frames)
        return [], (), ("all-gone",)

    source = RandomSource(0)
    cases = [session(source, damage=drop_all) for _ in range(80)]

    gone = [case for case in cases if case.damage == ("all-gone",)]
    assert len(gone) == len(seen)
    assert 50 < len(gone) < 80
    assert not any(case.frames for case in gone)
    assert all(b"initialize" in frames[0].raw + frames[1].raw for frames in seen)


def called(plan: Plan, count: int = 40) -> list[dict[str, Any]]:
    source = RandomSource(PLANS.index(plan))
    made = [call(source, "2025-11-25", "n", b"1", plan=plan) for _ in range(count)]
    params: list[dict[str, Any]] = [json.loads(each.encode())["params"] for each in made]
    return params


def missing(params: dict[str, Any]) -> set[str]:
    tool = next(tool for tool in DEFAULT_TOOLS if tool.name == params["name"])
    needed = {argument.name for argument in tool.arguments if argument.required}
    return needed - set(params["arguments"])


def unknown(params: dict[str, Any]) -> set[str]:
    tool = next(tool for tool in DEFAULT_TOOLS if tool.name == params["name"])
    return set(params["arguments"]) - {argument.name for argument in tool.arguments}


def token(params: dict[str, Any]) -> object:
    return params.get("_meta", {}).get("wirefence/token", "absent")


def test_granted_calls_reach_every_open_tool_with_all_it_needs() -> None:
    made = called("granted")
    assert {params["name"] for params in made} == {tool.name for tool in DEFAULT_TOOLS[:-1]}
    assert not any(missing(params) or unknown(params) for params in made)
    assert {token(params) for params in made} == {"absent"}


def test_only_who_shows_the_token_may_reset() -> None:
    assert {token(params) for params in called("reset")} == {Contract().token}
    assert {token(params) for params in called("anonymous-reset")} == {"absent"}
    resets = called("reset") + called("anonymous-reset")
    assert {params["name"] for params in resets} == {"admin_reset"}


def test_refused_calls_have_the_fault_they_are_named_for() -> None:
    tools = {tool.name for tool in DEFAULT_TOOLS}
    assert not any(params["name"] in tools for params in called("unknown-tool"))
    assert all(len(missing(params)) == 1 for params in called("missing-argument"))
    assert all(len(unknown(params)) == 1 for params in called("unknown-argument"))
    assert Contract().token not in map(str, map(token, called("wrong-token")))
    assert all(
        any(value in (None, [1], [None]) for value in params["arguments"].values())
        for params in called("wrong-type")
    )


def test_a_call_that_names_no_action_has_no_nonce() -> None:
    source = RandomSource(1)
    plans: tuple[Plan, ...] = ("missing-argument", "wrong-type")
    for _ in range(60):
        plan = source.choice(plans)
        made = call(source, "2025-06-18", "n", b"1", plan=plan)
        assert bool(made.nonce) == (b'"action":"n"' in made.encode())


def test_a_single_frame_has_the_id_and_nonce_it_is_given() -> None:
    source = RandomSource(2)
    made = [frame(source, "2025-03-26", "mine", b'"a"') for _ in range(200)]
    assert any(each.nonce == "mine" for each in made)
    for each in made:
        assert b'"id":"a"' in each.raw.replace(b": ", b":") or b'"id"' not in each.raw
