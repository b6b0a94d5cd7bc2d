"""Short texts with the verdict that each must get, and the check of the judge against them.

A judge that reads wrongly on one interpreter would accuse every parser there. So each command that
judges runs :func:`wrong_answer` first. The answers are written down here and not computed.
"""

from __future__ import annotations

from typing import NamedTuple

from wirefence.oracles.document import judge_document
from wirefence.oracles.session import judge_session
from wirefence.oracles.traits import find_traits
from wirefence.strategies.contract import Contract, Policy, Profile
from wirefence.strategies.records import Version

__all__ = [
    "ACCEPTED",
    "DOCUMENTS",
    "SESSIONS",
    "TRAITS_OF",
    "WRONG_TOKENS",
    "KnownSession",
    "wrong_answer",
]

WRONG_TOKENS: tuple[bytes, ...] = (
    *(
        # numbers
        b'0. 1. -0. 1.e5 0.e1 1.E+5 .5 -.5 . - -- -e1 +1 +0 01 -01 00 1e 1E 1e+ 1e- 1.5e 0e 1ee1 1e1.5 '
        b'1..5 1.2.3 1-0 1+1 0x1F 0b1 1_000 1e1_0 --1 1- 5n 1f 0.0.0 -01.5 '
        # the same where another value may follow
        b'[0.] [1.e5] [-] [1e] [1e+] [.5] [+1] [01] [-01] [1.,2] [1e,2] {"":0.} {"":1.e5} {"":-} '
        b'{"":1e} {"a":.5,"b":1} {"a":01} {"a":1.} [0.,0.5] [1e5,1e] [2.0,2.] '
        # literals
        b'NaN -NaN nan Infinity -Infinity inf [NaN] {"a":-Infinity} True TRUE tru truee truefalse nul '
        b'nulls falsey undefined None a [a] {"a":b} '
        # strings
        b'" "a \'a\' [\'a\'] "\\x41" "\\u" "\\u12" "\\u12G4" "\\u+123" "\\u{41}" "\\" "\\\\\\" "a""b" '
        b'["a"b"] "\\a" "\\U0041" \\n'
    ).split(),
)  # fmt: skip
"""Texts in which a token is spelled wrongly, whatever stands around it."""

_REFUSED_BY_BOTH: dict[str, tuple[bytes, ...]] = {
    "utf8-bom": (b"\xef\xbb\xbf", b"\xef\xbb\xbf1", b'\xef\xbb\xbf{"a":1}'),
    "utf8-invalid": (
        *(b"\xff", b'"\x80"', b'"\xc0\xaf"', b'"\xe2\x82"', b'"\xed\xa0\x80"', b'"\xf5\x80\x80\x80"'),
        *(b'"\xf4\x90\x80\x80"', b'"\xe0\x80\x80"', b'"\xf0\x9f\x98"', b'{"\xfe":1}'),
    ),
    "json-syntax": (
        *WRONG_TOKENS,
        *(
            b'[1,] [,1] [,] [1,,2] [1 [[1] [1} [[1}] {] [} } ] { [ , : {"a"} {"a":} {"a":1,} {,} {:1} '
            b'{"a":1 {"a":1,"b"} {"a"::1} {1:2} {a:1} {null:1} ["a":1] "a":1 [1]] {}{} [][] 1,2 '
        ).split(),
    ),
}  # fmt: skip
_WITH_SPACES: tuple[bytes, ...] = (
    *(b"", b" ", b"\t\r", b"1 2", b"[1 2]", b"- 1", b"1 .5", b'{"a" 1}', b'{"a":1 "b":2}', b"tr ue"),
    *(b"/**/1", b"1//", b"1 #x", b"\x0c1", b"\x0b1", b"\xc2\xa01", b"\xe2\x80\xa81", b"1\x00"),
    *(b"\x001", b'"\x00"', b'"\x1f"', b'"\t"', b'"\n"', b"\x7f", b"1\x7f", b"[\x1c1]"),
    *(b"\xd9\xa1", b"\xef\xbc\x91", b"1\xd9\xa1", b"[\xe2\x88\x921]", b'"\\u\xd9\xa1\xd9\xa1\xd9\xa1\xd9\xa1"'),
)  # fmt: skip
_REFUSED_BY_STRICT: dict[str, tuple[bytes, ...]] = {
    "json-duplicate-name": (
        *(b'{"a":1,"a":2}', b'{"a":1,"\\u0061":2}', b'{"":1,"":2}', b'[{"b":{"a":1,"a":1}}]'),
        *(b'{"/":1,"\\/":2}', b'{"\xc3\xa9":1,"\\u00e9":2}', b'{"\\ud83d\\ude00":1,"\xf0\x9f\x98\x80":2}'),
    ),
    "json-lone-surrogate": (
        *(b'"\\ud800"', b'"\\uDFFF"', b'"\\ude00\\ud83d"', b'"\\ud83d\\u0041"', b'{"\\udc00":1}'),
        *(b'"\\\\\\ud800"', b'"\\ud83d \\ude00"'),
    ),
    "json-integer-range": (
        *(b"9007199254740992", b"-9007199254740992", b"[18446744073709551616]", b"1" * 310),
        b'{"a":100000000000000000000}',
    ),
    "json-number-range": (
        *(b"1e400", b"-1e400", b"1e-400", b"1.8e308", b"[2.4e-324]", b"1E+999", b"0.1e-9999"),
        b'{"a":1e309}',
    ),
    "json-number-length": (b"1" * 1001, b"0." + b"1" * 999, b"1e" + b"0" * 998 + b"1"),
    "json-depth": (b"[" * 129 + b"]" * 129, b'{"a":' * 129 + b"1" + b"}" * 129),
}  # fmt: skip

DOCUMENTS: dict[bytes, tuple[str, str]] = {
    **{raw: (rule, rule) for rule, texts in _REFUSED_BY_BOTH.items() for raw in texts},
    **dict.fromkeys(_WITH_SPACES, ("json-syntax", "json-syntax")),
    **{raw: (rule, "") for rule, texts in _REFUSED_BY_STRICT.items() for raw in texts},
}
"""For each refused text the rule that it breaks, under strict and under spec (``""``: none)."""

ACCEPTED: dict[bytes, object] = {
    b"0": 0, b"-0": 0, b"7": 7, b"-12": -12, b"10": 10, b"0.5": 0.5, b"-0.0": -0.0, b"1.5": 1.5,
    b"1e5": 100_000.0, b"1E5": 100_000.0, b"1e+5": 100_000.0, b"1e-5": 1e-05, b"0e9": 0.0,
    b"-1.25e2": -125.0, b"0.0": 0.0, b"1.0": 1.0, b"0e999": 0.0, b"1.0e00": 1.0, b"5e-324": 5e-324,
    b"1.7976931348623157e308": 1.7976931348623157e308, b"9007199254740991": 9007199254740991,
    b"-9007199254740991": -9007199254740991, b"1234567890123456": 1234567890123456,
    b"0.30000000000000004": 0.30000000000000004, b"true": True, b"false": False, b"null": None,
    b'""': "", b'"a"': "a", b'"\\"\\\\\\/\\b\\f\\n\\r\\t"': '"\\/\b\f\n\r\t', b'"\\u0041"': "A",
    b'"\\u00e9"': "\u00e9", b'"\\uD83D\\uDE00"': "\U0001f600", b'"\xf0\x9f\x98\x80"': "\U0001f600",
    b'"\\\\ud800"': "\\ud800", b'"\\u0000"': "\x00", b'"\x7f"': "\x7f", b'"\\\\"': "\\",
    b'"\\n\x7f"': "\n\x7f", b'"\xe2\x80\xa8"': "\u2028", b'"NaN // 01 [1,]"': "NaN // 01 [1,]",
    b"[]": [], b"{}": {}, b"[ ]": [], b"{ }": {}, b"[1,2]": [1, 2], b"[[],[[]]]": [[], [[]]],
    b"[1, -2.5 ,true]": [1, -2.5, True], b'{"a":1}': {"a": 1}, b'{"":""}': {"": ""},
    b'{"a":[{}],"b":null}': {"a": [{}], "b": None}, b' \t\r{"a" : 1 , "b":[ 2 ] } ': {"a": 1, "b": [2]},
    b'{"a":{"a":{"a":1}}}': {"a": {"a": {"a": 1}}}, b'[{"a":1},{"a":2}]': [{"a": 1}, {"a": 2}],
    b'{"\\u0061b":"\\u0063"}': {"ab": "c"}, b'{"\xc3\xa9":1,"e\xcc\x81":2}': {"\u00e9": 1, "e\u0301": 2},
    b"[0.0,1e0,0]": [0.0, 1.0, 0], b"[0,1.5e3]": [0, 1500.0], b'{"":0.5}': {"": 0.5},
}  # fmt: skip
"""For each text that both profiles accept its value."""

TRAITS_OF: dict[bytes, str] = {
    b'{"\\ud800":1}': "surrogate-key", b'"\\ud800"': "lone-hi", b'"\\udc00"': "lone-lo",
    b'"\xed\xa0\x80"': "surrogate-bytes", b"1\x00": "utf16-or-utf32", b"\xef\xbb\xbf1": "bom",
    b'"\xff"': "invalid-utf8", b"[\x00]": "nul", b'"\x00"': "nul-in-string",
    b'"\x01"': "control-in-string", b'"\\u+041"': "lax-hex", b'"\\x41"': "bad-escape",
    b"/*x*/1": "block-comment", b"1//x": "line-comment", b"\x0c1": "other-white-space",
    b"[\x01]": "control-character", b"'a'": "single-quotes", b"[NaN]": "nan",
    b"-Infinity": "infinity", b"0x1F": "hexadecimal", b"-01": "neg-leading-zero",
    b"01": "leading-zero", b"-.5": "neg-dot", b'{"":0.}': "dot-tail", b"[.5]": "dot-head",
    b"[-]": "bare-minus", b"1e": "exponent-tail", b"+1": "plus", b"[1,]": "trailing-comma",
    b"[" * 129 + b"]" * 129: "depth", b"1" * 4301: "int-4301d", b"0." + b"1" * 4301: "fraction-4301d",
    b"1" * 1001: "number-1001c", b"1" * 310: "int-310d", b"100000000000000000000": "int>=10^20",
    b"18446744073709551616": "int>=2^64", b"9223372036854775808": "int>=2^63",
    b"-9223372036854775809": "int<-2^63", b"9007199254740992": "int>2^53",
    b"000000000000000000001": "int-21c", b"-0": "neg-zero-int", b"0e-400": "zero-huge-exp",
    b"1e400": "overflow-exp", b"5e-324": "underflow", b"1." + b"0" * 1000: "float-1001c",
    b"1.00000000000000011102": "long-mantissa", b'{"a":1,"\\u0061":2}': "dup-escaped",
    b'{"a":1,"a":2}': "duplicate-name", b'"\\u0000"': "nul-escape",
    b'"\\ud834\\udd1e"': "escaped-pair", b'"\\u0041"': "unicode-escape", b'{"":1}': "empty-name",
    b'{"12":1}': "intlike-name", b'{"%s":1}' % (b"a" * 65): "long-name",
    b'"%s"' % (b"a" * 65): "long-string", b'"\xf0\x9f\x98\x80"': "non-bmp",
    b'"\xc3\xa9"': "non-ascii", b'"\\\\x"': "backslash-letter", b'"\\\\ud800"': "surrogate-escape",
    b'"\\n"': "escape", b"": "empty", b"[1": "unclosed", b"{}{}": "trailing",
    b"1e300": "float>=1e300", b"1e-300": "float<=1e-300", b"0e5": "zero-float",
    b"1e-05": "padded-exponent", b"1e-0": "neg-zero-exponent", b"1e5": "exponent",
    b"2.00000000000000000": "long-fraction", b"2.5": "fraction", b"[1}": "wrong-bracket",
    b'["a': "unclosed-string", b"{a:1}": "unquoted-name", b'{"a"1}': "missing-colon",
    b"[1 2]": "missing-comma", b"[1,,2]": "missing-value", b"[True]": "literal-case",
    b"[1_000]": "digit-separator", b"[\xef\xbc\x91]": "other-digit", b"[\xe3\x80\x801]": "unicode-space",
    b"[None]": "unknown-word", b"INFO: ready": "foreign-text", b"[<]": "syntax",
}  # fmt: skip
"""For each text one of its traits, by which differences of parsers are named."""


class KnownSession(NamedTuple):
    """Frames of one session, each with the rule that it breaks under strict and under spec."""

    version: Version
    policy: Policy
    frames: tuple[tuple[bytes, str, str], ...]


def _request(name: str, method: str, params: str = "{}") -> bytes:
    return f'{{"jsonrpc":"2.0","id":{name},"method":"{method}","params":{params}}}\n'.encode()


def _call(
    name: str, tool: str = "record", arguments: str = '{"action":"a"}', more: str = ""
) -> bytes:
    return _request(name, "tools/call", f'{{"name":"{tool}","arguments":{arguments}{more}}}')


_INITIALIZE = '{"protocolVersion":"%s","capabilities":{},"clientInfo":{"name":"c","version":"1"}}'
_READY = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
_STATELESS_META = (
    ',"_meta":{"io.modelcontextprotocol/protocolVersion":"%s",'
    '"io.modelcontextprotocol/clientCapabilities":{}}'
)


def _opened(version: str) -> tuple[tuple[bytes, str, str], ...]:
    return (_request("0", "initialize", _INITIALIZE % version), "", ""), (_READY, "", "")


_MAX_FRAME = 2_000
SESSIONS: tuple[KnownSession, ...] = (
    KnownSession("2025-11-25", "continue", (
        (_call("90"), "life-not-initialized", "life-not-initialized"),
        (_request("91", "ping"), "", ""),
        (_opened("2025-11-25")[0]),
        (_call("92"), "life-not-ready", ""),
        (_READY, "", ""),
        (_READY, "life-reinitialize", ""),
        (_request("1", "initialize", _INITIALIZE % "2025-11-25"), "life-reinitialize", "life-reinitialize"),
        (_call("2"), "", ""),
        (_call("2"), "life-id-reuse", "life-id-reuse"),
        (_call('"2"'), "", ""),
        (b"\n", "frame-empty", "frame-empty"),
        (b" \t\r\n", "frame-empty", "frame-empty"),
        (b"x" * (_MAX_FRAME + 1) + b"\n", "frame-too-long", "json-syntax"),
        (_call("3")[:-1] + b"\r\n", "frame-cr", ""),
        (_call("4", arguments='{"action":"a","ratio":0.}'), "json-syntax", "json-syntax"),
        (_call("5", arguments='{"action":"a","action":"b"}'), "json-duplicate-name", ""),
        (b"1\n", "rpc-not-object", "rpc-not-object"),
        (b"[%b]\n" % _call("6")[:-1], "rpc-batch", "rpc-batch"),
        (b'{"id":7,"method":"ping"}\n', "rpc-version", "rpc-version"),
        (b'{"jsonrpc":2.0,"id":7,"method":"ping"}\n', "rpc-version", "rpc-version"),
        (b'{"jsonrpc":"2.0","id":7}\n', "rpc-kind", "rpc-kind"),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","result":{}}\n', "rpc-kind", "rpc-kind"),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","ID":8}\n', "rpc-unknown-member", ""),
        *((_call(name), "rpc-id", "rpc-id") for name in ("7.0", "7e0", "true", "null", "[]", "{}", "-0")),
        (b'{"jsonrpc":"2.0","id":7,"method":1}\n', "rpc-method", "rpc-method"),
        (_request("7", "ping", "[]"), "rpc-params", "rpc-params"),
        (b'{"jsonrpc":"2.0","id":7,"result":[]}\n', "rpc-result", "rpc-result"),
        (b'{"jsonrpc":"2.0","id":7,"error":{"code":1.5,"message":""}}\n', "rpc-result", "rpc-result"),
        (b'{"jsonrpc":"2.0","id":7,"result":{}}\n', "life-unsolicited-response", ""),
        (b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"record"}}\n', "mcp-kind", "mcp-kind"),
        (_request("10", "no/such"), "mcp-method", "mcp-method"),
        (_call("11", more=',"_meta":{"progressToken":1.5}'), "mcp-meta", "mcp-meta"),
        (_request("11", "tools/list", '{"cursor":1}'), "mcp-params", "mcp-params"),
        (_call("11", more=',"Arguments":{}'), "mcp-unknown-param", ""),
        (_call("12", "Record"), "tool-unknown", "tool-unknown"),
        (_call("13", arguments='{"action":1}'), "tool-arguments", "tool-arguments"),
        (_call("14", arguments='{"action":"a","count":1.0}'), "tool-arguments", "tool-arguments"),
        (_call("15", arguments='{"action":"a","Note":"b"}'), "tool-unknown-argument", ""),
        (_call("16", more=',"_meta":{"wirefence/token":"guess"}'), "identity-unknown", "identity-unknown"),
        (_call("17", "admin_reset"), "authz-denied", "authz-denied"),
        (_call("18", arguments='{"action":"a","count":-0,"ratio":0.5e1}'), "", ""),
        (_call("19")[:-1], "frame-unterminated", "frame-unterminated"),
    )),
    KnownSession("2025-11-25", "close", (
        *_opened("2025-11-25"),
        (b"{\n", "json-syntax", "json-syntax"),
        (_call("1"), "life-closed", "life-closed"),
    )),
    KnownSession("2025-03-26", "continue", (
        *_opened("2025-03-26"),
        (b"[%b]\n" % _call("6")[:-1], "", ""),
        (b"[]\n", "rpc-batch", "rpc-batch"),
        (b"[1]\n", "rpc-batch", "rpc-batch"),
    )),
    KnownSession("2026-07-28", "continue", (
        (_call("1", more=_STATELESS_META % "2026-07-28"), "", ""),
        (_call("2"), "mcp-meta", "mcp-meta"),
        (_call("3", more=_STATELESS_META % "2025-11-25"), "mcp-version", "mcp-version"),
    )),
)  # fmt: skip
"""Sessions in which every rule of the judge is broken at least once."""


def wrong_answer() -> str:
    """Say which text the judge takes otherwise than is written here; ``""`` if it is right."""
    for raw, (strict_rule, spec_rule) in DOCUMENTS.items():
        strict, spec = judge_document(raw).rule, judge_document(raw, profile="spec").rule
        if strict != strict_rule or spec != spec_rule:
            return _sentence(raw, (strict, spec), (strict_rule, spec_rule))
    for raw, value in ACCEPTED.items():
        read, also = judge_document(raw), judge_document(raw, profile="spec")
        # Both profiles give the same verdict where no rule is broken, so its value is read once.
        same = also is read or (not also.rule and repr(also.value) == repr(value))
        if read.rule or not same or repr(read.value) != repr(value):
            return f"the judge reads {raw[:40]!r} as {read.rule or also.rule or read.value!r}"
    for raw, trait in TRAITS_OF.items():
        if trait not in find_traits(raw):
            return f"the trait {trait} is not found in {raw[:40]!r}"
    for session in SESSIONS:
        for place, profile in enumerate(_PROFILES):
            if wrong := _wrong_frame(session, profile, place):
                return wrong
    return ""


_PROFILES: tuple[Profile, ...] = ("strict", "spec")


def _wrong_frame(session: KnownSession, profile: Profile, place: int) -> str:
    contract = Contract(session.version, profile, session.policy, max_frame=_MAX_FRAME)
    judged = judge_session(b"".join(raw for raw, *_ in session.frames), contract).frames
    for (raw, *rules), verdict in zip(session.frames, judged, strict=True):
        if verdict.rule != rules[place]:
            return _sentence(raw, (verdict.rule,), (rules[place],))
    return ""


def _sentence(raw: bytes, seen: tuple[str, ...], due: tuple[str, ...]) -> str:
    said, right = (", ".join(rule or "accepted" for rule in each) for each in (seen, due))
    return f"the judge says {said} of {raw[:40]!r}, where {right} is right"
