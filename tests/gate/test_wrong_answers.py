"""Each wrong answer of a server is found by its name, and right ones of every kind are not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.gate.conftest import NOMINEE
from tests.gate.servers import answers
from wirefence.fuzz.gate.records import Options, Report
from wirefence.fuzz.gate.run import run_gate
from wirefence.fuzz.gate.trials.schedule import Plan, Stage
from wirefence.strategies.contract import Profile

SERVER = Path(answers.__file__)
SHOWN = {
    "server-name": "serverInfo-name-type",
    "capabilities-list": "capabilities-listChanged-type",
    "logging-list": "capabilities-logging-type",
    "server-version": "serverInfo-version-missing",
    "instructions": "instructions-type",
    "input-schema": "tools-type-value",
    "tool-schema-missing": "tools-inputSchema-missing",
    "tool-notes": "tools-annotations-type",
    "tools-cursor": "nextCursor-type",
    "prompts-name": "prompts-name-missing",
    "prompts-missing": "prompts-missing",
    "resource-uri": "resources-uri-missing",
    "resource-format": "resources-uri-format",
    "template": "resourceTemplates-uriTemplate-format",
    "text-missing": "content-text-missing",
    "content-string": "content-type",
    "image-type": "content-mimeType-missing",
    "image-data": "content-data-format",
    "content-type": "content-type-value",
    "priority": "content-priority-value",
    "is-error": "isError-type",
    "structured-list": "structuredContent-type",
    "structured-schema": "structuredContent-schema",
    "structured-missing": "structuredContent-missing",
}
UNASKED = {
    "level": "mcp-params-level-type",
    "progress": "mcp-params-progressToken-missing",
    "updated": "mcp-params-uri-missing",
}
EXPECTED = {
    **{name: f"malformed-result|mcp-result:{trait}" for name, trait in SHOWN.items()},
    **{name: f"out-not-message:{kind}|none" for name, kind in UNASKED.items()},
    "no-prompts": "smoke-capability|prompts/list",
}


@pytest.fixture
def smoke(bench, tmp_path, monkeypatch):
    """A gate run that sends nothing bad."""
    nothing = Plan(Stage((), ()), Stage((), ()))
    monkeypatch.setattr("wirefence.fuzz.gate.run.plan_trials", lambda *_: nothing)

    def run(*faults: str, profile: Profile = "strict") -> Report:
        made = bench(command=(sys.executable, str(SERVER)), words=faults)
        options = Options(profile, "continue", nominee=NOMINEE, label="s", effects=("files",),
                          watch=(made.folder,), patience=20.0)  # fmt: skip
        return run_gate(made.launch, options, "quick", tmp_path / "out", lambda _: None)

    return run


def signatures(report: Report) -> list[str]:
    assert not report.tally.signs
    return sorted(flaw.finding.signature.removeprefix("s|") for flaw in report.flaws)


def test_every_fault_is_expected_somewhere() -> None:
    unserved = set(answers.UNSERVED) - {"no-templates"}
    assert set(EXPECTED) == {*answers.FAULTS, *answers.NOTIFIED, *unserved}


@pytest.mark.parametrize(("fault", "signature"), EXPECTED.items())
def test_a_wrong_answer_is_found_by_its_name(smoke, fault, signature):
    assert signatures(smoke(fault)) == [signature]


@pytest.mark.parametrize("profile", ["strict", "spec"])
def test_right_answers_of_every_kind_show_nothing(smoke, profile):
    """Pages, members that nobody knows, all kinds of content, icons, annotations, empty lists."""
    assert signatures(smoke(profile=profile)) == []
    assert signatures(smoke("no-templates", profile=profile)) == []


def test_each_of_several_wrong_answers_is_found_and_replays(smoke):
    faults = ("input-schema", "prompts-name", "resource-uri", "server-name", "level")
    report = smoke(*faults)
    assert signatures(report) == sorted(EXPECTED[each] for each in faults)
    named = next(flaw for flaw in report.flaws if "tools-type" in flaw.finding.signature)
    assert named.finding.summary == (
        "the result of tools/list: tools[0].inputSchema.type has a value that is not allowed"
    )
    assert b'"tools/list"' in named.case.data
    assert b"prompts" not in named.case.data
