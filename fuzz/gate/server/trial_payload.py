"""What a living server is sent of one trial, and which ids it has to answer.

The key insight: a trial is looked into once, before it is sent. Of a copy that differs from it by
its names alone, bytes and ids are the same with the names exchanged.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from wirefence.fuzz.gate.server.fresh import PreparedTrial, TypedId, spell_id
from wirefence.fuzz.gate.trials.messages import TrialNames, make_ping, stem_of, tokens_in
from wirefence.strategies.records import Version

__all__ = [
    "TrialPayload",
    "ends_in_sentinel",
    "foreign_ids",
    "ids_after_handshake",
    "must_be_sent_alone",
    "sentinel_id",
    "sentinel_ids",
]

_PLAIN = re.compile(r"[A-Za-z0-9._-]{1,64}")
_LONG = 65_536


def ids_after_handshake(prepared: PreparedTrial) -> set[TypedId]:
    """The ids that a trial waits for in a session that has had its handshake."""
    opening = prepared.trial.opening
    return {
        (type(name), name)
        for frame in prepared.judgement.frames
        if frame.start >= opening
        for name in frame.ids
        if (type(name), name) in prepared.owed
    }


def sentinel_ids(prepared: PreparedTrial) -> set[TypedId]:
    """The id of the sentinel, where it is a request of its own."""
    last = prepared.judgement.frames[-1:]  # shrinking may have left nothing at all
    return {(type(name), name) for frame in last for name in frame.ids} & prepared.owed


def foreign_ids(prepared: PreparedTrial) -> set[TypedId]:
    """Ids that are owed a reply and bear no name of ours: a session may have each but once."""
    return {key for key in ids_after_handshake(prepared) if not tokens_in(spell_id(key))}


def must_be_sent_alone(prepared: PreparedTrial) -> bool:
    """Whether a trial needs the server for itself.

    It asks for pauses, which a full pipe would swallow, takes megabytes, or spoils its sentinel.
    """
    case = prepared.trial.case
    data = case.data
    if case.cuts or len(data) > _LONG:
        return True
    return not ends_in_sentinel(prepared) and sentinel_id(prepared) in data


def sentinel_id(prepared: PreparedTrial) -> bytes:
    """The raw id of a trial's sentinel."""
    return TrialNames(prepared.trial.number).request_id("s")


def ends_in_sentinel(prepared: PreparedTrial) -> bool:
    """Whether a trial ends in its sentinel; shrinking may have taken it away."""
    return (str, sentinel_id(prepared).strip(b'"').decode()) in sentinel_ids(prepared)


class TrialPayload(NamedTuple):
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
    others: frozenset[TypedId]
    since: int
    added: bytes = b""

    @classmethod
    def of(cls, prepared: PreparedTrial, version: Version) -> TrialPayload:
        """Look into a trial; ``version`` is that of the session, for the sentinel."""
        keys, since = ids_after_handshake(prepared), prepared.trial.opening
        plain = {key for key in keys if isinstance(key[1], str) and _PLAIN.fullmatch(key[1])}
        data, added = prepared.trial.case.data[since:], b""
        if not ends_in_sentinel(prepared):
            added = sentinel_id(prepared)
            data += make_ping(version, added).raw
        ids = b" ".join(sorted(str(name).encode() for _, name in plain))
        number = prepared.trial.number
        return cls(number, stem_of(number), data, ids, frozenset(keys - plain), since, added)

    def rename_to(self, number: int) -> TrialPayload:
        """The same under the names of another trial."""
        old, new = self.stem, stem_of(number)
        others = self.others
        if others:
            before, after = old.decode(), new.decode()
            others = frozenset((kind, str(name).replace(before, after)) for kind, name in others)
        data, ids = self.data.replace(old, new), self.ids.replace(old, new)
        return TrialPayload(number, new, data, ids, others, self.since)
