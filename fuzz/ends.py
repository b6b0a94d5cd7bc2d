"""The signals that end a command.

The key insight: whoever ends a command, by Ctrl-C or by SIGTERM, wants what it found told and what
it made cleared away; so all of these signals raise the same exception.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["told_to_end"]

_ENDS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def told_to_end() -> Iterator[None]:
    """In the block, SIGTERM and SIGHUP are what Ctrl-C is, where nobody else takes them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ends = [each for each in _ENDS if signal.getsignal(each) is signal.SIG_DFL]
    for each in ends:  # one that is ignored, as under nohup, stays so
        signal.signal(each, signal.default_int_handler)
    try:
        yield
    finally:
        for each in ends:
            signal.signal(each, signal.SIG_DFL)
