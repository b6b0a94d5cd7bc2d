"""A process of ours that does not come to its first case ends the run at once, in a sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import wirefence
from wirefence.fuzz.campaign.campaign import Budget, run_campaign
from wirefence.fuzz.crashes.rerun import CaseRunners, Subject
from wirefence.fuzz.errors import StartError
from wirefence.fuzz.examination.plan import Plan
from wirefence.fuzz.processes.child import start_children
from wirefence.fuzz.store.store import case_from_bytes

ROOT = Path(wirefence.__file__).resolve().parents[2]
GOOD = case_from_bytes(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')

HANG = 120.0
"""Seconds after which a process is said to hang, on however busy a machine."""

FROM_STDIN = """
import sys
from wirefence.fuzz.cli import main
from wirefence.fuzz.commands import campaign
campaign._HYPOTHESIS_CASES = 1  # slow to make, and none is run
sys.argv = ["wirefence", *{words}]
main()
"""


def fed(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script that Python reads from stdin, where children have no file to start from."""
    return subprocess.run(
        [sys.executable, "-"],
        input=script,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )


def test_a_campaign_whose_workers_cannot_start_exits_3_at_once(tmp_path: Path) -> None:
    (tmp_path / "corpus").write_bytes(b"1" * 200_000)  # more than Python would hand over at once
    words = ["campaign", "--cases", "5", "--workers", "2", "--corpus", "corpus"]
    ran = fed(FROM_STDIN.format(words=[*words, "--target", "planted:healthy"]), tmp_path)
    assert ran.returncode == 3
    last = ran.stderr.strip().splitlines()[-1]
    assert last.startswith("wirefence: a worker process ended before its first case (exit 1)")
    assert not list(tmp_path.glob("wirefence-*/*"))  # TMPDIR is here


def test_a_process_that_could_not_start_is_no_finding_of_a_replay(tmp_path: Path) -> None:
    script = """
from wirefence.fuzz.crashes.rerun import CaseRunners, Subject
from wirefence.fuzz.errors import StartError
from wirefence.fuzz.store.store import case_from_bytes
for method in ("forkserver", "spawn"):
    try:
        with CaseRunners(Subject("planted:healthy"), method=method) as runners:
            print(runners.run_cases([case_from_bytes(b"1\\n")]))
    except StartError as error:
        print(error.cause)
"""
    ran = fed(script, tmp_path)
    assert ran.stdout.splitlines() == ["a worker process ended before its first case (exit 1)"] * 2


def test_what_workers_are_given_may_be_of_any_size(
    hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python waits for ever for a dead child to read more than a pipe holds."""
    monkeypatch.setattr("wirefence.fuzz.campaign.campaign.run_worker", dies)
    given = [case_from_bytes(b"1" * 200_000 + b"\n")]
    with pytest.raises(StartError, match="exit 9"):
        run_campaign(Plan(("planted:healthy",)), Budget(cases=2), hostile, print, given=given)


class Dies:
    """Ends the process that unpickles it before that has read its orders."""

    def __reduce__(self):
        return os._exit, (9,)


dies = Dies()


def test_a_start_without_end_is_not_waited_for(
    hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (hostile / "sleeping.py").write_text(
        "import multiprocessing, time\n"
        "if multiprocessing.parent_process(): time.sleep(600)\n"
        "from wirefence.targets.planted import HEALTHY\n"
        "factory = HEALTHY.factory\n"
    )
    monkeypatch.setattr("wirefence.fuzz.processes.supervisor.START", 1.0)
    budget = Budget(cases=2, patience=1.0)
    with pytest.raises(StartError, match="SIGKILL"):
        run_campaign(Plan(("sleeping:factory",)), budget, hostile / "out", lambda _: None)


def test_a_thread_left_behind_does_not_hold_a_campaign_up(hostile: Path) -> None:
    (hostile / "threads.py").write_text(
        "import threading, time\n"
        "from wirefence.targets.planted import HEALTHY\n"
        "def factory(act, contract):\n"
        "    threading.Thread(target=time.sleep, args=(600,)).start()\n"
        "    return HEALTHY.factory(act, contract)\n"
    )
    budget = Budget(cases=1)
    assert not run_campaign(Plan(("threads:factory",)), budget, hostile / "out", lambda _: None)


def test_a_machine_that_has_no_process_to_give_is_said() -> None:
    with pytest.raises(StartError, match=r"a process \(Resource temporarily"), start_children():
        raise BlockingIOError(11, "Resource temporarily unavailable")


def test_a_runner_that_lives_finds_nothing_in_a_good_case() -> None:
    with CaseRunners(Subject("planted:healthy")) as runners:
        assert runners.run_cases([GOOD, GOOD]) == [[], []]
