"""A bad frame that is the last thing sent is given the time to be read."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from wirefence.fuzz.store.store import case_from_bytes

SERVERS = Path(__file__).parent / "servers"
SLOW = f"""
import sys, time
sys.path.insert(0, {str(SERVERS)!r})
import server

class Slow(server.{{kind}}):
    def line(self, line):
        if b"\\xff" in line:
            time.sleep(1)
        return super().line(line)

server.FAULTS["Slow"] = Slow
sys.argv.append("Slow")
server.main()
"""


@pytest.mark.parametrize(
    ("kind", "shows"),
    [("ReplacesUtf8", {"act-rejected|utf8-invalid:invalid-utf8"}), ("Strict", set())],
)
def test_a_slow_server_acts_on_the_last_frame_of_a_case(bench, tmp_path, kind, shows):
    script = tmp_path / "slow.py"
    script.write_text(SLOW.format(kind=kind))
    made = bench(command=(sys.executable, str(script)))
    trial = made.trial("encoding-byte-ff")
    whole = trial.case.data
    bad = whole.index(b"\xff")
    alone = case_from_bytes(whole[: whole.index(b"\n", bad) + 1], protocol=trial.case.version)
    assert made.run(replace(trial, case=alone))[1] == shows


TALKS = f"""
import sys
sys.path.insert(0, {str(SERVERS)!r})
import server

class Talks(server.Strict):
    def line(self, line):
        if not line.strip():
            print("what was that?", flush=True)
        return super().line(line)

server.FAULTS["Talks"] = Talks
sys.argv.append("Talks")
server.main()
"""


@pytest.mark.parametrize(("end", "shows"), [(b"", set()), (b"\n", {"out-not-json:text|none"})])
def test_whether_a_server_is_there_is_not_asked_with_an_empty_line(bench, tmp_path, end, shows):
    """It would be a bad frame, and what a server makes of it would be blamed on the case."""
    script = tmp_path / "talks.py"
    script.write_text(TALKS)
    made = bench(command=(sys.executable, str(script)))
    good = made.trial("good")
    opening = good.case.data[: good.case.data.index(b"initialized") + len(b'initialized"}\n')]
    assert opening.endswith(b'"}\n')
    case = case_from_bytes(opening + end, protocol=good.case.version)
    assert made.run(replace(good, case=case, opening=0))[1] == shows
