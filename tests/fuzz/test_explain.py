"""An explanation judges every frame, shows every target's word, and is safe on a terminal."""

from __future__ import annotations

import importlib
import json
import time
from dataclasses import replace

import pytest

from wirefence.fuzz.examination.examiner import Examiner
from wirefence.fuzz.examination.explain import Explanation, explain_case, explain_in_child
from wirefence.fuzz.examination.plan import Plan, build_examiner
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.oracles.session import judge_session
from wirefence.strategies.contract import Contract
from wirefence.strategies.records import VERSIONS
from wirefence.targets.errors import TargetError
from wirefence.targets.parsers.configs import BY_NAME

ESCAPES = b'{"\x1b]0;title\x07":"\xe2\x80\xae\xc2\x9b31m"}\n'
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'


def explained(data: bytes, *targets: str) -> Explanation:
    return explain_case(case_from_bytes(data), build_examiner(Plan(targets)))


def test_frames_are_judged_even_if_only_parsers_are_asked() -> None:
    frames = explained(b"{\n[1]\n", "orjson").content["frames"]
    assert isinstance(frames, list)
    assert frames[0]["verdict"] == "json-syntax"
    assert frames[0]["statement"]
    assert len(frames) == 2


def test_without_a_gateway_frames_are_judged_under_the_version_of_the_case() -> None:
    shown, judged = [], []
    for version in VERSIONS:
        case = case_from_bytes(PING, protocol=version)
        frames = explain_case(case, build_examiner(Plan(("orjson",)))).content["frames"]
        assert isinstance(frames, list)
        shown.append(frames[0]["verdict"])
        rule = judge_session(case.data, Contract(version=version)).frames[0].rule
        judged.append(rule or "accepted")
    assert shown == judged
    assert len(set(shown)) > 1


def test_what_a_target_says_of_itself_is_shown_escaped(hostile) -> None:
    text = explained(b"1\n", "hostile:acts").text
    assert text.replace("\n", "").isprintable()
    assert r"tool\x1b[31m(\x1b]0;title\x07)" in text


@pytest.mark.parametrize("target", ["orjson", "planted:healthy"])
def test_terminal_escapes_are_shown_escaped(target: str) -> None:
    text = explained(ESCAPES, target).text
    assert text.replace("\n", "").isprintable()
    assert r"\x1b]0;title\x07" in text


def test_a_difference_stands_beside_its_parser() -> None:
    (document,) = explained(b"NaN\n", "json", "orjson").content["documents"]  # type: ignore[misc]
    rows = {row["parser"]: row for row in document["parsers"]}
    assert rows["json"]["outcome"] == "accept"
    assert rows["json"]["differs"]
    assert not rows["orjson"]["differs"]


@pytest.mark.parametrize("data", [b"", b"\n", b"[" * 100_000, b"\xff" * 9, b"1" * 10_000])
@pytest.mark.parametrize("target", ["orjson", "planted:healthy"])
def test_extreme_documents_are_explained(data: bytes, target: str) -> None:
    said = explained(data, target)
    assert json.loads(json.dumps(said.content))["bytes"] == len(data)


def test_effects_and_findings_of_a_gateway_are_shown() -> None:
    said = explained(PING, "planted:healthy")
    assert said.content["findings"] == []
    assert "planted:healthy" in said.text
    assert said.text.startswith("No findings")


def test_a_long_session_is_examined_and_its_beginning_shown(monkeypatch) -> None:
    monkeypatch.setattr("wirefence.fuzz.examination.explain.MOST", 3)
    data = b"".join(b"[%d]\n" % number for number in range(9)) + b"NaN\n"
    liar = Examiner([replace(BY_NAME["json"], name="liar", strict=True)], ())
    said = explain_case(case_from_bytes(data), liar)
    assert [each["target"] for each in said.content["findings"]] == ["parser:liar"]
    assert len(said.content["frames"]) == len(said.content["documents"]) == 3
    assert (said.content["frames_left_out"], said.content["documents_left_out"]) == (7, 7)
    assert "7 more documents were examined and are not shown." in said.text


def test_another_process_says_the_same() -> None:
    case = case_from_bytes(b"NaN\n")
    names = Plan(("json", "planted:healthy"))
    assert explain_in_child(case, build_examiner(names), patience=60) == explain_case(
        case, build_examiner(names)
    )


def test_patience_is_for_one_target_and_not_for_all(monkeypatch) -> None:
    """What takes long by itself is no hang: with forty parsers, ten megabytes do."""
    outcomes = Examiner.run_parsers

    def slow(self, raw):
        time.sleep(0.6)
        return outcomes(self, raw)

    monkeypatch.setattr(Examiner, "run_parsers", slow)
    parsers = ("json", "orjson", "ujson", "jiter")
    said = explain_in_child(case_from_bytes(b"1\n"), build_examiner(Plan(parsers)), patience=1.5)
    assert said.content["findings"] == []


def test_a_target_that_cannot_be_used_says_so_from_another_process(hostile) -> None:
    with pytest.raises(TargetError, match="no luck today"):
        explain_in_child(
            case_from_bytes(b"1\n"), build_examiner(Plan(("hostile:raises",))), patience=60
        )


def test_a_fault_of_our_own_passes_from_another_process(capfd) -> None:
    broken = Examiner((), ())
    broken.gateways = [[None]]  # type: ignore[list-item]
    with pytest.raises(RuntimeError, match="AttributeError"):
        explain_in_child(case_from_bytes(b"1\n"), broken, patience=60)
    assert "Traceback" in capfd.readouterr().err


def test_whoever_waits_is_told_of_each_target_that_has_come_to_an_end() -> None:
    told: list[int] = []
    examiner = build_examiner(Plan(("json", "orjson")))
    explain_in_child(case_from_bytes(b"1\n2\n"), examiner, patience=60, tell=told.append)
    assert told == list(range(len(told)))
    assert len(told) > 4


def test_a_long_wait_is_told_on_stderr(wirefence, monkeypatch) -> None:
    monkeypatch.setattr(
        importlib.import_module("wirefence.fuzz.commands.explain"), "_PROGRESS_INTERVAL", 0.0
    )
    ran = wirefence("explain", "-", "--target", "json", stdin=b"1\n")
    assert ran.out.startswith("No findings")
    assert " s  1 targets done\n" in ran.err
