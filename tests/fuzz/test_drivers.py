"""Cases are functions of seed and number; corpora are read in order and whole."""

from __future__ import annotations

import gc
from itertools import islice
from pathlib import Path

import pytest

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.examination.cases import BLOCK, generate_block, read_corpus
from wirefence.fuzz.examination.hypothesis_cases import hypothesis_cases
from wirefence.oracles.rules import RULES
from wirefence.oracles.session import close_judgement, judge_session
from wirefence.strategies.contract import Contract
from wirefence.strategies.damage import OPERATORS, apply_damage
from wirefence.strategies.records import VERSIONS

A_MINUTE = 9_000
"""Cases that a campaign gets through in a minute even on a slow machine."""


def test_a_block_is_a_function_of_seed_and_number() -> None:
    cases = list(generate_block(5, 2))
    assert len(cases) == BLOCK
    assert cases == list(generate_block(5, 2))
    # Names hold the number of the block, so only their sizes tell whether the cases differ.
    sizes = [len(case.data) for case in cases]
    assert sizes != [len(case.data) for case in generate_block(5, 3)]
    assert sizes != [len(case.data) for case in generate_block(6, 2)]


def test_a_block_keeps_to_the_versions_asked_for() -> None:
    assert {case.version for case in generate_block(1, 0, ("2024-11-05",))} == {"2024-11-05"}
    assert len({case.version for case in generate_block(1, 0)}) == 5


def test_a_block_mixes_good_sessions_damage_and_bare_documents() -> None:
    cases = [case for number in range(4) for case in generate_block(1, number)]
    assert any(not case.damages() and len(case.frames) > 1 for case in cases)
    assert any(len(case.frames) > 1 and case.damages() for case in cases)
    assert any(len(case.frames) == 1 for case in cases)


def test_a_minute_of_cases_exercises_every_operator_of_damage() -> None:
    never = {operator.name for operator in OPERATORS}
    for number in range(A_MINUTE // BLOCK):
        for case in generate_block(7, number):
            never.difference_update(case.damages())
        if not never:
            return
    pytest.fail(f"never exercised: {sorted(never)}")


def test_a_minute_of_cases_exercises_every_rule() -> None:
    never = {rule.id for rule in RULES}
    for number in range(A_MINUTE // BLOCK):
        for case in generate_block(7, number):
            judgement = judge_session(case.data, Contract(version=case.version, policy="continue"))
            frames = (*judgement.frames, *close_judgement(judgement).frames)
            never.difference_update(frame.rule for frame in frames)
        if not never:
            return
    pytest.fail(f"never exercised: {sorted(never)}")


def test_every_operator_has_its_turn_in_every_version_that_it_fits() -> None:
    turns_of_a_block = BLOCK // 4
    blocks = len(OPERATORS) * len(VERSIONS) // turns_of_a_block + 1
    seen = {
        (name, case.version)
        for number in range(blocks)
        for case in islice(generate_block(3, number), None, None, 4)
        for name in case.damages()
    }
    for operator in OPERATORS:
        if operator.host is not None:
            made = [v for v in operator.versions if operator.host(v, "n") is not None]
            fits = {(operator.name, version) for version in made}
            assert fits <= seen


def test_hypothesis_gives_equal_cases_for_equal_seeds() -> None:
    cases = hypothesis_cases(1, 8)
    assert len(cases) == 8
    assert cases == hypothesis_cases(1, 8)
    assert cases != hypothesis_cases(2, 8)


def test_a_corpus_is_read_in_order_without_metadata_and_hidden_files(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name, data in {
        "b.frame": b"b",
        "a.json": b"a",
        ".hidden": b"no",
        "sub/c": b"c",
        "b.json": b'{"protocol": "2024-11-05", "cuts": []}',
    }.items():
        (tmp_path / name).write_bytes(data)
    cases = list(read_corpus([tmp_path, tmp_path / "a.json"]))
    assert [case.data for case in cases] == [b"a", b"b", b"c", b"a"]
    assert cases[1].version == "2024-11-05"


def test_a_corpus_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no corpus at"):
        list(read_corpus([tmp_path / "absent"]))


def test_no_callback_of_the_collector_swallows_a_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    collecting: list[bool] = []
    made = apply_damage

    def damage(*args, **options):
        collecting.append(gc.isenabled())
        return made(*args, **options)

    monkeypatch.setattr("wirefence.fuzz.examination.hypothesis_cases.apply_damage", damage)
    before = list(gc.callbacks)
    assert hypothesis_cases(3, 4)
    assert collecting
    assert not any(collecting)
    assert gc.callbacks == before
    assert gc.isenabled()
