"""The inputs: known classes are covered, shapes are whole, streams repeat, corpora are read."""

from __future__ import annotations

import json
import math
import os
import re
from fractions import Fraction
from itertools import islice
from random import Random

import pytest

from wirefence.fuzz.compare.inputs.corpus import (
    count_unreadable_lines,
    read_reproducers,
    read_traffic,
)
from wirefence.fuzz.compare.inputs.exhaustive import SHAPES, summarize_claims
from wirefence.fuzz.compare.inputs.input_schedule import Origin, generate_batches, split_batches
from wirefence.fuzz.compare.inputs.mutation import generate_block
from wirefence.fuzz.compare.inputs.seeds import FAMILIES
from wirefence.fuzz.compare.inputs.seeds.numbers import (
    generate_decimal,
    generate_halfway,
    generate_integer,
)
from wirefence.fuzz.compare.reports.notation import format_hex, format_readable, parse_hex
from wirefence.fuzz.errors import UsageError
from wirefence.strategies.exhaustive import count_strings

# Classes of readers with types, of line readers and of writers: no bytes of a document show them.
NOT_BYTES = {
    "buffer-kind",
    "skip-lenient",
    "id-coerce",
    "reemit-nonfinite",
    "reemit-surrogate",
    "reemit-bigint",
    *('"a"', '"\\u0061"', "1 NUL", "int|str"),  # examples, not classes
}


def test_every_known_class_of_documents_has_a_generator(shared):
    text = (shared / "TAXONOMY.md").read_text()
    known = set(re.findall(r"`([^`]+)`", text.partition("Guards")[0])) - NOT_BYTES
    covered = {name for family in FAMILIES for name in family.covers}
    assert sorted(known - covered) == []


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_generators_repeat_and_are_not_empty(family):
    first = list(islice(family.make(), 500))
    assert len(set(first)) > 100 or len(first) > 100
    assert first == list(islice(family.make(), 500))


def test_middles_between_floats_are_exact_or_next_to_one():
    rng, close = Random(5), 0
    for _ in range(300):
        token = generate_halfway(rng)
        value = float(token)
        if not math.isfinite(value) or value == 0:
            continue
        exact = Fraction(token.decode())
        gaps = [
            abs(exact - (Fraction(value) + Fraction(other)) / 2)
            for other in (math.nextafter(value, math.inf), math.nextafter(value, -math.inf))
            if math.isfinite(other)
        ]
        close += min(gaps) <= Fraction(math.ulp(value)) / 8
    assert close > 200


def test_random_numbers_are_tokens_of_json():
    rng = Random(1)
    for make in (generate_halfway, generate_decimal, generate_integer):
        for _ in range(200):
            json.loads(make(rng))


def test_shapes_hold_what_they_claim():
    by_claim = {shape.claim: shape for shape in SHAPES}
    assert len(by_claim) == len(SHAPES)
    numbers = next(s for s in SHAPES if s.kind == "numbers of {} bytes")
    assert sum(1 for _ in numbers.make()) == count_strings(8, numbers.bound)
    escapes = next(s for s in SHAPES if s.kind == r"every \uXXXX")
    assert len(set(escapes.make())) == 65_536


def test_summary_of_shapes_gives_the_greatest_bound_of_each_kind():
    claims = [shape.claim for shape in SHAPES if "tokens" in shape.kind]
    assert summarize_claims(claims) == "5 tokens"
    assert summarize_claims([]) == ""


def test_blocks_repeat_for_a_seed_and_differ_between_seeds():
    assert list(generate_block(1, 2)) == list(generate_block(1, 2))
    assert list(generate_block(1, 2)) != list(generate_block(2, 2))
    assert list(generate_block(1, 2)) != list(generate_block(1, 3))


def test_mined_words_become_inputs():
    word = b"allow_partial_xyz"
    assert any(word in raw for raw in islice(generate_block(0, 0, [word] * 50), 900))


def test_batches_are_bounded_in_number_and_bytes():
    made = list(split_batches([b"x" * 300_000] * 5 + [b"1"] * 5_000))
    assert sum(map(len, made)) == 5_005
    assert max(map(len, made)) <= 2_048
    assert max(sum(map(len, held)) for held in made) < 1_000_000


def test_traffic_comes_before_anything_generated(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'{"id":1}\n\n{"id":2}\n')
    first = next(generate_batches(Origin(corpus=(tmp_path,), crashes=tmp_path / "none")))
    assert (first.stage, list(first.inputs)) == ("traffic", [b'{"id":1}', b'{"id":2}'])


def test_files_transcripts_and_json_lines_are_read(tmp_path):
    (tmp_path / "whole.json").write_bytes(b'{\n"a": 1}\n')
    (tmp_path / "x.transcript").write_text(
        'finding   f\n> {"a":"\\xff"}\\n\n'
        "< {'b'}\\n\n< [1 (no LF)\n> aa ... 9,999 bytes\nending x\n"
    )
    (tmp_path / ".hidden").write_bytes(b"no")
    assert list(read_traffic([tmp_path / "whole.json"])) == [b'{\n"a": 1}\n', b"{", b'"a": 1}']
    assert list(read_traffic([tmp_path / "x.transcript"])) == [b'{"a":"\xff"}', b"{'b'}", b"[1"]
    assert len(list(read_traffic([tmp_path]))) == 6


@pytest.mark.parametrize(
    "line", [r"C:\x", r"\xg1", r"a\x4", "\\", r"\q", "\\\\\\", r"\400", r'"\u0061"']
)
def test_a_line_of_a_transcript_that_gate_did_not_write_is_left_out_and_counted(tmp_path, line):
    (tmp_path / "x.transcript").write_text(f"> {line}\n> 1\\n\n< \\x00\\'\n# \\\n")
    (tmp_path / "x.txt").write_text("> \\\n")
    assert list(read_traffic([tmp_path / "x.transcript"])) == [b"1", b"\0'"]
    assert count_unreadable_lines([tmp_path]) == 1


def test_every_byte_of_a_transcript_is_read_as_gate_shows_it(tmp_path):
    raw = bytes(byte for byte in range(256) if byte != 10) + b"'\""
    (tmp_path / "x.transcript").write_text(f"> {repr(raw)[2:-1]} (no LF)\n")
    assert list(read_traffic([tmp_path])) == [raw]
    assert count_unreadable_lines([tmp_path]) == 0


def test_a_corpus_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UsageError, match="no corpus at"):
        list(read_traffic([tmp_path / "none"]))
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(UsageError, match="neither file nor folder"):
        list(read_traffic([tmp_path / "fifo"]))


def test_reproducers_are_given_whole_and_by_line(tmp_path):
    (tmp_path / "agreement").mkdir()
    (tmp_path / "agreement" / "x.frame").write_bytes(b"1\n2\n")
    assert list(read_reproducers(tmp_path)) == [b"1\n2\n", b"1", b"2", b""]


@pytest.mark.parametrize(
    "raw", [b"", b"1", b"[" * 995 + b"]" * 995, b'{"a":' * 40 + b"1" + b"}" * 40, bytes(range(256))]
)
def test_notation_of_inputs_comes_back(raw):
    assert parse_hex(format_hex(raw)) == raw


def test_repetitions_are_counted_in_notation():
    assert format_readable(b"[" * 995 + b"]" * 995) == "b'[' * 995 + b']' * 995"
    assert format_hex(b"[" * 995 + b"]" * 995) == "5b*995+5d*995"


@pytest.mark.parametrize("text", ["xyz", "5b*", "5", "5b*99999999", "5b+"])
def test_notation_that_is_wrong_or_too_large_is_refused(text):
    with pytest.raises(UsageError):
        parse_hex(text)
