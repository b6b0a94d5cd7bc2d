"""The same bytes in other writes: what a pipe may do to any session, so all must be accepted."""

from __future__ import annotations

from itertools import accumulate

from wirefence.strategies.damage.base import Damaged, Operator, Scene, reshape
from wirefence.strategies.source import Source

__all__ = ["OPERATORS"]

_PIPE = "pipes keep bytes, not writes; readers that take one read() for one message"
_LONGEST = 65_536
_SOUND = ("none",)


def _join_frames(scene: Scene) -> bytes:
    return b"".join(frame.raw for frame in scene.frames)


def _keep_inner_offsets(places: list[int], size: int) -> tuple[int, ...]:
    return tuple(sorted({place for place in places if 0 < place < size}))


def _pause_at(scene: Scene, places: list[int], size: int) -> Damaged | None:
    cuts = _keep_inner_offsets(places, size)
    return Damaged(scene.frames, cuts) if cuts else None


@reshape("chunk-one-cut", "chunking", "accept", "one pause anywhere", _PIPE, deviations=_SOUND)
def _one_cut(source: Source, scene: Scene) -> Damaged | None:
    size = len(_join_frames(scene))
    return _pause_at(scene, [source.integer(1, size - 1)], size) if size > 1 else None


@reshape(
    "chunk-some-cuts", "chunking", "accept", "several pauses anywhere", _PIPE, deviations=_SOUND
)
def _some_cuts(source: Source, scene: Scene) -> Damaged | None:
    size = len(_join_frames(scene))
    if size < 2:
        return None
    count = source.integer(2, 12)
    return _pause_at(scene, [source.integer(1, size - 1) for _ in range(count)], size)


@reshape("chunk-every-byte", "chunking", "accept", "byte by byte", _PIPE, deviations=_SOUND)
def _every_byte(source: Source, scene: Scene) -> Damaged | None:
    del source
    size = len(_join_frames(scene))
    return _pause_at(scene, list(range(1, size)), size) if size <= _LONGEST else None


@reshape(
    "chunk-frame",
    "chunking",
    "accept",
    "each frame in a write of its own",
    _PIPE,
    deviations=_SOUND,
)
def _each_frame(source: Source, scene: Scene) -> Damaged | None:
    del source
    ends = list(accumulate(len(frame.raw) for frame in scene.frames))
    return _pause_at(scene, ends, ends[-1])


@reshape(
    "chunk-before-newline", "chunking", "accept", "a pause before each LF", _PIPE, deviations=_SOUND
)
def _before_newline(source: Source, scene: Scene) -> Damaged | None:
    del source
    data = _join_frames(scene)
    places = [at for at, byte in enumerate(data) if byte == 0x0A] if len(data) <= _LONGEST else []
    return _pause_at(scene, places, len(data))


@reshape(
    "chunk-in-character",
    "chunking",
    "accept",
    "pauses inside UTF-8 sequences",
    "readers that decode each chunk on its own",
    deviations=_SOUND,
)
def _in_character(source: Source, scene: Scene) -> Damaged | None:
    del source
    data = _join_frames(scene)
    inside = [at for at, byte in enumerate(data) if 0x80 <= byte < 0xC0][:4_096]
    return _pause_at(scene, inside, len(data))


@reshape(
    "chunk-overlap",
    "chunking",
    "accept",
    "the end of a frame with the next one",
    _PIPE,
    deviations=_SOUND,
)
def _overlap_frames(source: Source, scene: Scene) -> Damaged | None:
    ends = list(accumulate(len(frame.raw) for frame in scene.frames))
    return _pause_at(scene, [end + source.integer(1, 9) for end in ends[:-1]], ends[-1])


@reshape(
    "chunk-one-write", "chunking", "accept", "all frames in one write", _PIPE, deviations=_SOUND
)
def _one_write(source: Source, scene: Scene) -> Damaged | None:
    del source
    return Damaged(scene.frames) if len(scene.frames) > 1 else None


OPERATORS: tuple[Operator, ...] = (
    _one_cut,
    _some_cuts,
    _every_byte,
    _each_frame,
    _before_newline,
    _in_character,
    _overlap_frames,
    _one_write,
)
