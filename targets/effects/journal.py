r"""The append-only file in which code injected into a server notes what the server does.

Opening, appending one line and closing again for each note holds no descriptor in
the server, so that none can be closed under it, inherited, or taken for the server's own. On Linux
one append of one line is whole, whatever other processes append meanwhile.

A line is ``kind TAB monotonic seconds TAB pid TAB detail TAB content`` and LF, with backslash, tab
and LF spelled ``\\``, ``\\t`` and ``\\n``. Kind ``hello`` says that a process loaded the code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import get_args

from wirefence.targets.effects.records import EffectKind, Observed
from wirefence.targets.scratch import Scratch

__all__ = ["Journal", "prepend_path"]

_ESCAPE = re.compile(rb"\\([\\tn])")
_MEANING = {b"\\": b"\\", b"t": b"\t", b"n": b"\n"}
_KINDS: dict[bytes, EffectKind] = {kind.encode(): kind for kind in get_args(EffectKind)}


class Journal:
    """One journal in a folder of its own."""

    def __init__(self, recorder: str) -> None:
        self._recorder = recorder
        self._scratch = Scratch(recorder)
        self.folder = self._scratch.path
        self.path = self.folder / "journal"
        self.path.touch()
        self._hellos: list[bytes] = []
        self._seen: list[Observed] = []
        self._offset = 0

    def take(self) -> list[Observed]:
        """Whole lines that were appended since the last call. Nothing after :meth:`close`."""
        self._look()
        seen, self._seen = self._seen, []
        return seen

    def hellos(self) -> list[bytes]:
        """The programs that have loaded the hook so far."""
        self._look()
        return self._hellos

    def _look(self) -> None:
        self._seen += self._read()

    def _read(self) -> Iterator[Observed]:
        for line in self.lines():
            fields = line.split(b"\t")
            if len(fields) != 5:
                continue  # not ours: the server may write there too
            kind, at, _, detail, content = fields
            if kind == b"hello":
                self._hellos.append(_unescape_text(detail))
            elif kind in _KINDS and (seconds := _parse_seconds(at)) is not None:
                yield Observed(
                    self._recorder,
                    _KINDS[kind],
                    _unescape_text(detail),
                    _unescape_text(content),
                    seconds,
                )

    def lines(self) -> list[bytes]:
        """Raw lines, without LF, since the last call."""
        try:
            with self.path.open("rb") as stream:
                stream.seek(self._offset)
                data = stream.read()
        except FileNotFoundError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return whole.split(b"\n")[:-1]

    def close(self) -> None:
        self._scratch.close()


def _unescape_text(text: bytes) -> bytes:
    return _ESCAPE.sub(lambda match: _MEANING[match[1]], text)


def _parse_seconds(text: bytes) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def prepend_path(first: str, rest: str | None, separator: str = ":") -> str:
    """A search path with ``first`` before what was there."""
    return f"{first}{separator}{rest}" if rest else first
