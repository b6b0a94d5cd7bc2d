"""Depth and length: what kills a reader, or makes it buffer without end."""

from __future__ import annotations

from dataclasses import replace

from wirefence.strategies.contract import Contract
from wirefence.strategies.damage.base import Damaged, Expect, Operator, Scene, reshape, rewrite
from wirefence.strategies.damage.hosts import CALL
from wirefence.strategies.damage.structure import into_meta
from wirefence.strategies.records import Frame
from wirefence.strategies.source import Source

__all__ = ["DEPTHS", "LONG_LINE", "OPERATORS"]

DEPTHS: tuple[tuple[int, str], ...] = (
    (200, "jiter stops at 200; the contract's strict limit is 128"),
    (1_000, "CPython's default recursion limit, python-rapidjson's bound"),
    (1_025, "orjson, ujson and simdjson stop at 1,024"),
    (100_000, "readers with a raised recursion limit overflow their stack"),
)
LONG_LINE = 10_000_000
"""Bytes of the filler in a long line: ten times the contract's strict bound."""


def _nest(source: Source, depth: int) -> bytes:
    if source.chance(1, 2):
        return b'{"a":' * depth + b"0" + b"}" * depth
    return b"[" * depth + b"]" * depth


def _deep(depth: int, origin: str) -> Operator:
    @rewrite(
        f"depth-{depth}",
        "resource",
        "profile",
        f"{depth:,} containers nested in _meta",
        origin,
        heavy=depth > 10_000,
        deviations=("json-depth:depth", "none"),
    )
    def operator(source: Source, scene: Scene) -> bytes | None:
        return into_meta(scene.frame.raw, b'"example.com/deep":' + _nest(source, depth))

    return operator


_AROUND = 3
"""Containers around a member of ``_meta``: the message, its params and ``_meta`` itself."""


def _near(name: str, depth: int, expect: Expect) -> Operator:
    @rewrite(
        f"depth-{name}-bound",
        "resource",
        expect,
        f"{depth} containers nested in all",
        "comparisons that are off by one",
        host=CALL,
        deviations=("none",) if expect == "accept" else ("json-depth:depth", "none"),
    )
    def operator(source: Source, scene: Scene) -> bytes | None:
        nested = _nest(source, depth - _AROUND)
        return into_meta(scene.frame.raw, b'"example.com/deep":' + nested)

    return operator


def _unclosed(depth: int, origin: str) -> Operator:
    @rewrite(
        f"unclosed-{depth}",
        "resource",
        "reject",
        f"{depth:,} brackets that never close before the message",
        origin,
        heavy=depth > 10_000,
        deviations=("json-syntax:unclosed",),
    )
    def operator(source: Source, scene: Scene) -> bytes | None:
        return source.choice((b"[", b'{"a":')) * depth + scene.frame.raw

    return operator


_WRITE = 65_536
_BUFFER = "readers without a bound on the line"


@rewrite(
    "long-line",
    "resource",
    "profile",
    "a 10 MB string in _meta",
    _BUFFER,
    heavy=True,
    deviations=("frame-too-long:whole-line", "none"),
)
def _long(source: Source, scene: Scene) -> bytes | None:
    del source
    return into_meta(scene.frame.raw, b'"example.com/pad":"' + b"a" * LONG_LINE + b'"')


@rewrite(
    "long-noise",
    "resource",
    "reject",
    "10 MB of noise on the line",
    _BUFFER,
    heavy=True,
    deviations=("frame-too-long:whole-line", "json-syntax:foreign-text", "json-syntax:nul"),
)
def _noise(source: Source, scene: Scene) -> bytes:
    return source.choice((b"a", b"\x00")) * LONG_LINE + scene.frame.raw


@reshape(
    "line-without-end",
    "resource",
    "reject",
    "the last frame is a string of 8 MiB that never ends, in writes of 64 KiB",
    _BUFFER,
    heavy=True,
    deviations=("frame-too-long:no-line-feed", "frame-unterminated:part"),
)
def _endless(source: Source, scene: Scene) -> Damaged | None:
    del source
    before = scene.frames[: scene.at]
    start = sum(len(frame.raw) for frame in before)
    line = b'{"jsonrpc":"2.0","method":"' + b"a" * (8 * Contract().max_frame)
    cuts = tuple(range(start + _WRITE, start + len(line), _WRITE))
    return Damaged((*before, Frame(line, "", ("line-without-end",))), cuts)


_NAMES = b",".join(b'"n%d":%d' % (number, number) for number in range(2_000))


@rewrite(
    "many-names",
    "resource",
    "accept",
    "2,000 names in _meta",
    "hash tables, key caches",
    deviations=("none",),
)
def _names(source: Source, scene: Scene) -> bytes | None:
    del source
    return into_meta(scene.frame.raw, b'"example.com/many":{' + _NAMES + b"}")


def _exceptional(origin: str, expect: Expect) -> Operator:
    @rewrite(
        "long-spaces",
        "resource",
        expect,
        "64 KiB of white space in the message",
        origin,
        deviations=("none",),
    )
    def operator(source: Source, scene: Scene) -> bytes | None:
        del source
        brace = scene.frame.raw.find(b"{") + 1
        return scene.frame.raw[:brace] + b" " * 65_536 + scene.frame.raw[brace:]

    return operator


@rewrite(
    "line-beyond-bound",
    "resource",
    "profile",
    "a line one byte longer than the bound",
    _BUFFER,
    heavy=True,
    deviations=("frame-too-long:whole-line", "none"),
)
def _beyond(source: Source, scene: Scene) -> bytes | None:
    del source
    body, bound = scene.body, Contract().max_frame
    if len(body) > bound or not scene.frame.raw.endswith(b"\n"):
        return None
    brace = body.find(b"{") + 1
    return body[:brace] + b" " * (bound + 1 - len(body)) + body[brace:] + b"\n"


@reshape(
    "line-at-bound",
    "resource",
    "accept",
    "a line of exactly the bound, in writes of 64 KiB",
    "comparisons that are off by one, buffers that are full one byte too early",
    heavy=True,
    deviations=("none",),
)
def _at_bound(source: Source, scene: Scene) -> Damaged | None:
    del source
    body, bound = scene.body, Contract().max_frame
    if len(body) > bound or not scene.frame.raw.endswith(b"\n") or b"{" not in body:
        return None
    brace = body.find(b"{") + 1
    raw = body[:brace] + b" " * (bound - len(body)) + body[brace:] + b"\n"
    frame = replace(scene.frame, raw=raw, damage=(*scene.frame.damage, "line-at-bound"))
    start = sum(len(each.raw) for each in scene.frames[: scene.at])
    cuts = tuple(range(start + _WRITE, start + len(raw), _WRITE))
    return Damaged((*scene.frames[: scene.at], frame, *scene.frames[scene.at + 1 :]), cuts)


OPERATORS: tuple[Operator, ...] = (
    _beyond,
    _at_bound,
    _endless,
    _near("at", Contract().max_depth, "accept"),
    _near("beyond", Contract().max_depth + 1, "profile"),
    *(_deep(*row) for row in DEPTHS),
    *(_unclosed(*row) for row in DEPTHS),
    _long,
    _noise,
    _names,
    _exceptional("readers whose buffer is one pipe's 64 KiB", "accept"),
)
