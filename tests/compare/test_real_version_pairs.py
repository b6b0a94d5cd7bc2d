"""Known changes between real versions are found from our own inputs, and the reverse."""

from __future__ import annotations

import sys
from contextlib import contextmanager

import pytest

from tests.compare.fakes import known_inputs
from tests.environments.absence import skip_where_absent
from wirefence.fuzz.compare.run import Budget, Comparison
from wirefence.fuzz.compare.serialization import compare_writing
from wirefence.fuzz.compare.sides import start_team
from wirefence.targets.environments import prepare_side
from wirefence.targets.errors import TargetError

MOST = 300
"""Inputs of each family of known divergences, evenly spread."""


def _sides(old, new):
    try:
        return [prepare_side(spec, python=sys.executable) for spec in (old, new)]
    except TargetError as error:
        skip_where_absent(error)


@contextmanager
def _explored(old, new):
    """The differences of two sides, and the sides."""
    with start_team(_sides(old, new), 1) as hired:
        explorer = Comparison(hired, Budget(60.0))
        explorer._run_batches(iter(known_inputs(MOST)))
        (pair,) = explorer.pairs
        pair.ledger.shrink_rest(5.0)
        yield pair.ledger, hired


@pytest.mark.parametrize(
    ("old", "new", "name", "size"),
    [
        ("jiter==0.4.0", "jiter==0.4.1", "unicode-escape: string", 8),
        ("simplejson==3.18.4", "simplejson==3.19.1", "nan: newly-rejected", 3),
        ("simplejson[pure]==3.18.4", "simplejson[pure]==3.19.1", "lax-hex: newly-rejected", 8),
        ("msgspec==0.18.6", "msgspec==0.19.0", "int>=2^64: number-value", 20),
    ],
)
def test_known_change_is_found_named_and_shrunk(old, new, name, size):
    with _explored(old, new) as (ledger, _):
        found = {entry.name: entry for entry in ledger.sort_classes()}
    assert name in found, sorted(found)
    assert len(found[name].item.raw) <= size


def test_a_change_of_messages_alone_is_no_change():
    with _explored("orjson==3.10.0", "orjson==3.13.0") as (ledger, hired):
        writings = compare_writing(hired, 0, 1)
    assert not ledger.entries
    assert ledger.messages > 0
    assert writings is not None
    assert not writings.classes


@pytest.mark.parametrize("spec", ["json", "orjson", "simplejson", "msgspec", "ujson"])
def test_identical_versions_never_differ(spec):
    with _explored(spec, spec) as (ledger, hired):
        writings = compare_writing(hired, 0, 1)
    assert (ledger.entries, ledger.messages, ledger.unsteady) == ([], 0, 0)
    assert writings is None or (writings.classes, writings.spelled) == ({}, 0)
