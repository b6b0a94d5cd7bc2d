"""The traits of a document: constructs over which parsers are known to differ.

One ordered table names what is unusual about a document, most specific first. A difference of
parsers is named by its effect and the first trait that the document has, never by which parser was
right. Traits are cumulative: an integer beyond 2^64 is also one beyond 2^53. So an input can shrink
to the smallest one that still differs without gaining a trait, and traits that are not needed
disappear.

Each trait belongs to a group, the coarser name under which quirks are stored. Traits are read off
the raw bytes, outside of strings and inside them apart, so that documents that no parser accepts
are named too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from functools import lru_cache
from itertools import accumulate
from math import isinf
from typing import NamedTuple

from wirefence.oracles.document import judge_document
from wirefence.oracles.records import Verdict
from wirefence.oracles.syntax_faults import name_syntax_fault

__all__ = [
    "PLAIN",
    "TRAITS",
    "Trait",
    "find_groups",
    "find_traits",
    "first_trait",
    "groups_of",
    "render_traits",
]

PLAIN = "plain"
"""The name of a document without traits, and the group of traits that no quirk is stored under."""


class Trait(NamedTuple):
    """One construct. ``valid`` is whether it occurs in valid JSON."""

    name: str
    group: str
    valid: bool
    meaning: str


_LONG = 64
"""Bytes of a long string or name: longer than any buffer for short ones."""
_DEPTH = 128
"""Containers that the strict profile allows."""

# fmt: off
_TABLE: tuple[tuple[str, str, bool, str], ...] = (
    ("surrogate-key", "surrogate-escape", True, "half of an escaped surrogate pair in a name"),
    ("lone-hi", "surrogate-escape", True, "the first half of an escaped surrogate pair, alone"),
    ("lone-lo", "surrogate-escape", True, "the second half of an escaped surrogate pair, alone"),
    ("surrogate-bytes", "surrogate-bytes", False, "a surrogate encoded as UTF-8 bytes"),
    ("utf16-or-utf32", "utf16-or-utf32", False, "NUL bytes in the pattern of UTF-16 or UTF-32"),
    ("bom", "bom", False, "a byte order mark"),
    ("invalid-utf8", "invalid-utf8", False, "bytes that are not UTF-8"),
    ("nul", "nul", False, "a NUL byte outside of strings"),
    ("nul-in-string", "nul-in-string", False, "a raw NUL byte inside a string"),
    ("control-in-string", "control-in-string", False, "a raw control character inside a string"),
    ("lax-hex", "bad-escape", False, r"a \u escape whose four characters are not all hexadecimal digits"),
    ("bad-escape", "bad-escape", False, "an escape that JSON does not have"),
    ("block-comment", "block-comment", False, "a /* comment */"),
    ("line-comment", "line-comment", False, "a // or # comment"),
    ("other-white-space", "other-white-space", False, "white space that JSON does not know"),
    ("control-character", "control-character", False, "a control character outside of strings"),
    ("single-quotes", "single-quotes", False, "single quotes around a string"),
    ("nan", "nan", False, "a spelling of NaN, which JSON does not have"),
    ("infinity", "infinity", False, "a spelling of Infinity, which JSON does not have"),
    ("hexadecimal", "hexadecimal", False, "a hexadecimal number"),
    ("neg-leading-zero", "neg-leading-zero", False, "a negative number with a leading zero"),
    ("leading-zero", "leading-zero", False, "a number with a leading zero"),
    ("neg-dot", "neg-dot", False, "a minus sign followed by a decimal point"),
    ("dot-tail", "dot-tail", False, "a number that ends in its decimal point"),
    ("dot-head", "dot-head", False, "a number that begins with its decimal point"),
    ("bare-minus", "bare-minus", False, "a minus sign without a number"),
    ("exponent-tail", "exponent-tail", False, "an exponent without digits"),
    ("plus", "plus", False, "a plus sign before a number"),
    ("trailing-comma", "trailing-comma", False, "a comma before a closing bracket"),
    ("depth", "deep", True, f"containers nested more than {_DEPTH} deep"),
    ("int-4301d", "big-integer", True, "an integer of more than 4,300 digits"),
    ("fraction-4301d", "number-range", True, "a fraction token of more than 4,300 characters"),
    ("number-1001c", "number-length", True, "a number of more than 1,000 characters"),
    ("int-310d", "big-integer", True, "an integer of more than 309 digits"),
    ("int>=10^20", "big-integer", True, "an integer of 10^20 or more"),
    ("int>=2^64", "big-integer", True, "an integer of 2^64 or more"),
    ("int>=2^63", "big-integer", True, "an integer of 2^63 or more"),
    ("int<-2^63", "big-integer", True, "an integer below -2^63"),
    ("int>2^53", "big-integer", True, "an integer beyond 2^53 or -2^53"),
    ("int-21c", "big-integer", True, "an integer of more than 20 characters, leading zeros included"),
    ("neg-zero-int", "neg-zero-int", True, "minus zero spelled as an integer"),
    ("zero-huge-exp", "number-range", True, "a zero with an exponent of three or more digits"),
    ("overflow-exp", "number-range", True, "a number beyond the largest float"),
    ("underflow", "number-range", True, "a number closer to zero than the smallest float, or below full precision"),
    ("float-1001c", "number-range", True, "a fraction or exponent in a number of more than 1,000 characters"),
    ("long-mantissa", PLAIN, True, "a fraction with more than 17 digits"),
    ("dup-escaped", "duplicate-name", True, "the same name twice in one object, spelled in two ways"),
    ("duplicate-name", "duplicate-name", True, "the same name twice in one object"),
    ("nul-escape", "nul-escape", True, "an escaped NUL"),
    ("escaped-pair", "surrogate-escape", True, "an escaped surrogate pair"),
    ("unicode-escape", PLAIN, True, r"a \u escape"),
    ("empty-name", PLAIN, True, "an empty name"),
    ("intlike-name", PLAIN, True, "a name that looks like an integer"),
    ("long-name", PLAIN, True, f"a name of more than {_LONG} bytes"),
    ("long-string", PLAIN, True, f"a string of more than {_LONG} bytes"),
    ("non-bmp", PLAIN, True, "a character beyond U+FFFF"),
    ("non-ascii", PLAIN, True, "a character beyond U+007F"),
    ("backslash-letter", "bad-escape", True, "an escaped backslash, and behind it what would be no escape of JSON"),
    ("surrogate-escape", "surrogate-escape", True, "the spelling of an escaped surrogate, behind an escaped backslash too"),
    ("escape", PLAIN, True, "an escape"),
    ("empty", "empty", False, "nothing but white space"),
    ("unclosed", "unclosed", False, "a value that ends before it is complete"),
    ("trailing", "trailing", False, "something after the value"),
    ("float>=1e300", "number-range", True, "a number of 1e300 or more that is no integer token"),
    ("float<=1e-300", "number-range", True, "a number of 1e-300 or less, and not zero"),
    ("zero-float", "number-range", True, "a zero with an exponent, or with 16 or more characters"),
    ("padded-exponent", "neg-leading-zero", True, "a negative exponent with a leading zero"),
    ("neg-zero-exponent", "neg-zero-int", True, "an exponent of minus zero"),
    ("exponent", "float", True, "an exponent"),
    ("long-fraction", "long-fraction", True, "a fraction with more digits than binary64 can tell apart"),
    ("fraction", "float", True, "a fraction"),
    ("wrong-bracket", "syntax", False, "a closing bracket of the other kind, or one too many"),
    ("unclosed-string", "syntax", False, "a string that ends before its closing quote"),
    ("unquoted-name", "syntax", False, "a name without quotes"),
    ("missing-colon", "syntax", False, "a name without a colon behind it"),
    ("missing-comma", "syntax", False, "two values or members without a comma between them"),
    ("missing-value", "syntax", False, "a comma or colon without a value, or two commas"),
    ("literal-case", "syntax", False, "true, false or null in other letters"),
    ("digit-separator", "syntax", False, "an underscore between the digits of a number"),
    ("other-digit", "syntax", False, "a digit beyond ASCII"),
    ("unicode-space", "syntax", False, "white space or a mark of Unicode that few readers take for space"),
    ("unknown-word", "syntax", False, "a word that JSON does not have"),
    ("foreign-text", "syntax", False, "text that begins like no JSON value"),
    ("syntax", "syntax", False, "another break of the grammar"),
)
# fmt: on

TRAITS: dict[str, Trait] = {row[0]: Trait(*row) for row in _TABLE}
"""Every trait, most specific first: the first one that a document has names its differences."""

_GROUP = {trait.name: trait.group for trait in TRAITS.values()}

_STRING = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)(?:"|\\?\Z)', re.DOTALL)

_OUTSIDE: tuple[tuple[str, bytes, bytes], ...] = (
    ("nul", b"\x00", rb"\x00"),
    ("block-comment", b"*", rb"/\*"),
    ("line-comment", b"/#", rb"//|#"),
    (
        "other-white-space",
        b"\x0b\x0c\x1c\x1d\x1e\x1f\xc2\xe2",
        rb"[\x0b\x0c\x1c-\x1f]|\xc2\xa0|\xc2\x85|\xe2\x80[\xa8\xa9]",
    ),
    (
        "control-character",
        bytes((*range(1, 9), *range(14, 28), 127)),
        rb"[\x01-\x08\x0e-\x1b\x7f]",
    ),
    ("single-quotes", b"'", rb"'"),
    ("nan", b"nN", rb"[nN][aA][nN]"),
    ("infinity", b"fF", rb"[iI][nN][fF]"),
    ("hexadecimal", b"xX", rb"[xX](?<=0[xX])"),
    ("neg-leading-zero", b"-", rb"-(?<![eE]-)0[0-9]"),
    ("leading-zero", b"0", rb"0(?<![0-9.eE+-]0)[0-9]"),
    ("neg-dot", b"-", rb"-\."),
    ("dot-tail", b".", rb"\.(?<=[0-9]\.)(?![0-9])"),
    ("dot-head", b".", rb"\.(?<![0-9]\.)[0-9]"),
    ("bare-minus", b"-", rb"-(?![0-9Ii])"),
    ("exponent-tail", b"eE", rb"[eE](?<=[0-9.][eE])[+-]?(?![0-9+-])"),
    ("plus", b"+", rb"\+(?<![eE]\+)"),
    ("trailing-comma", b",", rb",\s*[\]}]"),
    ("neg-zero-int", b"-", rb"-(?<![eE]-)0(?![0-9.eE])"),
    ("padded-exponent", b"-", rb"-(?<=[eE]-)0[0-9]"),
    ("neg-zero-exponent", b"-", rb"-(?<=[eE]-)0(?![0-9.eE])"),
    ("exponent", b"eE", rb"[eE](?<=[0-9][eE])[0-9+-]"),
    ("fraction", b".", rb"\.(?<=[0-9]\.)[0-9+-]"),
)
"""Name, bytes of which the text outside of strings must hold one, expression.

An expression begins with such a byte, which is rarer than a digit, and looks behind it for the
rest.
"""

_ON_BYTE: dict[int, list[tuple[str, re.Pattern[bytes]]]] = {}
for _name, _bytes, _expression in _OUTSIDE:
    for _byte in _bytes:
        _ON_BYTE.setdefault(_byte, []).append((_name, re.compile(_expression)))
_COMMON = bytes(set(range(256)) - _ON_BYTE.keys())
"""Bytes that no expression for the text outside of strings begins with."""

_BAD_ESCAPE = rb'(?:[^"\\/bfnrtu]|u(?![0-9a-fA-F]{4}))'
_ESCAPES = (
    ("bad-escape", re.compile(rb"\\" + _BAD_ESCAPE)),
    ("lax-hex", re.compile(rb'\\u(?![0-9a-fA-F]{4})[^"\\]{4}')),
)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPES_OR_PAIRS = (
    ("backslash-letter", re.compile(rb"\\\\" + _BAD_ESCAPE)),
    ("surrogate-escape", _SURROGATE),
    ("nul-escape", re.compile(rb"\\u0000")),
)
"""Escapes, and what looks like one behind an escaped backslash."""
_HIGH = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}")
_LOW = re.compile(rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_PAIR = re.compile(_HIGH.pattern + _LOW.pattern)
_LONE = frozenset(("lone-hi", "lone-lo"))
_UNICODE = re.compile(rb"\\u[0-9a-fA-F]{4}")
_CONTROL = re.compile(rb"[\x01-\x1f]")
_ASTRAL = re.compile(rb"[\xf0-\xff]")
_SURROGATE_BYTES = re.compile(rb"\xed[\xa0-\xbf]")
_BOM = b"\xef\xbb\xbf"

# The look ahead skips what is short and has no exponent: most numbers, and nothing unusual.
_NUMBER = re.compile(rb"([0-9](?=[-0-9.]{14}|[-0-9.]*[eE])[0-9]*)(\.[0-9]+)?(?:[eE]([+-]?[0-9]+))?")
_SHORT_NUMBER = 16
"""Characters of a number, its sign included, that may be unusual without an exponent."""
_MINUS = 0x2D
_ABOVE = (
    ("int>2^53", 2**53),
    ("int>=2^63", 2**63),
    ("int>=2^64", 2**64),
    ("int>=10^20", 10**20),
)
_BELOW = (("int>2^53", 2**53), ("int<-2^63", 2**63 + 1))
_UNDERFLOW = 1e-307
"""Floats lose digits from 2.2e-308 on, and some readers compute with one power of ten less."""

_POWER_DIGITS = 18
"""Digits of an exponent that are read: no document has as many digits as that many say."""

_SHORT = 4_096
"""Bytes of a document whose traits are remembered: shrinking comes back to some inputs."""


def find_traits(raw: bytes) -> frozenset[str]:
    """Return the names of all traits that a document has; empty where nothing is unusual."""
    return _remembered(raw) if len(raw) <= _SHORT else _scan_document(raw)


def find_groups(raw: bytes) -> frozenset[str]:
    """Return the groups of a document's traits; ``plain`` alone where it has none."""
    return groups_of(find_traits(raw))


def groups_of(traits: Set[str]) -> frozenset[str]:
    """Return the groups of some traits; ``plain`` alone where there is no other."""
    return frozenset(map(_GROUP.__getitem__, traits)) - _ONLY_PLAIN or _ONLY_PLAIN


_ONLY_PLAIN = frozenset((PLAIN,))


def first_trait(traits: Set[str]) -> str:
    """Return the most specific one of some traits; ``plain`` if there is none."""
    return next((name for name in TRAITS if name in traits), PLAIN)


def _scan_document(raw: bytes) -> frozenset[str]:
    parts = _STRING.split(raw)  # outside and inside of strings in turn
    outside = b'""'.join(parts[::2])
    found: set[str] = set()
    for byte in set(outside.translate(None, _COMMON)):
        for name, expression in _ON_BYTE[byte]:
            if expression.search(outside):
                found.add(name)
    for match in _NUMBER.finditer(outside):
        found.update(_find_number_traits(match))
    if _is_deep(outside):
        found.add("depth")
    spec = judge_document(raw, profile="spec")
    if len(parts) > 1:
        found.update(_find_string_traits(parts, duplicates=spec.duplicates))
    found.update(_find_byte_traits(raw, outside))
    if spec.rule == "json-syntax":
        found.update(_find_syntax_traits(raw, spec))
    elif spec.rule == "utf8-invalid":
        found.add("invalid-utf8")
    return frozenset(found)


_remembered = lru_cache(maxsize=1_024)(_scan_document)


def _find_byte_traits(raw: bytes, outside: bytes) -> Iterator[str]:
    """Yield what is unusual about the bytes before they are read as text."""
    if not raw.isascii():
        if raw.startswith(_BOM):
            yield "bom"
            if _is_undecodable(raw):  # the judge looks no further than the mark
                yield "invalid-utf8"
        if _SURROGATE_BYTES.search(raw):
            yield "surrogate-bytes"
    if (b"\x00" in raw[:4] and len(raw) > 1) or raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        yield "utf16-or-utf32"
    if not outside.strip(b" \t\r\n"):
        yield "empty"


def _is_undecodable(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return True
    return False


def _find_string_traits(parts: Sequence[bytes], *, duplicates: bool) -> Iterator[str]:
    """Yield the traits of strings; every second part is the inside of one."""
    bodies = parts[1::2]
    inside = b'"'.join(bodies)
    if b"\x00" in inside:
        yield "nul-in-string"
    if _CONTROL.search(inside):
        yield "control-in-string"
    if not inside.isascii():
        yield "non-ascii"
        if _ASTRAL.search(inside):
            yield "non-bmp"
    names = [b for b, after in zip(bodies, parts[2::2], strict=True) if _begins_with_colon(after)]
    yield from _find_name_traits(bodies, names, duplicates=duplicates)
    if b"\\" in inside:
        yield from _find_escape_traits(inside, names)


def _begins_with_colon(after: bytes) -> bool:
    return after[:1] == b":" or after.lstrip(b" \t\r\n")[:1] == b":"


def _find_name_traits(
    bodies: Sequence[bytes], names: Sequence[bytes], *, duplicates: bool
) -> Iterator[str]:
    if duplicates:
        yield "duplicate-name"
        if len(set(names)) == len(names):
            yield "dup-escaped"
    if b"" in names:
        yield "empty-name"
    if any(map(bytes.isdigit, names)):
        yield "intlike-name"
    if len(max(bodies, key=len)) > _LONG:
        long = sum(len(body) > _LONG for body in bodies)
        long_names = sum(len(name) > _LONG for name in names)
        if long_names:
            yield "long-name"
        if long > long_names:
            yield "long-string"


def _find_escape_traits(inside: bytes, names: Sequence[bytes]) -> Iterator[str]:
    yield "escape"
    # Backslashes pair from the left. A quote is no part of any escape below.
    single = inside.replace(rb"\\", b'""')
    for name, expression in _ESCAPES:
        if expression.search(single):
            yield name
    for name, expression in _ESCAPES_OR_PAIRS:
        if expression.search(inside):
            yield name
    if _UNICODE.search(single):
        yield "unicode-escape"
    if _SURROGATE.search(single):
        yield from _find_surrogates(single)
        if any(map(_LONE.__contains__, _find_surrogates(b'"'.join(names).replace(rb"\\", b'""')))):
            yield "surrogate-key"


def _find_surrogates(single: bytes) -> Iterator[str]:
    """Yield what the halves of pairs are in text without escaped backslashes."""
    rest, pairs = _PAIR.subn(b'""', single)
    if pairs:
        yield "escaped-pair"
    if _HIGH.search(rest):
        yield "lone-hi"
    if _LOW.search(rest):
        yield "lone-lo"


def _find_number_traits(match: re.Match[bytes]) -> Iterator[str]:
    """Yield the traits of a number that has an exponent, or many characters."""
    whole, fraction, power = match.groups()
    start = match.start()
    negative = start > 0 and match.string[start - 1] == _MINUS
    size = match.end() - start + negative
    if not power and size < _SHORT_NUMBER:
        return
    if size > 1_000:
        yield "number-1001c"
    if not power and not fraction:
        yield from _find_integer_traits(whole, negative=negative)
        return
    if size > 1_000:
        yield "float-1001c"
        if len(whole) + len(fraction or b"") > 4_300:
            yield "fraction-4301d"
    digits = (whole + (fraction or b"")[1:]).strip(b"0")
    if len(digits) > 17:
        yield "long-mantissa"
    token = match[0] if size <= 1_000 else _shorten_float(whole, fraction or b"", power or b"")
    yield from _find_float_traits(float(token), size, zero=not digits, power=power)


def _shorten_float(whole: bytes, fraction: bytes, power: bytes) -> bytes:
    """Return a number of about the same value, of few characters: a long one takes long to read."""
    plain = whole.lstrip(b"0")
    digits = (plain + fraction[1:]).lstrip(b"0")
    shift = len(plain) or len(digits) - len(fraction[1:])
    negative, size = power[:1] == b"-", power.lstrip(b"+-0")[:_POWER_DIGITS] or b"0"
    return b"0.%be%d" % (digits[:20], shift + (-int(size) if negative else int(size)))


def _find_float_traits(
    value: float, size: int, *, zero: bool, power: bytes | None
) -> Iterator[str]:
    """Yield what the value of a number with fraction or exponent is to a float."""
    if zero:
        yield "zero-float"
        if power and len(power.lstrip(b"+-0")) > 2:
            yield "zero-huge-exp"
    elif value >= 1e300:
        yield "float>=1e300"
        if isinf(value):
            yield "overflow-exp"
    elif value <= 1e-300:
        yield "float<=1e-300"
        if value < _UNDERFLOW:
            yield "underflow"
    elif 17 < size <= 1_000:
        yield "long-fraction"


def _find_integer_traits(whole: bytes, *, negative: bool) -> Iterator[str]:
    if len(whole) + negative > 20:
        yield "int-21c"
    digits = whole.lstrip(b"0")
    size = len(digits)
    if size > 15:
        value = int(digits) if size < 25 else 10**25  # int() may refuse more than 4,300 digits
        yield from (name for name, least in (_BELOW if negative else _ABOVE) if value >= least)
    if size > 309:
        yield "int-310d"
    if size > 4_300:
        yield "int-4301d"


_BRACKETS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NO_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))


def _is_deep(outside: bytes) -> bool:
    """Return whether more containers than the strict profile allows are open at once."""
    if outside.count(b"[") + outside.count(b"{") <= _DEPTH:
        return False
    steps = outside.translate(_BRACKETS, _NO_BRACKETS)  # 1 opens, and -1 as a signed byte closes
    return max(accumulate(memoryview(steps).cast("b"))) > _DEPTH


def _find_syntax_traits(raw: bytes, spec: Verdict) -> Iterator[str]:
    name = _name_place(raw, spec)
    yield name
    if name == "syntax" and TRAITS[fault := name_syntax_fault(raw, spec.at)].group == name:
        yield fault


def _name_place(raw: bytes, spec: Verdict) -> str:
    """Return whether a document breaks off, goes on behind its value, or is broken within."""
    if spec.at >= len(raw.rstrip(b" \t\r\n")):
        return "unclosed"
    head = raw[: spec.at].strip(b" \t\r\n")
    outside = _STRING.sub(b'""', head)
    closed = outside.count(b"{") == outside.count(b"}") and outside.count(b"[") == outside.count(
        b"]"
    )
    return "trailing" if head and closed else "syntax"


def render_traits() -> str:
    """Return the page ``docs/traits.md``: every trait with its group and meaning."""
    lines = [
        "# Traits of documents",
        "",
        "Generated from `oracles/traits.py`; a test compares it with the code. A trait is a construct in a",
        "document over which parsers are known to differ. The table is ordered, most specific first: the",
        "first trait that a document has names a difference of parsers. *Group* is the coarser name under",
        "which [quirks](glossary.md) are stored; a document with traits of the group `plain` alone counts as",
        "plain there. *JSON* says whether the construct occurs in valid JSON (RFC 8259).",
        "",
        "| trait | group | JSON | meaning |",
        "|---|---|---|---|",
    ]
    for trait in TRAITS.values():
        valid = "yes" if trait.valid else "no"
        meaning = trait.meaning.replace("\\", "\\\\")
        lines.append(f"| `{trait.name}` | {trait.group} | {valid} | {meaning} |")
    return "\n".join(lines) + "\n"
