"""What the kernel says about a process in ``/proc``; nothing of one that has ended.

Not by psutil: it reads every process of the machine to find children, which takes more than ten
times as long, and each stop of a server needs them. It tells neither the peak of memory nor the
time spent waiting for a processor, and its start time changes with the clock.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["list_children", "read_proc", "read_stat"]


def read_proc(pid: int, name: str) -> bytes:
    """Return a file of a process; ``b""`` if it is another user's, or the process is gone."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def read_stat(pid: int) -> list[bytes]:
    """Return the fields of ``stat`` from the state (the third) on; none of a process that is
    gone.
    """
    # The name of the process comes before, in parentheses, and may itself contain them.
    return read_proc(pid, "stat").rpartition(b")")[2].split()


def list_children(pid: int) -> list[int]:
    """Return the living children that the main thread of a process has started."""
    return list(map(int, read_proc(pid, f"task/{pid}/children").split()))
