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


def _around(name: str, text: bytes, origin: str) -> tuple[Operator, ...]:
    plain = name.replace("-", " ")
    flat = text.replace(b"\r\n", b" ").replace(b"\n", b" ")

    @rewrite(
        f"banner-{name}-own-line", "banner", "reject", f"{plain} on its own line around it", origin
    )
    def own_line(source: Source, scene: Scene) -> bytes | None:
        line = text.removesuffix(b"\n") + b"\n"
        frame = scene.body + b"\n"
        return frame + line if source.chance(1, 2) else line + frame

    @rewrite(f"banner-{name}-before", "banner", "reject", f"{plain} before it on its line", origin)
    def before(source: Source, scene: Scene) -> bytes | None:
        del source
        return flat + scene.body + b"\n"

    @rewrite(f"banner-{name}-after", "banner", "reject", f"{plain} after it on its line", origin)
    def after(source: Source, scene: Scene) -> bytes | None:
        del source
        return scene.body + flat + b"\n"

    return own_line, before, after


OPERATORS: tuple[Operator, ...] = tuple(operator for row in BANNERS for operator in _around(*row))
