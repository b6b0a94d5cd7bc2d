"""Text that never belonged on a protocol stream: logs, pages, notices, other framings."""

from __future__ import annotations

from wirefence.strategies.damage.base import Operator, Scene, rewrite
from wirefence.strategies.source import Source

__all__ = ["BANNERS", "OPERATORS"]

BANNERS: tuple[tuple[str, bytes, str], ...] = (
    ("log", b"INFO:server:listening on stdio", "logging.basicConfig aimed at stdout"),
    (
        "structlog",
        b'{"event":"server started","level":"info","logger":"server"}',
        "structlog's JSONRenderer prints to stdout by default",
    ),
    ("html", b"<!DOCTYPE html><html><body>502 Bad Gateway</body></html>", "a proxy's error page"),
    ("ansi", b"\x1b[32mready\x1b[0m", "colour codes of a terminal logger"),
    (
        "traceback",
        b'Traceback (most recent call last):\n  File "server.py", line 1, in <module>\nKeyError: 1',
        "traceback.print_exc(file=sys.stdout)",
    ),
    (
        "deprecation",
        b"server.py:1: DeprecationWarning: datetime.utcnow() is deprecated",
        "warnings redirected to stdout",
    ),
    (
        "package-manager",
        b"npm notice New minor version of npm available! 10.2.4 -> 10.9.0",
        "npx and uvx as launch commands",
    ),
    ("content-length", b"Content-Length: 120\r\n\r\n", "the Language Server Protocol's framing"),
    ("event-stream", b"data: ", "server-sent events, MCP's other transport"),
    ("anti-hijacking", b")]}',\n", "prefix of JSON endpoints against script inclusion"),
)

_LINES: dict[str, tuple[str, ...]] = {
    "structlog": ("rpc-version:absent",),
    "ansi": ("json-syntax:control-character",),
    "content-length": (
        *("json-syntax:foreign-text", "frame-cr:line-end", "frame-empty:white-space"),
    ),
}
"""Deviations of the text alone on its line, where it is not plain text."""
_HEADS = {"structlog": "json-syntax:trailing", "ansi": "json-syntax:control-character"}
"""The same of the text with a message behind it."""


def _around(name: str, text: bytes, origin: str) -> tuple[Operator, ...]:
    plain = name.replace("-", " ")
    line = _LINES.get(name, ("json-syntax:foreign-text",))
    head = _HEADS.get(name, "json-syntax:foreign-text")
    flat = text.replace(b"\r\n", b" ").replace(b"\n", b" ")

    @rewrite(
        f"banner-{name}-own-line",
        "banner",
        "reject",
        f"{plain} on its own line around it",
        origin,
        deviations=("none", *line),
    )
    def own_line(source: Source, scene: Scene) -> bytes | None:
        added = text.removesuffix(b"\n") + b"\n"
        frame = scene.body + b"\n"
        return frame + added if source.chance(1, 2) else added + frame

    @rewrite(
        f"banner-{name}-before",
        "banner",
        "reject",
        f"{plain} before it on its line",
        origin,
        deviations=(head,),
    )
    def before(source: Source, scene: Scene) -> bytes | None:
        del source
        return flat + scene.body + b"\n"

    @rewrite(
        f"banner-{name}-after",
        "banner",
        "reject",
        f"{plain} after it on its line",
        origin,
        deviations=("json-syntax:trailing",),
    )
    def after(source: Source, scene: Scene) -> bytes | None:
        del source
        return scene.body + flat + b"\n"

    return own_line, before, after


@rewrite(
    "banner-value-own-line",
    "banner",
    "reject",
    "a JSON value that is no object, on a line before it",
    "console.log() of a result",
    deviations=(
        *(f"rpc-not-object:{kind}" for kind in ("null", "boolean", "number", "string")),
        "none",
    ),
)
def _value(source: Source, scene: Scene) -> bytes:
    return source.choice((b"true", b"0", b'"ready"', b"null")) + b"\n" + scene.frame.raw


OPERATORS: tuple[Operator, ...] = (
    *(operator for row in BANNERS for operator in _around(*row)),
    _value,
)
