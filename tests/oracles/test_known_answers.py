"""The judge gives every known answer, and a judge that does not is noticed before it is used."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from wirefence.fuzz import cli, self_check
from wirefence.oracles import document, known_answers, traits
from wirefence.oracles.known_answers import ACCEPTED, DOCUMENTS, SESSIONS, TRAITS_OF, wrong_answer
from wirefence.oracles.rules import RULES
from wirefence.oracles.traits import TRAITS
from wirefence.targets.parsers import prescan

MATCHES_TOO_MUCH = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][+-]?[0-9]*)?")
"""What the possessive form of the number matches before CPython 3.11.5 (gh-106052)."""


@pytest.fixture(autouse=True)
def forget_verdicts():
    """Verdicts and the check's result are remembered; a planted fault must not be."""
    caches = (
        *(document._remembered, prescan._remembered, traits._remembered),
        self_check.check_readers,
    )
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def test_every_answer_is_right() -> None:
    assert wrong_answer() == ""
    self_check.check_readers()


def test_there_are_many_short_texts_of_both_kinds() -> None:
    assert len(DOCUMENTS) >= 200
    assert len(ACCEPTED) >= 50
    assert sum(len(raw) < 60 for raw in DOCUMENTS) >= 200


def test_every_rule_is_broken_and_every_trait_is_named() -> None:
    broken = {rule for rules in DOCUMENTS.values() for rule in rules}
    for session in SESSIONS:
        broken |= {rule for _, *rules in session.frames for rule in rules}
    assert {rule.id for rule in RULES} == broken - {""}
    assert set(TRAITS_OF.values()) == set(TRAITS)


@pytest.mark.parametrize("raw", [b'{"":0.}', b"[1.e5]", b"-", b"[1e]", b"0."])
def test_the_judge_that_accepts_half_a_number_is_noticed(
    raw: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert DOCUMENTS[raw] == ("json-syntax", "json-syntax")
    monkeypatch.setattr(known_answers, "DOCUMENTS", {raw: DOCUMENTS[raw]})
    loose = re.compile(r"-|" + MATCHES_TOO_MUCH.pattern)
    monkeypatch.setattr(document, "_NUMBER", loose)
    monkeypatch.setattr(document, "float", lambda word: 0.0, raising=False)
    monkeypatch.setattr(document._Reader, "_integer", lambda *_: 0)
    assert repr(raw) in wrong_answer()


def test_the_possessive_number_is_noticed_where_it_matches_too_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    possessive = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+"
    monkeypatch.setattr(document, "_NUMBER", re.compile(possessive))
    assert bool(wrong_answer()) is (sys.version_info < (3, 11, 5))


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (document, "_SAFE", 2**53),
        (document, "_LONGEST_NUMBER", 1_001),
        (document, "_LONE", re.compile("[\ud900-\udfff]")),
        (document, "_mask_escapes", lambda text: text.replace("\\", "\x7f")),
        (known_answers, "find_traits", lambda _: frozenset()),
    ],
)
def test_each_small_fault_of_the_judge_is_noticed(
    module: object, name: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, value)
    assert wrong_answer() != ""


def test_a_fault_of_the_spec_profile_alone_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = known_answers.judge_document

    def faulty(raw: bytes, *, profile: str = "strict") -> object:
        said = judge(raw, profile=profile)
        return said._replace(rule="json-syntax") if (profile, raw) == ("spec", b"[1,2]") else said

    monkeypatch.setattr(known_answers, "judge_document", faulty)
    assert "[1,2]" in wrong_answer()


def test_a_fault_of_a_session_rule_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wirefence.oracles.session._lifecycle_fault", lambda *_: "")
    assert "life-not-initialized is right" in wrong_answer()


def test_a_prescan_that_accepts_half_a_number_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prescan, "_are_tokens", lambda raw: True)
    monkeypatch.setattr(prescan, "float", lambda word: 1.0, raising=False)
    assert "the prescan" in self_check._wrong_scan()


@pytest.mark.parametrize("command", ["campaign", "gate", "explain", "replay", "compare", "quirks"])
def test_a_command_ends_in_a_sentence_that_names_interpreter_and_text(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(document, "_NUMBER", MATCHES_TOO_MUCH)
    monkeypatch.setattr(document, "float", lambda word: 0.5, raising=False)
    monkeypatch.setattr(sys, "argv", ["wirefence", command])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert ended.value.code == 2
    assert line.startswith("wirefence: nothing can be judged under Python 3.")
    assert sys.executable in line
    assert "the judge says accepted, accepted of b'0.'" in line
