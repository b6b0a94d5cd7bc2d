"""Handle the signals that end a command: SIGINT, SIGTERM and SIGHUP.

All of them raise KeyboardInterrupt, so that a command reports its findings and cleans up. During
imports they end the process directly: there is nothing to report yet, and other code may catch or
print the exception.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from types import FrameType

from wirefence.fuzz.errors import USAGE

__all__ = ["INTERRUPTED", "exit_on_signals", "install_exit_on_signals", "interrupt_on_signals"]

INTERRUPTED = ("interrupted", "nothing that was saved is lost")
"""Cause and hint that an interrupted command without a report prints."""

_END_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _exit_now(_number: int, _frame: FrameType | None) -> None:
    """End the process as :func:`wirefence.fuzz.cli.main` does, but immediately."""
    with suppress(OSError):
        os.write(2, f"\nwirefence: {'; '.join(INTERRUPTED)}\n".encode())
    os._exit(USAGE)


_Handler = Callable[[int, FrameType | None], object] | int | None
_DEFAULT_HANDLERS = (signal.SIG_DFL, signal.default_int_handler, _exit_now)
"""Handlers that may be replaced. An ignored signal, as under nohup, stays ignored."""


def _install_handler(handler: _Handler) -> Mapping[signal.Signals, _Handler]:
    """Install ``handler`` for each end signal with a default handler; return the previous
    handlers.
    """
    before = {each: signal.getsignal(each) for each in _END_SIGNALS}
    free = {each: known for each, known in before.items() if known in _DEFAULT_HANDLERS}
    try:
        for each in free:
            signal.signal(each, handler)
    except ValueError:  # not the main thread: only that receives signals
        return {}
    return free


@contextmanager
def _handler_installed(handler: _Handler) -> Iterator[None]:
    before = _install_handler(handler)
    try:
        yield
    finally:
        for number, known in before.items():
            signal.signal(number, known)


def install_exit_on_signals() -> None:
    """Make Ctrl-C, SIGTERM and SIGHUP end the process with one message and exit code 2."""
    _install_handler(_exit_now)


def exit_on_signals() -> AbstractContextManager[None]:
    """In the block, do what :func:`install_exit_on_signals` does: for work without results, as
    imports.
    """
    return _handler_installed(_exit_now)


def interrupt_on_signals() -> AbstractContextManager[None]:
    """In the block, SIGTERM and SIGHUP raise KeyboardInterrupt like Ctrl-C, unless already
    handled.
    """
    return _handler_installed(signal.default_int_handler)
