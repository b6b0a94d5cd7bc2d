"""What a damage operator is, and the two ways to write one.

Damage is done to bytes that are known to be good, so an operator needs to find
places in a frame (see :mod:`strategies.damage.spans`), never to parse it; what it leaves behind is
whatever no serializer would ever write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from wirefence.strategies.records import VERSIONS, Frame, Version
from wirefence.strategies.source import Source

__all__ = [
    "FAMILIES",
    "Damaged",
    "Expect",
    "Family",
    "Host",
    "Operator",
    "Scene",
    "hidden_call",
    "reshape",
    "rewrite",
    "table",
]

Family = Literal[
    "truncation",
    "concatenation",
    "banner",
    "type-confusion",
    "structure",
    "encoding",
    "number-spelling",
    "white-space",
    "lifecycle",
    "resource",
    "chunking",
]
Expect = Literal["reject", "accept", "profile"]

FAMILIES: tuple[Family, ...] = get_args(Family)


@dataclass(frozen=True, slots=True)
class Scene:
    """The good session and the index of the frame to damage."""

    frames: tuple[Frame, ...]
    at: int
    version: Version = "2025-11-25"

    @property
    def frame(self) -> Frame:
        return self.frames[self.at]

    @property
    def body(self) -> bytes:
        """The frame without its LF."""
        return self.frame.raw.removesuffix(b"\n")

    @property
    def last(self) -> bool:
        return self.at == len(self.frames) - 1

    @property
    def hidden(self) -> str:
        """An action name for a call that damage smuggles in: never that of a good frame."""
        return (self.frame.nonce or f"hidden-{self.at}-") + "x"


@dataclass(frozen=True, slots=True)
class Damaged:
    """A session after damage. ``cuts`` are offsets into its bytes, as in ``Case.cuts``."""

    frames: tuple[Frame, ...]
    cuts: tuple[int, ...] = ()


Apply = Callable[[Source, Scene], Damaged | None]
Host = Callable[[Version, str], bytes | None]


@dataclass(frozen=True, slots=True)
class Operator:
    """One named way to damage a session.

    ``expect`` speaks of the lines that the damaged frames hold, in an otherwise good session:
    ``reject`` at least one is not accepted, under both profiles; ``accept`` all are as accepted as
    before, under both; ``profile`` it depends on the profile, the version or the place.
    ``session`` marks operators whose damage lies between the frames rather than in one. ``apply``
    gives ``None`` where the frame has no place for this damage. ``heavy`` marks damage that takes
    its readers long, to be chosen rarely. ``host`` makes a good message that has a place for it,
    given the version and an unused name for id and action, or gives ``None`` where the version
    knows no such message; without it a call has to do. ``versions`` are those in which the damage
    means something, where it does not in all. ``deviations`` names what the judge finds wrong with
    the frames that the damage changes or adds, in an otherwise good session and under either
    profile: ``rule:trait``, ``rule:*`` where damage at a random place may break the rule in any
    way, and ``none`` where a frame may stay sound.
    """

    name: str
    family: Family
    reason: str
    origin: str
    expect: Expect
    apply: Apply
    session: bool = False
    heavy: bool = False
    host: Host | None = None
    versions: tuple[Version, ...] = VERSIONS
    deviations: tuple[str, ...] = ()


Rewrite = Callable[[Source, Scene], bytes | None]


def rewrite(  # noqa: PLR0913 - an operator's description is its signature
    name: str,
    family: Family,
    expect: Expect,
    reason: str,
    origin: str,
    *,
    heavy: bool = False,
    host: Host | None = None,
    versions: tuple[Version, ...] = VERSIONS,
    deviations: tuple[str, ...] = (),
) -> Callable[[Rewrite], Operator]:
    """Make an operator of a function that gives the damaged frame's new bytes.

    The function is called in ``versions`` only.
    """

    def build(function: Rewrite) -> Operator:
        def apply(source: Source, scene: Scene) -> Damaged | None:
            raw = function(source, scene) if scene.version in versions else None
            if raw is None or raw == scene.frame.raw:
                return None
            return Damaged(_with(scene, raw, name))

        return Operator(
            name,
            family,
            reason,
            origin,
            expect,
            apply,
            heavy=heavy,
            host=host,
            versions=versions,
            deviations=deviations,
        )

    return build


def _with(scene: Scene, raw: bytes, name: str) -> tuple[Frame, ...]:
    frame = replace(scene.frame, raw=raw, damage=(*scene.frame.damage, name))
    return (*scene.frames[: scene.at], frame, *scene.frames[scene.at + 1 :])


def reshape(  # noqa: PLR0913 - an operator's description is its signature
    name: str,
    family: Family,
    expect: Expect,
    reason: str,
    origin: str,
    *,
    heavy: bool = False,
    deviations: tuple[str, ...] = (),
) -> Callable[[Apply], Operator]:
    """Make a session-wide operator of a function that gives the whole damaged session."""

    def build(function: Apply) -> Operator:
        return Operator(
            name,
            family,
            reason,
            origin,
            expect,
            function,
            session=True,
            heavy=heavy,
            deviations=deviations,
        )

    return build


def table(*groups: Sequence[Operator]) -> tuple[Operator, ...]:
    """One registry of several; raises ``ValueError`` where two operators share a name."""
    every = tuple(operator for group in groups for operator in group)
    names = [operator.name for operator in every]
    if len(set(names)) != len(names):
        raise ValueError(f"damage operators share a name: {sorted(names)}")
    return every


_META_2026 = (
    '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    '"io.modelcontextprotocol/clientCapabilities":{}},'
)


def hidden_call(action: str, version: Version, name: str = "record", identity: str = "") -> bytes:
    """A complete ``tools/call`` on one line without LF, that a careless reader would act on.

    ``identity`` is the request id, by default the action name; both are taken as plain ASCII.
    """
    meta = _META_2026 if version == "2026-07-28" else ""
    return (
        f'{{"jsonrpc":"2.0","id":"{identity or action}","method":"tools/call",'
        f'"params":{{{meta}"name":"{name}","arguments":{{"action":"{action}"}}}}}}'
    ).encode()
