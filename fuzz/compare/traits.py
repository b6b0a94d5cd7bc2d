"""Traits of an input: constructs on which parsers are known to differ; they name classes.

Traits are cumulative: an integer beyond 10^20 is also one beyond 2^53. So an input can shrink to
the smallest one that still differs without gaining a trait, and traits that are not needed
disappear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from wirefence.oracles.document import judge_document
from wirefence.oracles.features import FEATURES, name_features

__all__ = ["TRAITS", "find_traits", "squeeze_runs"]

_REFINED = {"plain", "surrogate-escape", "big-integer", "number-range", "number-length", "float"}
_SQUEEZED, _DIGITS = 300, 4_400
"""No trait depends on more repetitions than that, or on more digits."""
_RUN = re.compile(rb"(.{1,8}?)\1{15,}", re.DOTALL)
_STRING = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)("[ \t\r\n]*:?)?', re.DOTALL)
_NUMBER = re.compile(rb"(-?)([0-9]+)(\.[0-9]*)?(?:[eE]([+-]?[0-9]+))?")
_UNIT = re.compile(
    rb"\\u(?:([dD][89abAB])|([dD][c-fC-F]))[0-9a-fA-F]{2}|\\u([0-9a-fA-F]{4})|\\(.)", re.S
)
_LAX_HEX = re.compile(rb'\\u(?![0-9a-fA-F]{4})[^"\\]{4}', re.DOTALL)
_ABOVE = (
    ("int>2^53", 2**53),
    ("int>=2^63", 2**63),
    ("int>=2^64", 2**64),
    ("int>=10^20", 10**20),
)
_BELOW = (("int>2^53", 2**53), ("int<-2^63", 2**63 + 1))
_LONG = 64

TRAITS: dict[str, str] = {
    "surrogate-key": "half of an escaped surrogate pair in a name",
    "lone-hi": "the first half of an escaped surrogate pair, alone",
    "lone-lo": "the second half of an escaped surrogate pair, alone",
    "surrogate-bytes": FEATURES["surrogate-bytes"],
    "utf16-or-utf32": FEATURES["utf16-or-utf32"],
    "bom": FEATURES["bom"],
    "invalid-utf8": FEATURES["invalid-utf8"],
    "nul": FEATURES["nul"],
    "nul-in-string": FEATURES["nul-in-string"],
    "control-in-string": FEATURES["control-in-string"],
    "lax-hex": r"a \u escape whose four characters are not all hexadecimal digits",
    "bad-escape": FEATURES["bad-escape"],
    "block-comment": FEATURES["block-comment"],
    "line-comment": FEATURES["line-comment"],
    "other-white-space": FEATURES["other-white-space"],
    "control-character": FEATURES["control-character"],
    "single-quotes": FEATURES["single-quotes"],
    "nan": FEATURES["nan"],
    "infinity": FEATURES["infinity"],
    "hexadecimal": FEATURES["hexadecimal"],
    "neg-leading-zero": FEATURES["neg-leading-zero"],
    "leading-zero": FEATURES["leading-zero"],
    "neg-dot": FEATURES["neg-dot"],
    "dot-tail": FEATURES["dot-tail"],
    "dot-head": FEATURES["dot-head"],
    "bare-minus": FEATURES["bare-minus"],
    "exponent-tail": FEATURES["exponent-tail"],
    "plus": FEATURES["plus"],
    "trailing-comma": FEATURES["trailing-comma"],
    "depth": "containers nested more than 128 deep",
    "int-4301d": "an integer of more than 4,300 digits",
    "int-310d": "an integer of more than 309 digits",
    "int>=10^20": "an integer of 10^20 or more",
    "int>=2^64": "an integer of 2^64 or more",
    "int>=2^63": "an integer of 2^63 or more",
    "int<-2^63": "an integer below -2^63",
    "int>2^53": "an integer beyond 2^53 or -2^53",
    "neg-zero-int": FEATURES["neg-zero-int"],
    "zero-huge-exp": "a zero with an exponent of three or more digits",
    "overflow-exp": "a number beyond the largest float",
    "underflow": "a number closer to zero than the smallest float, or below full precision",
    "fraction-4301d": "a fraction token of more than 4,300 characters",
    "long-mantissa": "a fraction with more than 17 digits",
    "dup-escaped": "the same name twice in one object, spelled in two ways",
    "duplicate-name": FEATURES["duplicate-name"],
    "nul-escape": FEATURES["nul-escape"],
    "escaped-pair": "an escaped surrogate pair",
    "unicode-escape": r"a \u escape",
    "empty-name": "an empty name",
    "intlike-name": "a name that looks like an integer",
    "long-name": f"a name of more than {_LONG} bytes",
    "long-string": f"a string of more than {_LONG} bytes",
    "non-bmp": "a character beyond U+FFFF",
    "non-ascii": "a character beyond U+007F",
    "escape": "an escape",
    "empty": FEATURES["empty"],
    "unclosed": FEATURES["unclosed"],
    "trailing": FEATURES["trailing"],
    "exponent": "an exponent",
    "long-fraction": FEATURES["long-fraction"],
    "fraction": "a fraction",
    "syntax": FEATURES["syntax"],
}
"""Every trait with its meaning, most specific first: the first one of a set names the class."""


@lru_cache(maxsize=4_096)  # one input comes in several forms, and shrinking comes back to some
def find_traits(raw: bytes) -> frozenset[str]:
    """Name what is unusual about an input; empty where nothing is."""
    raw = squeeze_runs(raw)
    named = name_features(raw, judge_document(raw), judge_document(raw, profile="spec"))
    found = {"depth" if name == "deep" else name for name in named - _REFINED}
    names: list[bytes] = []
    for body, end in _STRING.findall(raw):
        is_name = end.endswith(b":")
        found.update(_find_string_traits(body, is_name=is_name))
        if is_name:
            names.append(body)
    if "duplicate-name" in found and len(set(names)) == len(names):
        found.add("dup-escaped")
    for match in _NUMBER.finditer(_STRING.sub(b'""', raw)):
        found.update(_find_number_traits(*match.groups()))
    return frozenset(found)


def squeeze_runs(raw: bytes) -> bytes:
    """``raw`` with long repetitions cut: equal ones stay equal, and longer ones longer.

    So brackets that match still match, and no trait depends on what is left out.
    """
    if len(raw) <= _SQUEEZED:
        return raw
    counts = {len(run[0]) // len(run[1]) for run in _RUN.finditer(raw)}
    ranks = {count: _SQUEEZED + at for at, count in enumerate(sorted(counts)) if count > _SQUEEZED}

    def cut(run: re.Match[bytes]) -> bytes:
        most = _DIGITS if run[1].isdigit() else ranks.get(len(run[0]) // len(run[1]), _SQUEEZED)
        return run[0][: len(run[1]) * most]

    return _RUN.sub(cut, raw)


def _find_string_traits(body: bytes, *, is_name: bool) -> Iterator[str]:
    if not body.isascii():
        yield "non-ascii"
        if any(byte >= 0xF0 for byte in body):
            yield "non-bmp"
    if len(body) > _LONG:
        yield "long-name" if is_name else "long-string"
    if is_name and not body:
        yield "empty-name"
    if is_name and body.isdigit():
        yield "intlike-name"
    if b"\\" in body:
        yield from _find_escape_traits(body, is_name=is_name)


def _find_escape_traits(body: bytes, *, is_name: bool) -> Iterator[str]:
    if _LAX_HEX.search(body):
        yield "lax-hex"
    waiting = -1
    for match in _UNIT.finditer(body):
        high, low, unit, _ = match.groups()
        paired = low and waiting == match.start()
        if waiting >= 0 and not paired:
            yield from _name_lone_surrogate("lone-hi", is_name=is_name)
        if low and not paired:
            yield from _name_lone_surrogate("lone-lo", is_name=is_name)
        if paired:
            yield "escaped-pair"
        yield "escape"
        if high or low or unit:
            yield "unicode-escape"
        waiting = match.end() if high else -1
    if waiting >= 0:
        yield from _name_lone_surrogate("lone-hi", is_name=is_name)


def _name_lone_surrogate(half: str, *, is_name: bool) -> Iterator[str]:
    yield half
    if is_name:
        yield "surrogate-key"


def _find_number_traits(sign: bytes, whole: bytes, fraction: bytes, power: bytes) -> Iterator[str]:
    if not fraction and not power:
        yield from _find_integer_traits(sign, whole)
        return
    digits = (whole + (fraction or b"")[1:]).strip(b"0")
    if fraction:
        yield "fraction"
    if power:
        yield "exponent"
    if len(digits) > 17:
        yield "long-mantissa"
    if len(whole) + len(fraction or b"") > 4_300:
        yield "fraction-4301d"
    yield from _find_magnitude_traits(
        whole, fraction or b"", int(power[:40] or 0) if power else 0, digits
    )


def _find_integer_traits(sign: bytes, whole: bytes) -> Iterator[str]:
    digits = whole.lstrip(b"0")  # int() counts zeros too when it refuses more than 4,300 digits
    size = len(digits)
    if size > 15:
        value = int(digits) if size < 25 else 10**25
        yield from (name for name, least in (_BELOW if sign else _ABOVE) if value >= least)
    if size > 309:
        yield "int-310d"
    if size > 4_300:
        yield "int-4301d"


def _find_magnitude_traits(
    whole: bytes, fraction: bytes, power: int, digits: bytes
) -> Iterator[str]:
    """Whether the number, ``0.digits`` times a power of ten, lies beyond what a float holds."""
    if not digits:
        if abs(power) >= 100:
            yield "zero-huge-exp"
        return
    plain = whole.lstrip(b"0")
    lead = len(plain) if plain else -(len(fraction[1:]) - len(fraction[1:].lstrip(b"0")))
    if lead + power > 309 or (
        lead + power == 309 and digits[:17].ljust(17, b"0") >= b"17976931348623158"
    ):
        yield "overflow-exp"
    elif lead + power < -306:
        yield "underflow"
