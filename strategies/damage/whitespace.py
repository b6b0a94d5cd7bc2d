"""White space and punctuation: the four characters JSON knows, and all that look alike."""

from __future__ import annotations

from wirefence.strategies.damage.base import Expect, Operator, Scene, rewrite
from wirefence.strategies.source import Source

__all__ = ["FILLERS", "OPERATORS"]

FILLERS: tuple[tuple[str, bytes, Expect, str], ...] = (
    ("space", b"  ", "accept", "RFC 8259 section 2"),
    ("tab", b"\t", "accept", "RFC 8259 section 2"),
    ("cr", b"\r", "profile", "white space to JSON, a line end to text-mode readers"),
    ("form-feed", b"\x0c", "reject", "isspace() in C; jq"),
    ("vertical-tab", b"\x0b", "reject", "isspace() in C"),
    ("no-break-space", "\u00a0".encode(), "reject", "str.isspace() and JavaScript"),
    ("line-separator", "\u2028".encode(), "reject", "str.isspace() and JavaScript"),
    ("next-line", "\u0085".encode(), "reject", "str.isspace() and YAML"),
    ("ideographic-space", "\u3000".encode(), "reject", "str.isspace()"),
    ("zero-width-space", "\u200b".encode(), "reject", "invisible in every log"),
    ("nul", b"\x00", "reject", "C strings end here"),
    ("block-comment", b"/* */", "reject", "JSON5, python-rapidjson's relaxed mode"),
)

_DEVIATIONS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("space", "tab"), ("none",)),
    "cr": ("frame-cr:white-space", "frame-cr:line-end", "none"),
    **dict.fromkeys(("ideographic-space", "zero-width-space"), ("json-syntax:unicode-space",)),
    "nul": ("json-syntax:nul",),
    "block-comment": ("json-syntax:block-comment", "json-syntax:trailing"),
}
"""By the name of the filler, where it is no white space to ``isspace``."""


def _make_filler_operator(name: str, filler: bytes, expect: Expect, origin: str) -> Operator:
    @rewrite(
        f"space-{name}",
        "white-space",
        expect,
        f"{filler!r} around a token",
        origin,
        deviations=_DEVIATIONS.get(name, ("json-syntax:other-white-space",)),
    )
    def operator(source: Source, scene: Scene) -> bytes | None:
        body = scene.body
        end = len(body)
        gap = source.choice((0, end, _find_first_gap(body)))
        return body[:gap] + filler + body[gap:] + b"\n"

    return operator


def _find_first_gap(body: bytes) -> int:
    """An offset right after the opening brace: the one gap that needs no scan to be safe."""
    return body.find(b"{") + 1


@rewrite(
    "space-crlf",
    "white-space",
    "profile",
    "CR before LF",
    "text mode on Windows",
    deviations=("frame-cr:line-end", "none"),
)
def _crlf(source: Source, scene: Scene) -> bytes:
    del source
    return scene.body + b"\r\n"


@rewrite(
    "space-empty-line",
    "white-space",
    "reject",
    "an empty line before it",
    "print() once more",
    deviations=("frame-empty:no-bytes", "frame-empty:white-space", "none"),
)
def _empty(source: Source, scene: Scene) -> bytes:
    return source.choice((b"\n", b" \n", b"\t \n", b"\r\n")) + scene.frame.raw


def _make_replacing_operator(  # noqa: PLR0913 - a row of the table below
    name: str,
    pattern: bytes,
    new: bytes,
    reason: str,
    origin: str,
    *traits: str,
    first: bool = False,
) -> Operator:
    deviations = tuple(f"json-syntax:{trait}" for trait in traits)

    @rewrite(name, "white-space", "reject", reason, origin, deviations=deviations)
    def operator(source: Source, scene: Scene) -> bytes | None:
        del source
        split = scene.body.partition if first else scene.body.rpartition
        head, found, tail = split(pattern)
        return head + new + tail + b"\n" if found else None

    return operator


@rewrite(
    "comment-line",
    "white-space",
    "reject",
    "a comment after the message",
    "JSON5 and JSONC",
    deviations=("json-syntax:trailing",),
)
def _comment(source: Source, scene: Scene) -> bytes:
    return scene.body + source.choice((b"//", b" // done", b" # done", b"/**/", b"--")) + b"\n"


@rewrite(
    "comment-own-line",
    "white-space",
    "reject",
    "a comment on a line before it",
    "JSON5 and JSONC; scripts that print their own first line",
    deviations=("json-syntax:line-comment", "none"),
)
def _comment_line(source: Source, scene: Scene) -> bytes:
    return source.choice((b"// started\n", b"# started\n", b"#!/bin/sh\n")) + scene.frame.raw


@rewrite(
    "quotes-single",
    "white-space",
    "reject",
    "single quotes",
    "repr() instead of json.dumps",
    deviations=("json-syntax:single-quotes",),
)
def _single(source: Source, scene: Scene) -> bytes | None:
    del source
    return scene.frame.raw.replace(b'"', b"'") if b'"' in scene.frame.raw else None


@rewrite(
    "quotes-none",
    "white-space",
    "reject",
    "a member name without quotes",
    "JSON5",
    deviations=("json-syntax:unquoted-name",),
)
def _bare(source: Source, scene: Scene) -> bytes | None:
    del source
    if b'"jsonrpc"' not in scene.frame.raw:
        return None
    return scene.frame.raw.replace(b'"jsonrpc"', b"jsonrpc", 1)


OPERATORS: tuple[Operator, ...] = (
    *(_make_filler_operator(*row) for row in FILLERS),
    _crlf,
    _empty,
    _comment,
    _comment_line,
    _single,
    _bare,
    _make_replacing_operator(
        "comma-trailing",
        b"}",
        b",}",
        "a trailing comma",
        "JSON5, hand-written JSON",
        "trailing-comma",
    ),
    _make_replacing_operator(
        "bracket-other",
        b"}",
        b"]",
        "the last brace is a bracket",
        "readers that count brackets and do not compare them",
        "wrong-bracket",
    ),
    _make_replacing_operator(
        "comma-double", b"}", b",,}", "two trailing commas", "JavaScript arrays", "missing-value"
    ),
    _make_replacing_operator(
        "semicolon",
        b"}",
        b"};",
        "a semicolon after the message",
        "JavaScript writers",
        "trailing",
        "syntax",
    ),
    _make_replacing_operator(
        "colon-equals",
        b":",
        b"=",
        "an equals sign for a colon",
        "Ruby and PHP writers",
        "missing-colon",
        first=True,
    ),
)
