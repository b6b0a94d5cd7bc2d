"""Damage that a lenient reader acts on in spite of: where it lands does not hang on a path."""

from __future__ import annotations

import json
from itertools import count

import pytest

from wirefence.fuzz.gate.records import Facts, NominatedTool
from wirefence.fuzz.gate.trials.damaged_session import is_tempting
from wirefence.fuzz.gate.trials.generate import TrialMaker
from wirefence.fuzz.gate.trials.messages import ToolWording


def made(length: int) -> tuple[bytes, ToolWording]:
    folder = "/srv/" + "x" * length
    nominee = NominatedTool("branch", json.dumps({"repo": folder, "name": folder + "/{nonce}.txt"}))
    facts = Facts(
        "s", "s", "1", "2025-11-25", ("2025-11-25",), ("branch",), nominee, None, False,  # noqa: FBT003
        "continue", 0.1, 0,
    )  # fmt: skip
    wording = ToolWording.of(nominee)
    trials = TrialMaker(facts, wording, "2025-11-25").make_damaged(count(1))
    (trial,) = [each for each in trials if each.name == "encoding-byte-ff"]
    return trial.case.data, wording


@pytest.mark.parametrize("length", range(20, 60, 3))
def test_a_bad_byte_spares_the_folder_that_a_call_needs(length: int) -> None:
    data, wording = made(length)
    (line,) = [each for each in data.split(b"\n") if b"\xff" in each]
    arguments = json.loads(line.decode("utf-8", "replace"))["params"]["arguments"]
    folder = "/srv/" + "x" * length
    assert arguments["repo"] == folder
    assert arguments["name"].startswith(folder + "/")
    assert arguments["name"].endswith(".txt")
    assert is_tempting(data, wording)
