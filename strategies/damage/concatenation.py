"""Two messages on one line: nothing, or something that is no line end, between them.

Each separator ends a line, or is white space, for some reader; for the contract only LF ends one.
"""

from __future__ import annotations

from wirefence.strategies.damage.base import Operator, Scene, hidden_call, rewrite
from wirefence.strategies.source import Source

__all__ = ["OPERATORS", "SEPARATORS"]

SEPARATORS: tuple[tuple[str, bytes, str], ...] = (
    ("nothing", b"", "raw_decode loops and jq read a stream of values"),
    ("space", b" ", "raw_decode loops and jq read a stream of values"),
    ("comma", b",", "readers that wrap the stream in brackets to make an array"),
    ("cr", b"\r", "text-mode readers with universal newlines, Node readline"),
    ("nul", b"\x00", "C readers stop at NUL; NUL-separated framing"),
    ("line-separator", "\u2028".encode(), "str.splitlines splits at U+2028"),
    ("paragraph-separator", "\u2029".encode(), "str.splitlines splits at U+2029"),
    ("next-line", "\u0085".encode(), "str.splitlines splits at U+0085"),
    ("vertical-tab", b"\x0b", "str.splitlines splits at VT"),
    ("form-feed", b"\x0c", "str.splitlines splits at FF; some lexers skip it"),
    ("file-separator", b"\x1c", "str.splitlines splits at FS"),
    ("group-separator", b"\x1d", "str.splitlines splits at GS"),
    ("record-separator", b"\x1e", "RFC 7464 text sequences; str.splitlines splits at RS"),
    ("unit-separator", b"\x1f", "str.strip removes US"),
)


def _glue(name: str, separator: bytes, origin: str) -> Operator:
    cr = ("frame-cr:separator",) if separator == b"\r" else ()

    @rewrite(
        f"concat-{name}",
        "concatenation",
        "reject",
        f"a complete call follows on the same line after {name.replace('-', ' ')}",
        origin,
        deviations=(*cr, "json-syntax:trailing"),
    )
    def operator(source: Source, scene: Scene) -> bytes | None:
        if not scene.body:
            return None
        call = hidden_call(scene.hidden, scene.version)
        pair = (call, scene.body) if source.chance(1, 3) else (scene.body, call)
        return separator.join(pair) + b"\n"

    return operator


OPERATORS: tuple[Operator, ...] = tuple(_glue(*row) for row in SEPARATORS)
