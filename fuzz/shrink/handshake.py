"""Simplify the handshake of a session, and list the strings that the protocol defines.

Most faults of a session need its handshake, but nothing in it. So each line of it is replaced by
its plainest form at once, and then excluded from further passes: trying each of its tokens would
cost more than the rest of the reduction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from wirefence.fuzz.shrink.json_tree import Span
from wirefence.fuzz.shrink.nesting import find_plain_nesting

__all__ = ["PROTOCOL_STRINGS", "exclude_plain_parts", "simplify_handshake_line"]

PROTOCOL_STRINGS = frozenset(
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
"""Strings with a meaning in the protocol. One that could not become empty is needed as it is, so it
is not shortened.
"""

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


def simplify_handshake_line(line: bytes) -> Iterator[bytes]:
    """Yield the plainest forms of a line of a handshake, simplest first; none for other lines."""
    if b'"notifications/initialized"' in line:
        yield _INITIALIZED
    elif b'"initialize"' in line:
        said = _VERSION.search(line)
        for version in (b'""', *([said[1]] if said else [])):
            yield from (_INITIALIZE % (ident, version) for ident in (b"0", b'""'))


def exclude_plain_parts(data: bytes, spans: Sequence[Span]) -> list[Span]:
    """Return the spans outside plain handshake lines and plain deep nesting.

    Handshake lines are kept if the input has nothing else.
    """
    closed = find_plain_nesting(data)
    if _PLAIN.sub(b"", data).strip():
        closed += [match.span() for match in _PLAIN.finditer(data)]
    if not closed:
        return list(spans)
    return [
        span
        for span in spans
        if not any(start <= span[0] and span[1] <= end for start, end in closed)
    ]
