"""One damaged frame: what it promises holds, and what fails shrinks to it alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

from wirefence import strategies
from wirefence.oracles.session import judge_session
from wirefence.oracles.transcript_judge import judge_reply
from wirefence.strategies.contract import Contract, Profile
from wirefence.strategies.damage import BY_NAME, OPERATORS, apply_damage
from wirefence.strategies.damaged_frames import damaged_frame, find_fits
from wirefence.strategies.sessions import handshake
from wirefence.strategies.source import RandomSource

QUIET = settings(
    max_examples=20_000,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
FEW = settings(max_examples=150, deadline=None)

META = (
    b'"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    b'"io.modelcontextprotocol/clientCapabilities":{}}'
)
HEAD = b'"id":1,"method":"tools/call","params":{"name":"record","arguments":{"action":"%b"},'
CALL = b'{"jsonrpc":"2.0",' + HEAD + META + b"}}"
FORMS = {
    "truncate-newline": CALL,
    "encoding-bom": b"\xef\xbb\xbf" + CALL + b"\n",
    "encoding-byte-ff": CALL.replace(b'"2.0"', b'"\xff2.0"') + b"\n",
    "comma-trailing": CALL[:-1] + b",}\n",
    "batch-single": b"[" + CALL + b"]\n",
    "id-true": CALL.replace(b'"id":1', b'"id":true') + b"\n",
    "duplicate-jsonrpc-before": b'{"jsonrpc":"1.0",' + CALL[1:] + b"\n",
    "number-nan": CALL.replace(b'"_meta":{', b'"_meta":{"example.com/number":NaN,') + b"\n",
}
"""The plainest call with each damage; ``%b`` is its action."""


def shrink(strategy: st.SearchStrategy[Any], fails: Callable[[Any], bool]) -> Any:
    return find(strategy, fails, settings=QUIET, random=Random(1))


@pytest.mark.parametrize("name", FORMS)
def test_a_damaged_frame_shrinks_to_the_plainest_call(name: str) -> None:
    found = shrink(strategies.damaged_frames(), lambda frame: name in frame.damage)
    assert (found.raw, found.damage) == (FORMS[name] % b"a", (name,))


@pytest.mark.parametrize("name", ["encoding-bom", "batch-single", "number-nan"])
def test_a_session_shrinks_to_the_damaged_frame_alone(name: str) -> None:
    """Nothing stands beside it.

    Empty arguments and a second damage may stay: Hypothesis bounds its search.
    """
    found = shrink(strategies.sessions(), lambda case: name in case.damages())
    [frame] = found.frames
    assert name in frame.damage
    assert len(frame.raw) <= len(FORMS[name] % b"0") + len(b',"note":"","count":0')


@pytest.mark.parametrize("name", ["encoding-bom", "batch-single", "number-nan"])
def test_a_session_with_one_kind_of_damage_shrinks_to_the_plainest_frame(name: str) -> None:
    damage = partial(apply_damage, operator=BY_NAME[name])
    found = shrink(strategies.sessions(damage=damage), lambda case: name in case.damages())
    assert found.frames == (strategies.Frame(FORMS[name] % b"0", "0", (name,)),)


def test_a_session_of_a_version_with_a_handshake_shrinks_to_the_damaged_frame_alone() -> None:
    found = shrink(strategies.sessions("2025-06-18"), lambda case: "id-true" in case.damages())
    assert found.data == (
        b'{"jsonrpc":"2.0","id":true,"method":"initialize","params":{"protocolVersion":'
        b'"2025-06-18","capabilities":{},"clientInfo":{"name":"wirefence","version":"1"}}}\n'
    )


def test_what_a_server_writes_shrinks_to_the_damaged_line_alone() -> None:
    found = shrink(strategies.server_sessions(), lambda case: "truncate-line" in case.damages())
    assert found.data == b"{\n"


def test_a_fault_that_needs_the_handshake_keeps_nothing_else() -> None:
    def acts(case: strategies.Case) -> bool:
        judged = judge_session(case.data, Contract(version=case.version, policy="continue"))
        return any(verdict.calls for verdict in judged.frames)

    found = shrink(strategies.sessions("2025-11-25"), acts)
    assert [frame.raw.split(b'"method":')[1][:13] for frame in found.frames] == [
        b'"initialize",', b'"notification', b'"tools/call",',
    ]  # fmt: skip


PROFILES: tuple[Profile, ...] = ("strict", "spec")


@FEW
@given(strategies.damaged_frames(expect="reject"))
def test_what_must_be_rejected_is_rejected_under_both_profiles(
    damaged: strategies.DamagedFrame,
) -> None:
    opening = handshake(RandomSource(0), damaged.version)
    data = b"".join(each.raw for each in opening) + damaged.raw
    for profile in PROFILES:
        judged = judge_session(data, Contract(damaged.version, profile, "continue"))
        assert not all(each.accepted for each in judged.frames[len(opening) :])
    assert damaged.must_be_rejected


@FEW
@given(strategies.damaged_frames(direction="server-to-client", expect="reject"))
def test_what_a_client_must_reject_is_no_message(damaged: strategies.DamagedFrame) -> None:
    *lines, rest = damaged.raw.split(b"\n")
    assert rest or any(judge_reply(line, damaged.version).rule for line in lines)


def test_every_damage_of_one_frame_is_reached() -> None:
    single = {each.name for each in OPERATORS if not each.session}
    needs_another = {"truncate-into-next"}  # it joins two frames
    fits = find_fits(tuple(single), strategies.VERSIONS, "client-to-server", None)
    assert {operator.name for operator, _ in fits} == single - needs_another
    for fit in fits:
        assert damaged_frame(RandomSource(1), [fit]).damage == (fit[0].name,)


def test_names_and_families_choose_the_damage() -> None:
    seen = set()

    @settings(QUIET, max_examples=100)
    @given(strategies.damaged_frames("2025-06-18", damage=["truncation", "id-true"]))
    def collect(damaged: strategies.DamagedFrame) -> None:
        assert damaged.version == "2025-06-18"
        seen.update(damaged.damage)

    collect()
    families = {each.family for each in OPERATORS if each.name in seen - {"id-true"}}
    assert "id-true" in seen
    assert families == {"truncation"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"version": "2020-01-01"}, "version must be one of 2024-11-05"),
        ({"direction": "sideways"}, "direction must be one of client-to-server"),
        ({"expect": "maybe"}, "expect must be one of reject, accept, profile, got 'maybe'"),
        ({"damage": "no-such"}, "no damage operator or family is named 'no-such'"),
        ({"damage": "chunking"}, "no damage fits one frame: damage='chunking'"),
        (
            {"damage": "id-true", "expect": "accept"},
            "expect='accept', any version",
        ),
        ({"damage": ()}, "no damage fits one frame"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        strategies.damaged_frames(**arguments)


@pytest.mark.parametrize("make", [strategies.messages, strategies.frames, strategies.sessions])
def test_a_version_that_does_not_exist_is_refused(make: Callable[[Any], object]) -> None:
    with pytest.raises(ValueError, match="version must be one of"):
        make("2020-01-01")
