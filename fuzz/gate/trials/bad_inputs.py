"""The catalogue of bad inputs that break real servers.

Each is made of a good call in the grammar's abstract words, so that it acts if a server accepts it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from wirefence.fuzz.gate.trials.messages import TrialNames
from wirefence.strategies.records import VERSIONS

__all__ = ["DANGEROUS", "REJECTED_HANDSHAKES", "UGLY", "VERSION_VALUES"]

VERSION_VALUES: tuple[tuple[str, bytes], ...] = (
    *((version, b'"%b"' % version.encode()) for version in VERSIONS),
    ("unknown", b'"1.0"'),
    ("future", b'"2099-12-31"'),
    ("empty", b'""'),
    ("spaced", b'" 2025-06-18 "'),
    ("draft", b'"DRAFT-2025-v1"'),
    ("null", b"null"),
    ("number", b"20250618"),
    ("fraction", b"2025.0618"),
    ("array", b'["2025-06-18"]'),
    ("object", b"{}"),
    ("true", b"true"),
    ("absent", b""),
)
"""Values of ``protocolVersion`` in ``initialize``: a name, and the raw JSON value."""


Ugly = Callable[[bytes, bytes, TrialNames], bytes]
"""Makes bytes from a good call without its LF, another such call, and the trial's names."""


def _bad_params(_good: bytes, _other: bytes, names: TrialNames) -> bytes:
    text = b'{"jsonrpc":"2.0","id":%b,"method":"tools/call","params":["record",{"action":"%b"}]}\n'
    return text % (names.request_id("t"), names.action_name("t").encode())


UGLY: tuple[tuple[str, Ugly], ...] = (
    ("ugly-debug-line", lambda _good, _other, _names: b"DEBUG:server:loading plugins\n"),
    ("ugly-banner-glued", lambda good, _other, _names: good + b"Server listening on stdio\n"),
    ("ugly-truncated-eof", lambda good, _other, _names: good[:-3]),
    ("ugly-two-objects", lambda good, other, _names: good + other + b"\n"),
    ("ugly-malformed-params", _bad_params),
)
"""The five ugly inputs: a log line and then a valid request, a banner behind a request, an object
cut short by the end of stdin, two objects with nothing between them, malformed params."""

_ID = re.compile(rb'"id":"[^"]*",')

REJECTED_HANDSHAKES: tuple[tuple[str, Callable[[bytes], bytes]], ...] = (
    ("gate-trailing-brace", lambda raw: raw + b"}"),
    ("gate-truncated", lambda raw: raw[:-1]),
    ("gate-no-id", lambda raw: _ID.sub(b"", raw, count=1)),
    ("gate-no-version", lambda raw: raw.replace(b'"protocolVersion":', b'"protocol":', 1)),
    ("gate-params-array", lambda raw: raw.replace(b'"params":{', b'"params":[{', 1)[:-1] + b"]}"),
    ("gate-wrong-jsonrpc", lambda raw: raw.replace(b'"2.0"', b'"1.0"', 1)),
    ("gate-no-client", lambda raw: raw.replace(b'"clientInfo"', b'"client"', 1)),
)

"""Ways to damage an ``initialize`` so that it must be rejected."""

_Text = Callable[[bytes, TrialNames], bytes | None]


def _replace_text(old: bytes, new: bytes) -> _Text:
    return lambda good, _names: good.replace(old, new, 1) if old in good else None


def _replace_params(good: bytes, names: TrialNames) -> bytes | None:
    """Put the action's name in place of the params, which are the last member of a call."""
    head, params, _ = good.partition(b'"params":{')
    return b'%b"params":"%b"}' % (head, names.action_name("t").encode()) if params else None


def _with_id(token: bytes) -> _Text:
    return lambda good, names: good.replace(b'"id":' + names.request_id("t"), b'"id":' + token, 1)


DANGEROUS: tuple[tuple[str, _Text], ...] = (
    ("danger-id-true", _with_id(b"true")),
    ("danger-id-fraction", _with_id(b"1.0")),
    ("danger-id-null", _with_id(b"null")),
    ("danger-id-array", _with_id(b"[1]")),
    ("danger-id-huge", _with_id(b"1e2")),
    (
        "danger-no-id",
        lambda good, names: good.replace(b'"id":' + names.request_id("t") + b",", b"", 1),
    ),
    ("danger-params-string", _replace_params),
    ("danger-arguments-array", _replace_text(b'"arguments":{', b'"arguments":[],"data":{')),
    ("danger-arguments-string", _replace_text(b'"arguments":{', b'"arguments":"{}","data":{')),
    ("danger-arguments-null", _replace_text(b'"arguments":{', b'"arguments":null,"data":{')),
    ("danger-name-padded", _replace_text(b'"name":"record"', b'"name":" record "')),
    ("danger-name-array", _replace_text(b'"name":"record"', b'"name":["record"]')),
    ("danger-method-case", _replace_text(b"tools/", b"Tools/")),
    ("danger-method-nul", _replace_text(b'"tools/call"', b'"tools/call\\u0000"')),
    ("danger-nan", _replace_text(b'"params":{', b'"params":{"ttl":NaN,')),
    ("danger-hybrid", _replace_text(b'"params":{', b'"result":{},"params":{')),
)
"""Requests whose kind is easily mistaken, and valid requests that must not be executed."""
