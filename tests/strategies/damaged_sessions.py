"""Good sessions of the grammar, what an operator makes of them, and what the judge says of that."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice

from wirefence.oracles.deviation_table import NONE
from wirefence.oracles.deviations import find_deviation
from wirefence.oracles.session import judge_session
from wirefence.strategies.contract import Contract, Profile
from wirefence.strategies.damage import Damaged, Operator, Scene
from wirefence.strategies.damage.hosts import CALL
from wirefence.strategies.records import VERSIONS, Frame, Version
from wirefence.strategies.sessions import session
from wirefence.strategies.source import RandomSource, Source

PROFILES: tuple[Profile, ...] = ("strict", "spec")
_PLACES = 4
_SESSIONS = 100
"""Good sessions of each version; each is damaged in many places."""

Judged = tuple[int, int, str]
"""Start and end of a frame in the bytes of its session, and its deviation."""


def judge_frames(data: bytes, version: Version, profile: Profile) -> list[Judged]:
    """Return the frames of a session that goes on after a rejected one, with their deviations."""
    contract = Contract(version=version, profile=profile, policy="continue")
    return [
        (frame.start, frame.end, find_deviation(data, frame, contract))
        for frame in judge_session(data, contract).frames
    ]


def join_frames(frames: tuple[Frame, ...]) -> bytes:
    return b"".join(frame.raw for frame in frames)


@cache
def good_sessions(version: Version) -> list[tuple[Frame, ...]]:
    """Return sessions in which nothing is wrong and nothing is refused, under both profiles."""
    every = (session(RandomSource(seed), version).frames for seed in range(100 * _SESSIONS))
    return list(islice(filter(lambda frames: _is_sound(frames, version), every), _SESSIONS))


def _is_sound(frames: tuple[Frame, ...], version: Version) -> bool:
    data = join_frames(frames)
    return all(
        deviation == NONE
        for profile in PROFILES
        for _, _, deviation in judge_frames(data, version, profile)
    )


def damage_sessions(operator: Operator, seeds: range) -> Iterator[tuple[Version, Damaged]]:
    """Yield what the operator makes of good sessions of every version in turn, where it fits."""
    for seed in seeds:
        version = VERSIONS[seed % len(VERSIONS)]
        made = _damage_session(operator, RandomSource(seed), version)
        if made is not None:
            yield version, made


def _damage_session(operator: Operator, source: Source, version: Version) -> Damaged | None:
    frames = source.choice(good_sessions(version))
    for _ in range(_PLACES):
        at = source.integer(0, len(frames) - 1)
        made = operator.apply(source, Scene(frames, at, version))
        if made is not None:
            return made
    line = (operator.host or CALL)(version, "host")
    if line is None:
        return None
    host = Frame(line + b"\n", "host" if b'"action"' in line else "")
    return operator.apply(source, Scene((*frames, host), len(frames), version))


def damaged_frames(operator: Operator, made: Damaged, judged: list[Judged]) -> list[Judged]:
    """Return the frames that hold bytes of damage; all frames where damage only took some away."""
    spans, start = [], 0
    for frame in made.frames:
        end = start + len(frame.raw)
        if operator.name in frame.damage:
            spans.append((start, end))
        start = end
    if not spans:
        return judged
    return [each for each in judged if any(each[0] < b and a < each[1] for a, b in spans)]
