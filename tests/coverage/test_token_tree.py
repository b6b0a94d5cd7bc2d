"""The tree reads what it can, and edits of it leave the rest alone."""

from __future__ import annotations

import random
import time

import pytest

from wirefence.fuzz.coverage.grammar_stock import GrammarStock
from wirefence.fuzz.coverage.line_mutations import LINE_EDITS
from wirefence.fuzz.coverage.token_tree import is_json, read_tree
from wirefence.fuzz.coverage.tree_mutations import EDITS, EditContext, apply_edits
from wirefence.strategies.source import RandomSource

MESSAGE = b'{"jsonrpc":"2.0","id":1,"params":{"list":[1,true,"x"],"n":{}}}'


def spelled(raw: bytes, spans) -> list[bytes]:
    return [raw[start:end] for start, end in spans]


def test_values_names_and_containers_are_told_apart() -> None:
    tree = read_tree(MESSAGE)
    assert spelled(MESSAGE, tree.strings) == [b'"2.0"', b'"x"']
    assert spelled(MESSAGE, tree.numbers) == [b"1", b"1"]
    assert spelled(MESSAGE, tree.words) == [b"true"]
    assert [MESSAGE[a:b] for a, b, _, _ in tree.members] == [
        *(b'"jsonrpc"', b'"id"', b'"list"', b'"n"', b'"params"'),
    ]
    assert spelled(MESSAGE, tree.items) == [b"1", b"true", b'"x"']
    assert tree.tops == ((0, len(MESSAGE)),)
    assert tree.sound


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b"\n", b'{"a"', b'{"a":', b"}}]]", b'"open', b"[1,2", b"\xff\xfe\x00", b'{"a":1}}'),
        *(b'{1:2,"b":3}', b"[" * 5_000, b'"' * 3_000, b"\\" * 3_000, b'{"a":"\\'),
    ],
)
def test_what_is_no_json_is_read_as_far_as_it_goes(raw: bytes) -> None:
    tree = read_tree(raw)
    assert not tree.sound
    for start, end in (*tree.values, *tree.lines, *tree.tops, *tree.items):
        assert 0 <= start < end <= len(raw)


def test_what_an_unclosed_string_holds_is_read() -> None:
    raw = b'"a\\"b [1] \\" true\n"c"'
    tree = read_tree(raw)
    assert spelled(raw, tree.strings) == [b'"c"']
    assert spelled(raw, tree.words) == [b"a", b"b", b"true"]
    assert spelled(raw, tree.containers) == [b"[1]"]


def test_an_unclosed_string_of_escaped_quotes_is_read_in_one_pass() -> None:
    def seconds(raw: bytes) -> float:
        start = time.process_time()
        read_tree(raw)
        return time.process_time() - start

    body = b'"' + b'\\"' * 8_000
    closed = min(seconds(body + b'"') for _ in range(5))
    # A pass for each quote takes a thousand times as long as one.
    assert min(seconds(body) for _ in range(2)) < 100 * closed


def test_a_line_feed_ends_whatever_is_open() -> None:
    raw = b'{"a":[1\n{"b":2}\n'
    tree = read_tree(raw)
    assert spelled(raw, tree.tops) == [b'{"b":2}']
    assert spelled(raw, tree.lines) == [b'{"a":[1\n', b'{"b":2}\n']


def test_a_huge_input_has_lines_and_nothing_else() -> None:
    tree = read_tree(b"[1]" * 30_000 + b"\n2")
    assert (len(tree.lines), tree.values) == (2, ())


def test_overlapping_edits_are_not_mixed() -> None:
    assert apply_edits(b"abcdef", [(0, 4, b"X"), (3, 5, b"Y"), (5, 6, b"")]) == b"abcY"
    assert apply_edits(b"abc", [(1, 1, b"-"), (2, 2, b"+")]) == b"a-b+c"


def hand(seed: int) -> EditContext:
    generator = random.Random(seed)
    donor = read_tree(b'{"donor":["given",2.5]}\n[7]\n')
    return EditContext(
        generator.random, GrammarStock(RandomSource(generator)), donor, lambda part: part[::-1]
    )


@pytest.mark.parametrize("edit", dict.fromkeys(EDITS), ids=lambda each: each.__name__)
def test_each_edit_of_a_document_changes_it_and_leaves_it_json(edit) -> None:
    tree = read_tree(MESSAGE)
    made = {apply_edits(MESSAGE, [found]) for n in range(120) if (found := edit(tree, hand(n)))}
    assert made - {MESSAGE}
    sound = sum(map(is_json, made))
    least = {"scramble_token": 0.2, "misspell_value": 0.0, "concatenate_value": 0.0}.get(
        edit.__name__, 0.85
    )
    assert sound >= len(made) * least
    for nothing in (b"", b"\n", b"x", b'{"a'):
        edit(read_tree(nothing), hand(1))


@pytest.mark.parametrize("edit", dict.fromkeys(LINE_EDITS), ids=lambda each: each.__name__)
def test_each_edit_of_lines_leaves_whole_lines(edit) -> None:
    raw = b'{"a":1}\n{"b":2}\n[3]\n'
    tree = read_tree(raw)
    made = {apply_edits(raw, [found]) for n in range(60) if (found := edit(tree, hand(n)))}
    assert made - {raw}
    lines = [line for each in made for line in each.splitlines()]
    sound = sum(map(is_json, lines))
    # Two of them edit the inside of a line as well, by all edits of a document.
    inside = edit.__name__ in ("vary_line", "insert_damaged_call")
    assert sound == len(lines) or (inside and sound >= 0.8 * len(lines))
    edit(read_tree(b""), hand(1))
