"""The attacks of a fake server: ways to answer badly, and what a client must do with each.

A false answer always comes before the true one, through the same pipe. So a client that read the
true answer has read the false one, and no time-out decides.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from wirefence.fuzz.gate.client.records import Attack, ClientRequest, Close, Send, Step
from wirefence.oracles.client import MALFORMED
from wirefence.strategies.damage.banner import BANNERS

__all__ = ["ATTACKS", "GOOD"]

_STORM_LINES = 200
"""Lines of a storm: many for a reader that handles one line at a time, and fast to send."""
_LONG_LINE_BYTES = 4 << 20
"""Bytes of the long line: far above the 64 KiB that asyncio's readers accept."""
_OPEN_BRACKETS = 100_000
"""Nesting of the deep input: far above Python's recursion limit of 1,000."""
_Line = Callable[[ClientRequest], bytes | None]


def _answer_truly(asked: ClientRequest) -> list[Step]:
    return [Send(asked.true + b"\n")]


GOOD = Attack("good", "only true answers", "", "accept", _answer_truly)
"""The session that every client must pass before its failures mean anything."""


def _bad_line_first(line: _Line) -> Callable[[ClientRequest], list[Step] | None]:
    """Return a builder of a bad line, a pause, and the true answer."""

    def build(asked: ClientRequest) -> list[Step] | None:
        bad = line(asked)
        if bad is None:
            return None
        return [Send(bad + b"\n", pause=asked.quiet), Send(asked.true + b"\n")]

    return build


def _make_rejected(
    name: str, about: str, rule: str, line: _Line, *, strict: bool = False
) -> Attack:
    return Attack(name, about, rule, "reject", _bad_line_first(line), strict)


def _make_noise(name: str, about: str, text: bytes) -> Attack:
    return Attack(name, about, "", "ignore", _bad_line_first(lambda _asked: text))


def _replace_text(old: bytes, new: bytes) -> _Line:
    return lambda asked: asked.false.replace(old, new, 1)


def _other_id(asked: ClientRequest) -> bytes:
    if asked.numeric_id is not None:
        return b"%d" % (asked.numeric_id + 1000)
    return b'"none-%b' % asked.ident.lstrip(b'"')


def _change_id_type(asked: ClientRequest) -> bytes | None:
    """Return the same id in the other type: 1 and "1" are two ids."""
    if asked.numeric_id is not None:
        return asked.forge(b'"%b"' % asked.ident)
    inner = asked.ident.strip(b'"')
    return asked.forge(inner) if inner.isdigit() and not inner.startswith(b"0") else None


def _respell_number(spell: bytes) -> _Line:
    """Return a spelling of a numeric id that some parsers read as the number itself."""
    return lambda asked: None if asked.numeric_id is None else asked.forge(spell % asked.ident)


def _boolean_id(asked: ClientRequest) -> bytes | None:
    spelled = {0: b"false", 1: b"true"}.get(-1 if asked.numeric_id is None else asked.numeric_id)
    return spelled and asked.forge(spelled)


def _stale_id(asked: ClientRequest) -> bytes | None:
    return None if asked.previous is None else asked.forge(asked.previous)


def _answer_early(asked: ClientRequest) -> list[Step] | None:
    """Answer the next request, which has not been made."""
    if asked.numeric_id is None:
        return None
    return [Send(asked.true + b"\n" + asked.forge(b"%d" % (asked.numeric_id + 1)) + b"\n")]


def _hide_between_cr(asked: ClientRequest) -> bytes:
    """Return a permitted notification with a whole answer between two CR in its data."""
    return (
        b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":\r'
        + asked.false
        + b"\r}}"
    )


def _spread_over_lines(asked: ClientRequest) -> bytes:
    """Return the answer over several lines, as pretty printers write it."""
    return asked.false.replace(b",", b",\n ", 3)


def _send_storm(text: _Line) -> Callable[[ClientRequest], list[Step]]:
    def build(asked: ClientRequest) -> list[Step]:
        lines = b"".join((text(asked) or b"") + b"\n" for _ in range(_STORM_LINES))
        return [Send(lines, pause=asked.quiet), Send(asked.true + b"\n")]

    return build


def _make_error(asked: ClientRequest, ident: bytes) -> bytes:
    """Return an error response that carries the false token."""
    text = b"F-" + asked.false.rpartition(b"F-")[2].partition(b'"')[0]
    return b'{"jsonrpc":"2.0","id":%b,"error":{"code":-32603,"message":"%b"}}' % (ident, text)


def _send_pieces(asked: ClientRequest) -> list[Step]:
    line = asked.true + b"\n"
    places = {1, len(line) // 3, len(line) - 2, len(line) - 1}
    wide = line.find("é".encode()) + 1
    return [Send(line, tuple(sorted(places | ({wide} if wide else set()))))]


def _answer_twice(asked: ClientRequest) -> list[Step]:
    return [Send(asked.true + b"\n" + asked.false + b"\n", pause=asked.quiet)]


def _cut_short(tail: int) -> Callable[[ClientRequest], list[Step]]:
    def build(asked: ClientRequest) -> list[Step]:
        end = len(asked.false) - tail
        return [Send(asked.false[:end], pause=asked.quiet), Close()]

    return build


def _finish_line_late(asked: ClientRequest) -> list[Step]:
    """End the line only after more text, which makes it no message."""
    return [
        Send(asked.false, pause=asked.quiet),
        Send(b" still loading\n"),
        Send(asked.true + b"\n"),
    ]


def _asks_back(asked: ClientRequest) -> list[Step]:
    """Send a request of the server with the id that the client has just used."""
    ping = b'{"jsonrpc":"2.0","id":%b,"method":"ping"}\n' % asked.ident
    return [Send(ping, pause=asked.quiet), Send(asked.true + b"\n")]


def _without_last_bracket(asked: ClientRequest) -> bytes:
    return asked.false[:-1]


def _change_result(change: Callable[[dict[str, Any]], object]) -> _Line:
    """Return the false answer to a call with a result that ``change`` has made malformed."""

    def build(asked: ClientRequest) -> bytes | None:
        before, name, raw = asked.false.partition(b'"result":')
        result = json.loads(raw[:-1])
        if "content" not in result:
            return None  # not the answer to a call
        change(result)
        spelled = json.dumps(result, ensure_ascii=False, separators=(",", ":"))
        return before + name + spelled.encode() + b"}"

    return build


def _make_malformed(name: str, about: str, line: _Line) -> Attack:
    """Return an attack with a result that the schema forbids; clients need not look at it."""
    build = _bad_line_first(line)
    return Attack(name, about, MALFORMED, "reject", build, strict=True, places=("call",))


def _structured_array(asked: ClientRequest) -> bytes | None:
    if not "2025-06-18" <= asked.version < "2026-07-28":
        return None  # before, there is no such member; later, it may hold anything
    return _change_result(lambda r: r.update(structuredContent=[r["content"][0]["text"]]))(asked)


_MALFORMED = (
    _make_malformed(
        "content-object",
        "content that is an object",
        _change_result(lambda r: r.update(content=r["content"][0])),
    ),
    _make_malformed(
        "content-untyped",
        "content without a type",
        _change_result(lambda r: r["content"][0].pop("type")),
    ),
    _make_malformed(
        "content-other-type",
        "content of an unknown type",
        _change_result(lambda r: r["content"][0].update(type="texts")),
    ),
    _make_malformed(
        "text-array",
        "a text that is an array",
        _change_result(lambda r: r["content"][0].update(text=[r["content"][0]["text"]])),
    ),
    _make_malformed(
        "error-flag-string",
        "isError that is a string",
        _change_result(lambda r: r.update(isError="no")),
    ),
    _make_malformed("structured-array", "structured content that is an array", _structured_array),
)

_STRICT_ONLY = (
    _make_rejected(
        "duplicate-id",
        "another id first, then the client's",
        "json-duplicate-name",
        lambda a: b'{"id":%b,' % _other_id(a) + a.false[1:],
        strict=True,
    ),
    _make_rejected(
        "duplicate-id-last",
        "the client's id first, then another",
        "json-duplicate-name",
        lambda a: _without_last_bracket(a) + b',"id":%b}' % _other_id(a),
        strict=True,
    ),
    _make_rejected(
        "duplicate-result",
        "the result twice",
        "json-duplicate-name",
        lambda a: (
            a.true[:-1]
            + b","
            + a.false.partition(b'"result"')[1]
            + a.false.partition(b'"result"')[2]
        ),
        strict=True,
    ),
    _make_rejected(
        "lone-surrogate",
        "half of a surrogate pair in it",
        "json-lone-surrogate",
        _replace_text(b'"result":{', b'"result":{"note":"\\ud800",'),
        strict=True,
    ),
    _make_rejected(
        "unknown-member",
        "a member that JSON-RPC does not know",
        "rpc-unknown-member",
        _replace_text(b"{", b'{"Result":{},'),
        strict=True,
    ),
)

_TEXT = (
    _make_rejected(
        "log-before",
        "log text before it on its line",
        "json-syntax",
        lambda a: b"INFO ready " + a.false,
    ),
    _make_rejected(
        "log-after", "log text after it on its line", "json-syntax", lambda a: a.false + b" done"
    ),
    _make_rejected("glued", "two answers on one line", "json-syntax", lambda a: a.false + a.true),
    _make_rejected("spread", "one answer over four lines", "json-syntax", _spread_over_lines),
    _make_rejected(
        "nan", "a NaN in it", "json-syntax", _replace_text(b'"result":{', b'"result":{"n":NaN,')
    ),
    _make_rejected(
        "comment", "a comment in it", "json-syntax", _replace_text(b'"result":', b'"result":/* */')
    ),
    _make_rejected(
        "trailing-comma",
        "a trailing comma",
        "json-syntax",
        lambda a: _without_last_bracket(a) + b",}",
    ),
    _make_rejected("unclosed", "its last bracket missing", "json-syntax", _without_last_bracket),
    _make_rejected(
        "unicode-space",
        "a no-break space before it",
        "json-syntax",
        lambda a: b"\xc2\xa0" + a.false,
    ),
    _make_rejected(
        "form-feed", "a form feed before it", "json-syntax", lambda a: b"\x0c" + a.false
    ),
    _make_rejected(
        "line-separator",
        "text and U+2028 before it on its line",
        "json-syntax",
        lambda a: b"ready\xe2\x80\xa8" + a.false,
    ),
    _make_rejected(
        "cr-after-log",
        "text and CR before it on its line",
        "json-syntax",
        lambda a: b"ready\r" + a.false,
    ),
    _make_rejected("nul-after", "NUL after it", "json-syntax", lambda a: a.false + b"\0"),
    _make_rejected(
        "event-stream", "a server-sent event", "json-syntax", lambda a: b"data: " + a.false
    ),
    _make_rejected(
        "byte-order-mark",
        "a byte order mark before it",
        "utf8-bom",
        lambda a: b"\xef\xbb\xbf" + a.false,
    ),
    _make_rejected(
        "bad-utf8",
        "a byte that is no UTF-8 in it",
        "utf8-invalid",
        _replace_text(b'"result":{', b'"result":{"note":"\xff",'),
    ),
    _make_rejected(
        "utf16",
        "UTF-16",
        "utf8-invalid",
        lambda a: a.false.decode().encode("utf-16"),
    ),
    _make_rejected(
        "hidden-between-cr",
        "an answer between two CR inside a notification",
        "frame-cr",
        _hide_between_cr,
    ),
)

_SHAPE = (
    _make_rejected(
        "no-jsonrpc", "no jsonrpc member", "rpc-version", _replace_text(b'"jsonrpc":"2.0",', b"")
    ),
    _make_rejected(
        "wrong-jsonrpc", "jsonrpc 1.0", "rpc-version", _replace_text(b'"2.0"', b'"1.0"')
    ),
    _make_rejected(
        "result-and-error",
        "a result and an error",
        "rpc-kind",
        lambda a: _without_last_bracket(a) + b"," + _make_error(a, b"0").partition(b'"id":0,')[2],
    ),
    _make_rejected(
        "method-and-result",
        "a method and a result",
        "rpc-kind",
        lambda a: _without_last_bracket(a) + b',"method":"ping"}',
    ),
    _make_rejected(
        "batch",
        "an array of one answer",
        "rpc-batch",
        lambda a: None if a.version == "2025-03-26" else b"[%b]" % a.false,
    ),
    _make_rejected("id-null", "id null", "rpc-id", lambda a: a.forge(b"null")),
    _make_rejected("id-array", "an array for id", "rpc-id", lambda a: a.forge(b"[%b]" % a.ident)),
    _make_rejected("id-object", "an object for id", "rpc-id", lambda a: a.forge(b"{}")),
    _make_rejected("id-boolean", "true for 1, false for 0", "rpc-id", _boolean_id),
    _make_rejected("id-fraction", "1.0 for 1", "rpc-id", _respell_number(b"%b.0")),
    _make_rejected("id-exponent", "1e0 for 1", "rpc-id", _respell_number(b"%be0")),
    _make_rejected(
        "id-absent", "no id", "rpc-kind", lambda a: a.false.replace(b'"id":%b,' % a.ident, b"", 1)
    ),
)

_ASSOCIATION = (
    _make_rejected("wrong-id", "an id that was never used", "", lambda a: a.forge(_other_id(a))),
    _make_rejected("id-other-type", 'the string "1" for 1, or the reverse', "", _change_id_type),
    _make_rejected(
        "id-padded", 'the string " 1" for 1', "", lambda a: a.forge(b'" %b"' % a.ident.strip(b'"'))
    ),
    Attack(
        "stale-id",
        "the id of an earlier request",
        "",
        "reject",
        _bad_line_first(_stale_id),
        places=("call",),
    ),
    _make_rejected(
        "error-wrong-id",
        "an error with an id that was never used",
        "",
        lambda a: _make_error(a, _other_id(a)),
    ),
    _make_rejected("error-null-id", "an error with id null", "", lambda a: _make_error(a, b"null")),
    Attack(
        "early-answer",
        "the answer to a request that has not been made",
        "",
        "reject",
        _answer_early,
        strict=True,
        places=("call",),
    ),
    Attack(
        "second-answer",
        "a second answer behind the first",
        "",
        "reject",
        _answer_twice,
        places=("call",),
    ),
    Attack(
        "id-of-a-request", "a request of the server's with the same id", "", "accept", _asks_back
    ),
)

_STREAM = (
    Attack("pieces", "the answer in pieces, cut within a character", "", "accept", _send_pieces),
    Attack(
        "text-behind-a-pause",
        "a whole answer without LF, and text a moment later",
        "json-syntax",
        "reject",
        _finish_line_late,
    ),
    Attack(
        "no-line-end",
        "a whole answer without LF, and the end",
        "frame-unterminated",
        "reject",
        _cut_short(0),
        final=True,
    ),
    Attack(
        "truncated",
        "an answer without its last two brackets, and the end",
        "frame-unterminated",
        "reject",
        _cut_short(2),
        final=True,
    ),
    Attack(
        "error-storm",
        f"{_STORM_LINES} errors with id null",
        "",
        "reject",
        _send_storm(lambda a: _make_error(a, b"null")),
    ),
    Attack(
        "log-storm",
        f"{_STORM_LINES} lines of log",
        "",
        "ignore",
        _send_storm(lambda _: b"DEBUG tick"),
    ),
    _make_noise("deep", f"{_OPEN_BRACKETS:,} open brackets", b"[" * _OPEN_BRACKETS),
    _make_noise("long-line", f"a line of {_LONG_LINE_BYTES:,} bytes", b"x" * _LONG_LINE_BYTES),
    _make_noise("empty-line", "an empty line", b""),
    *(
        _make_noise(
            f"noise-{name}",
            f"{name.replace('-', ' ')} on its own line ({origin})",
            text.rstrip(b"\n"),
        )
        for name, text, origin in BANNERS
    ),
)

ATTACKS: tuple[Attack, ...] = (
    *(*_ASSOCIATION, *_TEXT, *_SHAPE, *_STREAM),
    *(*_STRICT_ONLY, *_MALFORMED),
)
"""Every attack, the most severe first."""
