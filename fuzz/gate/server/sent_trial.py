"""What a living server is sent of one trial, and which ids it has to answer.

The key insight: a trial is looked into once, before it is sent. Of a copy that differs from it by
its names alone, bytes and ids are the same with the names exchanged.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from wirefence.fuzz.gate.server.fresh import Key, Ready, spelled
from wirefence.fuzz.gate.trials.messages import Names, ping, stem_of, tokens_in
from wirefence.strategies.records import Version

__all__ = [
    "Parcel",
    "apart",
    "fenced",
    "foreign_ids",
    "last_ids",
    "sentinel",
    "warm_ids",
]

_PLAIN = re.compile(r"[A-Za-z0-9._-]{1,64}")
_LONG = 65_536


def warm_ids(prepared: Ready) -> set[Key]:
    """The ids that a trial waits for in a session that has had its handshake."""
    opening = prepared.trial.opening
    return {
        (type(name), name)
        for frame in prepared.judgement.frames
        if frame.start >= opening
        for name in frame.ids
        if (type(name), name) in prepared.owed
    }


def last_ids(prepared: Ready) -> set[Key]:
    """The id of the sentinel, where it is a request of its own."""
    last = prepared.judgement.frames[-1:]  # shrinking may have left nothing at all
    return {(type(name), name) for frame in last for name in frame.ids} & prepared.owed


def foreign_ids(prepared: Ready) -> set[Key]:
    """Ids that are owed a reply and bear no name of ours: a session may have each but once."""
    return {key for key in warm_ids(prepared) if not tokens_in(spelled(key))}


def apart(prepared: Ready) -> bool:
    """Whether a trial needs the server for itself.

    It asks for pauses, which a full pipe would swallow, takes megabytes, or spoils its sentinel.
    """
    case = prepared.trial.case
    data = case.data
    if case.cuts or len(data) > _LONG:
        return True
    return not fenced(prepared) and sentinel(prepared) in data


def sentinel(prepared: Ready) -> bytes:
    """The raw id of a trial's sentinel."""
    return Names(prepared.trial.number).ident("s")


def fenced(prepared: Ready) -> bool:
    """Whether a trial ends in its sentinel; shrinking may have taken it away."""
    return (str, sentinel(prepared).strip(b'"').decode()) in last_ids(prepared)


class Parcel(NamedTuple):
    """One trial as it is sent. (A tuple, as one is made for each copy.)

    ``data`` are the bytes behind the ``since`` first ones, its handshake, with a sentinel in any
    case; ``added`` is the raw id of one that is no part of the trial, ``b""`` where there is none.
    ``ids`` are those that are waited for as they stand on a line, with a blank between them;
    ``others`` those that can be spelled in many ways. ``stem`` is what all of its names begin with.
    """

    number: int
    stem: bytes
    data: bytes
    ids: bytes
    others: frozenset[Key]
    since: int
    added: bytes = b""

    @classmethod
    def of(cls, prepared: Ready, version: Version) -> Parcel:
        """Look into a trial; ``version`` is that of the session, for the sentinel."""
        keys, since = warm_ids(prepared), prepared.trial.opening
        plain = {key for key in keys if isinstance(key[1], str) and _PLAIN.fullmatch(key[1])}
        data, added = prepared.trial.case.data[since:], b""
        if not fenced(prepared):
            added = sentinel(prepared)
            data += ping(version, added).raw
        ids = b" ".join(sorted(str(name).encode() for _, name in plain))
        number = prepared.trial.number
        return cls(number, stem_of(number), data, ids, frozenset(keys - plain), since, added)

    def renamed(self, number: int) -> Parcel:
        """The same under the names of another trial."""
        old, new = self.stem, stem_of(number)
        others = self.others
        if others:
            before, after = old.decode(), new.decode()
            others = frozenset((kind, str(name).replace(before, after)) for kind, name in others)
        data, ids = self.data.replace(old, new), self.ids.replace(old, new)
        return Parcel(number, new, data, ids, others, self.since)
