"""Memory and processor time of a server, by the kernel's own account of each of its processes."""

from __future__ import annotations

import os
import re

from wirefence.targets.command.proc_files import list_children, read_proc, read_stat

__all__ = ["cpu_of_group", "list_family", "peak_of_group"]

_PEAK = re.compile(rb"^VmHWM:\s+(\d+) kB", re.MULTILINE)
_MOST = 64


def peak_of_group(pid: int) -> int:
    """The largest peak resident size, in bytes, of a process and its descendants; 0 if unknown.

    The largest and not the sum: a wrapper that only waits for the server adds nothing to it.
    """
    return max((_peak_bytes(each) for each in list_family(pid)), default=0)


def cpu_of_group(pid: int) -> float:
    """Seconds of processor time of a process and its descendants, with those that have ended."""
    return sum(map(_cpu_ticks, list_family(pid))) / os.sysconf("SC_CLK_TCK")


def _cpu_ticks(pid: int) -> int:
    """Ticks in user and system mode, of the process and the children it has waited for."""
    return sum(map(int, read_stat(pid)[11:15]))


def list_family(pid: int) -> list[int]:
    """A process and its living descendants, the process first."""
    family = [pid]
    for parent in family:
        if len(family) > _MOST:
            break
        family += list_children(parent)
    return family


def _peak_bytes(pid: int) -> int:
    found = _PEAK.search(read_proc(pid, "status"))
    return int(found[1]) * 1024 if found else 0
