"""What must be on disk before an input runs is there, whatever happens to the process."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from wirefence.fuzz.coverage.inflight_marker import Marker, Sighting, read_marker
from wirefence.fuzz.coverage.target_settings import TargetSettings, encode_settings, read_settings
from wirefence.fuzz.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
DIES = """
import os, signal, sys
from pathlib import Path
from wirefence.fuzz.coverage.inflight_marker import Marker
marker = Marker(Path(sys.argv[1]), 100)
marker.record_start(b"fine"); marker.record_end(1, 0)
marker.record_start(b"deadly")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_input_in_flight_survives_sigkill(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", DIES, tmp_path / "m"], cwd=ROOT, check=False)
    assert ran.returncode == -signal.SIGKILL
    assert read_marker(tmp_path / "m") == Sighting(2, 1, 1, 0, b"deadly")


def test_between_two_inputs_none_is_in_flight(tmp_path: Path) -> None:
    marker = Marker(tmp_path / "m", 4)
    assert read_marker(tmp_path / "m") == Sighting()
    marker.record_start(b"longer")
    assert read_marker(tmp_path / "m").running == b"long"
    marker.record_end(3, 2)
    assert read_marker(tmp_path / "m") == Sighting(1, 1, 3, 2, None)


def test_a_marker_that_is_not_there_yet_says_nothing(tmp_path: Path) -> None:
    assert read_marker(tmp_path / "absent") == Sighting()
    (tmp_path / "short").write_bytes(b"abc")
    assert read_marker(tmp_path / "short") == Sighting()


def test_orders_go_through_the_environment() -> None:
    given = TargetSettings("out", "marker", ("a", "b"), ("x|y",), plain=True)
    assert read_settings(encode_settings(given)) == given
    assert read_settings({}) == TargetSettings()


@pytest.mark.parametrize("text", ["{", "[]", "7", '{"nonsense":1}', '{"targets":7}'])
def test_orders_that_are_none_are_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError):
        read_settings({"WIREFENCE_FUZZ": text})
