"""A probe sends what campaigns send: every operator, and every size at which a reader stops."""

from __future__ import annotations

import pytest

from wirefence.fuzz.examination import quirk_probe as probe
from wirefence.oracles import quirks
from wirefence.oracles.agreement import is_known
from wirefence.strategies.damage import OPERATORS, apply_damage
from wirefence.strategies.damage.resource import DEPTHS


def test_every_damage_operator_is_drawn_from(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = set()

    def damage(source, frames, version, operator=None):
        found = apply_damage(source, frames, version, operator)
        drawn.update(found[2], *(frame.damage for frame in found[0]))
        return found

    monkeypatch.setattr(probe, "apply_damage", damage)
    assert sum(1 for _ in probe._generate_damaged(0)) > len(OPERATORS)
    assert drawn == {operator.name for operator in OPERATORS}


def test_every_depth_of_the_operators_is_probed_closed_and_open() -> None:
    sizes = set(probe._generate_sizes())
    for depth, _ in DEPTHS:
        assert b"[" * depth in sizes
        assert b"[" * depth + b"1" + b"]" * depth in sizes


def test_long_filler_is_cut_and_brackets_are_not() -> None:
    (line,) = probe._split_documents(b'{"a":"' + b"x" * 10_000_000 + b'"}')
    assert len(line) < 200_000
    assert probe._split_documents(b"[" * 1_000_000) == [b"[" * 1_000_000]
    assert probe._split_documents(b"1" * 200_000) == [b"1" * 200_000]


def test_a_quirk_that_a_smaller_one_explains_is_left_out() -> None:
    found = {"accepts: nan", "accepts: nan+syntax", "rejects: nan+syntax"}
    assert probe._drop_explained_quirks(found) == {"accepts: nan", "rejects: nan+syntax"}


def test_pairs_of_classes_are_probed() -> None:
    assert b"[NaN,01]" in set(probe._pair_probes([b"NaN", b"01"]))


@pytest.mark.parametrize("minor", [11, 12, 13, 14])
def test_stored_quirks_know_what_depth_does(minor: int) -> None:
    known = quirks.load_quirks(quirks.quirks_file((3, minor))).known
    assert is_known("escapes RecursionError", {"deep"}, known["json"])
    assert is_known("escapes RecursionError", {"deep", "unclosed"}, known["json"])
