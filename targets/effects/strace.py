"""Anything on Linux: system calls, where tracing is allowed.

With ``-D`` the tracer is a grandchild, so that the started process *is* the
server: its pid, exit status, signals and memory are the server's own. ``--seccomp-bpf`` stops only
at the calls that are watched, which is what makes tracing affordable.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from wirefence.targets.command.records import Launch
from wirefence.targets.effects.journal import Journal
from wirefence.targets.effects.records import Observed
from wirefence.targets.effects.strace_lines import CALLS, Lines, effect_of_call

__all__ = ["Strace"]

_OPTIONS = ("-D", "-f", "-qq", "-ttt", "-y", "-s", "65536", "-e", "signal=none")
_PROBE_SECONDS = 10


class Strace:
    """Programs started, connections, files opened for writing, made, removed and renamed."""

    name = "strace"
    blind = (
        "what is written to files and sockets, datagrams without a connection, io_uring, and what "
        "a server asks a running daemon (docker, systemd) to do"
    )

    def __init__(self) -> None:
        self._journal = Journal(self.name)
        self._lines = Lines()
        self._started = False

    def unavailable(self, launch: Launch) -> str:  # noqa: ARG002 - the machine decides
        return _try_options()[1]

    def wrap(self, launch: Launch) -> Launch:
        if not _can_start(launch):  # the complaint shall be of the command, not of strace's
            return launch
        options, _ = _try_options()
        output = str(self._journal.path)
        return replace(launch, argv=("strace", *options, "-o", output, "--", *launch.argv))

    def idle(self) -> str:
        path = self._journal.path
        started = self._started or (path.exists() and path.stat().st_size)
        return "" if started else "strace has written nothing"

    def take(self) -> Sequence[Observed]:
        lines = self._journal.lines()
        self._started = self._started or bool(lines)
        offset = time.time() - time.monotonic()
        effects = (effect_of_call(call) for call in self._lines.calls(lines))
        return [replace(seen, at=seen.at - offset) for seen in effects if seen is not None]

    def close(self) -> None:
        self._journal.close()


@functools.cache
def _try_options() -> tuple[tuple[str, ...], str]:
    """Options that work here, and why none do. Tried once: the machine does not change."""
    if shutil.which("strace") is None:
        return (), "strace is not installed"
    # "?" before a name: not every processor has every call.
    watched = ("-e", "trace=" + ",".join(f"?{name}" for name in CALLS))
    reason = ""
    for options in ((*_OPTIONS, "--seccomp-bpf", *watched), (*_OPTIONS, *watched)):
        reason = _run_strace(options)
        if not reason:
            return options, ""
    return (), reason


def _run_strace(options: Sequence[str]) -> str:
    command = ["strace", *options, "-o", "/dev/null", "--", "true"]
    try:
        done = subprocess.run(  # noqa: S603 - our own words
            command, capture_output=True, timeout=_PROBE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"strace cannot trace here ({type(error).__name__})"
    if done.returncode == 0:
        return ""
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"strace cannot trace here ({said[-1] if said else f'exit {done.returncode}'})"


def _can_start(launch: Launch) -> bool:
    command = launch.argv[0] if launch.argv else ""
    if "/" in command:
        program = (launch.cwd or Path()) / command
        return program.is_file() and os.access(program, os.X_OK)
    return shutil.which(command, path=launch.env.get("PATH")) is not None
