"""Name a crash by where it happened: how the process ended, and the last line of its error.

What differs from run to run, or with the input, is taken out of that line: numbers, addresses,
paths and quoted text. So one place that raises has one name, whatever was sent to it.
"""

from __future__ import annotations

import re

__all__ = ["find_last_error", "name_crash"]

_MOST = 120
"""Characters of a name: an error's first words tell errors apart."""
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|\{.*\}|\[.*\]""")
_OPEN_QUOTE = re.compile(r"""['"`{\[].*$""")
_PATH = re.compile(r"(?:file://|[A-Za-z]:)?(?:[/\\][\w.@+-]+)+")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+\b")
_NUMBER = re.compile(r"[0-9]+")
_SPACE = re.compile(r"\s+")
_ERROR = re.compile(r"^[\w.$]*(?:Error|Exception|Interrupt|Exit|panic)\b.*", re.IGNORECASE)
_GROUP = re.compile(r"^[\s|+-]*")


def name_crash(status: str, last_words: str) -> str:
    """Return the name of a crash. ``status`` is an exit status, a signal or an error's type."""
    line = _QUOTED.sub("*", last_words)
    line = _OPEN_QUOTE.sub("*", line)
    line = _PATH.sub("*", line)
    line = _ADDRESS.sub("*", line)
    line = _NUMBER.sub("N", line)
    line = _SPACE.sub(" ", line).replace("|", "/").strip(" *:")
    return f"{status or 'exit'}: {line[:_MOST]}" if line else status or "exit"


def find_last_error(stderr: bytes) -> str:
    """Return the last line of stderr that names an error, else the last one with any word.

    Of an exception group that is the innermost exception, which is written last.
    """
    lines = stderr[-65_536:].decode("utf-8", "replace").splitlines()
    bare = [_GROUP.sub("", line).strip() for line in lines]
    words = [line for line in bare if any(map(str.isalnum, line))]
    errors = [line for line in words if _ERROR.match(line)]
    return next(iter(reversed(errors or words)), "")
