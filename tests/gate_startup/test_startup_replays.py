"""A fault of starting is shown again by its file alone, and is gone when the server is mended."""

from __future__ import annotations

import sys
from pathlib import Path

from wirefence.fuzz.gate.replay import examine_command
from wirefence.strategies.records import Case, Frame
from wirefence.targets.command.records import Launch

SERVER = Path(__file__).with_name("noisy_server.py")
CASE = Case((Frame(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'),))


def signatures(fault: str, cause: str) -> list[str]:
    launch = Launch((sys.executable, str(SERVER), fault))
    found = examine_command(CASE, launch, {"cause": cause}, target="noisy")
    return [each.signature for each in found]


def test_the_cause_beside_the_bytes_decides_how_it_is_started() -> None:
    expected = ["noisy|out-not-json|startup-verbose"]
    assert signatures("verbose", "verbose") == expected
    assert signatures("", "verbose") == []
    assert signatures("verbose", "term-odd") == []
