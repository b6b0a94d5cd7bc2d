"""The whole of JSONTestSuite: RFC 8259 under spec, and what strict rejects beyond it."""

from __future__ import annotations

from pathlib import Path

import pytest

from wirefence.oracles.document import judge_document

DUPLICATES = {"y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"}


@pytest.fixture(scope="module")
def suite(shared: Path) -> dict[str, bytes]:
    folder = shared / "corpora" / "JSONTestSuite" / "test_parsing"
    if not folder.is_dir():
        pytest.skip(f"no JSONTestSuite at {folder}")
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.json"))}


def test_no_file_is_left_out(suite: dict[str, bytes]) -> None:
    assert len(suite) == 318
    assert {name[0] for name in suite} == {"y", "n", "i"}


def test_spec_accepts_what_must_be_accepted_and_nothing_that_must_not(
    suite: dict[str, bytes],
) -> None:
    judged = {n: judge_document(raw, profile="spec").accepted for n, raw in suite.items()}
    assert [n for n, accepted in judged.items() if n[0] == "y" and not accepted] == []
    assert [n for n, accepted in judged.items() if n[0] == "n" and accepted] == []


def test_strict_rejects_of_the_valid_files_only_the_repeated_names(
    suite: dict[str, bytes],
) -> None:
    judged = {n: judge_document(raw).rule for n, raw in suite.items() if n[0] == "y"}
    assert {n: rule for n, rule in judged.items() if rule} == dict.fromkeys(
        DUPLICATES, "json-duplicate-name"
    )


def test_strict_never_accepts_what_spec_rejects(suite: dict[str, bytes]) -> None:
    for name, raw in suite.items():
        if judge_document(raw).accepted:
            assert judge_document(raw, profile="spec").accepted, name
