"""A gateway that passes on what it was sent has acted, whatever the types of name and arguments."""

from __future__ import annotations

import json

import pytest

from wirefence.fuzz.examination.examiner import Examiner, GatewayTarget
from wirefence.strategies.records import Case, Frame
from wirefence.targets.recorder import Recorder


class PassesOn:
    """Acts on every line, without a look at its types."""

    def __init__(self, act, contract):
        self.act = act

    def feed(self, data):
        for line in data.splitlines():
            params = json.loads(line)["params"]
            self.act(params["name"], params["arguments"])
        return b""

    def eof(self):
        return b""


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [(["record"], {}), ({"a": 1}, {"action": "a"}), (None, {}), ("record", []), ("record", 7),
     ("record", None), ([], "text")],
)  # fmt: skip
def test_a_call_of_any_types_is_an_effect_that_was_not_allowed(tool, arguments) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    raw = json.dumps(call | {"params": {"name": tool, "arguments": arguments}}).encode()
    target = GatewayTarget("adapter", PassesOn, "continue")
    found = Examiner((), [[target]]).examine_case(Case((Frame(raw + b"\n"),)))
    assert "non-action" in {each.oracle for each in found}
    assert "live-crash" not in {each.rule for each in found}


def test_a_call_of_the_right_types_is_recorded_as_it_is() -> None:
    recorder = Recorder()
    recorder("record", {"action": "a"})
    (effect,) = recorder.effects
    assert (effect.tool, effect.arguments, effect.action) == ("record", {"action": "a"}, "a")
