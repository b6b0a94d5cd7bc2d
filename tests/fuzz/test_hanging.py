"""A case hangs by the time in which it could have run: a busy machine is no hang."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import time

import pytest

from wirefence.fuzz.processes import hang_detector as hanging
from wirefence.fuzz.processes.hang_detector import HangTimer, is_stopped, read_processor_wait


def spin(processor: int) -> None:
    os.sched_setaffinity(0, {processor})
    while True:
        pass


def test_what_waits_for_a_processor_is_counted() -> None:
    processor = min(os.sched_getaffinity(0))
    context = multiprocessing.get_context("fork")
    rivals = [context.Process(target=spin, args=(processor,), daemon=True) for _ in range(2)]
    try:
        for rival in rivals:
            rival.start()
        deadline = time.monotonic() + 60
        while min(read_processor_wait(rival.pid or 0) for rival in rivals) < 0.05:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        # And for whoever waits for them as its children.
        assert read_processor_wait(os.getpid()) >= 0.1
    finally:
        for rival in rivals:
            rival.kill()
            rival.join()


def test_a_process_that_is_gone_has_waited_for_nothing() -> None:
    assert read_processor_wait(2**22 + 1) == 0


@pytest.mark.parametrize(
    ("passed", "waited", "over"),
    [
        (59, 0, False),
        (61, 0, True),
        (300, 245, False),  # on a busy machine
        (300, 239, True),  # on a busy machine, and hanging
        (601, 600, True),  # never let run: somebody must be told
    ],
)
def test_patience_ends_when_it_could_have_run_for_so_long(monkeypatch, passed, waited, over):
    clock = watched(monkeypatch)
    patience = HangTimer(1)
    assert clock.look(patience, passed, waited=waited) is over
    patience.restart()
    assert not patience.has_hung(60)


@pytest.mark.parametrize(
    ("before", "stopped", "after", "over"),
    [
        (50, 3_600, 9, False),
        (50, 3_600, 12, True),
    ],
)
def test_a_night_behind_ctrl_z_is_no_hang(monkeypatch, before, stopped, after, over):
    clock, patience = watched(monkeypatch), HangTimer(1)
    assert not clock.look(patience, before)
    clock.now += stopped  # nobody looks
    assert clock.look(patience, after) is over


def test_who_seldom_looks_comes_to_an_end_too(monkeypatch):
    clock, patience = watched(monkeypatch), HangTimer(1)
    over = []
    for _ in range(70):
        clock.now += 60
        over.append(patience.has_hung(60))
    assert not any(over[:50])
    assert over[-1]


@pytest.mark.parametrize(("stopped", "over"), [(300, False), (601, True)])
def test_a_process_that_is_stopped_does_not_hang_but_is_not_waited_for_for_ever(
    monkeypatch, stopped, over
):
    clock, patience = watched(monkeypatch), HangTimer(1)
    assert clock.look(patience, stopped, stopped=True) is over
    assert clock.look(patience, 61) is True


def test_a_stopped_process_is_seen():
    with subprocess.Popen(["sleep", "600"]) as process:
        try:
            assert not is_stopped(process.pid)
            process.send_signal(signal.SIGSTOP)
            deadline = time.monotonic() + 60
            while not is_stopped(process.pid):
                assert time.monotonic() < deadline
                time.sleep(0.01)
        finally:
            process.kill()
    assert not is_stopped(process.pid)


class Clock:
    """A clock that is looked at every second, and what the kernel says of a process."""

    def __init__(self) -> None:
        self.now, self.delay, self.stopped = 0.0, 5.0, False

    def look(
        self, patience: HangTimer, seconds: int, *, waited: float = 0.0, stopped: bool = False
    ) -> bool:
        """Look for so many seconds; whether patience was over before the end or at it."""
        self.stopped = stopped
        over = False
        for _ in range(seconds):
            self.now += 1.0
            self.delay += waited / seconds
            over |= patience.has_hung(60)
        return over


def watched(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(hanging.time, "monotonic", lambda: clock.now)
    monkeypatch.setattr(hanging, "read_processor_wait", lambda _: clock.delay)
    monkeypatch.setattr(hanging, "is_stopped", lambda _: clock.stopped)
    return clock
