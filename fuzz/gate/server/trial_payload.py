"""What a pipelined server is sent of one trial, and which ids it must answer.

A trial is inspected once, before it is sent.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from wirefence.fuzz.gate.server.fresh import PreparedTrial, spell_id
from wirefence.fuzz.gate.trials.messages import TrialNames, make_ping, stem_of, tokens_in
from wirefence.oracles.evidence import TypedId
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

_PLAIN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_MOST_BYTES = 65_536
"""Bytes from which a trial is sent alone: more than a pipe holds."""


def ids_after_handshake(prepared: PreparedTrial) -> set[TypedId]:
    """Return the ids that a trial waits for in a session that already had its handshake."""
    opening = prepared.trial.opening
    return {
        (type(name), name)
        for frame in prepared.judgement.frames
        if frame.start >= opening
        for name in frame.ids
        if (type(name), name) in prepared.owed
    }


def sentinel_ids(prepared: PreparedTrial) -> set[TypedId]:
    """Return the id of the sentinel, where it is a request of its own."""
    last = prepared.judgement.frames[-1:]  # shrinking may have removed every frame
    return {(type(name), name) for frame in last for name in frame.ids} & prepared.owed


def foreign_ids(prepared: PreparedTrial) -> set[TypedId]:
    """Return owed ids that are no names of ours: a session may use each only once."""
    return {key for key in ids_after_handshake(prepared) if not tokens_in(spell_id(key))}


def must_be_sent_alone(prepared: PreparedTrial) -> bool:
    """Whether a trial needs the server for itself.

    It has pauses, which a full pipe would swallow, is too large, or damages its sentinel.
    """
    case = prepared.trial.case
    data = case.data
    if case.cuts or len(data) > _MOST_BYTES:
        return True
    return not ends_in_sentinel(prepared) and sentinel_id(prepared) in data


def sentinel_id(prepared: PreparedTrial) -> bytes:
    """Return the raw id of a trial's sentinel."""
    return TrialNames(prepared.trial.number).request_id("s")


def ends_in_sentinel(prepared: PreparedTrial) -> bool:
    """Whether a trial ends in its sentinel; shrinking may have removed it."""
    return (str, sentinel_id(prepared).strip(b'"').decode()) in sentinel_ids(prepared)


class TrialPayload(NamedTuple):
    """One trial as it is sent.

    ``data`` are the bytes after the first ``since``, the handshake, always with a sentinel.
    ``added`` is the raw id of a sentinel that is no part of the trial, ``b""`` for none. ``ids``
    are the awaited ids as spelled on a line, separated by blanks; ``others`` those with several
    spellings. All names begin with ``stem``.
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
        """Return the payload of a trial; ``version`` is that of the session, for the sentinel."""
        keys, since = ids_after_handshake(prepared), prepared.trial.opening
        plain = {key for key in keys if isinstance(key[1], str) and _PLAIN_ID.fullmatch(key[1])}
        data, added = prepared.trial.case.data[since:], b""
        if not ends_in_sentinel(prepared):
            added = sentinel_id(prepared)
            data += make_ping(version, added).raw
        ids = b" ".join(sorted(str(name).encode() for _, name in plain))
        number = prepared.trial.number
        return cls(number, stem_of(number), data, ids, frozenset(keys - plain), since, added)
