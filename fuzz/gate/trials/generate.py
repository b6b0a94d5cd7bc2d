"""Generate the trials: the classic bad inputs, all damage operators, and committed reproducers.

A trial is always handshake, bad frame, good request (the probe) and sentinel. So each trial shows
both whether the bad frame acted and whether the good one was still served.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from wirefence.fuzz.gate.records import Facts, Place, Trial
from wirefence.fuzz.gate.trials.bad_inputs import (
    DANGEROUS,
    REJECTED_HANDSHAKES,
    UGLY,
    VERSION_VALUES,
)
from wirefence.fuzz.gate.trials.damaged_session import GoodSession, Learned
from wirefence.fuzz.gate.trials.messages import (
    INITIALIZED,
    STATELESS,
    ToolWording,
    TrialNames,
    make_initialize,
    make_ping,
    stem_of,
)
from wirefence.fuzz.gate.trials.shaped import damage_requests
from wirefence.fuzz.store.store import case_from_bytes, read_case
from wirefence.strategies.damage import OPERATORS, Operator
from wirefence.strategies.records import Case, Frame, Version
from wirefence.strategies.source import RandomSource

__all__ = ["TrialMaker"]

_NAMED = tuple(each for each in OPERATORS if not each.name.startswith("shape-"))
"""Operators that name what they change. The others may give a sound call another argument than the
user nominated, which must not be sent: see :meth:`TrialMaker.make_shaped`."""
_PLACES: tuple[Place, ...] = ("before", "within", "after")


@dataclass(frozen=True, slots=True)
class TrialMaker:
    """Generates the trials for one server, in one protocol version."""

    facts: Facts
    wording: ToolWording
    version: Version
    seed: int = 0
    varied: bool = False
    """Whether the messages that are damaged are spelled in other ways than the plain one."""
    learned: Learned = field(default_factory=Learned, compare=False, repr=False)

    @property
    def _has_handshake(self) -> bool:
        return self.version != STATELESS

    def make_handshake(self, names: TrialNames, version: bytes = b"") -> list[Frame]:
        """Return ``initialize`` and its notification; nothing in versions without a handshake."""
        if not self._has_handshake:
            return []
        named = version or b'"%b"' % self.version.encode()
        return [make_initialize(named, names.request_id("h")), INITIALIZED]

    def make_call(self, names: TrialNames, role: str, meta: bytes = b"") -> Frame:
        """Return a good call in abstract words."""
        return self.wording.make_call(
            self.version, names.request_id(role), names.action_name(role), meta
        )

    def make_good_session(self, number: int = 0) -> Trial:
        """Return a session without a bad frame, which other sessions are compared with."""
        names = TrialNames(number)
        return self._make_trial("good", "good", "after", names, [], place_at=2)

    def _make_trial(  # noqa: PLR0913 - a trial is made of these
        self,
        name: str,
        family: str,
        place: Place,
        names: TrialNames,
        bad: Sequence[Frame],
        *,
        place_at: int,
        eof: bool = False,
        version: bytes = b"",
    ) -> Trial:
        """Return a session with ``bad`` inserted before its frame number ``place_at``."""
        opening = self.make_handshake(names, version)
        at = min(place_at, len(opening))
        frames = [*opening[:at], *bad]
        if not eof:
            frames += [*opening[at:], self.make_call(names, "p")]
        return self._finish_trial(name, family, place, names, frames, eof=eof)

    def _finish_trial(  # noqa: PLR0913 - a trial is made of these
        self,
        name: str,
        family: str,
        place: Place,
        names: TrialNames,
        frames: Sequence[Frame],
        *,
        cuts: tuple[int, ...] = (),
        eof: bool = False,
    ) -> Trial:
        """Reword the frames, add the sentinel, and mark whether a running server can take it."""
        worded = tuple([self.wording.reword_frame(frame) for frame in frames])
        if cuts and sum(len(f.raw) for f in frames) != sum(len(f.raw) for f in worded):
            cuts = ()
        if not eof:
            worded += (make_ping(self.version, names.request_id("s")),)
        opening = self.make_handshake(names)
        begins = [f.raw for f in worded[: len(opening)]] == [f.raw for f in opening]
        warm = begins and not eof
        size = sum(len(frame.raw) for frame in opening) if warm else 0
        case = Case(worded, cuts, self.version, damage=(name,))
        return Trial(name, family, place, case, size, eof, names.number, warm=warm)

    def make_ugly(self, numbers: Iterator[int]) -> Iterator[Trial]:
        """Yield the five classic bad inputs before, within and after the handshake."""
        for name, make in UGLY:
            for place_at, place in enumerate(self._list_places()):
                names = TrialNames(next(numbers))
                good, other = (
                    self.make_call(names, role).raw.rstrip(b"\n") for role in ("t", "tx")
                )
                bad = [Frame(make(good, other, names), names.action_name("t"), (name,))]
                eof = name == "ugly-truncated-eof"
                yield self._make_trial(name, "ugly", place, names, bad, place_at=place_at, eof=eof)

    def _list_places(self) -> tuple[Place, ...]:
        return _PLACES if self._has_handshake else ("after",)

    def make_dangerous(self, numbers: Iterator[int]) -> Iterator[Trial]:
        """Yield requests that look valid and must not act, or whose kind is easily mistaken."""
        for name, text in DANGEROUS:
            names = TrialNames(next(numbers))
            good = self.make_call(names, "t").raw.rstrip(b"\n")
            raw = text(good, names)
            if raw is not None and raw != good:
                frame = Frame(raw + b"\n", names.action_name("t"), (name,))
                yield self._make_trial(name, "dangerous", "after", names, [frame], place_at=2)

    def make_version_trials(
        self, numbers: Iterator[int], *, shared: bool = False
    ) -> Iterator[Trial]:
        """Yield a session with bad frames at each place, for each value of ``protocolVersion``.

        Values that must be refused leave the session unchanged: where ``shared`` and the server
        goes on after them, one session holds them all.
        """
        if not self._has_handshake:
            return
        strings = [(name, raw) for name, raw in VERSION_VALUES if raw.startswith(b'"')]
        refused = [(name, raw) for name, raw in VERSION_VALUES if not raw.startswith(b'"')]
        for name, raw in strings:
            yield self._make_version_trial(f"version-{name}", TrialNames(next(numbers)), raw, [])
        alone = [
            self._make_version_trial(f"version-{name}", TrialNames(next(numbers)), b"", [raw])
            for name, raw in refused
        ]
        if not shared or self.facts.policy == "close":
            yield from alone
            return
        every = self._make_version_trial(
            "versions-refused", TrialNames(next(numbers)), b"", [r for _, r in refused]
        )
        yield replace(every, parts=tuple(alone))

    def _make_version_trial(
        self, name: str, names: TrialNames, good: bytes, refused: Sequence[bytes]
    ) -> Trial:
        """Return a session with half a call before, within and after its handshake."""
        half, opening = self._cut_call(names), self.make_handshake(names, good)
        bad = [
            make_initialize(raw, names.request_id(f"v{chr(97 + at)}"))
            for at, raw in enumerate(refused)
        ]
        frames = [half, *bad, *opening[:1], half, *opening[1:], half, self.make_call(names, "p")]
        return self._finish_trial(name, "versions", "before", names, frames)

    def _cut_call(self, names: TrialNames) -> Frame:
        call = self.make_call(names, "t").raw
        return Frame(call[: len(call) * 2 // 3] + b"\n", names.action_name("t"), ("half-call",))

    def make_rejected_handshakes(self, numbers: Iterator[int]) -> Iterator[Trial]:
        """Yield a rejected handshake, a call, then a good handshake: the call must not act."""
        if not self._has_handshake:
            return
        for name, spoil in REJECTED_HANDSHAKES:
            names = TrialNames(next(numbers))
            first = make_initialize(
                b'"%b"' % self.version.encode(), names.request_id("v")
            ).raw.rstrip(b"\n")
            bad = [Frame(spoil(first) + b"\n", "", (name,)), self.make_call(names, "t")]
            yield self._make_trial(name, "gates", "before", names, bad, place_at=0)

    def make_damaged(
        self, numbers: Iterator[int], *, times: int = 1, heavy: bool = False
    ) -> Iterator[Trial]:
        """Yield every damage operator, where it fits, after the handshake."""
        for operator in _NAMED:
            if operator.heavy == heavy and not self._is_declared(operator):
                for turn in range(times):
                    trial = self._make_damaged_trial(operator, TrialNames(next(numbers)), turn)
                    if trial is not None:
                        yield trial

    def _is_declared(self, operator: Operator) -> bool:
        """Whether the damage would be an argument that this tool declares, hence no damage."""
        declared = {a.name for a in self.facts.tool.arguments} if self.facts.tool else set()
        return operator.name in ("unknown-argument", "unknown-operator") and bool(
            declared & {"command", "operator"}
        )

    def make_shaped(self, numbers: Iterator[int]) -> Iterator[Trial]:
        """Yield every request that the server promises, each fault of its params once."""
        stem = stem_of(0)
        for operator, frame in damage_requests(self.facts, self.wording, self.version, self.seed):
            names = TrialNames(next(numbers))
            raw = frame.raw.replace(stem, names.stem)
            bad = [Frame(raw, names.action_name("t"), (operator.name,))]
            yield self._make_trial(operator.name, operator.family, "after", names, bad, place_at=2)

    def make_damaged_handshakes(
        self, numbers: Iterator[int], *, every: int = 1, first: int = 0
    ) -> Iterator[Trial]:
        """Yield the same damage to the first frame of all, and within the handshake.

        One in ``every`` of them, from number ``first`` on.
        """
        fitting = [each for each in _NAMED if not (each.session or each.heavy)]
        pairs = [(operator, at) for operator in fitting for at in range(2)]
        for operator, at in pairs[first::every] if self._has_handshake else ():
            trial = self._make_damaged_trial(
                operator, TrialNames(next(numbers)), at, place=_PLACES[at]
            )
            if trial is not None:
                yield trial

    def _make_damaged_trial(
        self, operator: Operator, names: TrialNames, turn: int, place: Place = "after"
    ) -> Trial | None:
        """Return a trial damaged by one operator; ``None`` where it does not fit."""
        opening, source = tuple(self.make_handshake(names)), self._make_source(operator, turn)
        ground = GoodSession(
            self.wording, self.version, names, opening, place, source if self.varied else None
        )
        made = ground.apply_damage(operator, source, self.learned)
        if made is None:
            return None
        return self._finish_trial(
            operator.name,
            operator.family,
            made.place,
            names,
            made.frames,
            cuts=made.cuts,
            eof=made.eof,
        )

    def _make_source(self, operator: Operator, turn: int) -> RandomSource:
        """Return the choices of one operator and turn, equal in every process."""
        return RandomSource(int.from_bytes(f"{self.seed}:{turn}:{operator.name}".encode(), "big"))

    def load_reproducers(self, folder: Path, numbers: Iterator[int]) -> Iterator[Trial]:
        """Yield committed reproducers of servers and gateways, reworded for this server."""
        for path in sorted(folder.glob("*/*.frame")):
            case = read_case(path)
            if case.direction != "client-to-server" or b"\n" not in case.data:
                continue
            raw = self.wording.reword_calls(case.data)
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
