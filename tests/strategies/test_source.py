"""Both drivers answer within bounds; the random one never changes its mind."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from wirefence import strategies
from wirefence.strategies.damage import apply_damage
from wirefence.strategies.hypothesis_driver import HypothesisSource
from wirefence.strategies.json_text import json_text
from wirefence.strategies.sessions import session
from wirefence.strategies.source import RandomSource, Source

DIGEST = """
import hashlib
from wirefence.strategies.json_text import json_text
from wirefence.strategies.sessions import session
from wirefence.strategies.source import RandomSource
source, digest = RandomSource(7), hashlib.sha256()
for _ in range(200):
    digest.update(session(source).data + json_text(source))
print(digest.hexdigest())
"""


def test_random_choices_do_not_depend_on_hash_order() -> None:
    def digest(hash_seed: str) -> bytes:
        environment = os.environ | {"PYTHONHASHSEED": hash_seed}
        return subprocess.check_output([sys.executable, "-c", DIGEST], env=environment)

    assert digest("1") == digest("2")


def test_random_choices_are_the_same_in_every_python_version() -> None:
    source = RandomSource(1)

    drawn = [source.integer(0, 999), source.integer(0, 2**64), source.choice("abcdef")]

    assert drawn == [134, 13635062796129054491, "a"]
    assert source.weighted([(1, "x"), (9, "y")]) == "y"
    assert source.text(3) == "ȓ"


def test_every_value_of_a_range_comes_up() -> None:
    source = RandomSource(3)
    assert {source.integer(0, 999) for _ in range(20_000)} == set(range(1_000))
    assert {source.choice("abc") for _ in range(50)} == set("abc")
    assert {source.weighted([(1, "a"), (9, "b")]) for _ in range(100)} == {"a", "b"}


def answers(source: Source) -> None:
    assert source.choice("abc") in "abc"
    assert -3 <= source.integer(-3, 3) <= 3
    assert 2**70 <= source.integer(2**70, 2**70 + 5) <= 2**70 + 5
    assert source.weighted([(1, "a"), (3, "b")]) in "ab"
    assert not source.chance(0, 4)
    assert source.chance(4, 4)
    assert len(source.text(5).encode("utf-8")) <= 20


def test_a_random_source_answers_within_bounds() -> None:
    source = RandomSource(0)
    for _ in range(500):
        answers(source)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_a_hypothesis_source_answers_within_bounds(data: st.DataObject) -> None:
    answers(HypothesisSource(data.draw))


@pytest.mark.parametrize("source", [RandomSource(0), HypothesisSource(lambda _: None)])  # type: ignore[arg-type, return-value]
def test_an_empty_range_is_refused(source: Source) -> None:
    with pytest.raises(ValueError, match="no integer between 2 and 1"):
        source.integer(2, 1)


def test_every_text_shrinks_to_the_simplest_one() -> None:
    quiet = settings(database=None, deadline=None)
    assert find(strategies.json_texts(), lambda _: True, settings=quiet) == b"null"


def test_a_text_with_a_repeated_name_shrinks_to_two_members() -> None:
    quiet = settings(max_examples=3_000, database=None, deadline=None)

    found = find(
        strategies.json_texts(), lambda text: text.count(b'"jsonrpc":') > 1, settings=quiet
    )

    assert len(found) <= 40


def test_a_session_that_acts_shrinks_to_one_plain_call() -> None:
    def acts(case: strategies.Case) -> bool:
        return any(frame.nonce for frame in case.frames)

    quiet = settings(max_examples=500, database=None, deadline=None)

    found = find(strategies.sessions("2026-07-28"), acts, settings=quiet)

    assert not found.damages()
    assert [frame.raw for frame in found.frames] == [
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"record",'
        b'"arguments":{"action":"0"},"_meta":{"io.modelcontextprotocol/protocolVersion":'
        b'"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}\n'
    ]


def test_what_is_meant_to_be_rare_is_rare_in_both_drivers() -> None:
    hits = []

    @settings(max_examples=500, database=None, deadline=None)
    @given(strategies.from_grammar(lambda source: source.chance(1, 2_000)))
    def draw(hit: bool) -> None:
        hits.append(hit)

    draw()
    source = RandomSource(0)
    assert sum(hits) < 25
    assert sum(source.chance(1, 2_000) for _ in range(20_000)) < 25


@settings(max_examples=20, deadline=None)
@given(strategies.from_grammar(session, damage=apply_damage, prefix="n"))
def test_any_grammar_function_is_a_strategy(case: strategies.Case) -> None:
    assert case.chunks() == [] or b"".join(case.chunks()) == case.data


@settings(max_examples=10, deadline=None)
@given(strategies.frames(), strategies.messages("2025-06-18", "server-to-client"))
def test_ready_strategies_make_what_they_say(frame: strategies.Frame, message: object) -> None:
    assert frame.raw.endswith(b"\n")
    assert isinstance(message.encode(), bytes)  # type: ignore[attr-defined]


def test_importing_the_records_does_not_import_hypothesis() -> None:
    code = "import sys, wirefence.strategies.records; print('hypothesis' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code]) == b"False\n"


def test_a_source_can_share_a_generator() -> None:
    assert json_text(RandomSource(5)) == json_text(RandomSource(5))
