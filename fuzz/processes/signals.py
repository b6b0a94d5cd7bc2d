"""The signals that end a command.

The key insight: whoever ends a command, by Ctrl-C or by SIGTERM, wants what it found told and what
it made cleared away; so all of these signals raise the same exception. While a command is only
being loaded there is nothing to tell or to clear, and the exception would surface in the middle of
an import, where others catch it or print it: so then the signals end the process by themselves.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from types import FrameType

from wirefence.fuzz.errors import USAGE

__all__ = ["INTERRUPTED", "at_once", "end_at_once", "told_to_end"]

INTERRUPTED = ("interrupted", "nothing that was saved is lost")
"""What an interrupted command without a report says: cause and hint."""

_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _leave(_number: int, _frame: FrameType | None) -> None:
    """End the process as :func:`wirefence.fuzz.cli.main` would, but now."""
    with suppress(OSError):
        os.write(2, f"\nwirefence: {'; '.join(INTERRUPTED)}\n".encode())
    os._exit(USAGE)


_Handler = Callable[[int, FrameType | None], object] | int | None
_FREE = (signal.SIG_DFL, signal.default_int_handler, _leave)
"""Handlers that are nobody else's: one that is ignored, as under nohup, stays so."""


def _take(handler: _Handler) -> Mapping[signal.Signals, _Handler]:
    """Have ``handler`` called for every end that is free; gives what was called before."""
    before = {each: signal.getsignal(each) for each in _ENDS}
    free = {each: known for each, known in before.items() if known in _FREE}
    try:
        for each in free:
            signal.signal(each, handler)
    except ValueError:  # not the main thread, which alone is interrupted
        return {}
    return free


@contextmanager
def _taken(handler: _Handler) -> Iterator[None]:
    before = _take(handler)
    try:
        yield
    finally:
        for number, known in before.items():
            signal.signal(number, known)


def end_at_once() -> None:
    """From now on Ctrl-C, SIGTERM and SIGHUP end the process in a sentence, with exit code 2."""
    _take(_leave)


def at_once() -> AbstractContextManager[None]:
    """In the block, what :func:`end_at_once` says: for what nobody would miss, as an import."""
    return _taken(_leave)


def told_to_end() -> AbstractContextManager[None]:
    """In the block, SIGTERM and SIGHUP are what Ctrl-C is, where nobody else takes them."""
    return _taken(signal.default_int_handler)
