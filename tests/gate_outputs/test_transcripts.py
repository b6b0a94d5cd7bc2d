"""A transcript holds the evidence: what was sent, what came, and what was done."""

from __future__ import annotations

import re
from pathlib import Path

from tests.gate_outputs.reports import CASE, FACTS, flaw
from wirefence.fuzz.gate.confirm import Confirmed
from wirefence.fuzz.gate.records import Observation, Options, Trial
from wirefence.fuzz.gate.report.artifacts import ArtifactWriter
from wirefence.fuzz.gate.server.fresh import prepare_trial
from wirefence.fuzz.store.redaction import Redactor
from wirefence.fuzz.store.store import Store
from wirefence.targets.command.records import Launch, Times
from wirefence.targets.effects.records import Observed


def transcript(folder: Path, *effects: Observed) -> str:
    launch = Launch(("server", "--token", "hunter2-hunter2"))
    filing = ArtifactWriter(Store(folder), launch, Options(), FACTS, Redactor.for_launch(launch))
    trial = prepare_trial(Trial("t", "ugly", "after", CASE), FACTS.make_contract("strict"))
    return filing.make_transcript(
        Confirmed(flaw().finding, trial, Observation((), effects=effects))
    )


def test_what_an_effect_carried_is_told(tmp_path):
    said = transcript(tmp_path, Observed("files", "write", b"folder/acts", b"wf00aac000001t\n"))
    assert "! files write folder/acts wf00aac000001t\\n\n" in said


def test_an_effect_that_carried_nothing_ends_with_what_it_was(tmp_path):
    assert re.search(
        r"(?m)^! python write acts$", transcript(tmp_path, Observed("python", "write", b"acts"))
    )


def test_secrets_in_what_was_carried_are_taken_out(tmp_path):
    said = transcript(tmp_path, Observed("http", "http", b"GET /", b"Bearer hunter2-hunter2"))
    assert "hunter2" not in said


def test_a_secret_at_the_cut_leaves_no_half(tmp_path):
    long = b"-" * 4_090 + b"hunter2-hunter2" + b"-" * 99
    said = transcript(tmp_path, Observed("http", "http", long, long))
    assert "hunter" not in said
    assert said.count(" bytes") == 2


def dialogue(folder: Path, sent: bytes, lines: tuple[bytes, ...], times: Times) -> list[str]:
    launch = Launch(("server",))
    filing = ArtifactWriter(Store(folder), launch, Options(), FACTS, Redactor())
    trial = prepare_trial(Trial("t", "ugly", "after", CASE), FACTS.make_contract("strict"))
    seen = Observation(lines, b"half", stdin=sent, times=times)
    said = filing.make_transcript(Confirmed(flaw().finding, trial, seen)).split("\n")
    return [line for line in said if line.startswith(("> ", "< ", "at "))]


def test_what_went_and_came_stands_in_its_order_with_the_time(tmp_path):
    times = Times(((0.1, 4), (0.5, 8)), ((0.3, 4), (0.50049, 10), (0.7, 13)))
    assert dialogue(tmp_path, b"one\ntwo\n", (b"ONE", b"TWO"), times) == [
        "at        0.100 s",
        "> one\\n",
        "at        0.300 s",
        "< ONE\\n",
        "at        0.500 s",
        "> two\\n",
        "< TWO\\n",
        "at        0.700 s",
        "< half (no LF)",
    ]


def test_a_frame_ends_at_lf_alone(tmp_path):
    assert dialogue(tmp_path, b"a\rb\x0bc\r\nd", (b"x\ry",), Times()) == [
        "> a\\rb\\x0bc\\r\\n",
        "> d (no LF)",
        "< x\\ry\\n",
        "< half (no LF)",
    ]


def test_the_transcript_of_a_start_shows_what_its_cause_changed(tmp_path):
    launch = Launch(("server",))
    filing = ArtifactWriter(Store(tmp_path), launch, Options(), FACTS, Redactor())
    trial = prepare_trial(Trial("t", "startup", "before", CASE), FACTS.make_contract("strict"))
    found = Confirmed(flaw().finding, trial, Observation(()))
    said = filing.write_finding(found, ("t",), Launch(("sh", "-c", "server"), {"DEBUG": "1"}))
    text = Path(said.transcript).read_text()
    assert "command   sh -c server\nenv       DEBUG=1\n" in text
