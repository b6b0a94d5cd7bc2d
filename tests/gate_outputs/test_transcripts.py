"""A transcript holds the evidence: what was sent, what came, and what was done."""

from __future__ import annotations

import re
from pathlib import Path

from fuzz.gate.confirm import Confirmed
from fuzz.gate.files import Filing
from fuzz.gate.lab import ready
from fuzz.gate.records import Options, Seen, Trial
from fuzz.gate.redact import Redactor
from fuzz.gate.verdicts import Charge
from fuzz.store import Store
from targets.command.records import Launch
from targets.effects.records import Observed
from tests.gate_outputs.reports import CASE, FACTS, flaw


def transcript(folder: Path, *effects: Observed) -> str:
    launch = Launch(("server", "--token", "hunter2-hunter2"))
    filing = Filing(Store(folder), launch, Options(), FACTS, Redactor.of(launch))
    trial = ready(Trial("t", "ugly", "after", CASE), FACTS.contract("strict"))
    return filing.transcript(Confirmed(Charge(flaw().finding), trial, Seen((), effects=effects)))


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
