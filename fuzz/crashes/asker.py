"""The cause of a finding, found by asking its target about other input.

The key insight: two findings are one fault where the target took their inputs for the same thing.
In a minimized case whatever is not needed is gone, so what is wrong with the first frame that the
judge rejects is the cause, unless the finding shows in disguise without it, or other rejected
frames in its place would do, whole or with one piece of it, or a reading that breaks other rules
elsewhere: each is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from wirefence.fuzz.crashes.causes import (
    accepted,
    call,
    first_rejected,
    good,
    kind_of,
    readings_in,
    rejected,
    to_refuse,
)
from wirefence.fuzz.crashes.same import same
from wirefence.fuzz.crashes.standins import (
    CALL,
    KINDS,
    UNAUTHORIZED,
    UNREADABLE,
    instead,
    like,
    pieces,
    spelled,
    unbatched,
    without_calls,
)
from wirefence.fuzz.store.scan import Entry
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.oracles.records import Finding, FrameVerdict
from wirefence.oracles.transcript_kinds import holds_message
from wirefence.strategies.records import Case

__all__ = ["Asker", "Run", "family", "faults_of", "is_server", "without_kind"]

Run = Callable[[Entry, Sequence[Case]], Sequence[Collection[Finding]]]
"""What an entry's target shows of other cases."""

_OWN = ("agreement", "compare", "client")
"""Oracles whose signatures name the fault: its cause is no frame to be rejected."""


def is_server(entry: Entry) -> bool:
    """Whether a server showed it that can be asked about other input."""
    metadata = entry.metadata
    from_client = entry.case.direction == "client-to-server"
    return metadata.oracle not in _OWN and from_client and "cause" not in metadata.options


@dataclass(frozen=True, slots=True)
class _Said:
    """The cause of a finding, or the signature of another finding that it is, in disguise."""

    cause: str = ""
    other: str = ""


_STRAY = ("reply-code", "reply-id", "reply-to-notification")
"""Rules that an error breaks which answers no request, depending on its id and code."""

_Key = tuple[str, bytes, tuple[int, ...], str]
"""The target that was asked, and the bytes, pauses and version of the case."""


@dataclass(slots=True)
class Asker:
    """Finds the causes of findings by trying other cases on their targets, each once."""

    run: Run
    _seen: dict[_Key, Collection[Finding]] = field(default_factory=dict)

    def cause(self, entry: Entry) -> _Said:
        """What a finding comes from; empty where it is what its signature says."""
        if not is_server(entry):
            return _Said()
        if entry.metadata.oracle == "liveness":
            return _Said(self._reading(entry, first_rejected(entry.case)))
        if unread := self._unread(entry):
            return _Said(_rule(unread) + self._in_place(entry, unread), unread.signature)
        if entry.metadata.signature in self.always(entry):
            return _Said(self._unframed(entry))
        return self._by_frame(self._unbatched(entry))

    def _unbatched(self, entry: Entry) -> Entry:
        """A finding of a batch as it shows of its members on their own, if it does."""
        data, own = unbatched(entry.case), entry.metadata.oracle
        found = self._found(entry, data) if data != entry.case.data else ()
        new = [each for each in found if each.signature not in self.always(entry)]
        if not new:
            return entry
        shown = min(new, key=lambda each: (not _alike(entry, each), each.oracle != own))
        return _showing(entry, shown, data)

    def _unframed(self, entry: Entry) -> str:
        """The cause where no frame is to blame: a reading, or the rule and what is missing."""
        own = entry.metadata.to_finding()
        return self._reading(entry, None) or _rule(own) + self._in_place(entry, own)

    def _by_frame(self, entry: Entry) -> _Said:
        """The cause where some frame, or its coming in pieces, is to blame."""
        paused = bool(entry.case.cuts) and not self._shows(entry, case_from_bytes(entry.case.data))
        if paused and self._found(entry, good(entry.case.version)):
            return _Said("a frame in pieces")
        if reading := self._reading_of_good(entry):
            return _Said(reading)
        frames = self._culprits(entry)
        if not frames:
            return _Said(self._unframed(entry))
        tried = (self._blamed(entry, frame) for frame in frames)
        said = next((each for each in tried if each.cause), _Said(kind_of(entry.case, frames[0])))
        return replace(said, cause=f"{said.cause}, in pieces") if paused else said

    def _blamed(self, entry: Entry, frame: FrameVerdict) -> _Said:
        """The cause if ``frame`` is to blame; none if another would do and is not to blame."""
        return self._disguise(entry, frame) or _Said(self._of(entry, frame))

    def _of(self, entry: Entry, frame: FrameVerdict) -> str:
        """What of a frame is the cause, and what was done with it."""
        itself = self._like_it(entry, entry.case.data[: frame.end])
        if self._general(entry, frame, itself=itself):
            done = _done(entry) if itself else self._next(entry)
            return f"any rejected frame: {done}" if done else ""
        reading = self._reading(entry, frame)
        kept = "" if reading or itself else self._kept(entry, frame)
        return reading or kept or kind_of(entry.case, frame) + self._needed(entry, frame)

    def _next(self, entry: Entry) -> str:
        """What becomes of a good call after a rejected frame, if not what should."""
        found = self._found(entry, call(entry.case.version, "a", UNREADABLE[0] + b"\n"))
        if any(each.rule == "reply-missing" or _unserved(each) for each in found):
            return "what follows is lost"
        wrong = {each.signature for each in found} - self.always(entry)
        return "what follows is served" if wrong else ""

    def _kept(self, entry: Entry, frame: FrameVerdict) -> str:
        """The piece of a rejected frame that shows in what follows, whatever is wrong with it."""
        for name, tried in pieces(entry.case, frame):
            if tried and all(self._like_it(entry, data) for data in tried):
                return f"{name} kept of a rejected frame"
        return ""

    def _needed(self, entry: Entry, frame: FrameVerdict) -> str:
        """Whether a refused request needs that another was granted before."""
        if frame.layer not in ("tool", "identity", "authorization"):
            return ""
        alone = self._like_it(entry, without_calls(entry.case, frame))
        return "" if alone else ", after a call"

    def _in_place(self, entry: Entry, own: Finding) -> str:
        """Whether what is wrong stands in place of a reply, and of which."""
        shown = {each.rule for each in self._found(entry, entry.case.data)}
        missing = "reply-missing" in shown or any(
            "|reply-missing|" in e for e in self.always(entry)
        )
        if own.oracle not in ("transcript", "reply") or own.rule == "reply-missing" or not missing:
            return ""
        if own.oracle == "transcript" and self._beside(entry, own):
            return ""
        found = self._found(entry, to_refuse(entry.case.version))
        every = {each.signature for each in found if each.rule == "reply-missing"} - self.always(
            entry
        )
        return " in place of every reply" if every else " in place of results"

    def _beside(self, entry: Entry, own: Finding) -> bool:
        """Whether a piece of stdout stands beside replies, since another more likely is one."""
        if _may_reply(own.signature):
            return False
        shown = {each.signature for each in self._found(entry, entry.case.data)}
        return any("|transcript|" in e and _may_reply(e) for e in shown | self.always(entry))

    def _culprits(self, entry: Entry) -> list[FrameVerdict]:
        """Frames to be rejected, or one to be refused unless a good call does as well."""
        frames = rejected(entry.case)
        if not frames or frames[0].reply == "optional-error":
            return frames
        line = spelled(CALL, entry.case.version)
        data = entry.case.data[: frames[0].start] + line + entry.case.data[frames[0].end :]
        shown = [each for each in self._found(entry, data) if each.oracle == entry.metadata.oracle]
        return [] if {each.signature for each in shown} - self.always(entry) else frames

    def _unread(self, entry: Entry) -> Finding | None:
        """What hides a reply that is said to be missing: stdout that cannot be read."""
        if entry.metadata.rule not in ("reply-missing", "session-resync"):
            return None
        found = [e for e in self._found(entry, entry.case.data) if e.oracle == "transcript"]
        return max(found, key=lambda each: _may_reply(each.signature), default=None)

    def _disguise(self, entry: Entry, frame: FrameVerdict) -> _Said | None:
        """The cause of what shows instead without a frame that was to be it, or up to that frame.

        Looked for in the same oracle, and only where the finding itself shows no more.
        """
        oracles = {entry.metadata.oracle}
        oracles |= {"reply"} if entry.metadata.oracle == "session" else set()
        data = entry.case.data
        shown = {_rule(each) for each in self._found(entry, data)}
        shown |= self._always_beside(entry)
        for rest in (data[: frame.start] + data[frame.end :], data[: frame.end]):
            found = self._found(entry, rest) if rest != data else ()
            others = [e for e in found if e.oracle in oracles and _rule(e) not in shown]
            if others and not any(_alike(entry, each) for each in found):
                return self.cause(_showing(entry, others[0], rest))
        return None

    def _always_beside(self, entry: Entry) -> set[str]:
        """What is no disguise of a rejected frame that was processed: errors to no request.

        Where a target sends them in good sessions, they break one rule or another in any.
        """
        processed = entry.metadata.rule in ("reply-to-rejected", "act-rejected")
        stray = processed and any(e.signature.endswith("|null id") for e in self._good(entry))
        return {f"reply|{rule}" for rule in _STRAY} if stray else set()

    def _general(self, entry: Entry, frame: FrameVerdict, *, itself: bool) -> bool:
        """Whether any rejected frame will do: all of some kind, in its place, break a like rule.

        ``itself`` says that what follows is not needed. Where it is, and gets an error to no
        request, the rule that breaks is as the id and the code of that happen to be.
        """
        stray = not itself and entry.metadata.rule in _STRAY
        return any(
            (tried := list(instead(entry.case, frame, raws)))
            and all(
                self._like_it(entry, data)
                or (stray and any(each.rule in _STRAY for each in self._found(entry, data)))
                for data in tried
            )
            for raws in self._stand_ins(entry)
        )

    def _like_it(self, entry: Entry, data: bytes) -> bool:
        return any(_alike(entry, each) for each in self._found(entry, data))

    def _stand_ins(self, entry: Entry) -> Iterator[tuple[bytes, ...]]:
        yield from KINDS
        if entry.metadata.rule == "act-unauthorized":
            found = self._found(entry, entry.case.data)
            if not any(each.rule == "reply-code" for each in found):  # it refuses, and acts
                yield UNAUTHORIZED

    def _reading(self, entry: Entry, frame: FrameVerdict | None, *, whole: bool = True) -> str:
        """The lenient reading that an entry is due to; ``""`` if none is known to be.

        Without ``whole`` those of a session as a whole are left out.
        """
        for reading, spelling, lawful in readings_in(entry.case, frame):
            if reading.whole and not whole:
                continue
            plain = reading.plain(spelling, entry.case.version)
            if self._reads(entry, plain) and not self._shows(entry, like(entry.case, lawful)):
                return reading.name
        return ""

    def _reading_of_good(self, entry: Entry) -> str:
        """The lenient reading of a good frame that an entry is due to, whatever else is wrong."""
        named = (self._reading(entry, frame, whole=False) for frame in accepted(entry.case))
        return next(filter(None, named), "")

    def _reads(self, entry: Entry, data: bytes) -> bool:
        answered = () if self._answers_any(entry) else ("reply-to-rejected",)
        return any(
            each.oracle == "non-action"
            or each.rule in answered
            or (each.oracle == "transcript" and each.signature not in self.always(entry))
            for each in self._found(entry, data)
        )

    def _answers_any(self, entry: Entry) -> bool:
        """Whether a result says nothing, since whatever is rejected gets one."""
        tried = (self._found(entry, spelled(raw, entry.case.version)) for raw in KINDS[1])
        return all(any(e.rule == "reply-to-rejected" for e in found) for found in tried)

    def _found(self, entry: Entry, data: bytes) -> Collection[Finding]:
        (found,) = self._ask(entry, [like(entry.case, data)])
        return found

    def _shows(self, entry: Entry, case: Case) -> bool:
        (found,) = self._ask(entry, [case])
        return any(map(same(entry.metadata.to_finding()), found))

    def always(self, entry: Entry) -> frozenset[str]:
        """What its target shows of a session in which all is good."""
        return frozenset(each.signature for each in self._good(entry))

    def _good(self, entry: Entry) -> Collection[Finding]:
        case = case_from_bytes(good(entry.case.version), protocol=entry.case.version)
        (found,) = self._ask(entry, [case])
        return found

    def _ask(self, entry: Entry, cases: Sequence[Case]) -> list[Collection[Finding]]:
        """What the target shows of some cases; each is run once."""
        target = f"{entry.metadata.target} {entry.metadata.command}"
        keys = [(target, case.data, tuple(case.cuts), case.version) for case in cases]
        new = {key: case for key, case in zip(keys, cases, strict=True) if key not in self._seen}
        if new:
            found = self.run(entry, list(new.values()))
            self._seen |= dict(zip(new, found, strict=True))
        return [self._seen[key] for key in keys]


def _showing(entry: Entry, found: Finding, data: bytes) -> Entry:
    """Another finding of the same target, shown by other bytes."""
    metadata = replace(
        entry.metadata,
        oracle=found.oracle,
        rule=found.rule,
        signature=found.signature,
        summary=found.summary,
    )
    return replace(entry, metadata=metadata, case=like(entry.case, data))


def _done(entry: Entry) -> str:
    """What was done with a rejected frame, by rule.

    On stdout only a result can break ``mcp-params``: to give one is the graver fault.
    """
    result = entry.metadata.signature.endswith("|out-not-message|mcp-params")
    return "reply-to-rejected" if result else entry.metadata.rule


def _alike(entry: Entry, found: Finding) -> bool:
    """Whether the same rule is broken; a good request may be left unserved in several ways."""
    own = entry.metadata.to_finding()
    return _rule(own) == _rule(found) or (_unserved(own) and _unserved(found))


def _unserved(found: Finding) -> bool:
    return found.rule == "session-resync" or found.signature.endswith("error for a good request")


def _may_reply(signature: str) -> bool:
    """Whether what is found on stdout may be a reply, badly written."""
    return holds_message(signature.rpartition("|")[2])


def _rule(found: Finding) -> str:
    return without_kind(found.signature).partition("|")[2]


def faults_of(entries: Iterable[Entry], asker: Asker | None = None) -> dict[str, str]:
    """The name of the fault that each entry shows, by its signature.

    For parsers, clients and starts that is the signature. For servers it is the family and the
    cause, or without one the oracle's rule.
    """
    every = {each.metadata.signature: each for each in entries}
    said = {name: asker.cause(each) if asker else _Said() for name, each in every.items()}
    return {name: _fault(every, said, name) for name in every}


def _fault(every: Mapping[str, Entry], said: Mapping[str, _Said], name: str) -> str:
    passed = {name}
    while (other := said[name].other) in said and other not in passed:
        name = other
        passed.add(name)
    entry = every[name]
    if cause := said[name].cause:
        return f"{family(entry)}|{cause}"
    if is_server(entry) and entry.metadata.oracle != "liveness":
        return without_kind(name)
    return name


def without_kind(signature: str) -> str:
    """Family, oracle and rule; on stdout the kind as well, since there it is what was written."""
    parts = signature.split("|")
    return signature if parts[1:2] == ["transcript"] else "|".join(parts[:3])


def family(entry: Entry) -> str:
    """The family of its target."""
    return entry.metadata.signature.partition("|")[0]
