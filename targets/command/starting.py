"""A command becomes a process of its own group, or one sentence that says why it can't.

What the system says of a failed start names neither the command nor what to do, so
each cause is looked at here, where both are known.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
from pathlib import Path

from wirefence.targets.command.guardian import forget_group
from wirefence.targets.command.records import Launch
from wirefence.targets.command.strays import MARK, make_mark
from wirefence.targets.errors import TargetError

__all__ = ["end_unwatched", "start_command"]


def start_command(launch: Launch) -> subprocess.Popen[bytes]:
    """Start a command over three raw pipes. Raises TargetError where it cannot be."""
    command = launch.argv[0] if launch.argv else ""
    if not command:
        raise TargetError("the command is empty", "is a variable of the script not set?")
    try:
        return subprocess.Popen(  # noqa: S603 - starting the user's own command is its purpose
            launch.argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=launch.cwd,
            env=_make_environment(launch),
            start_new_session=True,
        )
    except FileNotFoundError as error:
        if launch.cwd is not None and not launch.cwd.is_dir():
            raise TargetError(f"{launch.cwd} is no folder", "choose another --cwd") from error
        raise TargetError(
            f"there is no command {command!r}", "check its spelling and that it is on PATH"
        ) from error
    except PermissionError as error:
        if Path(command).is_dir():
            raise TargetError(f"{command!r} is a folder", "name a program in it") from error
        raise TargetError(
            f"{command!r} may not be executed", "check the file's mode, or name its interpreter"
        ) from error
    except (OSError, ValueError, IndexError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        hint = "check it"
        if getattr(error, "errno", None) == errno.ENOEXEC:
            hint = "name its interpreter, or give it a first line such as #!/bin/sh"
        raise TargetError(f"{command!r} cannot be started ({reason})", hint) from error


def end_unwatched(child: subprocess.Popen[bytes]) -> None:
    """End a server that nobody could watch, with its group, and close its pipes."""
    with contextlib.suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    with contextlib.suppress(OSError):  # what there was too little of for the server's watch
        forget_group(child.pid)
    with child:
        pass


def _make_environment(launch: Launch) -> dict[str, str]:
    surroundings = {**os.environ, MARK: make_mark()}
    for name, value in launch.env.items():
        if value is None:
            surroundings.pop(name, None)
        else:
            surroundings[name] = value
    return surroundings
