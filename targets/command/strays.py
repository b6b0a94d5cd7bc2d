"""What a server started and did not take with it: found by a mark in its environment.

A process can leave its group, its session and its parent, but it keeps the
environment that it was started with. So every server is started with a mark of this run, and
whoever still has it at the end is a stray. One that cleans its environment is not found.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
from collections.abc import Collection, Iterator
from pathlib import Path

from wirefence.targets.command.proc_files import read_proc, read_stat

__all__ = ["MARK", "end_strays", "make_mark"]

MARK = "WIREFENCE_RUN"
_TOKEN = secrets.token_hex(8)
_ROUNDS = 3


def make_mark() -> str:
    """The value of :data:`MARK` for what this process starts: one that was forked has its own.

    None is the beginning of another's, since it is looked for in environments as a piece of text.
    """
    return f"{_TOKEN}-{os.getpid()}."


def end_strays(living: Collection[int]) -> int:
    """Kill every marked process but those of the groups ``living``; say how many were killed."""
    killed: set[int] = set()
    for _ in range(_ROUNDS):  # what is killed may have been about to start another
        left = set(_list_marked()) - killed  # a process that is ending keeps its mark
        found = [pid for pid in left if not _belongs_to_living(pid, living)]
        killed.update(filter(_kill_marked, found))
        if not found:
            break
    return len(killed)


def _list_marked() -> Iterator[int]:
    pids = (int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit())
    return filter(_is_marked, pids)


def _is_marked(pid: int) -> bool:
    return f"{MARK}={make_mark()}".encode() in read_proc(pid, "environ").split(b"\0")


def _belongs_to_living(pid: int, living: Collection[int]) -> bool:
    """Whether a process is of a living group, or descends from one."""
    while pid > 1:
        try:
            if os.getpgid(pid) in living:
                return True
            pid = int(read_stat(pid)[1])
        except (OSError, IndexError):
            return False
    return False


def _kill_marked(pid: int) -> bool:
    """Kill a process if its number still has the mark."""
    with contextlib.suppress(OSError):
        held = os.pidfd_open(pid)
        try:
            if _is_marked(pid):
                signal.pidfd_send_signal(held, signal.SIGKILL)
                return True
        finally:
            os.close(held)
    return False
