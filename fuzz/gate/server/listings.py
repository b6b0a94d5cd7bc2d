"""Ask a server for all that it says it has, page by page, in one good session.

Only what its capabilities promise is asked for. The session is judged like any other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, product
from string import ascii_lowercase

from wirefence.fuzz.gate.records import Facts, Observation, Trial
from wirefence.fuzz.gate.server.fresh import (
    FreshServers,
    PreparedTrial,
    ReplyTracker,
    prepare_trial,
)
from wirefence.fuzz.gate.trials.generate import TrialMaker
from wirefence.fuzz.gate.trials.messages import TrialNames, make_listing, make_ping
from wirefence.oracles.evidence import list_responses, result_of
from wirefence.oracles.results import list_listings
from wirefence.oracles.transcript_judge import judge_reply
from wirefence.strategies.records import Case, Frame
from wirefence.targets.command.session import Session

__all__ = ["list_all"]

_MOST_PAGES = 20
"""Pages of one list: ends the loop for a server that always gives another cursor."""


def list_all(
    servers: FreshServers, facts: Facts, maker: TrialMaker, number: int
) -> tuple[PreparedTrial, Observation]:
    """Ask for every list that the server promises; return the session, and what was seen.

    The session ends where a reply does not come in time; then it is not ``complete``.
    """
    watched = servers.take_server()
    try:
        began, session = time.monotonic(), watched.session
        replies = ReplyTracker(session, maker.version)
        listing = _Listing(servers, maker, TrialNames(number), session, replies)
        complete = listing.run()
        case = Case(tuple(listing.frames), version=maker.version)
        size = sum(len(frame.raw) for frame in maker.make_handshake(listing.names))
        trial = Trial("listings", "smoke", "after", case, size, number=number, warm=True)
        seen = Observation(
            tuple(session.lines),
            session.tail,
            complete=complete,
            stdin=bytes(session.process.sent),
            seconds=time.monotonic() - began,
            fresh=True,
            times=session.process.times(),
        )
    finally:
        watched.stop()
    return prepare_trial(trial, facts.make_contract(servers.options.profile, maker.version)), seen


@dataclass(slots=True)
class _Listing:
    """One session: what was sent so far, and what came."""

    servers: FreshServers
    maker: TrialMaker
    names: TrialNames
    session: Session
    replies: ReplyTracker
    frames: list[Frame] = field(default_factory=list)

    def run(self) -> bool:
        """Ask until all is listed; return whether every reply came in time."""
        opening = self.maker.make_handshake(self.names)
        first = opening[0] if opening else make_ping(self.maker.version, self._name("h"))
        hello = self._ask(first, "h", self.servers.start_patience)
        if hello is None:
            return False
        for frame in opening[1:]:
            self._send(frame)
        promised = list_listings(self.maker.version, hello)
        roles = ("l" + "".join(each) for each in product(ascii_lowercase, repeat=2))
        listed = all(self._list_pages(each, islice(roles, _MOST_PAGES)) for each in promised)
        last = make_ping(self.maker.version, self._name("s"))
        return listed and self._ask(last, "s", self.servers.reply_patience()) is not None

    def _list_pages(self, method: str, roles: Iterator[str]) -> bool:
        """Follow the cursors of one list; to one that comes again nothing new belongs."""
        known = {""}
        cursor = ""
        for role in roles:
            frame = make_listing(self.maker.version, method, self._name(role), cursor)
            result = self._ask(frame, role, self.servers.reply_patience())
            if result is None:
                return False
            said = result.get("nextCursor")
            if not isinstance(said, str) or said in known:
                break
            cursor = said
            known.add(cursor)
        return True

    def _name(self, role: str) -> bytes:
        return self.names.request_id(role)

    def _send(self, frame: Frame) -> None:
        self.frames.append(frame)
        self.session.send(frame.raw)

    def _ask(self, frame: Frame, role: str, patience: float) -> dict[str, object] | None:
        """Send a request; return its result, empty for an error, ``None`` for no reply."""
        self._send(frame)
        name = self._name(role).decode().strip('"')
        if not self.replies.wait_for([(str, name)], patience):
            return None
        said = (judge_reply(line, self.maker.version) for line in self.session.lines)
        replies = (each for one in said for each in list_responses(one) if each.id == name)
        return result_of(next(replies))
