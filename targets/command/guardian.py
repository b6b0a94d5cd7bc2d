"""No server outlives us, even where we are killed: a guardian ends what is left.

A process that is killed can't clean up, but the kernel closes its pipes. So a
shell that does nothing but read from one learns of our death, and kills the groups that it was told
of, and whatever left its group with our mark in its environment. A parent-death signal would not
do: it reaches the leader of a group only, and it comes when the thread that started it ends.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading

from wirefence.targets.command.strays import MARK, end_strays, make_mark

__all__ = ["end_left", "forget_group", "guard_group"]

_SCRIPT = """
groups=' '
while read -r sign group; do
  case $sign in
    +) groups="$groups$group " ;;
    -) groups="${groups%%" $group "*} ${groups#*" $group "}" ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
for file in $(grep -alsF -e "$0" /proc/[0-9]*/environ); do
  pid="${file#/proc/}"
  kill -s KILL "${pid%/environ}"
done
"""
_lock = threading.Lock()
_living: set[tuple[int, int]] = set()
_pipes: dict[int, int] = {}
"""The write end to the guardian of each process: one that was forked has its own."""


def guard_group(group: int) -> None:
    """Have a process group killed if this process ends before :func:`forget_group`."""
    _living.add((os.getpid(), group))
    _tell_guardian(b"+ %d\n" % group)


def forget_group(group: int) -> None:
    """Leave a group alone from now on; to be told before its leader is reaped."""
    _living.discard((os.getpid(), group))
    _tell_guardian(b"- %d\n" % group)


def end_left() -> int:
    """Kill what servers left behind that were forgotten; say how many processes that were."""
    return end_strays({group for owner, group in _living if owner == os.getpid()})


def _tell_guardian(line: bytes) -> None:
    with _lock:
        pipe = _pipes.get(os.getpid()) or _start_guardian()
        # Without its guardian the work goes on as well.
        with contextlib.suppress(OSError):
            os.write(pipe, line)


def _start_guardian() -> int:
    read, write = os.pipe()
    try:
        subprocess.Popen(  # noqa: S603 - the script is the constant above
            ["/bin/sh", "-c", _SCRIPT, f"{MARK}={make_mark()}"],
            stdin=read,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Ctrl-C at the terminal is for us, and so is the end of the terminal.
            start_new_session=True,
        ).returncode = 0  # never waited for: it ends after us
    except BaseException:
        os.close(write)
        raise
    finally:
        os.close(read)
    _pipes[os.getpid()] = write
    return write
