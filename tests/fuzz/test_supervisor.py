"""Children of ours: what they say arrives, and how they end is told."""

from __future__ import annotations

import os
import signal
import time
from multiprocessing.connection import Connection

import pytest

from wirefence.fuzz.processes.child import ChildFailed
from wirefence.fuzz.processes.supervisor import Child, Ended, kill_children, poll_children


def says(*parts: object) -> Child:
    """A child that sends each part; a number above 0 is slept, one below is a signal to itself."""
    return Child(_say, parts, method="fork", patience=1.0)


def _say(parts: tuple[object, ...], pipe: Connection) -> None:
    for part in parts:
        if not isinstance(part, float | int):
            pipe.send(part)
        elif part > 0:
            time.sleep(part)
        else:
            os.kill(os.getpid(), -part)


def _leave_a_child(pipe: Connection) -> None:
    if os.fork() == 0:
        time.sleep(20)
    os._exit(3)


def _echo(pipe: Connection) -> None:
    while True:
        pipe.send(pipe.recv())


def test_messages_come_in_order_and_then_the_end() -> None:
    child = says("a", "b", -signal.SIGUSR1)
    assert [child.receive() for _ in range(3)] == ["a", "b", Ended("SIGUSR1", hung=False)]
    assert says().receive() == Ended("exit 0", hung=False)


def test_a_child_that_is_silent_is_killed_after_what_it_said() -> None:
    child = says("a", 60, "b")
    assert [child.receive(), child.receive()] == ["a", Ended("SIGKILL", hung=True)]


def test_a_child_that_goes_on_talking_does_not_hang() -> None:
    child = says("a", 0.7, "b", 0.7, "c")
    assert [child.receive() for _ in range(3)] == ["a", "b", "c"]


def test_an_end_is_seen_though_a_grandchild_holds_the_pipe() -> None:
    child = Child(_leave_a_child, method="fork", patience=15.0)
    assert child.receive() == Ended("exit 3", hung=False)


def test_a_failure_is_raised() -> None:
    with pytest.raises(RuntimeError, match="out of order"):
        says(ChildFailed("out of order", own=True)).receive()


def test_what_a_dead_child_is_sent_is_no_error() -> None:
    child = Child(_echo, method="fork", patience=5.0, duplex=True)
    child.send("x")
    assert child.receive() == "x"
    child.process.kill()
    child.process.join()
    child.send("y")
    assert child.receive() == Ended("SIGKILL", hung=False)


def test_a_busy_child_does_not_hide_one_that_hangs() -> None:
    busy, silent = Child(_echo, method="fork", patience=60.0, duplex=True), says(60)
    children, said = [busy, silent], []
    busy.send("x")
    while not said:
        for child, message in poll_children(children):
            said += [(child, message)] if isinstance(message, Ended) else []
            busy.send("x")
    assert said == [(silent, Ended("SIGKILL", hung=True))]
    kill_children([busy])
    assert busy.process.exitcode == -signal.SIGKILL
