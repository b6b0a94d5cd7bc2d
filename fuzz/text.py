"""Text of others, made fit to be shown."""

from __future__ import annotations

import re

__all__ = ["escape_unprintable", "last_words"]

_ERROR = re.compile(rb"[\w.:]*(?:Error|Exception|panic|fatal error)\b|thread '.*' panicked")


def escape_unprintable(text: str) -> str:
    """Text with every control and format character escaped, safe for a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def last_words(stderr: bytes) -> str:
    """The line of stderr that says most likely why a process ended, behind a semicolon; or ``""``.

    Runtimes put their version, or a note on how to see more, behind the error itself. The line is
    whole and may hold secrets: redact it before it is shown, then cut it.
    """
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR.match(line)]
    last = (errors or lines or [b""])[-1].decode(errors="backslashreplace")
    return f"; its last words on stderr: {last}" if last else ""
