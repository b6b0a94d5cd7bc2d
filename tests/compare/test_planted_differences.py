"""Each planted difference is found, named, and shrunk to its known smallest form."""

from __future__ import annotations

import math
import re

import pytest

from tests.compare.fakes import explored, known_inputs, plain, replaced, when, with_loads
from wirefence.fuzz.compare.inputs.input_schedule import Batch
from wirefence.fuzz.compare.records import Item
from wirefence.targets.environments import Observation


@pytest.fixture(scope="module")
def every():
    return known_inputs()


def _refuse(token):
    raise ValueError(token)


def _big_to_float(token):
    return float(token) if abs(int(token[:30])) >= 2**64 else int(token)


def _next(token):
    value = float(token)
    long = len(re.sub(r"[eE].*|[-.]", "", token).strip("0")) > 17
    return math.nextafter(value, math.inf) if long and math.isfinite(value) else value


def _first(pairs):
    found = {}
    for name, value in pairs:
        found.setdefault(name, value)
    return found


DEEP = Observation("reject", b"", "toy.DecodeError", "too deep")
DEATH = Observation("death", b"", "SIGSEGV")
ESCAPE = Observation("escape", b"", "builtins.SystemError")


def _invalid(raw):
    return plain(raw).message.startswith("'utf-8'")


PLANTED = {
    "trailing commas": (replaced(rb",(\s*[]}])", rb"\1"), "trailing-comma: newly-accepted", 3),
    "comments": (replaced(rb"/\*.*?\*/", b""), "block-comment: newly-accepted", 5),
    "bare leading zero": (replaced(rb"^0+(?=[0-9])", b""), "leading-zero: newly-accepted", 2),
    "no NaN": (with_loads(parse_constant=_refuse), "nan: newly-rejected", 3),
    "big to float": (with_loads(parse_int=_big_to_float), "int>=2^64: number-type", 20),
    "rounded up": (with_loads(parse_float=_next), "long-mantissa: float-rounding", 20),
    "depth 500": (when(lambda raw: b"[" * 501 in raw, DEEP), "depth: newly-rejected", 1002),
    "dies deep": (when(lambda raw: b"[" * 778 in raw, DEATH), "depth: dies", 778),
    "first wins": (with_loads(object_pairs_hook=_first), "duplicate-name: number-value", 13),
    "pairs dropped": (
        replaced(rb"\\u[dD][89aAbB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])", b""),
        "lone-hi: string",
        8,
    ),
    "bad UTF-8 escapes": (when(_invalid, ESCAPE), "invalid-utf8: escapes", 1),
    "BOM": (replaced(rb"\A\xef\xbb\xbf", b""), "bom: newly-accepted", 4),
    "minus zero": (
        with_loads(parse_int=lambda t: -0.0 if t == "-0" else int(t)),
        "neg-zero-int: number-type",
        2,
    ),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_planted_difference_is_found_named_and_shrunk(fault, every):
    read, name, size = PLANTED[fault]
    (pair,) = explored(plain, read, every=every).pairs
    found = {entry.name: entry for entry in pair.ledger.sort_classes()}
    assert name in found, sorted(found)
    assert len(found[name].item.raw) <= size, found[name].item.raw
    assert found[name].count > 0


def test_identical_sides_never_differ_and_are_never_asked_for_details(every):
    (pair,) = explored(plain, plain, every=every[:3]).pairs
    assert not pair.ledger.entries
    assert pair.ledger.messages == 0


def test_message_alone_is_counted_and_is_no_class(every):
    def worded(raw):
        seen = plain(raw)
        return seen if seen.kind == "accept" else Observation(seen.kind, b"", seen.error, "other")

    (pair,) = explored(plain, worded, every=every[:2]).pairs
    assert not pair.ledger.entries
    assert pair.ledger.messages > 0
    assert pair.sampled >= pair.ledger.messages


def test_new_error_type_is_one_class_with_the_empty_input(every):
    def renamed(raw):
        seen = plain(raw)
        return seen if seen.kind == "accept" else Observation(seen.kind, b"", "toy.NewError")

    (pair,) = explored(plain, renamed, every=every[:4]).pairs
    names = [entry.name for entry in pair.ledger.sort_classes()]
    assert "any: error-type toy.DecodeError -> toy.NewError" in names
    (entry,) = [e for e in pair.ledger.entries if e.old.error == "toy.DecodeError"]
    assert entry.item.raw == b""
    assert entry.count > 100


def test_all_pairs_of_three_sides_are_compared(every):
    nan = PLANTED["no NaN"][0]
    explorer = explored(plain, plain, nan, every=every[:2])
    classes = {(p.old, p.new): [e.effect for e in p.ledger.sort_classes()] for p in explorer.pairs}
    assert classes[0, 1] == []
    assert set(classes[0, 2]) == set(classes[1, 2]) == {"newly-rejected"}


def test_what_kills_again_and_again_is_left_out_and_never_claimed():
    killer = when(lambda raw: b"\xff" in raw, DEATH)
    inputs = [b'"\xff%d"' % number for number in range(2_000)] + [b"1", b"[1]"]
    batches_ = [Batch("exhaustive", inputs[at : at + 500], "shape") for at in range(0, 2_002, 500)]
    explorer = explored(
        plain, killer, every=[*batches_, Batch("exhaustive", [b"1"], "shape", last=True)]
    )
    assert [entry.name for entry in explorer.pairs[0].ledger.sort_classes()] == [
        "invalid-utf8: dies"
    ]
    assert explorer.tally.left_out >= 1_000
    assert explorer.tally.claims == []


def test_users_traffic_runs_whatever_it_kills():
    killer = when(lambda raw: b"\xff" in raw, DEATH)
    batches_ = [Batch("traffic", [b'"\xff%d"' % number for number in range(200)]) for _ in range(5)]
    explorer = explored(plain, killer, every=batches_)
    assert explorer.tally.left_out == 0
    assert explorer.tally.stages["traffic"] == 1_000


def test_a_difference_that_does_not_show_again_is_no_class(every):
    seen = set()

    def once(raw):
        first = raw not in seen
        seen.add(raw)
        return Observation("reject", b"", "toy.DecodeError") if first else plain(raw)

    explorer = explored(plain, once, every=[Batch("known divergences", [b"1", b"[2]", b"3"])])
    (pair,) = explorer.pairs
    # The first look at each comes from the digests, so details already show no difference.
    assert pair.ledger.entries == []


def test_a_reader_with_a_memory_is_asked_again_in_a_new_process():
    ledger = explored(plain, plain, every=[]).pairs[0].ledger
    fresh = []
    ledger.renew = lambda: fresh.append(1)
    seen = Observation("accept", b"N"), Observation("reject", b"", "toy.DecodeError")
    same = seen[0], seen[0]
    ledger.look = lambda raws, form: [seen if fresh else same for _ in raws]
    entry = ledger.add_difference(Item(b"null"), *seen)
    assert fresh == [1]
    assert entry is not None
    ledger.look = lambda raws, form: [same for _ in raws]
    assert ledger.add_difference(Item(b'"\xff"'), *seen) is None
    assert ledger.unsteady == 1
