"""The damage operators: named, documented, in all families, and doing what they claim."""

from __future__ import annotations

import json
from itertools import product

import pytest

from wirefence.strategies.damage import (
    BY_NAME,
    FAMILIES,
    OPERATORS,
    Damaged,
    Operator,
    Scene,
    apply_damage,
)
from wirefence.strategies.damage.base import hidden_call, table
from wirefence.strategies.damage.confusion import IDS, TOKENS
from wirefence.strategies.damage.spans import find, members, string_places
from wirefence.strategies.damage.truncation import cut_at, offsets
from wirefence.strategies.records import VERSIONS, Case, Frame, Version
from wirefence.strategies.source import RandomSource

INITIALIZE = Frame(
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    b'"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}\n'
)
INITIALIZED = Frame(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
CALL = Frame(
    b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"progressToken":1,'
    b'"wirefence/token":"t","io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    b'"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{}},'
    b'"name":"record","arguments":{"action":"a1","count":3,"note":"\xc3\xa9"}}}\n',
    "a1",
)
CANCEL = Frame(
    b'{"jsonrpc":"2.0","method":"notifications/cancelled",'
    b'"params":{"requestId":9,"reason":"late"}}\n'
)
PROGRESS = Frame(
    b'{"jsonrpc":"2.0","method":"notifications/progress",'
    b'"params":{"progressToken":9,"progress":1,"total":2}}\n'
)
LIST = Frame(b'{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"c"}}\n')
RESULT = Frame(b'{"jsonrpc":"2.0","id":4,"result":{}}\n')
ERROR = Frame(b'{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"m"}}\n')
UNKNOWN = Frame(b'{"jsonrpc":"2.0","method":"example.com/note","params":{"_meta":{}}}\n')
SESSION = (INITIALIZE, INITIALIZED, CALL, CANCEL, PROGRESS, LIST, RESULT, ERROR, UNKNOWN)

BOTH: tuple[Version, ...] = ("2025-11-25", "2026-07-28")
"""What fits one of the two versions only is tried in both."""

LIGHT = [operator for operator in OPERATORS if not operator.heavy]


def damages(operator: Operator, seed: int = 0) -> list[Damaged]:
    """What the operator makes of each frame of the session that it can damage."""
    every = (_damages(operator, seed, version) for version in (*BOTH, *operator.versions))
    return next((made for made in every if made), [])


def _damages(operator: Operator, seed: int, version: Version) -> list[Damaged]:
    source, frames = RandomSource(seed), (*SESSION, *hosts(operator, version))
    every = (operator.apply(source, Scene(frames, at, version)) for at in range(len(frames)))
    return [damaged for damaged in every if damaged is not None]


def hosts(operator: Operator, version: Version) -> tuple[Frame, ...]:
    """The message that the operator brings where no other has a place for it."""
    line = operator.host(version, "host") if operator.host else None
    return () if line is None else (Frame(line + b"\n"),)


def hit(damaged: Damaged, name: str) -> bytes:
    """The bytes of the one frame that the operator has marked."""
    (frame,) = [frame for frame in damaged.frames if name in frame.damage]
    return frame.raw


@pytest.mark.parametrize("operator", LIGHT, ids=lambda operator: operator.name)
def test_what_damage_has_left_of_a_frame_can_be_damaged_again(operator: Operator) -> None:
    """Scraps are what a second operator meets; every one of up to three bytes is tried."""
    scraps = [bytes(three) for n in range(4) for three in product(b'{}":\n\\\xc3', repeat=n)]
    source = RandomSource(0)
    for raw in scraps:
        damaged = operator.apply(source, Scene((Frame(raw),), 0))
        assert damaged is None or damaged.frames


def test_every_operator_is_named_once_and_documented() -> None:
    assert len(BY_NAME) == len(OPERATORS)
    assert all(operator.reason and operator.origin for operator in OPERATORS)


def test_every_family_has_operators_and_no_other_family_exists() -> None:
    assert {operator.family for operator in OPERATORS} == set(FAMILIES)


def test_two_operators_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="share a name"):
        table(OPERATORS[:1], OPERATORS[:1])


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_operator_changes_the_bytes_the_cuts_or_the_frames_and_signs(operator: Operator) -> None:
    every = damages(operator)
    assert every
    for damaged in every:
        data = b"".join(frame.raw for frame in damaged.frames)
        good = [Case((*SESSION, *hosts(operator, version))).data for version in VERSIONS]
        changed = data not in good
        if operator.family == "chunking":
            assert not changed
            assert bool(damaged.cuts) is (operator.name != "chunk-one-write")
        else:
            assert changed
            signed = any(operator.name in frame.damage for frame in damaged.frames)
            assert signed or operator.session


@pytest.mark.parametrize("operator", LIGHT, ids=lambda operator: operator.name)
def test_equal_seeds_give_equal_damage(operator: Operator) -> None:
    assert damages(operator, 7) == damages(operator, 7)


@pytest.mark.parametrize("operator", LIGHT, ids=lambda operator: operator.name)
def test_a_hidden_action_is_never_that_of_a_good_frame(operator: Operator) -> None:
    for damaged in damages(operator):
        added = [frame for frame in damaged.frames if frame.raw not in {f.raw for f in SESSION}]
        others = b"".join(frame.raw for frame in added if frame.nonce != "a1")
        assert b'"action":"a1"' not in others


@pytest.mark.parametrize("raw", [CALL.raw, LIST.raw], ids=["call", "list"])
def test_truncation_covers_every_offset_and_no_prefix_is_a_message(raw: bytes) -> None:
    assert list(offsets(raw)) == list(range(1, len(raw) - 1))
    for offset in offsets(raw):
        with pytest.raises(json.JSONDecodeError):
            json.loads(cut_at(raw, offset).decode(errors="surrogateescape"))


def test_truncation_reaches_the_first_and_the_last_offset() -> None:
    frame = Frame(b'{"a":1}\n')
    apply = BY_NAME["truncate-line"].apply
    every = [apply(RandomSource(seed), Scene((frame,), 0)) for seed in range(200)]
    seen = {damaged.frames[0].raw for damaged in every if damaged}
    assert seen == {cut_at(frame.raw, offset) for offset in range(1, 7)}


def test_truncation_at_eof_ends_the_session_without_a_line_end() -> None:
    for name in ("truncate-eof", "truncate-newline-eof"):
        for damaged in damages(BY_NAME[name]):
            assert not damaged.frames[-1].raw.endswith(b"\n")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_hidden_call_is_one_that_a_careless_reader_would_run(version: str) -> None:
    call = json.loads(hidden_call("a1x", version))  # type: ignore[arg-type]
    assert call["params"]["name"] == "record"
    assert call["params"]["arguments"] == {"action": "a1x"}
    assert ("_meta" in call["params"]) is (version == "2026-07-28")


def test_what_reads_utf_7_reads_the_message_as_it_was() -> None:
    for frame, damaged in zip(SESSION, damages(BY_NAME["encoding-utf-7"]), strict=True):
        raw = hit(damaged, "encoding-utf-7")
        assert raw.startswith(b"+AHs-")
        assert raw.decode("utf-7") == frame.raw.decode()


def test_the_brace_in_utf_7_ends_what_was_begun_before_it() -> None:
    scene = Scene((Frame('"\u00e9{"\n'.encode()),), 0)
    damaged = BY_NAME["encoding-utf-7"].apply(RandomSource(0), scene)
    assert damaged is not None
    assert hit(damaged, "encoding-utf-7").decode("utf-7") == '"\u00e9{"\n'


def test_glued_call_stands_complete_beside_the_good_one() -> None:
    for operator in OPERATORS:
        if operator.family == "concatenation":
            for damaged in damages(operator):
                line = hit(damaged, operator.name)
                assert line.count(b"\n") == 1
                assert b'"action":"' in line
                assert line.count(b'"jsonrpc"') == 2


def test_a_fenced_call_is_a_whole_line_to_readers_that_split_at_the_fence() -> None:
    for name, fence in (("cr", "\r"), ("next-line", "\x85"), ("vertical-tab", "\x0b")):
        (line,) = [hit(d, f"nested-{name}") for d in damages(BY_NAME[f"nested-{name}"])][1:2]
        _, inner, _ = line.decode().split(fence)
        assert json.loads(inner)["method"] == "tools/call"


def test_the_nested_call_and_the_cr_fence_keep_the_json_valid() -> None:
    for name in ("nested-plain", "nested-cr"):
        for damaged in damages(BY_NAME[name]):
            json.loads(hit(damaged, name))


def test_the_id_takes_every_listed_spelling() -> None:
    for name, token, _ in IDS:
        for damaged in damages(BY_NAME[f"id-{name}"]):
            raw = hit(damaged, f"id-{name}")
            member = find(raw, b"id")
            assert member is not None
            assert member.value(raw) == token


def test_confusion_reaches_every_other_json_type() -> None:
    seen = set()
    for seed in range(300):
        raw = hit(
            damages(BY_NAME["confuse-required-argument"], seed)[0], "confuse-required-argument"
        )
        member = find(raw, b"params", b"arguments", b"action")
        assert member is not None
        seen.add(member.value(raw))
    others = {token for kind, tokens in TOKENS.items() if kind != "string" for token in tokens}
    assert seen == others


@pytest.mark.parametrize("place", ["before", "after"])
def test_an_escaped_duplicate_is_equal_only_after_unescaping(place: str) -> None:
    name = f"duplicate-escaped-action-{place}"
    (damaged,) = damages(BY_NAME[name])
    raw = hit(damaged, name)
    assert raw.count(b'"action"') == 1
    assert raw.index(b'"\\u0061ction"') < raw.index(b'"action"') or place == "after"
    winner = json.loads(raw)["params"]["arguments"]["action"]
    assert winner == ("a1" if place == "before" else "a1x")


def test_a_kept_permission_would_let_an_anonymous_call_through() -> None:
    (first, *_) = damages(BY_NAME["permission-kept"])
    bad, call = [frame for frame in first.frames if "permission-kept" in frame.damage]
    assert b"wirefence/token" in bad.raw
    assert b"wirefence/token" not in call.raw
    assert b'"admin_reset"' in call.raw


def test_members_are_found_at_every_level_and_in_any_spacing() -> None:
    raw = b'{ "a" : [1,{"b":2}] , "c" : { "d" : "}\\"" } }'
    found = {member.path: member.value(raw) for member in members(raw)}
    assert found == {
        (b"a",): b'[1,{"b":2}]',
        (b"c",): b'{ "d" : "}\\"" }',
        (b"c", b"d"): b'"}\\""',
    }


def test_members_of_broken_text_are_those_before_the_break() -> None:
    assert [member.path for member in members(b'{"a":1,"b":{"c":')] == [(b"a",)]
    assert members(b"") == members(b"[" * 5_000) == members(b'{"a":' * 5_000) == ()


def test_string_places_are_inside_values_only() -> None:
    raw = b'{"a":"b","c" : ["d\\"e",1],"f":{"g":""}}'
    assert [raw[place:] for place in string_places(raw)] == [
        b'b","c" : ["d\\"e",1],"f":{"g":""}}',
        b'd\\"e",1],"f":{"g":""}}',
        b'"}}',
    ]


def test_a_session_without_frames_stays_as_it_is() -> None:
    assert apply_damage(RandomSource(0), [], "2025-11-25") == ([], (), ())


def test_damage_reaches_every_light_operator_and_keeps_cuts_in_order() -> None:
    source, seen = RandomSource(1), set[str]()
    for _ in range(12_000):
        frames, cuts, names = apply_damage(source, SESSION, source.choice(VERSIONS))
        case = Case(tuple(frames), cuts, damage=names)
        seen.update(case.damages())
        assert list(cuts) == sorted(set(cuts))
        assert not cuts or 0 < cuts[0] <= cuts[-1] < len(case.data)
    assert {operator.name for operator in LIGHT} <= seen


@pytest.mark.parametrize(
    ("sent", "left"),
    [
        (b'{"id":1,"method":"ping"}', b'{"method":"ping"}'),
        (b'{"method":"ping" , "id":1}', b'{"method":"ping" }'),
        (b'{"method":"ping","id":1 , "jsonrpc":"2.0"}', b'{"method":"ping", "jsonrpc":"2.0"}'),
    ],
)
def test_a_request_loses_its_id_and_the_comma_beside_it(sent: bytes, left: bytes) -> None:
    made = BY_NAME["id-absent"].apply(RandomSource(0), Scene((Frame(sent + b"\n"),), 0))
    assert made is not None
    assert made.frames[0].raw == left + b"\n"
