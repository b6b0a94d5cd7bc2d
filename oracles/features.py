"""The vocabulary of divergence: what about a document makes parsers disagree.

A difference is explained by what the *input* holds (a comment, a lone surrogate,
an integer beyond 2^53), never by which parser was right. Features are read off the raw bytes with
regular expressions, outside of strings and inside them apart, so that documents that no parser
accepts can be named too.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from wirefence.oracles.records import Verdict

__all__ = ["FEATURES", "name_features"]

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
_INTEGER = re.compile(rb"-?[0-9]+(?![0-9.eE])")
# The look ahead passes by what is short and has no exponent: most numbers, and nothing unusual.
_REAL = re.compile(rb"(?=[-0-9.]{16}|[-0-9.]+[eE])-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")

_OUTSIDE: tuple[tuple[str, bytes, re.Pattern[bytes]], ...] = (
    ("nan", b"nN", re.compile(rb"nan", re.IGNORECASE)),
    ("infinity", b"fF", re.compile(rb"inf", re.IGNORECASE)),
    ("block-comment", b"*", re.compile(rb"/\*")),
    ("line-comment", b"/#", re.compile(rb"//|#")),
    ("trailing-comma", b",", re.compile(rb",\s*[\]}]")),
    ("leading-zero", b"0", re.compile(rb"(?<![0-9.eE+-])0[0-9]")),
    ("neg-leading-zero", b"-", re.compile(rb"-0[0-9]")),
    ("bare-minus", b"-", re.compile(rb"-(?![0-9Ii])")),
    ("neg-dot", b"-", re.compile(rb"-\.")),
    ("dot-tail", b".", re.compile(rb"[0-9]\.(?![0-9])")),
    ("dot-head", b".", re.compile(rb"(?<![0-9])\.[0-9]")),
    ("plus", b"+", re.compile(rb"(?<![eE])\+")),
    ("exponent-tail", b"eE", re.compile(rb"[0-9.][eE][+-]?(?![0-9+-])")),
    ("hexadecimal", b"xX", re.compile(rb"0[xX]")),
    ("single-quotes", b"'", re.compile(rb"'")),
    (
        "other-white-space",
        b"\x0b\x0c\x1c\x1d\x1e\x1f\xc2\xe2",
        re.compile(rb"[\x0b\x0c\x1c-\x1f]|\xc2\xa0|\xc2\x85|\xe2\x80[\xa8\xa9]"),
    ),
    ("nul", b"\x00", re.compile(rb"\x00")),
    ("neg-zero-int", b"-", re.compile(rb"-0(?![0-9.eE])")),
    (
        "control-character",
        bytes((*range(1, 9), *range(14, 28), 127)),
        re.compile(rb"[\x01-\x08\x0e-\x1b\x7f]"),
    ),
    ("float", b".eE", re.compile(rb"[0-9][.eE][0-9+-]")),
)
"""Name, bytes of which the text must hold one, expression: few texts need many searches."""

_INSIDE: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("nul-in-string", re.compile(rb"\x00")),
    ("control-in-string", re.compile(rb"[\x01-\x1f]")),
    ("bad-escape", re.compile(rb'\\(?:[^"\\/bfnrtu]|u(?![0-9a-fA-F]{4}))')),
    ("surrogate-escape", re.compile(rb"\\u[dD][89a-fA-F]")),
    ("nul-escape", re.compile(rb"\\u0000")),
)
_BOM = b"\xef\xbb\xbf"
_SURROGATE_BYTES = re.compile(rb"\xed[\xa0-\xbf]")

FEATURES: dict[str, str] = {
    "nan": "a spelling of NaN, which JSON does not have",
    "infinity": "a spelling of Infinity, which JSON does not have",
    "block-comment": "a /* comment */",
    "line-comment": "a // or # comment",
    "trailing-comma": "a comma before a closing bracket",
    "leading-zero": "a number with a leading zero",
    "neg-leading-zero": "a negative number with a leading zero",
    "bare-minus": "a minus sign without a number",
    "neg-dot": "a minus sign followed by a decimal point",
    "dot-tail": "a number that ends in its decimal point",
    "dot-head": "a number that begins with its decimal point",
    "plus": "a plus sign before a number",
    "exponent-tail": "an exponent without digits",
    "hexadecimal": "a hexadecimal number",
    "single-quotes": "single quotes around a string",
    "other-white-space": "white space that JSON does not know",
    "nul": "a NUL byte outside of strings",
    "control-character": "a control character outside of strings",
    "neg-zero-int": "minus zero spelled as an integer",
    "nul-in-string": "a raw NUL byte inside a string",
    "control-in-string": "a raw control character inside a string",
    "bad-escape": "an escape that JSON does not have",
    "surrogate-escape": "an escaped surrogate, alone or paired",
    "nul-escape": "an escaped NUL",
    "surrogate-bytes": "a surrogate encoded as UTF-8 bytes",
    "invalid-utf8": "bytes that are not UTF-8",
    "bom": "a byte order mark",
    "utf16-or-utf32": "NUL bytes in the pattern of UTF-16 or UTF-32",
    "deep": "containers nested deeper than the strict profile allows",
    "big-integer": "an integer beyond 2^53",
    "number-length": "a number of more than 1,000 characters",
    "number-range": "a number that binary64 cannot hold",
    "duplicate-name": "the same name twice in one object",
    "long-fraction": "a fraction with more digits than binary64 can tell apart",
    "float": "a fraction or an exponent",
    "empty": "nothing but white space",
    "unclosed": "a value that ends before it is complete",
    "trailing": "something after the value",
    "syntax": "another break of the grammar",
    "plain": "nothing unusual",
}
"""Every feature with its meaning, in words for a report."""


def _looks_like_utf16(raw: bytes) -> bool:
    head = raw[:4]
    return head[:2] in (b"\xff\xfe", b"\xfe\xff") or (len(raw) > 1 and b"\x00" in head)


def _is_undecodable(raw: bytes) -> bool:
    """Whether there is no UTF-8 behind a byte order mark, where the judge looks no further."""
    if not raw.startswith(_BOM):
        return False
    try:
        raw.decode()
    except UnicodeDecodeError:
        return True
    return False


_BYTES: tuple[tuple[str, Callable[[bytes], bool]], ...] = (
    ("bom", lambda raw: raw.startswith(_BOM)),
    ("invalid-utf8", _is_undecodable),
    ("utf16-or-utf32", _looks_like_utf16),
    ("surrogate-bytes", lambda raw: _SURROGATE_BYTES.search(raw) is not None),
    ("empty", lambda raw: not raw.strip(b" \t\r\n")),
)


def name_features(raw: bytes, strict: Verdict, spec: Verdict) -> frozenset[str]:
    """Name what is unusual about a document, given the judge's two verdicts on it.

    Returns at least one name of :data:`FEATURES`; ``plain`` alone when nothing is unusual.
    """
    found = {name for name, test in _BYTES if test(raw)}
    strings = _STRING.findall(raw)
    outside = _STRING.sub(b'""', raw)
    inside = b"\n".join(s.replace(b"\n", b"\x01") for s in strings).replace(b"\n", b" ")
    present = frozenset(outside)
    found.update(
        name
        for name, needed, pattern in _OUTSIDE
        if not present.isdisjoint(needed) and pattern.search(outside)
    )
    found.update(name for name, pattern in _INSIDE if pattern.search(inside))
    found.update(_name_numbers(outside))
    if strict.rule in _BY_RULE:
        found.add(_BY_RULE[strict.rule])
    if spec.duplicates:
        found.add("duplicate-name")
    if _measure_depth(outside) > 128:
        found.add("deep")
    if spec.rule == "json-syntax":
        found.add(_name_syntax_fault(raw, spec))
    return frozenset(found or {"plain"})


_BY_RULE = {
    "utf8-invalid": "invalid-utf8",
    "utf8-bom": "bom",
    "json-depth": "deep",
    "json-duplicate-name": "duplicate-name",
    "json-lone-surrogate": "surrogate-escape",
    "json-integer-range": "big-integer",
    "json-number-range": "number-range",
    "json-number-length": "number-length",
}


def _name_syntax_fault(raw: bytes, spec: Verdict) -> str:
    if spec.at >= len(raw.rstrip(b" \t\r\n")):
        return "unclosed"
    head = raw[: spec.at].strip(b" \t\r\n")
    outside = _STRING.sub(b'""', head)
    closed = outside.count(b"{") == outside.count(b"}") and outside.count(b"[") == outside.count(
        b"]"
    )
    return "trailing" if head and closed else "syntax"


def _measure_depth(outside: bytes) -> int:
    """Greatest number of containers open at once, by brackets alone."""
    if outside.count(b"[") + outside.count(b"{") <= 128:
        return 0
    depth = deepest = 0
    for byte in outside:
        if byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
    return deepest


def _name_numbers(outside: bytes) -> set[str]:
    """Name numbers that readers are known to take differently."""
    found = set()
    for match in _REAL.finditer(outside):
        token = match.group()
        if len(token) < 16 and b"e" not in token and b"E" not in token:
            continue
        if len(token) > 1000:
            found.add("number-length")
        if _INTEGER.fullmatch(token):
            if len(token) > 20 or abs(int(token)) >= 2**53:
                found.add("big-integer")
        elif len(token) > 1000 or not 1e-300 < abs(float(token)) < 1e300:
            found.add("number-range")
        elif len(token) > 17:
            found.add("long-fraction")
    return found
