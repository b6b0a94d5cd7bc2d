"""What is asked of servers of others bites on planted faults, and not on a strict server."""

from __future__ import annotations

import sys

import pytest

from tests.servers.catalogue import ROOT
from tests.servers.probing import COLD, Probed, probe
from wirefence.fuzz.gate.records import NominatedTool, Options
from wirefence.targets.command.records import Launch

SERVER = ROOT / "tests" / "gate" / "servers" / "server.py"


@pytest.fixture
def ask(tmp_path):
    def probed(fault: str, *cold: str) -> Probed:
        nominee = NominatedTool("record", '{"action":"{nonce}"}')
        options = Options(
            "strict", "continue", nominee=nominee, effects=("files",), watch=(tmp_path,),
            patience=20.0, label="s",
        )  # fmt: skip
        return probe(Launch((sys.executable, str(SERVER), str(tmp_path), fault)), options, cold)

    return probed


def test_a_strict_and_silent_server_shows_nothing(ask):
    probed = ask("Strict", *COLD)
    assert probed.acted == set()
    # It refuses a CR in a frame, as strict readers do; this one trial is judged by the spec.
    assert {name for name, shown in probed.shown.items() if shown} == {"nested-cr"}
    assert probed.unusable == {"nested-cr"}


@pytest.mark.parametrize(
    ("fault", "trial", "shows"),
    [
        ("SplitsAtCr", "nested-cr", "act-rejected|none"),
        ("ReplacesUtf8", "encoding-byte-ff", "act-rejected|utf8-invalid:invalid-utf8"),
        ("TakesNan", "danger-nan", "act-rejected|json-syntax:nan"),
        ("Hybrids", "danger-hybrid", "act-rejected|rpc-kind:mixed"),
        (
            "LastMethodWins",
            "duplicate-method-before",
            "act-rejected|json-duplicate-name:duplicate-name",
        ),
        ("ActsOnTail", "truncate-newline-eof", "act-rejected|frame-unterminated:whole"),
        ("CallsEarly", "call-before-initialize", "act-rejected|life-not-initialized:request"),
        ("TakesTwo", "ugly-two-objects", "act-rejected|json-syntax:trailing"),
    ],
)
def test_a_planted_fault_is_shown_by_its_trial(ask, fault, trial, shows):
    cold = [trial] if trial in COLD else []
    assert shows in ask(fault, *cold).shown[trial]
