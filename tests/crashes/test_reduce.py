"""Quality: what a reduction ends in, and what it costs; and that it never lies."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Sequence

import pytest

from wirefence.fuzz.crashes.divergences import divergences
from wirefence.fuzz.shrink.json_tree import find_tokens, list_nodes
from wirefence.fuzz.shrink.ordering import simplicity_key
from wirefence.fuzz.shrink.shrinker import ShrinkResult, shrink_input
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.oracles.document import judge_document

FRAME = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "tools/call",
        "params": {
            "name": "record",
            "arguments": {
                "action": "b1c2-3",
                "note": "lorem ipsum " * 20,
                "ratio": 1.5,
                "tags": ["a", "b", "c"] * 10,
                "options": {"x": {"y": [1, 2, {"z": None}]}, "here": "@@"},
            },
            "_meta": {"a": list(range(99)), "b": "é" * 30, "c": {"d": "e" * 99}},
        },
    }
).encode()

HANDSHAKE = b'{"jsonrpc":"2.0","id":"i","method":"initialize","params":{}}\n'
CALL = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call",'
    b'"params":{"name":"record","arguments":{"action":"a"},"_meta":{"x":%b}}}'
)

CLASSES: tuple[tuple[bytes, bytes], ...] = (
    (b"-NaN", b"-NaN"),
    (b"[1,]", b"[0,]"),
    (b"/*c*/1", b"/**/0"),
    (b"01", b"00"),
    (b"1.", b"0."),
    (b"-.5", b"-"),
    (b'"\x00"', b'"\x00"'),
    (b'"\x1f"', b'"\x01"'),
    (b'"\xff"', b'"\x80"'),
    (b'"\xc0\xaf"', b'"\x80"'),
    (b'"\xed\xa0\x80"', b'"\xed\xa0\x80"'),
    (b'"\\udc00"', b'{"":0,"":"\\ud800"}'),
    (b"1e400", b'{"":0,"a":1e400}'),
    (b"0e400", b'{"":0,"a":0e400}'),
    (b"1e-400", b'{"":0,"a":0}'),
    (b"18446744073709551616", b'{"":0,"a":18446744073709551616}'),
    (b'{"a":1,"a":2}', b'{"a":0,"a":1}'),
    (b'{"a":1,"\\u0061":2}', b'{"a":0,"a":1}'),
    (b'{"2":0,"1":0}', b'{"":0,"a":0}'),
)
"""Spellings of divergence classes of the taxonomy, and the minimal form of how parsers split.

Names that stay show that some parser also divides over the order of members (``first-wins``).
"""


def split_of(data: bytes) -> list[str]:
    """How the parsers split over a document, whatever it holds."""
    found = divergences(case_from_bytes(data))
    return sorted(each.summary.partition(": ")[2] for each in found)


@pytest.mark.parametrize(("spelling", "smallest"), CLASSES, ids=lambda each: repr(each)[:24])
def test_a_divergence_in_a_frame_comes_out_in_its_minimal_form(spelling, smallest):
    frame = FRAME.replace(b'"@@"', spelling)
    assert len(frame) > 1300
    wanted = split_of(frame)
    assert wanted
    made = shrink_input(frame, lambda data: split_of(data) == wanted)
    assert made.finished
    assert made.executions <= 500
    assert made.data == smallest


@pytest.mark.parametrize("depth", [129, 300, 5000])
def test_depth_is_cut_to_what_is_needed(depth):
    def deep(data: bytes) -> bool:
        return data.count(b"[") > 128 and data.count(b"]") > 128

    made = shrink_input(b'{"a":1,"b":%s}' % (b"[" * depth + b"]" * depth), deep)
    assert made.data == b"[" * 129 + b"]" * 129
    assert made.executions <= 500


LEVELS = {
    "arrays": lambda depth: b"[" * depth + b"]" * depth,
    "objects": lambda depth: b'{"a":' * depth + b"1" + b"}" * depth,
    "both": lambda depth: b'[0,{"key":' * (depth // 2) + b"1" + b',"z":[1]}]' * (depth // 2),
}


@pytest.mark.parametrize("name", LEVELS)
@pytest.mark.parametrize("inside", [b"%b", HANDSHAKE + CALL])
def test_depth_of_any_spelling_is_cut_within_the_aim(name, inside):
    frame = inside % LEVELS[name](150)
    made = shrink_input(
        frame, lambda data: judge_document(data.split(b"\n")[-1]).rule == "json-depth"
    )
    assert made.executions <= 350
    assert made.data == b"[" * 129 + b"]" * 129


@pytest.mark.parametrize("name", ["objects", "both"])
def test_depth_that_is_needed_where_it_stands_is_left_alone_there(name):
    frame = HANDSHAKE + CALL % LEVELS[name](150)
    call = re.compile(rb'"name":"record"[^\n]*"_meta"')

    def deep(data: bytes) -> bool:
        line = data.split(b"\n")[-1]
        return bool(call.search(line)) and judge_document(line).rule == "json-depth"

    made = shrink_input(frame, deep)
    assert made.finished
    assert made.executions <= 500
    assert b"[" * 100 in made.data


def test_objects_are_left_where_arrays_will_not_do():
    frame = b'{"x":[1,2,%b]}' % LEVELS["both"](200)
    made = shrink_input(frame, lambda data: data.count(b'":') > 70 and data.count(b"}") > 70)
    assert made.data.startswith(b'{"":' * 60)
    assert made.executions <= 500


def test_a_long_noisy_session_comes_out_as_its_one_short_frame():
    noise = [FRAME.replace(b"b1c2-3", b"n%d" % n) + b"\n" for n in range(80)]
    session = b"".join([*noise[:40], b'{"a": [1, {"b": NaN}]}\n', *noise[40:]])
    assert len(session) > 100_000
    made = shrink_input(session, lambda data: b"NaN" in data and data.endswith(b"\n"))
    assert made.data == b"NaN\n"
    assert made.executions <= 100


def test_bytes_that_are_no_json_are_reduced_too():
    data = random.Random(1).randbytes(3000).replace(b"Z", b"z") + b"xZ" + b"\x00" * 500
    made = shrink_input(data, lambda each: b"Z" in each)
    assert made.data == b"Z"


@pytest.mark.parametrize("data", [b"", b"\n", b"\n\n", b"[", b"]}", b'"', b"{,:}", b"\\", b'"\\'])
def test_any_input_may_be_reduced(data):
    made = shrink_input(data, lambda each: each == data)
    assert (made.data, made.finished) == (data, True)


def test_what_is_returned_keeps_and_improvements_only_get_simpler():
    seen: list[bytes] = []
    rule = re.compile(rb"q.*\d.*\w{2}", re.DOTALL)
    frame = FRAME.replace(b"@@", b"q7zz")
    made = shrink_input(frame, lambda data: rule.search(data) is not None, better=seen.append)
    assert all(map(rule.search, seen))
    assert seen == sorted(seen, key=simplicity_key, reverse=True)
    assert made.data == seen[-1] == b"q0zz"


def _two_things(data: bytes) -> bool:
    return data.count(b'"') >= 2 and b"5" in data


def test_a_reduction_is_repeatable_however_many_run_at_once():
    runs: list[list[bytes]] = [[], [], []]

    def many(width: int) -> Callable[[Sequence[bytes]], list[bool]]:
        def keeps(batch: Sequence[bytes]) -> list[bool]:
            assert len(batch) <= width
            runs[0].extend(batch)
            return [_two_things(each) for each in batch]

        return keeps

    one = shrink_input(FRAME, _two_things)
    again = shrink_input(FRAME, _two_things)
    wide = [shrink_input(FRAME, _two_things, keeps_many=many(n), width=n).data for n in (2, 7)]
    assert one == again
    assert wide == [one.data, one.data]


def test_the_limit_and_the_deadline_leave_the_best_so_far():
    some = shrink_input(FRAME, _two_things, limit=10)
    assert (some.finished, some.executions) == (False, 10)
    assert _two_things(some.data)
    assert len(some.data) < len(FRAME)
    late = shrink_input(FRAME, _two_things, deadline=time.monotonic() - 1)
    assert late == ShrinkResult(FRAME, 1, finished=False)


def test_an_input_that_does_not_show_it_is_refused():
    with pytest.raises(ValueError, match="does not show"):
        shrink_input(b"1", lambda _data: False)


def test_an_error_of_the_caller_comes_through():
    def fails(data: bytes) -> bool:
        if len(data) < len(FRAME):
            raise KeyboardInterrupt
        return True

    with pytest.raises(KeyboardInterrupt):
        shrink_input(FRAME, fails)


@pytest.mark.parametrize(
    "data", [FRAME, b'{"a":[1,2', b"]]]", b"1 2,,3\n{]\n", b'"a\n"b', b"\xff\n"]
)
def test_tokens_cover_every_byte_and_nodes_lie_inside(data):
    assert b"".join(data[a:b] for a, b in find_tokens(data)) == data
    assert all(0 <= each.start <= each.end <= len(data) for each in list_nodes(data))
    for group in list_nodes(data):
        for place in range(len(group.marks)):
            start, end = group.find_deletion_span(place, place)
            assert group.start <= start <= end <= group.end
