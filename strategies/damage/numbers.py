"""Numbers, and other tokens, in spellings that only some lexers take."""

from __future__ import annotations

from wirefence.strategies.damage.base import Expect, Operator, Scene, rewrite
from wirefence.strategies.damage.hosts import CALL
from wirefence.strategies.damage.spans import Member, find, insert_member, members, replace_value
from wirefence.strategies.damage.structure import into_meta
from wirefence.strategies.source import Source

__all__ = ["BOUNDS", "OPERATORS", "SPELLINGS"]

_JS = "JavaScript, JSON5 and YAML writers"
_LAX = "lexers that call strtod, such as ujson's"
_RANGE = "parsers differ on what does not fit binary64"

SPELLINGS: tuple[tuple[str, bytes, Expect, str], ...] = (
    ("nan", b"NaN", "reject", "json.dumps writes it and json.loads takes it"),
    ("minus-nan", b"-NaN", "reject", "python-rapidjson takes it"),
    ("infinity", b"Infinity", "reject", "json.dumps writes it and json.loads takes it"),
    ("minus-infinity", b"-Infinity", "reject", "json.dumps writes it and json.loads takes it"),
    ("inf", b"Inf", "reject", "python-rapidjson takes it"),
    ("leading-zero", b"01", "reject", _LAX),
    ("minus-leading-zero", b"-01", "reject", _LAX),
    ("plus", b"+1", "reject", _JS),
    ("bare-dot", b".5", "reject", _JS),
    ("dot-tail", b"1.", "reject", _LAX),
    ("minus-dot", b"-.5", "reject", _LAX),
    ("bare-minus", b"-", "reject", "ujson reads 0"),
    ("bare-exponent", b"1e", "reject", _LAX),
    ("hexadecimal", b"0x1F", "reject", _JS),
    ("underscore", b"1_000", "reject", "int() in Python"),
    ("fullwidth", "１".encode(), "reject", "isdigit() in Python"),
    ("undefined", b"undefined", "reject", _JS),
    ("python-none", b"None", "reject", "repr() instead of json.dumps"),
    ("python-true", b"True", "reject", "repr() instead of json.dumps"),
    ("overflow", b"1e400", "profile", _RANGE),
    ("overflow-near", b"1.8e308", "profile", _RANGE),
    ("underflow", b"1e-400", "profile", _RANGE),
    ("zero-huge-exponent", b"0e400", "profile", "python-rapidjson rejects this valid zero"),
    ("minus-zero", b"-0", "profile", "Node keeps the sign, Python's int does not"),
    ("above-2-53", b"9007199254740993", "profile", "readers with one number type round it"),
    ("2-63", b"9223372036854775808", "profile", "readers with signed integers of 64 bits"),
    ("below-minus-2-63", b"-9223372036854775809", "profile", "orjson makes it a float"),
    ("2-64", b"18446744073709551616", "profile", "orjson makes it a float"),
    ("2-70", b"1180591620717411303424", "profile", "orjson makes it a float"),
    ("310-digits", b"7" * 310, "profile", "an integer beyond the largest float"),
    ("4301-digits", b"7" * 4_301, "profile", "CPython's int conversion limit"),
    ("long-mantissa", b"0." + b"7" * 4_400, "profile", "jiter's limit for fractions"),
)

_BOUND = "comparisons that are off by one"
BOUNDS: tuple[tuple[str, bytes, Expect, str], ...] = (
    ("2-53-less-1", b"9007199254740991", "accept", _BOUND),
    ("minus-2-53-less-1", b"-9007199254740991", "accept", _BOUND),
    ("2-53", b"9007199254740992", "profile", _BOUND),
    ("minus-2-53", b"-9007199254740992", "profile", _BOUND),
    ("1000-bytes", b"0." + b"7" * 998, "accept", _BOUND),
    ("1001-bytes", b"0." + b"7" * 999, "profile", _BOUND),
    ("1000-digits", b"7" * 1_000, "profile", "int() and float() of long tokens"),
    ("largest", b"1.7976931348623157e308", "accept", _RANGE),
    ("smallest", b"-5e-324", "accept", _RANGE),
    ("zero-mantissa", b"-0.0E-0", "accept", "checks of underflow that look at the value alone"),
    ("capital-exponent", b"12.50E+2", "accept", "lexers that know one spelling of the exponent"),
)
"""Numbers beside a bound of the contract, and the plain ones that a check of bounds may hit."""

_NUMERIC = {
    (b"params", b"arguments", b"count"),
    (b"params", b"arguments", b"ratio"),
    (b"params", b"progress"),
    (b"params", b"total"),
}

_RANGE_DEVIATIONS = ("none", "tool-arguments:number")
"""What a profile that takes every number finds: some arguments must be integers."""
_DEVIATIONS: dict[str, tuple[str, ...]] = {
    **{
        name: (f"json-syntax:{name}",)
        for name in ("nan", "infinity", "leading-zero", "plus", "dot-tail", "bare-minus")
    },
    "minus-nan": ("json-syntax:nan",),
    **dict.fromkeys(("minus-infinity", "inf"), ("json-syntax:infinity",)),
    "minus-leading-zero": ("json-syntax:neg-leading-zero",),
    "bare-dot": ("json-syntax:dot-head",),
    "minus-dot": ("json-syntax:neg-dot",),
    "bare-exponent": ("json-syntax:exponent-tail",),
    "hexadecimal": ("json-syntax:hexadecimal",),
    "underscore": ("json-syntax:digit-separator",),
    "fullwidth": ("json-syntax:other-digit",),
    **dict.fromkeys(("undefined", "python-none"), ("json-syntax:unknown-word",)),
    "python-true": ("json-syntax:literal-case",),
    "overflow": ("json-number-range:overflow-exp", *_RANGE_DEVIATIONS),
    "overflow-near": ("json-number-range:overflow-exp", *_RANGE_DEVIATIONS),
    "underflow": ("json-number-range:underflow", *_RANGE_DEVIATIONS),
    "zero-huge-exponent": ("rpc-unknown-member:other", *_RANGE_DEVIATIONS),
    "minus-zero": ("rpc-unknown-member:other", "none"),
    "above-2-53": ("json-integer-range:int>2^53", "none"),
    "2-63": ("json-integer-range:int>=2^63", "none"),
    "below-minus-2-63": ("json-integer-range:int<-2^63", "none"),
    "310-digits": ("json-integer-range:int-310d", "none"),
    "2-64": ("json-integer-range:int>=2^64", "none"),
    "2-70": ("json-integer-range:int>=10^20", "none"),
    "4301-digits": ("json-number-length:int-4301d", "none"),
    "long-mantissa": ("json-number-length:fraction-4301d", *_RANGE_DEVIATIONS),
    **dict.fromkeys(("2-53", "minus-2-53"), ("json-integer-range:int>2^53", "none")),
    "1001-bytes": ("json-number-length:number-1001c", "none"),
    "1000-digits": ("json-integer-range:int-310d", "none"),
}
"""By the name of the spelling."""


def _places(raw: bytes) -> list[Member]:
    return [member for member in members(raw) if member.path in _NUMERIC]


def _spelling(name: str, token: bytes, expect: Expect, origin: str) -> Operator:
    @rewrite(
        f"number-{name}",
        "number-spelling",
        expect,
        f"a value is {token[:20]!r}",
        origin,
        deviations=_DEVIATIONS[name],
    )
    def operator(source: Source, scene: Scene) -> bytes | None:
        raw = scene.frame.raw
        places = _places(raw)
        if places and source.chance(1, 3):
            return replace_value(raw, source.choice(places), token)
        # Where any number may stand, so that nothing but its spelling can be refused.
        made = into_meta(raw, b'"example.com/number":' + token)
        if made is None and (anchor := find(raw, b"jsonrpc")) is not None:
            made = insert_member(raw, anchor, b'"ratio":' + token)
        return made

    return operator


def _bound(name: str, token: bytes, expect: Expect, origin: str) -> Operator:
    @rewrite(
        f"number-{name}",
        "number-spelling",
        expect,
        f"a value is {token[:24]!r}",
        origin,
        host=CALL,
        deviations=_DEVIATIONS.get(name, ("none",)),
    )
    def operator(source: Source, scene: Scene) -> bytes | None:
        del source
        return into_meta(scene.frame.raw, b'"example.com/number":' + token)

    return operator


OPERATORS: tuple[Operator, ...] = (
    *(_spelling(*row) for row in SPELLINGS),
    *(_bound(*row) for row in BOUNDS),
)
