"""Each bad input of the gate is about one thing: nothing else is wrong with its session."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from tests.strategies.damaged_sessions import PROFILES, judge_frames
from wirefence.fuzz.gate.records import Facts, NominatedTool, Trial
from wirefence.fuzz.gate.trials.bad_inputs import DANGEROUS, REJECTED_HANDSHAKES, UGLY
from wirefence.fuzz.gate.trials.generate import TrialMaker
from wirefence.fuzz.gate.trials.messages import ToolWording
from wirefence.oracles.deviation_table import DEVIATIONS, NONE
from wirefence.strategies.records import Version

NOMINEE = NominatedTool("record", '{"action":"{nonce}"}')
VERSIONS: tuple[Version, ...] = ("2024-11-05", "2025-11-25", "2026-07-28")
"""Those of which the gate's messages differ."""

LATER_CALL = "life-not-initialized:request"
"""The call behind a rejected handshake: it must not act, which is what the trial is for."""
HALF_CALL = "json-syntax:unclosed-string"
"""Half a call before, within and after a handshake, beside the version that it names."""

ONE: dict[str, str] = {
    "ugly-debug-line": "json-syntax:foreign-text",
    "ugly-banner-glued": "json-syntax:trailing",
    "ugly-truncated-eof": "frame-unterminated:part",
    "ugly-two-objects": "json-syntax:trailing",
    "ugly-malformed-params": "rpc-params:array",
    "danger-id-true": "rpc-id:boolean",
    "danger-id-fraction": "rpc-id:integral-fraction",
    "danger-id-null": "rpc-id:null",
    "danger-id-array": "rpc-id:array",
    "danger-id-huge": "rpc-id:exponent",
    "danger-no-id": "mcp-kind:no-id",
    "danger-params-string": "rpc-params:string",
    "danger-arguments-array": "mcp-params:arguments-type",
    "danger-arguments-string": "mcp-params:arguments-type",
    "danger-arguments-null": "mcp-params:arguments-type",
    "danger-name-padded": "tool-unknown:white-space",
    "danger-name-array": "mcp-params:name-type",
    "danger-method-case": "mcp-method:unknown",
    "danger-method-nul": "mcp-method:unknown",
    "danger-nan": "json-syntax:nan",
    "danger-hybrid": "rpc-kind:mixed",
}
HANDSHAKES: dict[str, str] = {
    "gate-trailing-brace": "json-syntax:trailing",
    "gate-truncated": "json-syntax:unclosed",
    "gate-no-id": "mcp-kind:no-id",
    "gate-no-version": "mcp-params:protocolVersion-missing",
    "gate-params-array": "rpc-params:array",
    "gate-wrong-jsonrpc": "rpc-version:string",
    "gate-no-client": "mcp-params:clientInfo-missing",
}


def make_maker(version: Version) -> TrialMaker:
    facts = Facts(
        "s", "s", "1", version, (version,), ("record",), NOMINEE, None,
        policy="continue", startup=0.1, peak_bytes=0,
    )  # fmt: skip
    return TrialMaker(facts, ToolWording.of(NOMINEE), version)


def make_trials(version: Version) -> Iterator[Trial]:
    maker, numbers = make_maker(version), count(1)
    yield from maker.make_ugly(numbers)
    yield from maker.make_dangerous(numbers)
    yield from maker.make_rejected_handshakes(numbers)
    yield from maker.make_version_trials(numbers)


def list_deviations(trial: Trial) -> list[list[str]]:
    """The deviations of a session, frame by frame, under each profile."""
    case = trial.case
    return [
        [each for *_, each in judge_frames(case.data, case.version, profile) if each != NONE]
        for profile in PROFILES
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_bad_input_has_one_deviation_under_both_profiles(version: Version) -> None:
    seen = set()
    for trial in make_trials(version):
        strict, spec = list_deviations(trial)
        assert strict == spec, trial.name
        if trial.family == "versions":
            refused = [each for each in strict if each != HALF_CALL]
            assert strict.count(HALF_CALL) == 3
            assert set(refused) <= {f"mcp-params:protocolVersion-{x}" for x in ("missing", "type")}
            assert len(refused) <= 1
        elif trial.family == "gates":
            assert strict == [HANDSHAKES[trial.name], LATER_CALL]
        else:
            assert strict == [ONE[trial.name]], trial.name
        seen.add(trial.name)
    handshakes = set(HANDSHAKES) if version != "2026-07-28" else set()
    assert set(ONE) | handshakes <= seen


def test_every_bad_input_is_listed_with_a_deviation_of_the_table() -> None:
    assert set(ONE) == {name for name, _ in (*UGLY, *DANGEROUS)}
    assert set(HANDSHAKES) == {name for name, _ in REJECTED_HANDSHAKES}
    assert {*ONE.values(), *HANDSHAKES.values(), LATER_CALL, HALF_CALL} <= set(DEVIATIONS)
