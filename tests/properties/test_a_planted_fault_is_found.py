"""A planted fault breaks the property, and Hypothesis shrinks what breaks it to one frame."""

from __future__ import annotations

import pytest
from hypothesis import Phase, given, seed, settings

from wirefence import strategies
from wirefence.strategies.contract import Contract
from wirefence.strategies.damage.base import hidden_call
from wirefence.targets.planted import BY_NAME
from wirefence.targets.recorder import Recorder

FAULT = "ignores-trailing-garbage"
"""This gateway reads the first value of a line, and acts although more follows."""

CALL = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"record",'
    b'"arguments":{"action":"a"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    b'"io.modelcontextprotocol/clientCapabilities":{}}}}'
)


def test_hypothesis_finds_and_shrinks_a_planted_fault() -> None:
    acted: list[bytes] = []

    @seed(0)
    @settings(max_examples=2_000, phases=[Phase.generate, Phase.shrink])
    @given(strategies.damaged_frames("2026-07-28", expect="reject", damage="concatenation"))
    def rejected_input_leaves_the_recorder_empty(damaged: strategies.DamagedFrame) -> None:
        recorder = Recorder()
        BY_NAME[FAULT].factory(recorder, Contract(damaged.version)).feed(damaged.raw)
        if recorder.effects:
            acted.append(damaged.raw)
        assert not recorder.effects

    with pytest.raises(AssertionError):
        rejected_input_leaves_the_recorder_empty()
    assert acted[-1] == CALL + hidden_call("ax", "2026-07-28") + b"\n"
