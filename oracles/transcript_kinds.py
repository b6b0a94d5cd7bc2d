"""What stands on stdout where a message should: the kind of an offence, read off the raw bytes.

A server that prints a banner has one fault, whatever the banner says and over how
many lines; so a kind is what a line *is*, lines that were written as one are looked at as one, and
the wording never matters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from wirefence.oracles.document import judge_document
from wirefence.oracles.records import ReplyVerdict
from wirefence.oracles.traits import find_groups

__all__ = ["KINDS", "Offence", "holds_message", "list_offences", "manner_of"]

KINDS: dict[str, str] = {
    "text": "what does not begin as a JSON object does: a banner, a log line, a traceback",
    "blank line": "nothing but white space",
    "JSON over several lines": "an object or batch with line feeds between its tokens",
    "cut JSON": "an object that ends before it is complete",
    "more after a value": "an object with something behind it on its line",
    "non-finite number": "an object with a spelling of NaN or Infinity",
    "malformed JSON": "an object with another fault of syntax",
    "not UTF-8": "an object with bytes that are not UTF-8",
    "UTF-16 or UTF-32": "NUL bytes in the pattern of those",
    "byte order mark": "a UTF-8 byte order mark before anything",
    "whole message": "an object that is complete, without LF",
}
"""Every kind of what is no JSON or has no LF; what is JSON and no message is named by its rule,
and by its trait where the params of a known method are not as they must be."""

_MANNERS = {
    "blank line": "text",
    "rpc-not-object": "rpc-version",
    "rpc-batch": "rpc-version",
    "whole message": "more after a value",
    "UTF-16 or UTF-32": "not UTF-8",
    "byte order mark": "not UTF-8",
}
_BESIDE = ("text", "rpc-version")
_NOT_JSON = ("utf8-", "json-", "frame-")
_OBJECT = re.compile(rb'\s*(?:\[\s*)?\{\s*(?:"|\})')
_OPENED = re.compile(rb'\s*(?:\[\s*)?(?:\{\s*(?:".*)?|\[\s*)\Z', re.DOTALL)
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
_OPEN_STRING = re.compile(rb'"(?:[^"\\]|\\.)*\\?\Z')
_TRIES = 64
"""Lines of a transcript that are looked at as the first of several: more is no formatting."""


def manner_of(kind: str) -> str:
    """The first of the kinds that come of one way of writing: text and the blank lines in it."""
    return _MANNERS.get(kind, kind)


def holds_message(kind: str) -> bool:
    """Whether what is of a kind may well be a message of the protocol, badly written."""
    return manner_of(kind) not in _BESIDE


class Offence(NamedTuple):
    """A rule of the oracle, the kind of what breaks it, and its bytes without the last LF."""

    rule: str
    kind: str
    raw: bytes


def list_offences(
    lines: Sequence[bytes], said: Sequence[ReplyVerdict], tail: bytes
) -> Iterator[Offence]:
    """All that is wrong with a transcript, in order, one for each piece that was written as one.

    ``said`` holds the verdict on each of the ``lines``; ``tail`` is what stands behind the last LF.
    """
    wrong = list(_list_pieces(lines, said, tail))
    for bad, run in groupby(wrong, key=bool):
        if bad:
            yield from _merge_lines([each for each in run if each])
    if tail:
        yield Offence("out-unterminated", _kind_of_tail(tail), tail)


def _merge_lines(run: Sequence[Offence]) -> Iterator[Offence]:
    """Lines in a row; beside text, what holds no object is part of the text."""
    if any(each.kind == "text" for each in run):
        run = [each for each in run if each.kind == "text" or b"{" in each.raw]
    yield from run


def _list_pieces(
    lines: Sequence[bytes], said: Sequence[ReplyVerdict], tail: bytes
) -> Iterator[Offence | None]:
    """An offence or ``None`` for each line, or for several that hold one value."""
    place, spans = 0, _Spans(lines, said, tail)
    while place < len(lines):
        rule, raw = said[place].rule, lines[place]
        end = spans.end(place) if rule.startswith(_NOT_JSON) else place
        if end > place:
            raw = b"\n".join([*lines, tail][place : end + 1])
            yield Offence("out-not-json", "JSON over several lines", raw)
            if (kind := _kind_of_piece(raw)) in (
                "non-finite number",
                "not UTF-8",
                "malformed JSON",
            ):
                yield Offence("out-not-json", kind, raw)
        elif rule.startswith(_NOT_JSON):
            yield Offence("out-not-json", _kind_of_piece(raw), raw)
        else:
            kind = "-".join(filter(None, (rule, said[place].trait)))
            yield Offence("out-not-message", kind, raw) if rule else None
        place = end + 1


class _Spans:
    """Where values end that begin on one line and go on over the next."""

    def __init__(self, lines: Sequence[bytes], said: Sequence[ReplyVerdict], tail: bytes) -> None:
        self.pieces = [*lines, tail]
        self.good = [not each.rule for each in said] + [False]
        self.deeper: list[int] = []
        self.tries = _TRIES

    def end(self, place: int) -> int:
        """The last line of the value that begins on a line: itself if it does not go on."""
        if not self.tries or not _OPENED.match(self.pieces[place]):
            return place
        self.deeper = self.deeper or [_count_opened(piece) for piece in self.pieces]
        depth = self.deeper[place]
        if depth <= 0:
            return place
        for later in range(place + 1, len(self.pieces)):
            depth += self.deeper[later]
            if self.good[later]:
                break
            if depth <= 0:
                return later
        self.tries -= 1
        return place


def _count_opened(piece: bytes) -> int:
    """How many more containers are open behind some bytes than before them."""
    bare = _OPEN_STRING.sub(b"", _STRING.sub(b"", piece))
    opened, closed = (sum(map(bare.count, each)) for each in ((b"{", b"["), (b"}", b"]")))
    return opened - closed


def _kind_of_piece(raw: bytes) -> str:
    """What a piece is that is no JSON; ``""`` for JSON."""
    if raw.startswith(b"\xef\xbb\xbf"):
        return "byte order mark"
    if not raw.strip():
        return "blank line"
    if raw.count(0) * 5 >= len(raw) * 2:
        return "UTF-16 or UTF-32"
    return _kind_of_object(raw) if _OBJECT.match(raw) else "text"


def _kind_of_object(raw: bytes) -> str:
    verdict = judge_document(raw, profile="spec")
    if verdict.accepted:
        return ""
    if verdict.rule == "utf8-invalid":
        return "not UTF-8"
    held = find_groups(raw)
    if "trailing" in held:
        return "more after a value"
    if "unclosed" in held or _OPEN_STRING.search(_STRING.sub(b"", raw)):
        return "cut JSON"
    return "non-finite number" if held & {"nan", "infinity"} else "malformed JSON"


def _kind_of_tail(tail: bytes) -> str:
    if not tail.strip():
        return "blank line"
    if not _OBJECT.match(tail):
        return "text"
    return "whole message" if _kind_of_piece(tail) in ("", "more after a value") else "cut JSON"
