"""What the gate sends: the classic ugly inputs, the whole damage vocabulary, and sessions.

The key insight: a trial is always handshake, bad frame, good request (the probe) and sentinel, so
that each says two things at once: did the bad frame act, and did the good one still work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from wirefence.fuzz.gate.records import Facts, Place, Trial
from wirefence.fuzz.gate.trials.damaged_session import Ground
from wirefence.fuzz.gate.trials.known_bad import DANGEROUS, NAMINGS, SPOILED, UGLY
from wirefence.fuzz.gate.trials.messages import (
    INITIALIZED,
    STATELESS,
    Names,
    Wording,
    initialize,
    ping,
)
from wirefence.fuzz.store.store import case_from_bytes, read_case
from wirefence.strategies.damage import OPERATORS, Operator
from wirefence.strategies.records import Case, Frame, Version
from wirefence.strategies.source import RandomSource

__all__ = ["Maker"]

_PLACES: tuple[Place, ...] = ("before", "within", "after")
_TRIES = 16


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes the trials for one server, in one protocol version."""

    facts: Facts
    wording: Wording
    version: Version
    seed: int = 0

    @property
    def _stateful(self) -> bool:
        return self.version != STATELESS

    def handshake(self, names: Names, version: bytes = b"") -> list[Frame]:
        """``initialize`` and its notification; nothing in versions that have no handshake."""
        if not self._stateful:
            return []
        named = version or b'"%b"' % self.version.encode()
        return [initialize(named, names.ident("h")), INITIALIZED]

    def call(self, names: Names, role: str, meta: bytes = b"") -> Frame:
        """A good call in abstract words."""
        return self.wording.call(self.version, names.ident(role), names.action(role), meta)

    def good(self, number: int = 0) -> Trial:
        """A session without a bad frame: what every other one is compared with."""
        names = Names(number)
        return self._trial("good", "good", "after", names, [], place_at=2)

    def _trial(  # noqa: PLR0913 - a trial is made of these
        self,
        name: str,
        family: str,
        place: Place,
        names: Names,
        bad: Sequence[Frame],
        *,
        place_at: int,
        eof: bool = False,
        version: bytes = b"",
    ) -> Trial:
        """A session with ``bad`` inserted before its frame number ``place_at``."""
        opening = self.handshake(names, version)
        at = min(place_at, len(opening))
        frames = [*opening[:at], *bad]
        if not eof:
            frames += [*opening[at:], self.call(names, "p")]
        return self._finish(name, family, place, names, frames, eof=eof)

    def _finish(  # noqa: PLR0913 - a trial is made of these
        self,
        name: str,
        family: str,
        place: Place,
        names: Names,
        frames: Sequence[Frame],
        *,
        cuts: tuple[int, ...] = (),
        eof: bool = False,
    ) -> Trial:
        """Reword the frames, add the sentinel, and see whether a warm session can take it."""
        worded = tuple(replace(f, raw=self.wording.reword(f.raw)) for f in frames)
        cuts = cuts if sum(len(f.raw) for f in frames) == sum(len(f.raw) for f in worded) else ()
        if not eof:
            worded += (ping(self.version, names.ident("s")),)
        opening = self.handshake(names)
        begins = [f.raw for f in worded[: len(opening)]] == [f.raw for f in opening]
        warm = begins and not eof
        size = sum(len(frame.raw) for frame in opening) if warm else 0
        case = Case(worded, cuts, self.version, damage=(name,))
        return Trial(name, family, place, case, size, eof, names.number, warm=warm)

    def ugly(self, numbers: Iterator[int]) -> Iterator[Trial]:
        """The five ugly inputs of the classic list, before, within and after the handshake."""
        for name, make in UGLY:
            for place_at, place in enumerate(self._places()):
                names = Names(next(numbers))
                good, other = (self.call(names, role).raw.rstrip(b"\n") for role in ("t", "tx"))
                bad = [Frame(make(good, other, names), names.action("t"), (name,))]
                eof = name == "ugly-truncated-eof"
                yield self._trial(name, "ugly", place, names, bad, place_at=place_at, eof=eof)

    def _places(self) -> tuple[Place, ...]:
        return _PLACES if self._stateful else ("after",)

    def dangerous(self, numbers: Iterator[int]) -> Iterator[Trial]:
        """Requests that look valid and must not act, or whose kind is easily mistaken."""
        for name, text in DANGEROUS:
            names = Names(next(numbers))
            good = self.call(names, "t").raw.rstrip(b"\n")
            raw = text(good, names)
            if raw is not None and raw != good:
                frame = Frame(raw + b"\n", names.action("t"), (name,))
                yield self._trial(name, "dangerous", "after", names, [frame], place_at=2)

    def versions(self, numbers: Iterator[int], *, shared: bool = False) -> Iterator[Trial]:
        """A bad frame at each place of a session, for each way of naming the version.

        Those that must be refused leave the session as it was: where ``shared``, and the server
        goes on after them, one session has them all.
        """
        if not self._stateful:
            return
        said = [(name, raw) for name, raw in NAMINGS if raw.startswith(b'"')]
        refused = [(name, raw) for name, raw in NAMINGS if not raw.startswith(b'"')]
        for name, raw in said:
            yield self._naming(f"version-{name}", Names(next(numbers)), raw, [])
        alone = [
            self._naming(f"version-{name}", Names(next(numbers)), b"", [raw])
            for name, raw in refused
        ]
        if not shared or self.facts.policy == "close":
            yield from alone
            return
        every = self._naming("versions-refused", Names(next(numbers)), b"", [r for _, r in refused])
        yield replace(every, parts=tuple(alone))

    def _naming(self, name: str, names: Names, good: bytes, refused: Sequence[bytes]) -> Trial:
        """A session with half a call before, within and after its handshake."""
        half, opening = self._half(names), self.handshake(names, good)
        bad = [initialize(raw, names.ident(f"v{chr(97 + at)}")) for at, raw in enumerate(refused)]
        frames = [half, *bad, *opening[:1], half, *opening[1:], half, self.call(names, "p")]
        return self._finish(name, "versions", "before", names, frames)

    def _half(self, names: Names) -> Frame:
        call = self.call(names, "t").raw
        return Frame(call[: len(call) * 2 // 3] + b"\n", names.action("t"), ("half-call",))

    def gates(self, numbers: Iterator[int]) -> Iterator[Trial]:
        """A rejected handshake must open nothing: a call behind it, then the true handshake."""
        if not self._stateful:
            return
        for name, spoil in SPOILED:
            names = Names(next(numbers))
            first = initialize(b'"%b"' % self.version.encode(), names.ident("v")).raw.rstrip(b"\n")
            bad = [Frame(spoil(first) + b"\n", "", (name,)), self.call(names, "t")]
            yield self._trial(name, "gates", "before", names, bad, place_at=0)

    def damage(
        self, numbers: Iterator[int], *, times: int = 1, heavy: bool = False
    ) -> Iterator[Trial]:
        """Every damage operator, where it fits, after the handshake."""
        for operator in OPERATORS:
            if operator.heavy == heavy and not self._meddles(operator):
                for turn in range(times):
                    trial = self._damaged(operator, Names(next(numbers)), turn)
                    if trial is not None:
                        yield trial

    def _meddles(self, operator: Operator) -> bool:
        """Whether the damage would be an argument that this tool declares, hence no damage."""
        declared = {a.name for a in self.facts.tool.arguments} if self.facts.tool else set()
        return operator.name in ("unknown-argument", "unknown-operator") and bool(
            declared & {"command", "operator"}
        )

    def elsewhere(
        self, numbers: Iterator[int], *, every: int = 1, first: int = 0
    ) -> Iterator[Trial]:
        """The same damage to the first frame of all, and in the middle of the handshake.

        One in ``every`` of them, from number ``first`` on.
        """
        fitting = [each for each in OPERATORS if not (each.session or each.heavy)]
        pairs = [(operator, at) for operator in fitting for at in range(2)]
        for operator, at in pairs[first::every] if self._stateful else ():
            trial = self._damaged(operator, Names(next(numbers)), at, place=_PLACES[at])
            if trial is not None:
                yield trial

    def _damaged(
        self, operator: Operator, names: Names, turn: int, place: Place = "after"
    ) -> Trial | None:
        """Damage by one operator, at the most tempting of a few places."""
        ground = Ground(self.wording, self.version, names, tuple(self.handshake(names)), place)
        seeds = (_seed_of(operator.name, self.seed, turn * _TRIES + each) for each in range(_TRIES))
        made = ground.damaged(operator, map(RandomSource, seeds))
        if made is None:
            return None
        return self._finish(
            operator.name,
            operator.family,
            made.place,
            names,
            made.frames,
            cuts=made.cuts,
            eof=made.eof,
        )

    def reproducers(self, folder: Path, numbers: Iterator[int]) -> Iterator[Trial]:
        """Committed crash files of servers and gateways, reworded for this server."""
        for path in sorted(folder.glob("*/*.frame")):
            case = read_case(path)
            if case.direction != "client-to-server" or b"\n" not in case.data:
                continue
            raw = self.wording.reword(case.data)
            again = case_from_bytes(raw, protocol=case.version)
            name = f"{path.parent.name}/{path.stem}"
            yield Trial(
                name,
                "reproducers",
                "before",
                again,
                eof=not raw.endswith(b"\n"),
                number=next(numbers),
            )


def _seed_of(name: str, seed: int, turn: int) -> int:
    """A seed of its own for each operator and turn, equal in every process."""
    return int.from_bytes(f"{seed}:{turn}:{name}".encode(), "big")
