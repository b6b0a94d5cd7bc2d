"""What a pipelined server is sent of one trial, and which ids it must answer.

A trial is inspected once, before it is sent.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from wirefence.fuzz.gate.server.fresh import PreparedTrial, spell_id
from wirefence.fuzz.gate.trials.messages import TrialNames, make_ping, tokens_in
from wirefence.oracles.evidence import TypedId
from wirefence.strategies.records import Version

__all__ = ["TrialPayload"]

_PLAIN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_MOST_BYTES = 65_536
"""Bytes from which a trial is sent alone: more than a pipe holds."""


class TrialPayload(NamedTuple):
    """One trial as it is sent.

    ``data`` are the bytes after the first ``since``, the handshake, always with a sentinel.
    ``added`` is the raw id of a sentinel that is no part of the trial, ``b""`` for none. ``wanted``
    are the awaited ids, ``last`` that of the trial's own sentinel, if that is a request of its own.
    ``ids`` are the awaited ids as spelled on a line, separated by blanks; ``others`` those with
    several spellings; ``foreign`` those that are no names of ours: a session may use each only
    once. All names begin with ``stem``. ``alone``: the trial needs the server for itself, since it
    has pauses, which a full pipe would swallow, is too large, or damages its sentinel.
    """

    number: int
    stem: bytes
    data: bytes
    wanted: frozenset[TypedId]
    last: frozenset[TypedId]
    ids: bytes
    others: frozenset[TypedId]
    foreign: frozenset[TypedId]
    since: int
    added: bytes
    alone: bool

    @classmethod
    def of(cls, prepared: PreparedTrial, version: Version) -> TrialPayload:
        """Return the payload of a trial; ``version`` is that of the session, for the sentinel."""
        trial, owed, frames = prepared.trial, prepared.owed, prepared.judgement.frames
        since = trial.opening
        keys = [(type(n), n) for frame in frames if frame.start >= since for n in frame.ids]
        wanted = owed.intersection(keys)
        names = TrialNames(trial.number)
        sentinel, stem = names.request_id("s"), names.stem
        # Shrinking may have removed the sentinel, or every frame.
        last = owed.intersection([(type(n), n) for frame in frames[-1:] for n in frame.ids])
        whole = trial.case.data
        data, added = whole[since:], b""
        ends = (str, sentinel[1:-1].decode()) in last
        if not ends:
            added = sentinel
            data += make_ping(version, added).raw
        alone = bool(trial.case.cuts) or len(whole) > _MOST_BYTES
        plain = {key for key in wanted if key[0] is str and _PLAIN_ID.fullmatch(str(key[1]))}
        foreign = wanted - {(str, f"{stem.decode()}{role}i") for role in "ps"}
        return cls(
            number=trial.number,
            stem=stem,
            data=data,
            wanted=wanted,
            last=last,
            ids=b" ".join(sorted([str(name).encode() for _, name in plain])),
            others=wanted - plain,
            foreign=frozenset(key for key in foreign if not tokens_in(spell_id(key))),
            since=since,
            added=added,
            alone=alone or (not ends and sentinel in whole),
        )
