"""What runs in place of ``ssh``, ``scp`` or ``sftp``: notes its arguments and input, exits 0.

Arguments are noted before stdin is read, so that a caller that never ends the input is seen too.
A stdin that the caller merely passed on is left alone: it holds the frames of the server. The real
ssh would have taken them, and a recorder must not add that fault to a server under test.
"""

from __future__ import annotations

import os
import select
import sys
import time

_LIMIT = 1 << 20
_PATIENCE = 5.0


def _escape_text(text: bytes) -> bytes:
    return text.replace(b"\\", b"\\\\").replace(b"\t", b"\\t").replace(b"\n", b"\\n")


def _write_note(journal: str, detail: bytes, content: bytes) -> None:
    fields = (b"exec", b"%.6f" % time.monotonic(), b"%d" % os.getpid(), detail, content)
    descriptor = os.open(journal, os.O_WRONLY | os.O_APPEND)
    os.write(descriptor, b"\t".join(map(_escape_text, fields)) + b"\n")
    os.close(descriptor)


def _inherits_stdin() -> bool:
    try:
        return os.readlink("/proc/self/fd/0") == os.readlink(f"/proc/{os.getppid()}/fd/0")
    except OSError:  # no stdin, or a caller that is gone
        return True


def _read_input() -> bytes:
    """What the caller writes, up to a limit of bytes and seconds."""
    parts, size, end = [], 0, time.monotonic() + _PATIENCE
    while size < _LIMIT and (left := end - time.monotonic()) > 0:
        if not select.select([0], [], [], left)[0]:
            break
        part = os.read(0, 65536)
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _main(journal: str, arguments: list[str]) -> None:
    words = b" ".join(map(os.fsencode, arguments))
    _write_note(journal, words, b"")
    if not _inherits_stdin() and "-n" not in arguments:
        content = _read_input()
        if content:
            _write_note(journal, words + b" <stdin", content)


_main(sys.argv[1], sys.argv[2:])
