"""Start child processes, report their failures to the parent, and detect their death.

A child sends every Python-level failure over its pipe. So a pipe that closes without a message
means that the target killed the process. This holds only after the child's first message: a child
that dies before it has run no target, and this is an internal error.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from wirefence.fuzz.errors import StartError, UsageError
from wirefence.fuzz.processes.stdio import protect_streams
from wirefence.targets.errors import TargetError

__all__ = [
    "START",
    "ChildFailed",
    "ChildStarted",
    "make_early_death_error",
    "prepare_child",
    "send_failures",
    "start_children",
    "wait_for_exit",
]

START = 300.0
"""Seconds that a child may take to start. Half a second is usual on an idle machine; a busy one can
need minutes.
"""

_BROKEN = 70
"""Exit code of a child that lost its parent; sysexits.h calls 70 an internal software error."""


@dataclass(frozen=True, slots=True)
class ChildStarted:
    """The first message of a child that has nothing else to report before its first case."""


@dataclass(frozen=True, slots=True)
class ChildFailed:
    """A child cannot go on: a target cannot be used or, with ``own``, Wirefence itself failed."""

    cause: str
    hint: str = ""
    own: bool = False

    def to_exception(self) -> Exception:
        """Return the exception to raise in the parent."""
        return RuntimeError(self.cause) if self.own else TargetError(self.cause, self.hint)


def prepare_child() -> None:
    """In a child: exit when the parent exits, and redirect stdout of targets to stderr."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    threading.Thread(target=_exit_with_parent, args=(parent.sentinel,), daemon=True).start()
    with suppress(OSError):  # stderr is closed: what targets print is lost
        os.dup2(2, 1)
    protect_streams(reports=False)


def _exit_with_parent(sentinel: int) -> None:
    wait([sentinel])
    os._exit(_BROKEN)


@contextmanager
def send_failures(pipe: Connection) -> Iterator[None]:
    """Run the block, and send the exception that ends it over ``pipe``."""
    try:
        yield
    except (BrokenPipeError, ConnectionResetError):  # the parent is gone
        os._exit(_BROKEN)
    except (TargetError, UsageError) as error:
        pipe.send(ChildFailed(error.cause, error.hint))
    except SystemExit:
        pipe.send(
            ChildFailed("a target's factory ended the process", "a factory returns a gateway")
        )
    except Exception as error:  # noqa: BLE001 - the parent reports it
        with suppress(OSError):  # a full stderr must not stop the message
            traceback.print_exc()
        pipe.send(ChildFailed(f"{type(error).__name__}: {error}", own=True))
    except BaseException:  # noqa: BLE001 - raised by a target; it would end a server
        sys.stderr.flush()
        os._exit(_BROKEN)


@contextmanager
def start_children(*, forked: bool = False) -> Iterator[None]:
    """Start child processes in the block with Ctrl-C blocked, so that only the parent receives it.

    ``forked`` children start at once; for others Python starts a resource tracker first.

    Arguments of a child must fit a pipe (64 KiB): Python writes all of them before it checks the
    child again, and blocks for ever if the child has died. Raises StartError where the system
    cannot start a process.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        if not forked:
            # Starting it later would unblock Ctrl-C.
            resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        yield
    except (OSError, EOFError) as error:  # EOFError: the fork server has exited
        cause = getattr(error, "strerror", None) or error
        raise StartError(
            f"cannot start a process ({cause})", "free memory or raise the process limit"
        ) from error
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def make_early_death_error(end: str) -> StartError:
    """Return the error for a child that ended before its first message; ``end`` says how."""
    return StartError(
        f"a worker process ended before its first case ({end})",
        "see its error above, free memory, and start Python from a file or command, not from stdin",
    )


def wait_for_exit(process: BaseProcess, patience: float = 5.0) -> str:
    """Wait for a child that sends nothing more, kill it after ``patience`` seconds, return how it
    ended.
    """
    process.join(patience)
    if process.exitcode is None:
        process.kill()
        process.join()
    code = process.exitcode or 0
    if code >= 0:
        return f"exit {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
