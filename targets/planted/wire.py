"""Faults of framing and encoding: what counts as a line, and how its bytes become text."""

from __future__ import annotations

import codecs
import contextlib
import json
from collections.abc import Iterator
from typing import Any

from wirefence.targets.planted.base import MiniGateway
from wirefence.targets.planted.records import Message, Rejected
from wirefence.targets.planted.registry import planted

__all__: list[str] = []


@planted(
    origin="`for line in sys.stdin` loops whose `except` says `continue`",
    breaks=("act-after-close", "reply-to-rejected", "life-closed"),
)
class SkipsBadLines(MiniGateway):
    """Answers a bad line with an error and reads on, though the session has ended."""

    def take(self, line: bytes) -> bytes:
        self.closed = False
        return super().take(line)

    def feed(self, data: bytes) -> bytes:
        self.closed = False
        return super().feed(data)


@planted(
    origin="Python text-mode readers (TextIOWrapper with universal newlines), Node's readline",
    breaks=("act-rejected", "frame-cr"),
    policy="continue",
)
class SplitsAtBareCr(MiniGateway):
    """Ends a frame at a lone CR, so that a call hidden in white space is a frame of its own."""

    def split(self, data: bytes) -> Iterator[bytes]:
        return super().split(data.replace(b"\r", b"\n"))


@planted(
    origin="readers of a whole buffer with `str.splitlines`",
    breaks=("act-rejected", "session-resync", "json-syntax"),
    policy="continue",
)
class SplitsAtLineSeparators(MiniGateway):
    """Ends a frame at U+2028, U+2029, U+0085, VT, FF and FS, as `str.splitlines` does."""

    def split(self, data: bytes) -> Iterator[bytes]:
        for line in super().split(data):
            yield from _split_text(line)


def _split_text(line: bytes) -> list[bytes]:
    text = line.decode(errors="surrogateescape")
    return [part.encode(errors="surrogateescape") for part in text.splitlines()] or [b""]


@planted(
    origin="text streams on Windows, and readers that `rstrip` CR and LF",
    breaks=("act-rejected", "frame-cr"),
)
class TakesCrLf(MiniGateway):
    """Takes CR LF for the end of a frame."""

    def check_frame(self, line: bytes) -> None:
        super().check_frame(line.removesuffix(b"\r"))


@planted(
    origin="`line.strip()` before `json.loads(line)`",
    breaks=("act-rejected", "json-syntax"),
)
class StripsUnicodeSpace(MiniGateway):
    """Strips with `str.strip`: 29 code points, where JSON's white space has four."""

    def decode(self, line: bytes) -> str:
        return super().decode(line).strip()


@planted(
    origin="`readline()` and `for line in stream`, which give the last line with or without LF",
    breaks=("act-rejected", "frame-unterminated"),
)
class ActsOnUnterminatedLine(MiniGateway):
    """Takes the end of stdin for the end of a frame: half a command line is run."""

    def eof(self) -> bytes:
        return self.feed(b"\n") + super().eof()


@planted(
    origin="streaming parsers that hand over a value once its brackets balance",
    breaks=("act-early", "act-rejected", "frame-unterminated"),
)
class ActsBeforeLineFeed(MiniGateway):
    """Acts when a message is complete, and not when its frame is: before the LF is there."""

    taken = False

    def feed(self, data: bytes) -> bytes:
        out, line = super().feed(data), bytes(self.buffer)
        with contextlib.suppress(Rejected):
            if line.endswith(b"}") and self.read(line):
                self.buffer.clear()
                out, self.taken = out + self.take(line), True
        return out

    def take(self, line: bytes) -> bytes:
        if self.taken and not line:  # of what was taken, the LF is left
            self.taken = False
            return b""
        return super().take(line)


@planted(
    origin="streaming parsers in partial mode, JSON repair of model output",
    breaks=("act-rejected", "frame-unterminated", "json-syntax"),
)
class RepairsAtEof(MiniGateway):
    """Closes the brackets that a truncated last message left open, and acts on it."""

    def eof(self) -> bytes:
        ends = (b"}" * n for n in range(6))
        whole = next((end for end in ends if _is_json(bytes(self.buffer) + end)), None)
        return b"" if whole is None else self.feed(whole + b"\n") + super().eof()


def _is_json(raw: bytes) -> bool:
    try:
        json.loads(raw)
    except ValueError:
        return False
    return True


@planted(
    origin="`buffer += chunk` until a newline comes, without a limit",
    breaks=("act-rejected", "live-memory", "frame-too-long"),
)
class BuffersWithoutBound(MiniGateway):
    """Collects a line of any length, and reads it."""

    def keep(self, piece: bytes) -> None:
        self.buffer += piece

    def check_frame(self, line: bytes) -> None:
        super().check_frame(line[: self.contract.max_frame])


@planted(
    origin="one `read()` taken for one message: works until the pipe splits or joins them",
    breaks=("reply-missing",),
)
class LosesSplitFrames(MiniGateway):
    """Drops what is left of a chunk after its last LF, and so any frame written in two pieces."""

    def feed(self, data: bytes) -> bytes:
        out = super().feed(data)
        self.buffer.clear()
        return out


@planted(
    origin="parsers that look for the next frame by reading on past the error",
    breaks=("session-resync", "session-state"),
    policy="continue",
)
class SwallowsNextFrame(MiniGateway):
    """Loses the good frame that follows a rejected one."""

    skip = False

    def take(self, line: bytes) -> bytes:
        if self.skip:
            self.skip = False
            return b""
        return super().take(line)

    def on_reject(self, no: Rejected, line: bytes, value: Any) -> Message | None:
        self.skip = True
        return super().on_reject(no, line, value)


@planted(
    origin="SDKs that replace invalid UTF-8 (`errors='replace'`); distinct ids collapse",
    breaks=("act-rejected", "utf8-invalid"),
)
class DecodesWithReplacement(MiniGateway):
    """Reads invalid UTF-8 as U+FFFD."""

    def decode(self, line: bytes) -> str:
        return super().decode(line.decode(errors="replace").encode())


@planted(
    origin="`open(..., encoding='utf-8-sig')`, files saved by Windows editors",
    breaks=("act-rejected", "utf8-bom"),
)
class TakesByteOrderMark(MiniGateway):
    """Skips a byte order mark before a frame."""

    def decode(self, line: bytes) -> str:
        return super().decode(line.removeprefix(codecs.BOM_UTF8))


@planted(
    origin="the common tutorial form of a stdio server",
    breaks=("live-crash", "act-rejected", "utf8-invalid", "json-integer-range", "json-depth"),
)
class TutorialForm(MiniGateway):
    """Calls `json.loads` on bytes and catches JSONDecodeError only: takes UTF-16, NaN and doubled
    names, and dies of bad UTF-8, 4301 digits and deep nesting.
    """

    def read(self, line: bytes) -> Any:
        try:
            return json.loads(line)
        except json.JSONDecodeError:
            raise Rejected("json-syntax") from None
