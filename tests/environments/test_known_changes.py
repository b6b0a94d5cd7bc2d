"""Verified changes between versions show on both sides: a few pairs that have wheels and are quick.

All of them: ``python -m tests.environments.changes``.
"""

from __future__ import annotations

import pytest

from wirefence.targets.errors import TargetError

from .absence import skip_where_absent
from .changes import changes, shown

QUICK = ("orjson==3.9.14", "msgspec==0.18.6", "jiter==0.4.0")


@pytest.mark.parametrize("old", QUICK)
def test_a_known_change_shows_on_both_sides(shared, old):
    path = shared / "versions" / "changes.json"
    if not path.is_file():
        pytest.skip("no list of verified changes beside the shared data")
    chosen = [change for change in changes(path) if change.old == old]
    assert chosen
    for change in chosen:
        try:
            good, words = shown(change)
        except TargetError as error:
            skip_where_absent(error)
        assert good, f"{change.label}: {words}"


def test_interpreters_of_two_versions_differ_in_depth(shared):
    path = shared / "versions" / "changes.json"
    if not path.is_file():
        pytest.skip("no list of verified changes beside the shared data")
    (change,) = [change for change in changes(path) if change.old.startswith("python:")]
    try:
        good, words = shown(change)
    except TargetError as error:
        skip_where_absent(error)
    assert good, words
