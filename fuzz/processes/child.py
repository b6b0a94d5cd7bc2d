"""What a process of ours does that runs targets apart from the one the user talks to.

The key insight: whatever Python can still say, the child says over its pipe; a pipe that ends
without a word therefore means that the target took the whole process with it. That holds only from
the child's first word on: what ends before it has met no target, and is a failure of our own.
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
from wirefence.fuzz.processes.stdio import settle_streams
from wirefence.targets.errors import TargetError

__all__ = ["START", "Begun", "Failed", "end_of", "settle", "starting", "telling", "unbegun"]

START = 300.0
"""Seconds that a process of ours may take to begin; half of one is usual, on an idle machine."""

_BROKEN = 70


@dataclass(frozen=True, slots=True)
class Begun:
    """The first word of a child that has nothing else to say before it is given a case."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A child could not go on: a target that cannot be used, or (``own``) a fault of ours."""

    cause: str
    hint: str = ""
    own: bool = False

    def raised(self) -> Exception:
        """The exception that says this in the parent."""
        return RuntimeError(self.cause) if self.own else TargetError(self.cause, self.hint)


def settle() -> None:
    """In a child: end when the parent does, and keep what targets print off the report."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()
    with suppress(OSError):  # no stderr: then nothing that is printed can be kept
        os.dup2(2, 1)
    settle_streams(reports=False)


def _follow(sentinel: int) -> None:
    wait([sentinel])
    os._exit(_BROKEN)


@contextmanager
def telling(pipe: Connection) -> Iterator[None]:
    """Run the block; what ends it early is told over ``pipe``."""
    try:
        yield
    except BrokenPipeError:
        os._exit(_BROKEN)
    except (TargetError, UsageError) as error:
        pipe.send(Failed(error.cause, error.hint))
    except SystemExit:
        pipe.send(Failed("a target's factory ended the process", "a factory returns a gateway"))
    except Exception as error:  # noqa: BLE001 - a child has nobody else to tell
        with suppress(OSError):  # a full stderr must not take the word away
            traceback.print_exc()
        pipe.send(Failed(f"{type(error).__name__}: {error}", own=True))
    except BaseException:  # noqa: BLE001 - raised by a target: it would have ended a process
        sys.stderr.flush()
        os._exit(_BROKEN)


@contextmanager
def starting(*, forked: bool = False) -> Iterator[None]:
    """Start children in the block: Ctrl-C is for the parent alone, which then ends them.

    Those that are only ``forked`` start at once; for others Python starts a helper first.

    What a child is given at its start must be small (a pipe's 64 KiB): Python writes all of it
    before it looks at the child again, and one that has died by then is waited for for ever.
    Raises StartError where the machine has no process to give.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        if not forked:
            # Later its start would let Ctrl-C through again.
            resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        yield
    except (OSError, EOFError) as error:  # EOFError: of a fork server that is gone
        cause = getattr(error, "strerror", None) or error
        raise StartError(
            f"cannot start a process ({cause})", "see what the machine is short of"
        ) from error
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def unbegun(end: str) -> StartError:
    """The error that says that a child ended, as ``end`` tells, before its first word."""
    return StartError(
        f"a process of ours ended before its first case ({end})",
        "see its own words above, free memory, and start from a file or a command, not from stdin",
    )


def end_of(process: BaseProcess, patience: float = 5.0) -> str:
    """Wait for a child that says nothing more, end it if need be, and say how it ended."""
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
