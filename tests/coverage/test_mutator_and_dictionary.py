"""The mutator is repeatable and bounded; the dictionary holds what parsers name."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from wirefence.fuzz.coverage import dictionary
from wirefence.fuzz.coverage.behaviour import COUNTERS, BehaviourCounters
from wirefence.fuzz.coverage.mutator import Form, Mutator
from wirefence.strategies.json_text import DICTIONARY, load_words

SESSION = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"record","arguments":'
    b'{"action":"one"}}}\n'
)


def flip(data: bytes, most: int) -> bytes:
    return (data[::-1] + b"~")[:most]


def chain(form: Form, seed: int, count: int) -> list[bytes]:
    mutator = Mutator(form, flip, seed=seed)
    made, last = [], b"\n"
    for number in range(count):
        last = (
            mutator.mutate_input(last, 500)
            if number % 2
            else mutator.cross_inputs(last, b"[1]", 500)
        )
        made.append(last)
    return made


@pytest.mark.parametrize("form", ["document", "session"])
def test_equal_seeds_give_equal_mutations(form: Form) -> None:
    assert chain(form, 5, 300) == chain(form, 5, 300) != chain(form, 6, 300)


@pytest.mark.parametrize("form", ["document", "session"])
@pytest.mark.parametrize("most", [1, 7, 100])
def test_no_mutation_is_empty_or_longer_than_allowed(form: Form, most: int) -> None:
    mutator = Mutator(form, flip, seed=1)
    sizes = {
        len(mutator.mutate_input(raw, most)) for raw in (b"", b"[1,2]", b"\xff") for _ in range(60)
    }
    assert min(sizes) >= 1
    assert max(sizes) <= most


def test_a_crossover_takes_from_the_second_input() -> None:
    mutator = Mutator("document", flip, seed=1)
    two = b'{"marker-of-two":["marker-of-two"]}'
    made = [mutator.cross_inputs(b'{"a":[1,2],"b":{"c":3}}', two, 500) for _ in range(200)]
    assert sum(b"marker-of-two" in each for each in made) > 40


def test_a_repeated_call_gets_an_action_of_its_own() -> None:
    mutator = Mutator("session", flip, seed=1)
    made = [mutator.mutate_input(SESSION, 5_000) for _ in range(400)]
    twice = [each for each in made if each.count(b'"action":"') > 1]
    assert len(twice) > 20
    assert sum(each.count(b'"action":"one"') > 1 for each in twice) <= len(twice) // 10


def test_an_input_that_is_no_json_mostly_gives_some_that_is() -> None:
    mutator = Mutator("document", flip, seed=1)
    made = [mutator.mutate_input(b"\xff\x00{{{", 500) for _ in range(200)]
    assert sum(b"\xff\x00" in each for each in made) < 60


def test_words_are_found_in_a_compiled_file(tmp_path: Path) -> None:
    content = (
        b"\x7fELF\x01__json__\x02$serde_json::private::Number\x00toDict\x00ab\x00-Infinity\x01"
    )
    assert dictionary.find_printable_words(content) == {
        *(b"__json__", b"$serde_json::private::Number", b"toDict", b"-Infinity"),
    }
    assert b"__json__" in dictionary.load_parser_words()
    assert len(dictionary.load_parser_words()) <= 400


def test_the_dictionary_file_holds_the_grammars_words_and_is_escaped() -> None:
    text = dictionary.format_dictionary([b'magic"\\\xff'])
    assert r'"magic\x22\x5c\xff"' in text
    lines = text.splitlines()
    assert len(lines) > len(load_words(DICTIONARY)) * 0.9
    assert all(line.isascii() and line[0] == line[-1] == '"' for line in lines)


def counting(seen: list[int]) -> BehaviourCounters:
    behaviours = BehaviourCounters(lambda: seen.append)
    behaviours.count_behaviour("nobody counts yet")
    behaviours.reserve_counters(iter(range(COUNTERS)).__next__)
    return behaviours


def test_a_behaviour_has_the_same_counter_in_every_process() -> None:
    hits: list[list[int]] = []
    for order in ((("a", 1), ("b", 2)), (("b", 2), ("a", 1))):
        seen: list[int] = []
        behaviours = counting(seen)
        for each in order:
            behaviours.count_behaviour(each)
        hits.append(sorted(seen))
    assert hits[0] == hits[1]
    assert len(set(hits[0])) == 2


def test_many_behaviours_share_the_counters() -> None:
    seen: list[int] = []
    behaviours = counting(seen)
    source = random.Random(1)
    for _ in range(20_000):
        behaviours.count_behaviour(source.random())
    assert len(set(seen)) > COUNTERS * 0.9
    assert max(seen) < COUNTERS
