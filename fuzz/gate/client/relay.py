"""The program that a client under test starts as its server: relays bytes in both directions.

A client chooses the environment and arguments of its server, so the script that starts this program
passes everything. Run it by path with ``-I -S``: it needs only the standard library and starts
fast.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import sys
import time

_CHUNK_BYTES = 1 << 16
"""Bytes of one read: the size of a pipe."""
_LAST_OUTPUT_SECONDS = 0.5
"""Seconds to relay what the client sends after its server closed."""


def relay_bytes(path: str) -> None:
    """Relay between stdin, stdout and the socket at ``path`` until the socket ends."""
    link = socket.socket(socket.AF_UNIX)
    link.connect(path)
    watched = [0, link.fileno()]
    while link.fileno() in watched:
        ready, _, _ = select.select(watched, [], [])
        if link.fileno() in ready and not _copy_bytes(link.fileno(), 1):
            watched.remove(link.fileno())
            # The client sees the end of the server's output, and may still write.
            os.close(1)
        if 0 in ready and not _copy_bytes(0, link.fileno()):
            watched.remove(0)
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_WR)
    # The client's last bytes are evidence, but it must also notice soon that its server is gone.
    end = time.monotonic() + _LAST_OUTPUT_SECONDS
    while 0 in watched and (left := end - time.monotonic()) > 0:
        if select.select([0], [], [], left)[0] and not _copy_bytes(0, link.fileno()):
            return


def _copy_bytes(source: int, sink: int) -> bool:
    """Copy what is available; ``False`` at the end of either side."""
    try:
        data = os.read(source, _CHUNK_BYTES)
        left = memoryview(data)
        while left:
            left = left[os.write(sink, left) :]
    except OSError:
        return False
    return bool(data)


if __name__ == "__main__":
    relay_bytes(sys.argv[1])
