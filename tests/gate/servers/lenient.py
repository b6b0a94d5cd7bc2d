"""A strict server with any number of leniencies, each independent of the others.

``python lenient.py FOLDER LENIENCY...``: a leniency is a repair of a line before the strict server
of ``server.py`` reads it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server import Strict, serve


def _replace(pattern: bytes, by: bytes) -> Callable[[bytes], bytes]:
    found = re.compile(pattern)
    return lambda line: found.sub(by, line)


def _take_id(spelling: bytes) -> Callable[[bytes], bytes]:
    """Take an id of another spelling for an integer."""
    return _replace(rb'"id":' + spelling + rb"(?=[,}])", b'"id":7')


LENIENCIES: dict[str, Callable[[bytes], bytes]] = {
    "trailing-comma": _replace(rb",([}\]])", rb"\1"),
    "nan": _replace(rb'"ttl":NaN,', b""),
    "single-quotes": _replace(b"'", b'"'),
    "bom": lambda line: line.removeprefix(b"\xef\xbb\xbf"),
    "utf8": lambda line: line.decode("utf-8", "replace").encode(),
    "cr-line-end": lambda line: line.removesuffix(b"\r"),
    "minus-zero": _take_id(rb"-0"),
    "fraction": _take_id(rb"\d+\.0"),
    "boolean": _take_id(rb"true"),
    "null": _take_id(rb"null"),
    "hybrid": _replace(rb'"result":\{\},', b""),
    "padded-name": _replace(rb'"name":"\s*record\s*"', b'"name":"record"'),
    "plus": _replace(rb":\+", b":"),
}


class Lenient(Strict):
    """The strict server behind some repairs."""

    repairs: tuple[Callable[[bytes], bytes], ...] = ()
    splits = False

    def line(self, line: bytes) -> bytes:
        parts = [part for part in line.split(b"\r") if part] if self.splits else [line]
        return b"".join(map(self._read_part, parts))

    def _read_part(self, part: bytes) -> bytes:
        for repair in self.repairs:
            part = repair(part)
        return super().line(part)


if __name__ == "__main__":
    lenient = Lenient(Path(sys.argv[1]))
    lenient.splits = "cr-separator" in sys.argv[2:]
    lenient.repairs = tuple(LENIENCIES[name] for name in sys.argv[2:] if name in LENIENCIES)
    sys.exit(serve(lenient))
