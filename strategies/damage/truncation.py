"""Frames that lost their end or their beginning.

A prefix of a JSON object is never a JSON text, so whatever is cut before the last brace must be
rejected: a reader that repairs it acts on half a message.
"""

from __future__ import annotations

from dataclasses import replace

from wirefence.strategies.damage.base import Damaged, Operator, Scene, rewrite
from wirefence.strategies.damage.spans import find, string_places
from wirefence.strategies.source import Source

__all__ = ["OPERATORS", "cut_at", "offsets"]

_RANDOM = ("json-syntax:*", "utf8-invalid:invalid-utf8")
"""What a cut anywhere may leave: half of a character too."""

_PIPE = "a pipe that broke, a full disk, a writer killed in the middle of a write"


def offsets(raw: bytes) -> range:
    """Every offset whose prefix is an incomplete message: inside ``1 .. last brace``."""
    return range(1, max(1, len(raw.rstrip(b" \t\r\n"))))


def cut_at(raw: bytes, offset: int) -> bytes:
    """The prefix of ``offset`` bytes, still ended by LF."""
    return raw[:offset] + b"\n"


def _offset(source: Source, raw: bytes) -> int | None:
    places = offsets(raw)
    return source.integer(places[0], places[-1]) if places else None


@rewrite(
    "truncate-line",
    "truncation",
    "reject",
    "the end of the line is missing",
    _PIPE,
    deviations=_RANDOM,
)
def _line(source: Source, scene: Scene) -> bytes | None:
    offset = _offset(source, scene.frame.raw)
    return None if offset is None else cut_at(scene.frame.raw, offset)


@rewrite(
    "truncate-into-next",
    "truncation",
    "reject",
    "the next frame follows on the line",
    _PIPE,
    deviations=_RANDOM,
)
def _into_next(source: Source, scene: Scene) -> bytes | None:
    offset = _offset(source, scene.frame.raw)
    return None if scene.last or offset is None else scene.frame.raw[:offset]


@rewrite(
    "truncate-newline",
    "truncation",
    "reject",
    "only the LF is missing",
    _PIPE,
    deviations=("json-syntax:trailing", "frame-unterminated:whole"),
)
def _newline(source: Source, scene: Scene) -> bytes | None:
    del source
    return scene.body if scene.body.strip(b" \t\r") else None


@rewrite(
    "truncate-before-brace",
    "truncation",
    "reject",
    "only the last brace is missing, the form that repairing readers complete",
    "JSON repair libraries put in front of model output",
    deviations=("json-syntax:unclosed",),
)
def _brace(source: Source, scene: Scene) -> bytes | None:
    del source
    brace = scene.body.rfind(b"}")
    return cut_at(scene.frame.raw, brace) if brace > 0 else None


def _inside_string(scene: Scene, source: Source, text: bytes, keep: int) -> bytes | None:
    places = string_places(scene.body)
    if not places:
        return None
    place = source.choice(places)
    return scene.body[:place] + text[:keep] + b"\n"


@rewrite(
    "truncate-in-escape",
    "truncation",
    "reject",
    "cut in the middle of an escape",
    _PIPE,
    deviations=("json-syntax:unclosed-string",),
)
def _escape(source: Source, scene: Scene) -> bytes | None:
    return _inside_string(scene, source, b"\\ud83d\\ude00", source.integer(1, 11))


@rewrite(
    "truncate-in-utf8",
    "truncation",
    "reject",
    "cut in the middle of a character",
    _PIPE,
    deviations=("utf8-invalid:invalid-utf8",),
)
def _utf8(source: Source, scene: Scene) -> bytes | None:
    return _inside_string(scene, source, "\U0001f600".encode(), source.integer(1, 3))


@rewrite(
    "truncate-head",
    "truncation",
    "reject",
    "the beginning is missing",
    "a reader that joined late",
    deviations=_RANDOM,
)
def _head(source: Source, scene: Scene) -> bytes | None:
    at = _behind_brace(source, scene.frame.raw)
    return None if at is None else scene.frame.raw[at:]


def _behind_brace(source: Source, raw: bytes) -> int | None:
    """An offset inside a frame and behind its first brace."""
    places = offsets(raw)
    first = raw.find(b"{") + 1
    if not first or not places or first > places[-1]:
        return None
    return source.integer(first, places[-1])


@rewrite(
    "split-line",
    "truncation",
    "reject",
    "a raw LF inside the message makes two broken lines",
    "a log wrapper that folds long lines",
    deviations=_RANDOM,
)
def _split(source: Source, scene: Scene) -> bytes | None:
    raw, at = scene.frame.raw, _behind_brace(source, scene.frame.raw)
    return None if at is None else raw[:at] + b"\n" + raw[at:]


def _eof(source: Source, scene: Scene) -> Damaged | None:
    offset = _offset(source, scene.frame.raw)
    if offset is None:
        return None
    return _ended(scene, scene.frame.raw[:offset], "truncate-eof")


def _newline_eof(source: Source, scene: Scene) -> Damaged | None:
    del source
    return _ended(scene, scene.body, "truncate-newline-eof") if scene.body else None


def _ended(scene: Scene, raw: bytes, name: str) -> Damaged:
    frame = replace(scene.frame, raw=raw, damage=(*scene.frame.damage, name))
    return Damaged((*scene.frames[: scene.at], frame))


@rewrite(
    "truncate-action",
    "truncation",
    "reject",
    "cut inside the action's own name, so that a repaired frame acts under a shorter one",
    "JSON repair libraries put in front of model output",
    deviations=("json-syntax:unclosed-string",),
)
def _action(source: Source, scene: Scene) -> bytes | None:
    member = find(scene.body, b"params", b"arguments", b"action")
    if member is None or member.end - member.value_at < 4:
        return None
    return cut_at(scene.body, source.integer(member.value_at + 2, member.end - 1))


OPERATORS: tuple[Operator, ...] = (
    _line,
    _into_next,
    _newline,
    _brace,
    _escape,
    _utf8,
    _head,
    _split,
    _action,
    Operator(
        "truncate-eof",
        "truncation",
        "cut anywhere, then the end of stdin",
        _PIPE,
        "reject",
        _eof,
        deviations=("frame-unterminated:part",),
    ),
    Operator(
        "truncate-newline-eof",
        "truncation",
        "a complete message without its LF is the last thing sent",
        "readers that take what readline() gives at EOF for a line",
        "reject",
        _newline_eof,
        deviations=("frame-unterminated:whole",),
    ),
)
