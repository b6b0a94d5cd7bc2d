"""What a session opens with, in its plainest form, and the words that the protocol knows.

The key insight: most faults of a session need its handshake and nothing of what is in it. Put in
its plainest form at once, it is left alone after that: looking into every one of its tokens again
and again would cost more than the rest of the reduction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from wirefence.fuzz.shrink.json_tree import Span
from wirefence.fuzz.shrink.nesting import levels

__all__ = ["KNOWN", "outside", "plain"]

KNOWN = frozenset(
    b'"%b"' % word
    for word in (
        b"2.0",
        b"_meta",
        b"arguments",
        b"capabilities",
        b"clientInfo",
        b"initialize",
        b"jsonrpc",
        b"method",
        b"name",
        b"notifications/initialized",
        b"params",
        b"protocolVersion",
        b"tools/call",
        b"tools/list",
        b"version",
    )
)
"""Strings that are taken for what they say: one that could not become empty is needed as it is."""

_INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
_INITIALIZE = (
    b'{"jsonrpc":"2.0","id":%b,"method":"initialize","params":{"protocolVersion":%b,'
    b'"capabilities":{},"clientInfo":{"name":"","version":""}}}'
)
_VERSION = re.compile(rb'"protocolVersion"\s*:\s*("[^"\\\n]*")')
_PLAIN = re.compile(
    rb"^(?:%b|%b)$"
    % (
        re.escape(_INITIALIZED),
        rb"(?:[0-9]+|\"[^\"\\\n]{0,2}\")".join(
            map(re.escape, (_INITIALIZE % (b"\0", b"\1")).split(b"\0"))
        ).replace(re.escape(b"\1"), rb"\"[^\"\\\n]*\""),
    ),
    re.MULTILINE,
)


def plain(line: bytes) -> Iterator[bytes]:
    """The plainest forms of a line of a handshake, boldest first; none for other lines."""
    if b'"notifications/initialized"' in line:
        yield _INITIALIZED
    elif b'"initialize"' in line:
        said = _VERSION.search(line)
        for version in (b'""', *([said[1]] if said else [])):
            yield from (_INITIALIZE % (ident, version) for ident in (b"0", b'""'))


def outside(data: bytes, spans: Sequence[Span]) -> list[Span]:
    """The spans that lie in no plain line of a handshake, all of them if there is nothing else.

    Nor in deep nesting that is as plain as can be.
    """
    closed = levels(data)
    if _PLAIN.sub(b"", data).strip():
        closed += [match.span() for match in _PLAIN.finditer(data)]
    if not closed:
        return list(spans)
    return [
        span
        for span in spans
        if not any(start <= span[0] and span[1] <= end for start, end in closed)
    ]
