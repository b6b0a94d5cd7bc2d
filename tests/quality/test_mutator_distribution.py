"""What the mutator makes is not vacuous: mostly JSON, mostly new, of every kind, and deep enough.

Each test runs the loop that libFuzzer runs, over a corpus that grows by chance instead of coverage.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain

import pytest

from wirefence.fuzz.coverage.checks import SessionCheck, make_check
from wirefence.fuzz.coverage.mutator import Form, Mutator
from wirefence.fuzz.coverage.token_tree import is_json
from wirefence.oracles.document import judge_document
from wirefence.oracles.session import judge_session
from wirefence.strategies.contract import Contract

COUNT = 3_000
Mutate = Callable[[random.Random, list[bytes]], bytes]


def flip(source: random.Random) -> Callable[[bytes, int], bytes]:
    """The plain byte mutator: what libFuzzer does without a grammar, in miniature."""

    def mutate(data: bytes, most: int) -> bytes:
        raw = bytearray(data or b"\n")
        at = source.randrange(len(raw))
        way = source.randrange(4)
        if way == 0:
            raw[at] = source.randrange(256)
        elif way == 1:
            raw[at:at] = bytes([source.randrange(256)])
        elif way == 2:
            del raw[at]
        else:
            raw[at:at] = raw[at : at + 8]
        return bytes(raw[:most])

    return mutate


def grown(form: Form, *, tree: bool, count: int = COUNT, seed: int = 3) -> Iterator[bytes]:
    """Inputs from an empty corpus that keeps one of fifty."""
    source = random.Random(seed)
    scramble = flip(source)
    mutator = Mutator(form, scramble, seed=seed)
    corpus = [b"\n"]
    for number in range(count):
        parent = source.choice(corpus)
        if not tree:
            made = scramble(parent, 4_096)
        elif number % 2:
            made = mutator.mutate_input(parent, 4_096)
        else:
            made = mutator.cross_inputs(parent, source.choice(corpus), 4_096)
        if number % 50 == 0:
            corpus.append(made)
        yield made


def share(hits: Iterator[bool]) -> float:
    found = list(hits)
    return sum(found) / len(found)


def test_most_documents_are_json_and_some_are_not() -> None:
    sound = share(is_json(raw) for raw in grown("document", tree=True))
    assert 0.6 <= sound <= 0.97
    assert share(is_json(raw) for raw in grown("document", tree=False)) < 0.3


@pytest.mark.parametrize("form", ["document", "session"])
def test_most_inputs_are_new(form: Form) -> None:
    made = list(grown(form, tree=True))
    assert len(set(made)) > 0.8 * len(made)


def test_documents_are_of_every_type_and_many_shapes() -> None:
    # One corpus grows from few inputs, and most of it may be of one type.
    every = (grown("document", tree=True, seed=seed) for seed in range(6))
    made = [raw for raw in chain.from_iterable(every) if is_json(raw)]
    roots = Counter(raw.lstrip()[:1] for raw in made)
    assert set(b'{["') <= {root[0] for root in roots}
    assert roots[b"{"] < 0.9 * len(made)
    assert len({len(raw).bit_length() for raw in made}) >= 8


def test_strict_rules_of_the_judge_are_broken_by_many_documents() -> None:
    rules = Counter(judge_document(raw).rule for raw in grown("document", tree=True))
    assert {
        *("", "json-syntax", "json-duplicate-name", "json-integer-range", "json-number-range"),
        *("utf8-invalid", "json-lone-surrogate"),
    } <= set(rules)
    assert rules[""] > 0.25 * COUNT


def test_sessions_break_rules_of_every_layer_and_still_act() -> None:
    layers: Counter[str] = Counter()
    contract = Contract(policy="continue")
    for raw in grown("session", tree=True, count=1_200):
        layers.update({frame.layer or "accepted" for frame in judge_session(raw, contract).frames})
    assert set(layers) >= {
        *("accepted", "framing", "utf8", "json", "rpc", "message", "lifecycle", "tool"),
        "authorization",
    }


def calls(*, tree: bool, count: int) -> int:
    check = make_check("fuzz_gateway", ["planted:healthy"], lambda _: None)
    assert isinstance(check, SessionCheck)
    for raw in grown("session", tree=tree, count=count):
        check(raw)
    return check.calls


def test_ten_times_as_many_sessions_have_an_accepted_call_as_by_bytes() -> None:
    assert calls(tree=True, count=600) >= 10 * max(1, calls(tree=False, count=600))
