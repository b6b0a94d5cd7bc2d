"""What a process of ours does that runs targets apart from the one the user talks to.

The key insight: whatever Python can still say, the child says over its pipe; a pipe that ends
without a word therefore means that the target took the whole process with it.
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
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from fuzz.errors import UsageError
from targets.errors import TargetError

__all__ = ["Failed", "end_of", "settle", "starting", "telling"]

_BROKEN = 70


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
        pipe.send(Failed("a target's factory ended the process", "A factory returns a gateway"))
    except Exception as error:  # noqa: BLE001 - a child has nobody else to tell
        traceback.print_exc()
        pipe.send(Failed(f"{type(error).__name__}: {error}", own=True))
    except BaseException:  # noqa: BLE001 - raised by a target: it would have ended a process
        sys.stderr.flush()
        os._exit(_BROKEN)


@contextmanager
def starting() -> Iterator[None]:
    """Start children in the block: Ctrl-C is for the parent alone, which then ends them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
