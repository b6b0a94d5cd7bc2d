"""What a target took a frame for that it had to reject: the cause of a finding, by name.

The key insight: a rule says what is wrong with a frame, not what the target read instead, and one
lenient reading breaks different rules at different places. So the reading is put to the test: a
finding is due to it if the input holds a spelling of it, the finding goes when that is spelled
lawfully, and the target reads the same spelling so in a plain request as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from wirefence.oracles.records import FrameVerdict
from wirefence.oracles.session import judge_session
from wirefence.oracles.spellings import name_broken_rule
from wirefence.strategies.contract import Contract
from wirefence.strategies.records import Case, Version

__all__ = [
    "READINGS",
    "Reading",
    "accepted",
    "call",
    "first_rejected",
    "good",
    "kind_of",
    "readings_in",
    "rejected",
    "request",
    "to_refuse",
]

_Spelling = Callable[[bytes], "re.Match[bytes] | None"]


@dataclass(frozen=True, slots=True)
class Reading:
    """A lenient reading.

    ``spelled`` finds a spelling of it in a frame (with its LF, if it has one), ``lawful`` makes the
    frame lawful in this respect. ``plain`` is a session in which a request is spelled so. Both look
    at all of a session if it is ``whole``.
    """

    name: str
    spelled: _Spelling
    lawful: Callable[[bytes], bytes]
    plain: Callable[[bytes, Version], bytes]
    whole: bool = False


_DECODER = json.JSONDecoder(parse_int=float)
_SPACES = "\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_ENDS = re.compile(rb"[\r\x0b\x0c\x1c-\x1e]|\xc2\x85|\xe2\x80[\xa8\xa9]")
_SPACE = re.compile(
    rb"^[ \t\r]*(?:%b)|(?:%b)[ \t\r]*\n?$" % ((b"|".join(c.encode() for c in _SPACES),) * 2)
)
_NAMES = (b"jsonrpc", b"id", b"method", b"params", b"result", b"error", b"name", b"arguments")
_FOLDED = re.compile(rb'"(?!(?:%b)")(?i:%b)"(?=\s*:)' % ((b"|".join(_NAMES),) * 2))
_TEXT = re.compile(rb'(?<="params":|guments":)\s*"(?:[^"\\\n]|\\.)*"')
_ARGUMENTS = re.compile(rb'"arguments":\{[^{}\n]*\}')
_SCALAR = re.compile(rb'(?<=":)(?:-?[0-9][0-9.eE+-]*|true|false|"-?[0-9]+")(?=[,}])')
_REAL = re.compile(
    rb"(?<![0-9.])[0-9]+(?:\.[0-9]{300,}|(?:\.[0-9]+)?[eE][+-]?[0-9]{3,})(?:[eE][+-]?[0-9]+)?"
)
_INTEGER = re.compile(rb"(?<![0-9.])[0-9]{16,}(?![0-9.eE])")
# Only the tail takes brackets by the run: `re` keeps state for each turn of a group.
_DEEP = re.compile(rb'(?:\[|\{"[^"\\\n]*":){100}(?:\[+|\{"[^"\\\n]*":)*[^\[\]{}\n]*[\]}]*')
_SURROGATE = re.compile(rb"(?i:\\ud[89a-f][0-9a-f]{2})")
_HANDSHAKE = re.compile(
    rb'^[^\n]*"(?:notifications/initialized|initialize)"[^\n]*\n?', re.MULTILINE
)
_NO_HANDSHAKE = re.compile(rb'\A(?:(?![\s\S]*"notifications/initialized")|(?![\s\S]*"initialize"))')
_READY = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'


def request(version: Version, ident: int = 0) -> bytes:
    """A good request that may come first in a session, without LF."""
    message: dict[str, object] = {"jsonrpc": "2.0", "id": ident}
    if version == "2026-07-28":
        prefix = "io.modelcontextprotocol/"
        meta = {f"{prefix}protocolVersion": version, f"{prefix}clientCapabilities": {}}
        message |= {"method": "server/discover", "params": {"_meta": meta}}
    else:
        client = {"name": "", "version": ""}
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
        message |= {"method": "initialize", "params": params}
    return json.dumps(message, separators=(",", ":")).encode()


def _second(version: Version) -> bytes:
    if version == "2026-07-28":
        return request(version, 1)
    return b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def _after_value(frame: bytes) -> re.Match[bytes] | None:
    """What stands after the first JSON value of a frame, other than white space."""
    text = frame.decode("latin-1")
    start = len(text) - len(text.lstrip(" \t"))
    try:
        _, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return re.compile(rb"[ \t]*[^ \t\n].*").match(frame, end)


def _cut(frame: bytes) -> bytes:
    tail = _after_value(frame)
    return frame if tail is None else frame[: tail.start()] + b"\n"


def _as_text(_spelling: bytes, version: Version) -> bytes:
    message = json.loads(request(version))
    message["params"] = json.dumps(message["params"])
    return json.dumps(message).encode() + b"\n"


def _with_member(value: bytes) -> Callable[[bytes, Version], bytes]:
    """A request with an odd number in a place where any value may stand."""

    def plain(_spelling: bytes, version: Version) -> bytes:
        head, rest = request(version).split(b'"params":{', 1)
        if b'"_meta":{' in rest:
            return head + b'"params":{' + rest.replace(b"{", b'{"x":%b,' % value, 1) + b"\n"
        return head + b'"params":{"_meta":{"x":%b},' % value + rest + b"\n"

    return plain


def _call(_spelling: bytes, version: Version) -> bytes:
    return call(version, 0)


def call(version: Version, action: object, before: bytes = b"") -> bytes:
    """A session with one call, and with other lines before that."""
    made = json.loads(request(version, 1)) | {"method": "tools/call"}
    meta = made["params"].get("_meta")
    made["params"] = {"name": "record", "arguments": {"action": action}}
    made["params"] |= {"_meta": meta} if meta else {}
    between = b"" if version == "2026-07-28" else _READY
    return request(version) + b"\n" + between + before + json.dumps(made).encode() + b"\n"


def good(version: Version) -> bytes:
    """A session in which all is good."""
    opening = request(version) + b"\n"
    if version == "2026-07-28":
        return opening
    return opening + _READY + b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'


def to_refuse(version: Version) -> bytes:
    """A good session with a request at its end that is to be answered with an error."""
    method = b"server/discover" if version == "2026-07-28" else b"initialize"
    return good(version) + request(version, 9).replace(method, b"a") + b"\n"


def _arguments(frame: bytes) -> re.Match[bytes] | None:
    inside = _ARGUMENTS.search(frame)
    return _SCALAR.search(frame, inside.start(), inside.end()) if inside else None


def _no_scalars(frame: bytes) -> bytes:
    return _ARGUMENTS.sub(lambda hit: _SCALAR.sub(b'"a"', hit.group()), frame)


def _with_handshake(session: bytes) -> bytes:
    return request("2025-11-25", 987654321) + b"\n" + _READY + _HANDSHAKE.sub(b"", session)


_IDS = {b"0.5": rb"-?[0-9]+\.[0-9eE+-]+", b"true": rb"true|false", b"null": rb"null"}


def _for_id(name: str, value: bytes) -> Reading:
    spelled = re.compile(rb'(?<="id":)\s*(?:%b)' % _IDS[value])
    return Reading(
        f"{name} for ids",
        spelled.search,
        lambda frame: spelled.sub(b"0", frame),
        lambda _spelling, version: request(version).replace(b'"id":0', b'"id":' + value) + b"\n",
    )


class _Once:
    """Keeps the first match of each text."""

    def __init__(self) -> None:
        self.met: set[bool] = set()

    def __call__(self, hit: re.Match[bytes]) -> bytes:
        opens = b'"initialize"' in hit.group()
        first = opens not in self.met
        self.met.add(opens)
        return hit.group() if first else b""


READINGS: tuple[Reading, ...] = (
    Reading(
        "more after a value",
        _after_value,
        _cut,
        lambda _spelling, version: request(version) + b"0\n",
    ),
    Reading(
        "another end of line",
        _ENDS.search,
        lambda frame: _ENDS.sub(b"", frame),
        lambda spelling, version: request(version) + spelling + _second(version) + b"\n",
    ),
    Reading(
        "other white space",
        _SPACE.search,
        lambda frame: _SPACE.sub(lambda hit: b"\n" * hit.group().endswith(b"\n"), frame),
        lambda _spelling, version: "\u3000".encode() + request(version) + b"\n",
    ),
    Reading(
        "the end of stdin for an end of line",
        re.compile(rb"\Z").search,
        lambda session: session + b"\n",
        lambda _spelling, version: request(version),
        whole=True,
    ),
    Reading(
        "names in any case",
        _FOLDED.search,
        lambda frame: _FOLDED.sub(lambda hit: hit.group().lower(), frame),
        lambda _spelling, version: request(version).replace(b'"method"', b'"Method"') + b"\n",
    ),
    Reading(
        "text for an object",
        _TEXT.search,
        lambda frame: _TEXT.sub(b"{}", frame),
        _as_text,
    ),
    Reading("arguments of another type", _arguments, _no_scalars, _call),
    Reading(
        "fractions beyond binary64",
        _REAL.search,
        lambda frame: _REAL.sub(b"0", frame),
        _with_member(b"1e400"),
    ),
    Reading(
        "integers beyond 2^53",
        _INTEGER.search,
        lambda frame: _INTEGER.sub(b"0", frame),
        _with_member(b"9007199254740993"),
    ),
    Reading(
        "deeper nesting",
        _DEEP.search,
        lambda frame: _DEEP.sub(b"0", frame),
        _with_member(b"[" * 128 + b"]" * 128),
    ),
    Reading(
        "lone surrogates",
        _SURROGATE.search,
        lambda frame: _SURROGATE.sub(b"a", frame),
        _with_member(b'"\\ud800"'),
    ),
    *(
        _for_id(*each)
        for each in (("fractions", b"0.5"), ("true or false", b"true"), ("null", b"null"))
    ),
    Reading(
        "a second initialize",
        re.compile(rb'(?m)^[^\n]*"initialize"[^\n]*\n[\s\S]*^[^\n]*"initialize"[^\n]*$').search,
        lambda session: _HANDSHAKE.sub(_Once(), session),
        lambda _spelling, version: request(version) + b"\n" + request(version, 1) + b"\n",
        whole=True,
    ),
    Reading(
        "requests without a handshake",
        _NO_HANDSHAKE.search,
        _with_handshake,
        lambda _spelling, _version: b'{"jsonrpc":"2.0","id":0,"method":"tools/list"}\n',
        whole=True,
    ),
)
"""Every lenient reading that breaks more than one rule, most telling first."""


def first_rejected(case: Case) -> FrameVerdict | None:
    """The first frame that has to be rejected, else the first that has to be refused."""
    return next(iter(rejected(case)), None)


def rejected(case: Case) -> list[FrameVerdict]:
    """The frames that have to be rejected, else the first that has to be refused."""
    judgement = judge_session(case.data, Contract(version=case.version, policy="continue"))
    odd = [frame for frame in judgement.frames if frame.rule]
    return [each for each in odd if each.reply == "optional-error"] or odd[:1]


def accepted(case: Case) -> list[FrameVerdict]:
    """The frames in which all is good, though a server may read something else in them."""
    judgement = judge_session(case.data, Contract(version=case.version, policy="continue"))
    return [frame for frame in judgement.frames if frame.accepted]


def kind_of(case: Case, frame: FrameVerdict) -> str:
    """What is wrong with a frame: its rule, and what of it if that is wide."""
    raw = case.data[frame.start : frame.end].removesuffix(b"\n")
    return name_broken_rule(frame.rule, raw)


def readings_in(case: Case, frame: FrameVerdict | None) -> Iterator[tuple[Reading, bytes, bytes]]:
    """Readings of which a frame, or the session, holds a spelling: that, and all made lawful."""
    whole = 0, len(case.data)
    for each in READINGS:
        start, end = (frame.start, frame.end) if frame and not each.whole else whole
        raw = case.data[start:end]
        hit = each.spelled(raw)
        if hit is None:
            continue
        data = case.data[:start] + each.lawful(raw) + case.data[end:]
        if data != case.data:
            yield each, hit.group(), data
