"""Good frames for a server that is known only from outside, and the names that trace them.

The grammar damages one abstract call, ``record`` with an ``action``. A frame is damaged in those
words and then reworded for the server's tool, so a call that the damage hides is one that the
server would execute. Words of the user that equal an abstract word are spelled with an escape, so
that rewording never changes them.
"""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass, field, replace

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.gate.records import NominatedTool
from wirefence.strategies.records import Frame, Version

__all__ = [
    "COMMON_NUMBER",
    "INITIALIZED",
    "OUR_NUMBER",
    "TOKEN",
    "ToolWording",
    "TrialNames",
    "ends_trial",
    "make_good_request",
    "make_initialize",
    "make_listing",
    "make_ping",
    "make_tools_list",
    "number_of",
    "numbers_in",
    "rename_part",
    "rename_tokens",
    "stem_of",
    "strip_names",
    "tokens_in",
]

STATELESS = "2026-07-28"
INITIALIZED = Frame(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
COMMON_NUMBER, OUR_NUMBER = 65_535_999_998, 65_535_999_999
"""The number of the names under which equal trials are judged once, and that of requests which
belong to no trial, such as a ping for liveness."""
TOKEN = re.compile(rb"wf([0-9a-f]{4}c\d{6})([a-z]+)")
_STEM = 13
"""Bytes of what all names of a trial begin with."""
_FIRST_PART, _PARTS_OF_ONE = 30_000_000_000, 1_024
"""Numbers of trials that are parts of another one's session begin here, so many for each."""
_RUN = secrets.randbelow(1 << 16)
_NUMBERS_PER_RUN = 1_000_000
"""Numbers that six digits can tell apart; further ones get another run id."""
_META = (
    b'"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    b'"io.modelcontextprotocol/clientCapabilities":{}}'
)
_GOOD_PARAMS = {
    "completion/complete": (
        b'"ref":{"type":"ref/prompt","name":"none"},"argument":{"name":"none","value":""}'
    ),
    "logging/setLevel": b'"level":"error"',
    "prompts/get": b'"name":"none","arguments":{"none":""}',
    "prompts/list": b'"cursor":""',
    "resources/list": b'"cursor":""',
    "resources/read": b'"uri":"wirefence:none"',
    "resources/subscribe": b'"uri":"wirefence:none"',
    "resources/templates/list": b'"cursor":""',
    "resources/unsubscribe": b'"uri":"wirefence:none"',
    "tasks/cancel": b'"taskId":"none"',
    "tasks/get": b'"taskId":"none"',
    "tasks/list": b'"cursor":""',
    "tasks/result": b'"taskId":"none"',
    "tools/list": b'"cursor":""',
}
"""Params that are well-formed, and change nothing."""
_ABSTRACT = re.compile(rb'\{"action":"(wf[0-9a-z]*)"\}')
_ACTION = re.compile(rb'"(action|ACTION|Action|\\u0061ction)"(?::"(wf[0-9a-z]*)")?')
_NAME = re.compile(rb'"(?:record|admin_reset)"')
_WORDS = re.compile(rb'("(?:record|admin_reset|action|ACTION|Action|\\u0061ction))"')
_CALL = re.compile(
    rb'"method":"tools/call","params":\{("_meta":\{[^{}]*\{\}\},)?'
    rb'"name":"(?:record|admin_reset)","arguments":\{"action":"wf[0-9a-z]*"\}\}'
)


def stem_of(number: int) -> bytes:
    """Return the common beginning of all names of one trial."""
    rounds, rest = divmod(number, _NUMBERS_PER_RUN)
    return b"wf%04xc%06d" % ((_RUN + rounds) % (1 << 16), rest)


def number_of(numbered: bytes) -> int:
    """Return the trial whose names hold these 11 bytes: the run and the number in it."""
    return (int(numbered[:4], 16) - _RUN) % (1 << 16) * _NUMBERS_PER_RUN + int(numbered[5:])


@dataclass(frozen=True, slots=True)
class TrialNames:
    """The names of one trial: action names and request ids that nothing else uses.

    A role is a lower-case letter: ``t`` the frame that is damaged, ``p`` the probe after it, ``s``
    the sentinel, ``h`` the handshake.
    """

    number: int
    stem: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "stem", stem_of(self.number))

    def action_name(self, role: str) -> str:
        return self.stem.decode() + role

    def request_id(self, role: str) -> bytes:
        """Return a raw id; it ends in ``i``, so that no echo of an action equals it."""
        return b'"%b%bi"' % (self.stem, role.encode())


def tokens_in(raw: bytes) -> set[bytes]:
    """Return every name of ours in some bytes, whole."""
    return {match.group() for match in TOKEN.finditer(raw)}


def rename_part(raw: bytes, number: int, place: int, whole: int) -> bytes:
    """Return the bytes of one trial as a part of the session of another one.

    The names of ``number`` become names that belong to this place in ``whole``. Their length stays:
    a recorder that sees a file grow looks at its new end only.
    """
    return raw.replace(stem_of(number), stem_of(_part_number(whole, place)))


def _part_number(whole: int, place: int) -> int:
    return _FIRST_PART + whole * _PARTS_OF_ONE + place


def ends_trial(ident: bytes) -> bool:
    """Whether an id is that of a sentinel, the last request of a trial."""
    found = TOKEN.fullmatch(ident)
    return found is not None and found[2] == b"si"


def numbers_in(raw: bytes) -> list[int]:
    """Return the trials whose names are in some bytes, in order."""
    return [number_of(match[1]) for match in TOKEN.finditer(raw)]


def strip_names(raw: bytes) -> bytes:
    """Return the bytes with the run and number of every name made equal."""
    return TOKEN.sub(rb"wf0000c000000\2", raw)


def rename_tokens(raw: bytes, number: int) -> bytes:
    """Return the bytes under the names of another trial; their length stays.

    Names of several trials stay different: the last one is the trial itself, others are its parts.
    """
    stems = list(dict.fromkeys(match.group()[:_STEM] for match in TOKEN.finditer(raw)))
    own = next((m.group()[:_STEM] for m in reversed(list(TOKEN.finditer(raw)))), b"")
    parts = (stem for stem in stems if stem != own)
    named = {stem: stem_of(_part_number(number, place)) for place, stem in enumerate(parts)}
    named[own] = stem_of(number)
    return TOKEN.sub(lambda match: named[match.group()[:_STEM]] + match[2], raw)


def _make_request(ident: bytes, method: bytes, params: bytes = b"") -> bytes:
    tail = b',"params":' + params if params else b""
    return b'{"jsonrpc":"2.0","id":%b,"method":"%b"%b}\n' % (ident, method, tail)


def make_initialize(version: bytes, ident: bytes) -> Frame:
    """Return an ``initialize`` whose ``protocolVersion`` is the raw JSON value ``version``."""
    named = b'"protocolVersion":%b,' % version if version else b""
    params = b'{%b"capabilities":{},"clientInfo":{"name":"wirefence","version":"1"}}' % named
    return Frame(_make_request(ident, b"initialize", params))


def make_ping(version: Version, ident: bytes) -> Frame:
    """Return the cheapest request that every server must answer."""
    if version == STATELESS:
        return Frame(_make_request(ident, b"server/discover", b"{%b}" % _META))
    return Frame(_make_request(ident, b"ping"))


def make_tools_list(version: Version, ident: bytes, nonce: str = "") -> Frame:
    """Return a ``tools/list``."""
    return replace(make_listing(version, "tools/list", ident), nonce=nonce)


def make_listing(version: Version, method: str, ident: bytes, cursor: str = "") -> Frame:
    """Return a request for the first page of a list, or for the one that a cursor names."""
    members = [_META] if version == STATELESS else []
    members += [b'"cursor":' + json.dumps(cursor).encode()] if cursor else []
    params = b"{%b}" % b",".join(members) if members else b""
    return Frame(_make_request(ident, method.encode(), params))


def make_good_request(
    version: Version, method: str, names: TrialNames, wording: ToolWording
) -> Frame | None:
    """Return a request that is well-formed for a method; ``None`` for one without params.

    A call is in abstract words. What it asks for need not exist. Role ``t``: it is to be damaged.
    """
    if method == "tools/call":
        called = wording.make_call(version, names.request_id("t"), names.action_name("t"))
        return called if wording.tool else None
    if method not in _GOOD_PARAMS:
        return None
    members = [*([_META] if version == STATELESS else []), _GOOD_PARAMS[method]]
    params = b"{%b}" % b",".join(members)
    raw = _make_request(names.request_id("t"), method.encode(), params)
    return Frame(raw, names.action_name("t"))


@dataclass(frozen=True, slots=True)
class ToolWording:
    """Rewords the abstract call as a call of the server's tool.

    Words of the user that equal an abstract word have their last letter escaped, which JSON reads
    as the same string: damage to sent bytes is reworded twice.

    ``key`` is the argument whose string value holds ``{nonce}``; ``""`` where none does (then the
    arguments are constant, or hold the name deeper). ``value`` is that string. ``others`` are the
    remaining members, raw. Without a nominated tool, ``tools/list`` replaces the call.
    """

    tool: bytes = b""
    key: str = ""
    value: str = ""
    others: tuple[bytes, ...] = ()
    whole: str = ""

    @classmethod
    def of(cls, nominee: NominatedTool | None) -> ToolWording:
        """Return the wording for a nominated tool.

        Raises UsageError for arguments that are no JSON object.
        """
        if nominee is None:
            return cls()
        members = _parse_arguments(nominee)
        tool = json.dumps(nominee.name).encode()
        key = next(
            (k for k, v in members.items() if isinstance(v, str) and "{nonce}" in v and k), ""
        )
        others = tuple(
            _escape_abstract_words(
                b"%b:%b" % (json.dumps(name).encode(), json.dumps(value).encode())
            )
            for name, value in members.items()
            if name != key
        )
        whole = _escape_abstract_words(json.dumps(members).encode()).decode()
        return cls(tool, key, str(members.get(key, "")), others, whole)

    def make_call(self, version: Version, ident: bytes, nonce: str, meta: bytes = b"") -> Frame:
        """Return a good call in abstract words, to be damaged and then reworded."""
        if not self.tool:
            return make_tools_list(version, ident, nonce)
        base = _META[:-1] + (b"," + meta if meta else b"") + b"}" if version == STATELESS else b""
        carried = base or (b'"_meta":{%b}' % meta if meta else b"")
        members = [carried] if carried else []
        members += [b'"name":"record"', b'"arguments":' + self._abstract_arguments(nonce)]
        return Frame(_make_request(ident, b"tools/call", b"{%b}" % b",".join(members)), nonce)

    def _abstract_arguments(self, nonce: str) -> bytes:
        if not self.key:
            return self._fixed_arguments(nonce)
        name = nonce.encode()
        others = [member.replace(b"{nonce}", name) for member in self.others]
        return b"{%b}" % b",".join([*others, b'"action":"%b"' % name])

    def _fixed_arguments(self, nonce: str) -> bytes:
        return self.whole.replace("{nonce}", nonce).encode()

    def reword_calls(self, raw: bytes) -> bytes:
        """Return the bytes with every abstract call, whole or damaged, in the server's words."""
        if not self.tool:
            return _CALL.sub(_make_list_call, raw)
        if not _WORDS.search(raw):  # true of most frames, and this is called often
            return raw
        raw = _ABSTRACT.sub(lambda match: self._server_arguments(match[1].decode()), raw)
        if self.key and (self.key, self.value) != ("action", "{nonce}"):
            raw = _ACTION.sub(self._server_member, raw)
        called = self.tool if _NAME.fullmatch(self.tool) else _escape_abstract_words(self.tool)
        return _NAME.sub(lambda _: called, raw)

    def reword_frame(self, frame: Frame) -> Frame:
        """Return a frame with every abstract call in the server's words."""
        raw = self.reword_calls(frame.raw)
        return frame if raw is frame.raw else replace(frame, raw=raw)

    def _server_arguments(self, nonce: str) -> bytes:
        return self._abstract_arguments(nonce) if self.key else self._fixed_arguments(nonce)

    def _server_member(self, match: re.Match[bytes]) -> bytes:
        name = _escape_abstract_words(b'"%b"' % _spell_key(self.key, match[1]))
        if match[2] is None:
            return name
        value = json.dumps(self.value.replace("{nonce}", match[2].decode())).encode()
        return name + b":" + _escape_abstract_words(value)


def _parse_arguments(nominee: NominatedTool) -> dict[str, object]:
    try:
        members = json.loads(nominee.arguments)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--args is no JSON ({error})", 'give one such as {"x": 1}') from None
    if not isinstance(members, dict):
        raise UsageError("--args is no JSON object", 'give an object such as {"x": 1}')
    return members


def _escape_abstract_words(text: bytes) -> bytes:
    """Return the same JSON, spelled so that none of its strings is an abstract word."""
    return _WORDS.sub(lambda match: b'%b\\u%04x"' % (match[1][:-1], match[1][-1]), text)


def _make_list_call(match: re.Match[bytes]) -> bytes:
    meta = match[1].rstrip(b",") if match[1] else b""
    return b'"method":"tools/list","params":{%b}' % meta


def _spell_key(key: str, like: bytes) -> bytes:
    """Return the server's argument name, spelled as the damage spelled ``action``."""
    if like == b"ACTION":
        key = key.upper()
    elif like == b"Action":
        key = key[:1].upper() + key[1:]
    elif like.startswith(b"\\u"):
        return b"\\u%04x" % ord(key[0]) + json.dumps(key[1:])[1:-1].encode()
    return json.dumps(key)[1:-1].encode()
