"""What the gate sends: the classic ugly inputs, the whole damage vocabulary, and sessions.

The key insight: a trial is always handshake, bad frame, good request (the probe) and sentinel, so
that each says two things at once: did the bad frame act, and did the good one still work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fuzz.gate.records import Facts, Place, Trial
from fuzz.gate.wire import INITIALIZED, STATELESS, Names, Wording, initialize, ping
from fuzz.store import case_from_bytes, read_case
from strategies.damage import OPERATORS, Operator, Scene
from strategies.records import VERSIONS, Case, Frame, Version
from strategies.source import RandomSource

__all__ = ["NAMINGS", "Maker"]

NAMINGS: tuple[tuple[str, bytes], ...] = (
    *((version, b'"%b"' % version.encode()) for version in VERSIONS),
    ("unknown", b'"1.0"'),
    ("future", b'"2099-12-31"'),
    ("empty", b'""'),
    ("spaced", b'" 2025-06-18 "'),
    ("draft", b'"DRAFT-2025-v1"'),
    ("null", b"null"),
    ("number", b"20250618"),
    ("fraction", b"2025.0618"),
    ("array", b'["2025-06-18"]'),
    ("object", b"{}"),
    ("true", b"true"),
    ("absent", b""),
)
"""Every way of naming a protocol version in ``initialize``: a name, and the raw JSON value."""

_PLACES: tuple[Place, ...] = ("before", "within", "after")
_CONCRETE = ("encoding", "stringified")


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes the trials for one server, in one protocol version.

    ``lines`` maps names to bad lines that hold ``CALL`` (a good call without LF), ``HIDDEN``
    (another one) or ``ID``.
    """

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
        if not eof:
            worded += (ping(self.version, names.ident("s")),)
        cuts = cuts if sum(len(f.raw) for f in frames) == sum(len(f.raw) for f in worded) else ()
        opening = self.handshake(names)
        begins = [f.raw for f in worded[: len(opening)]] == [f.raw for f in opening]
        warm = begins and not eof
        size = sum(len(frame.raw) for frame in opening) if warm else 0
        case = Case(worded, cuts, self.version, damage=(name,))
        return Trial(name, family, place, case, size, eof, names.number, warm=warm)

    def ugly(self, numbers: Iterator[int]) -> Iterator[Trial]:
        """The five ugly inputs of the classic list, before, within and after the handshake."""
        for name, make in _UGLY:
            for place_at, place in enumerate(self._places()):
                names = Names(next(numbers))
                bad = make(self, names)
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

    def versions(self, numbers: Iterator[int]) -> Iterator[Trial]:
        """A bad frame at each place of a session, for each way of naming the version."""
        if not self._stateful:
            return
        for name, raw in NAMINGS:
            names = Names(next(numbers))
            half = self._half(names)
            spoken = [*self.handshake(names, raw or b"null")]
            if not raw:
                spoken[0] = initialize(b"", names.ident("h"))
            good = raw.startswith(b'"')
            frames = [half, spoken[0], half, *([] if good else self.handshake(Names(names.number)))]
            frames += [INITIALIZED] if good else []
            if not good:
                frames[1] = initialize(raw, names.ident("v"))
            yield self._finish(
                f"version-{name}",
                "versions",
                "before",
                names,
                [*frames, half, self.call(names, "p")],
            )

    def _half(self, names: Names) -> Frame:
        call = self.call(names, "t").raw
        return Frame(call[: len(call) * 2 // 3] + b"\n", names.action("t"), ("half-call",))

    def gates(self, numbers: Iterator[int]) -> Iterator[Trial]:
        """A rejected handshake must open nothing: a call behind it, then the true handshake."""
        if not self._stateful:
            return
        for name, spoil in _SPOILED:
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

    def elsewhere(self, numbers: Iterator[int]) -> Iterator[Trial]:
        """The same damage to the first frame of all, and in the middle of the handshake."""
        for operator in OPERATORS:
            if operator.session or operator.heavy or not self._stateful:
                continue
            for place_at, place in enumerate(_PLACES[:2]):
                names = Names(next(numbers))
                trial = self._damaged(operator, names, place_at, place=place)
                if trial is not None:
                    yield trial

    def _damaged(
        self, operator: Operator, names: Names, turn: int, place: Place = "after"
    ) -> Trial | None:
        source = RandomSource(hash_of(operator.name, self.seed, turn))
        opening = self.handshake(names)
        at = {"before": 0, "within": 1}.get(place, len(opening))
        for target in self._targets(names):
            good = replace(target, raw=self._worded(operator, target.raw))
            frames = (*opening[:at], good, *opening[at:], self.call(names, "p"))
            made = operator.apply(source, Scene(frames, at, self.version))
            if made is not None:
                eof = len(made.frames) < len(frames)
                where: Place = "end" if eof else place
                return self._finish(
                    operator.name,
                    operator.family,
                    where,
                    names,
                    made.frames,
                    cuts=made.cuts,
                    eof=eof,
                )
        return self._opening_damaged(operator, names, source) if place == "after" else None

    def _worded(self, operator: Operator, raw: bytes) -> bytes:
        """Damage that wraps the frame whole would hide the abstract words from rewording."""
        return (
            self.wording.reword(raw)
            if (operator.family + operator.name).startswith(_CONCRETE)
            or operator.name.startswith(_CONCRETE)
            else raw
        )

    def _opening_damaged(
        self, operator: Operator, names: Names, source: RandomSource
    ) -> Trial | None:
        """Damage that fits an ``initialize`` only: the spoiled one comes before the good one."""
        if not self._stateful:
            return None
        spoiled = initialize(b'"%b"' % self.version.encode(), names.ident("v"))
        frames = (replace(spoiled, nonce=names.action("v")), *self.handshake(names))
        made = operator.apply(source, Scene((*frames, self.call(names, "p")), 0, self.version))
        if made is None:
            return None
        return self._finish(operator.name, operator.family, "before", names, made.frames)

    def _targets(self, names: Names) -> Iterator[Frame]:
        """Frames to damage, the most telling first: operators fit some only."""
        action, ident = names.action("t").encode(), names.ident("t")
        yield self.call(names, "t")
        yield self.call(names, "t", b'"progressToken":"%b"' % action)
        for text in (
            b'"id":%b,"method":"tools/list","params":{"cursor":""}' % ident,
            b'"method":"notifications/cancelled","params":{"requestId":"none","reason":"x"}',
            b'"method":"notifications/progress","params":'
            b'{"progressToken":"none","progress":1,"total":2}',
            b'"id":"none","result":{}',
            b'"id":"none","error":{"code":-32603,"message":"none"}',
        ):
            yield Frame(b'{"jsonrpc":"2.0",%b}\n' % text, names.action("t"))

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


def hash_of(name: str, seed: int, turn: int) -> int:
    """A seed of its own for each operator and turn, equal in every process."""
    return int.from_bytes(f"{seed}:{turn}:{name}".encode(), "big")


_Make = Callable[[Maker, Names], list[Frame]]


def _debug_line(_maker: Maker, _names: Names) -> list[Frame]:
    return [Frame(b"DEBUG:server:loading plugins\n", "", ("ugly-debug-line",))]


def _glued_banner(maker: Maker, names: Names) -> list[Frame]:
    return [Frame(_body(maker, names) + b"Server listening on stdio\n", names.action("t"))]


def _truncated(maker: Maker, names: Names) -> list[Frame]:
    body = _body(maker, names)
    return [Frame(body[: len(body) - 3], names.action("t"))]


def _two(maker: Maker, names: Names) -> list[Frame]:
    second = maker.call(names, "tx").raw
    return [Frame(_body(maker, names) + second, names.action("t"))]


def _bad_params(maker: Maker, names: Names) -> list[Frame]:
    text = b'{"jsonrpc":"2.0","id":%b,"method":"tools/call","params":["record",{"action":"%b"}]}\n'
    return [Frame(text % (names.ident("t"), names.action("t").encode()), names.action("t"))]


def _body(maker: Maker, names: Names) -> bytes:
    return maker.call(names, "t").raw.rstrip(b"\n")


_UGLY: tuple[tuple[str, _Make], ...] = (
    ("ugly-debug-line", _debug_line),
    ("ugly-banner-glued", _glued_banner),
    ("ugly-truncated-eof", _truncated),
    ("ugly-two-objects", _two),
    ("ugly-malformed-params", _bad_params),
)

_SPOILED: tuple[tuple[str, Callable[[bytes], bytes]], ...] = (
    ("gate-trailing-brace", lambda raw: raw + b"}"),
    ("gate-truncated", lambda raw: raw[:-1]),
    ("gate-no-id", lambda raw: raw.replace(b'"id":', b'"Id":', 1)),
    ("gate-no-version", lambda raw: raw.replace(b'"protocolVersion":', b'"protocol":', 1)),
    ("gate-params-array", lambda raw: raw.replace(b'"params":{', b'"params":[{', 1)[:-1] + b"]}"),
    ("gate-wrong-jsonrpc", lambda raw: raw.replace(b'"2.0"', b'"1.0"', 1)),
    ("gate-no-client", lambda raw: raw.replace(b'"clientInfo"', b'"client"', 1)),
)

_Text = Callable[[bytes, Names], bytes | None]


def _swap(old: bytes, new: bytes) -> _Text:
    return lambda good, _names: good.replace(old, new, 1) if old in good else None


def _with_id(token: bytes) -> _Text:
    return lambda good, names: good.replace(b'"id":' + names.ident("t"), b'"id":' + token, 1)


DANGEROUS: tuple[tuple[str, _Text], ...] = (
    ("danger-id-true", _with_id(b"true")),
    ("danger-id-fraction", _with_id(b"1.0")),
    ("danger-id-null", _with_id(b"null")),
    ("danger-id-array", _with_id(b"[1]")),
    ("danger-id-huge", _with_id(b"1e2")),
    ("danger-no-id", lambda good, names: good.replace(b'"id":' + names.ident("t") + b",", b"", 1)),
    ("danger-params-string", _swap(b'"params":{', b'"params":"x","data":{')),
    ("danger-arguments-array", _swap(b'"arguments":{', b'"arguments":[],"data":{')),
    ("danger-arguments-string", _swap(b'"arguments":{', b'"arguments":"{}","data":{')),
    ("danger-arguments-null", _swap(b'"arguments":{', b'"arguments":null,"data":{')),
    ("danger-name-padded", _swap(b'"name":"record"', b'"name":" record "')),
    ("danger-name-array", _swap(b'"name":"record"', b'"name":["record"]')),
    ("danger-method-case", _swap(b"tools/", b"Tools/")),
    ("danger-method-nul", _swap(b'"tools/call"', b'"tools/call\\u0000"')),
    ("danger-nan", _swap(b'"params":{', b'"params":{"ttl":NaN,')),
    ("danger-hybrid", _swap(b'"params":{', b'"result":{},"params":{')),
)
