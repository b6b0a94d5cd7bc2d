"""Raw JSON values that every reader must understand alike, and the ``_meta`` that carries them.

A good call is only a good control if it is not always spelled the same way, so
the spellings vary here within what the strict profile of the contract accepts.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from wirefence.strategies.contract import ArgumentType, Contract
from wirefence.strategies.records import Version
from wirefence.strategies.source import Source

__all__ = ["GENERATORS", "OPERATOR", "dump", "identifier", "meta", "string", "token_meta"]

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

_STRINGS: tuple[bytes, ...] = (
    b'""',
    b'"a"',
    b'"x"',
    b'"hello"',
    b'"/srv/data/report.txt"',
    b'"https://example.org/a?b=1&c=%20"',
    b'"db-1.example.org"',
    b'"uptime"',
    b'"line one\\nline two\\ttabbed"',
    b'"quote \\" backslash \\\\ solidus \\/ and /"',
    b'"\\u0061\\u0041\\u00e9\\u20AC"',
    b'"\\ud83d\\ude00 \\uD83D\\uDE00"',
    b'"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"',
    b'"e\xcc\x81"',
    b'"\xe2\x80\xa8\xe2\x80\xa9\xc2\x85"',
    b'"\\u0000"',
    b'"\x7f"',
    b'"\xef\xbb\xbf\xef\xbf\xbe"',
    b'"{\\"jsonrpc\\":\\"2.0\\"}"',
    b'"null"',
    b'"1e400"',
    b'"__proto__"',
)
_INTEGERS: tuple[bytes, ...] = (
    *(b"0", b"1", b"-1", b"7", b"42", b"-0", b"255", b"65536", b"2147483647", b"-2147483648"),
    *(b"4294967296", b"9007199254740991", b"-9007199254740991"),
)
_NUMBERS: tuple[bytes, ...] = (
    *(b"0", b"1", b"0.5", b"-0.0", b"0e0", b"0.0E-0", b"1.0", b"-1.5", b"1e2", b"1E+2", b"10e-1"),
    *(b"3.141592653589793", b"0.1", b"1e308", b"1.7976931348623157e308", b"5e-324", b"1e-07"),
    *(b"2.2250738585072014e-308", b"123456789.123456789e-5", b"9007199254740991"),
)
_OBJECTS: tuple[bytes, ...] = (
    *(b"{}", b'{"a":1}', b'{"a":{"b":[true,false,null]}}', b'{"action":"not-this-one"}'),
    *(b'{"":0}', b'{"A":1,"a":2}', b'{"__proto__":{"x":1}}', b'{ "a" :\t[ ] }'),
    *(b'{"n":1.5,"s":"\\u0000","deep":[[[[{}]]]]}', b'{"method":"tools/call","id":1}'),
)
_SMALL_TEXT = 12


def dump(value: object) -> bytes:
    """``value`` as compact JSON in UTF-8; raises as :func:`json.dumps` does."""
    return _encode(value).encode()


def string(source: Source) -> bytes:
    """A JSON string with its quotes: usually a telling one, sometimes an arbitrary one."""
    return dump(source.text(_SMALL_TEXT)) if source.chance(1, 8) else source.choice(_STRINGS)


def identifier(source: Source) -> bytes:
    """A request id or progress token: an integer token, or a string."""
    token = source.choice(_INTEGERS)
    # -0 and 0 are two spellings of one id, which the contract refuses.
    return string(source) if token == b"-0" or source.chance(1, 3) else token


def _integer(source: Source) -> bytes:
    if source.chance(1, 4):
        return b"%d" % source.integer(-(2**53) + 1, 2**53 - 1)
    return source.choice(_INTEGERS)


def _number(source: Source) -> bytes:
    if source.chance(1, 4):
        return b"%d.%dE%d" % (
            source.integer(-999, 999),
            source.integer(0, 99),
            source.integer(-290, 290),
        )
    return source.choice(_NUMBERS)


def _boolean(source: Source) -> bytes:
    return b"true" if source.chance(1, 2) else b"false"


def _array(source: Source) -> bytes:
    return b"[%b]" % b",".join([string(source) for _ in range(source.integer(0, 3))])


def _object(source: Source) -> bytes:
    return source.choice(_OBJECTS)


GENERATORS: dict[ArgumentType, Callable[[Source], bytes]] = {
    "string": string,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "array": _array,
    "object": _object,
}
"""What makes a value of each type that a tool argument can have, all within the strict profile."""

_PREFIX = b'"io.modelcontextprotocol/'
_ICON = (
    b'{"src":"data:image/png;base64,AA==","mimeType":"image/png","sizes":["any"],"theme":"dark"}'
)
_PLAIN_INFO = b'{"name":"wirefence","version":"1"}'
_WHOLE_INFO = (
    b'{"name":"wirefence","version":"1","title":"t","description":"d",'
    b'"websiteUrl":"https://example.com/","icons":[%b]}' % _ICON
)
_WHOLE_CAPABILITIES = (
    b'{"experimental":{"x":{}},"extensions":{"org.example/x":{}},"roots":{},'
    b'"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}}}'
)


def _carry(capabilities: bytes, *more: bytes) -> bytes:
    """Return the members that a request of 2026-07-28 carries, ``more`` being raw ones."""
    members = (b'protocolVersion":"2026-07-28"', b'clientCapabilities":' + capabilities, *more)
    return b",".join(_PREFIX + member for member in members)


_CARRIED: tuple[bytes, ...] = (
    *(
        _carry(capabilities, *info)
        for capabilities in (b"{}", b'{"sampling":{},"roots":{}}', b'{"elicitation":{"form":{}}}')
        for info in ((), (b'clientInfo":' + _PLAIN_INFO,))
    ),
    _carry(_WHOLE_CAPABILITIES, b'clientInfo":' + _WHOLE_INFO, b'logLevel":"info"'),
)
_TOKEN = b'"wirefence/token":'
_MORE = ("",) * 12 + ("progress",) * 3 + ("empty",)
OPERATOR = dump(Contract().token)


def token_meta(token: bytes) -> bytes:
    """The ``_meta`` member that names the caller; ``token`` is a raw JSON string."""
    return _TOKEN + token


def meta(source: Source, version: Version, *extra: bytes) -> bytes:
    """A raw ``_meta`` object for a request of ``version``, or ``b""`` where none is needed.

    From 2026-07-28 each request carries protocol version and client capabilities. ``extra`` are
    raw members to add.
    """
    members = [source.choice(_CARRIED)] if version >= "2026-07-28" else []
    members += extra
    more = source.choice(_MORE)
    if more == "progress":
        members.append(b'"progressToken":' + identifier(source))
    return b"{%b}" % b",".join(members) if members or more else b""
