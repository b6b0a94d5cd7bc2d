"""A case hangs by the time in which it could have run: a busy machine is no hang."""

from __future__ import annotations

import multiprocessing
import os
import time

import pytest

from fuzz import hanging
from fuzz.hanging import Patience, delayed


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
        while min(delayed(rival.pid or 0) for rival in rivals) < 0.05:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        # And for whoever waits for them as its children.
        assert delayed(os.getpid()) >= 0.1
    finally:
        for rival in rivals:
            rival.kill()
            rival.join()


def test_a_process_that_is_gone_has_waited_for_nothing() -> None:
    assert delayed(2**22 + 1) == 0


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
    now, delay = [0.0], [5.0]
    monkeypatch.setattr(hanging.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(hanging, "delayed", lambda _: delay[0])
    patience = Patience(1)
    now[0], delay[0] = passed, 5.0 + waited
    assert patience.over(60) is over
    patience.restart()
    assert not patience.over(60)
