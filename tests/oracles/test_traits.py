"""Each trait is found where it stands and not beside it, and groups are the names of quirks."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from wirefence.fuzz.examination.quirk_probe import PROBES
from wirefence.oracles.document import judge_document
from wirefence.oracles.quirks import load_quirks, quirks_file
from wirefence.oracles.traits import (
    PLAIN,
    TRAITS,
    find_groups,
    find_traits,
    first_trait,
    groups_of,
    render_traits,
)
from wirefence.strategies.damage import apply_damage
from wirefence.strategies.json_text import json_text
from wirefence.strategies.records import Frame
from wirefence.strategies.source import RandomSource

DOCS = Path(__file__).resolve().parents[2] / "docs"

PAIRS: dict[str, tuple[bytes, bytes]] = {
    "surrogate-key": (b'{"\\ud800":1}', b'{"a":"\\ud800"}'),
    "lone-hi": (b'"\\ud800"', b'"\\ud800\\udc00"'),
    "lone-lo": (b'"\\udc00"', b'"\\ud800\\udc00"'),
    "surrogate-bytes": (b'"\xed\xa0\x80"', b'"\xed\x9f\xbf"'),
    "utf16-or-utf32": (b"1\x00", b'"abc\x00"'),
    "bom": (b"\xef\xbb\xbf1", b'"\xef\xbb\xbf1"'),
    "invalid-utf8": (b'"\xff"', b'"\xc3\xbf"'),
    "nul": (b"[\x00]", b'["\x00"]'),
    "nul-in-string": (b'"\x00"', b'"\\u0000"'),
    "control-in-string": (b'"\x1f"', b'"\x20"'),
    "lax-hex": (b'"\\u+041"', b'"\\\\u+041"'),
    "bad-escape": (b'"\\x41"', b'"\\\\x41"'),
    "block-comment": (b"/*x*/1", b'"/*x*/"'),
    "line-comment": (b"1//x", b"1/x"),
    "other-white-space": (b"\x0c1", b"\t1"),
    "control-character": (b"[\x01]", b'"\x01"'),
    "single-quotes": (b"'a'", b"\"'a'\""),
    "nan": (b"NaN", b'"NaN"'),
    "infinity": (b"-Infinity", b"-If"),
    "hexadecimal": (b"0x1F", b"1x0"),
    "neg-leading-zero": (b"-01", b"1e-01"),
    "leading-zero": (b"01", b"1e01"),
    "neg-dot": (b"-.5", b"-0.5"),
    "dot-tail": (b"[1.]", b"[1.0]"),
    "dot-head": (b"[.5]", b"[0.5]"),
    "bare-minus": (b"[-]", b"[-1]"),
    "exponent-tail": (b"1e+", b"1e+1"),
    "plus": (b"+1", b"1e+1"),
    "trailing-comma": (b"[1, ]", b"[1,2]"),
    "depth": (b"[" * 129 + b"]" * 129, b"[" * 128 + b"]" * 128),
    "int-4301d": (b"1" * 4301, b"1" * 4300),
    "fraction-4301d": (b"0." + b"1" * 4299, b"0." + b"1" * 4298),
    "number-1001c": (b"1" * 1001, b"1" * 1000),
    "int-310d": (b"1" * 310, b"1" * 309),
    "int>=10^20": (b"100000000000000000000", b"99999999999999999999"),
    "int>=2^64": (b"18446744073709551616", b"18446744073709551615"),
    "int>=2^63": (b"9223372036854775808", b"9223372036854775807"),
    "int<-2^63": (b"-9223372036854775809", b"-9223372036854775808"),
    "int>2^53": (b"9007199254740992", b"9007199254740991"),
    "int-21c": (b"0" * 20 + b"1", b"0" * 19 + b"1"),
    "neg-zero-int": (b"-0", b"-0.0"),
    "zero-huge-exp": (b"0e100", b"0e99"),
    "overflow-exp": (b"1.8e308", b"1.7e308"),
    "underflow": (b"5e-324", b"5e-307"),
    "float-1001c": (b"1." + b"0" * 999, b"1" * 1001),
    "long-mantissa": (b"1.00000000000000011", b"1.0000000000000011"),
    "dup-escaped": (b'{"a":1,"\\u0061":2}', b'{"a":1,"a":2}'),
    "duplicate-name": (b'{"a":1,"a":2}', b'{"a":1,"b":{"a":2}}'),
    "nul-escape": (b'"\\u0000"', b'"\\u0001"'),
    "escaped-pair": (b'"\\ud834\\udd1e"', b'"\\udd1e\\ud834"'),
    "unicode-escape": (b'"\\u0041"', b'"\\\\u0041"'),
    "empty-name": (b'{"":1}', b'{"a":""}'),
    "intlike-name": (b'{"12" :1}', b'{"a":"12"}'),
    "long-name": (b'{"%b":1}' % (b"a" * 65), b'{"%b":1}' % (b"a" * 64)),
    "long-string": (b'"%b"' % (b"a" * 65), b'"%b"' % (b"a" * 64)),
    "non-bmp": (b'"\xf0\x9f\x98\x80"', b'"\xef\xbf\xbd"'),
    "non-ascii": (b'"\xc3\xa9"', b'"\x7f"'),
    "backslash-letter": (b'"\\\\x"', b'"\\\\n"'),
    "surrogate-escape": (b'"\\\\ud800"', b'"\\\\ud700"'),
    "escape": (b'"\\n"', b'"n"'),
    "empty": (b" \n", b" 0"),
    "unclosed": (b"[1", b"[1]"),
    "trailing": (b"{}{}", b"[{},{}]"),
    "float>=1e300": (b"1e300", b"9e299"),
    "float<=1e-300": (b"1e-300", b"1.1e-300"),
    "zero-float": (b"0e5", b"0.0"),
    "padded-exponent": (b"1e-05", b"1e-5"),
    "neg-zero-exponent": (b"1e-0", b"1e-1"),
    "exponent": (b"1E5", b'"1E5"'),
    "long-fraction": (b"2.0000000000000000", b"2.000000000000000"),
    "fraction": (b"2.5", b"25"),
    "wrong-bracket": (b"[1}", b"[1]]"),
    "unclosed-string": (b'["a', b'["a"'),
    "unquoted-name": (b"{a:1}", b"[a:1]"),
    "missing-colon": (b'{"a"1}', b'{"a":1}'),
    "missing-comma": (b"[1 2]", b"1 2"),
    "missing-value": (b"[1,,2]", b"[1,]"),
    "literal-case": (b"[True]", b"[true]"),
    "digit-separator": (b"[1_000]", b"[_1]"),
    "other-digit": (b"[\xef\xbc\x91]", b"[\xef\xbc\xa1]"),
    "unicode-space": (b"[\xe3\x80\x801]", b"[\xc2\xa01]"),
    "unknown-word": (b"[None]", b"[TRUE]"),
    "foreign-text": (b"INFO: ready", b"[INFO]"),
    "syntax": (b"[1}", b"[1]]"),
}
"""For each trait a document that has it, and one near that has not."""

GROUPS: tuple[tuple[bytes, str], ...] = (
    (b"1", "plain"),
    (b'{"a":[1,25,null,true,"x"]}', "plain"),
    (b"[-1]", "plain"),
    (b'"\xc3\xa9"', "plain"),
    (b'"\xf0\x9f\x98\x80"', "plain"),
    (b'"\\n"', "plain"),
    (b'"\\u0041"', "plain"),
    (b'{"":1,"2":3}', "plain"),
    (b'"%b"' % (b"a" * 99), "plain"),
    (b'{"a":"NaN /* 01 */ .5 [1,] \'x\'"}', "plain"),
    (b"9007199254740991", "plain"),
    (b"NaN", "nan+syntax"),
    (b"[NaN]", "nan+syntax"),
    (b"-Infinity", "infinity+syntax"),
    (b"/*c*/1", "block-comment+syntax"),
    (b"1//c", "line-comment+trailing"),
    (b"#", "line-comment+syntax"),
    (b"[1,]", "syntax+trailing-comma"),
    (b"01", "leading-zero+trailing"),
    (b"-01", "neg-leading-zero+trailing"),
    (b"-", "bare-minus+syntax"),
    (b"-.5", "dot-head+neg-dot+bare-minus+syntax"),
    (b".5", "dot-head+syntax"),
    (b"1.", "dot-tail+trailing"),
    (b"1.e5", "dot-tail+trailing"),
    (b"+1", "plus+syntax"),
    (b"1e", "exponent-tail+trailing"),
    (b"1e+", "exponent-tail+float+trailing"),
    (b"0x1F", "hexadecimal+trailing"),
    (b"'a'", "single-quotes+syntax"),
    (b"\x0c1", "other-white-space+syntax"),
    (b"\xc2\xa01", "other-white-space+syntax"),
    (b"1\x00", "nul+trailing+utf16-or-utf32"),
    (b"[\x01]", "control-character+syntax"),
    (b"-0", "neg-zero-int"),
    (b"-0.0", "float"),
    (b'["abc\x00"]', "nul-in-string+syntax"),
    (b'"\x01"', "control-in-string+syntax"),
    (b'"\\x41"', "bad-escape+syntax"),
    (b'"\\u+041"', "bad-escape+syntax"),
    (b'"\\\\x41"', "bad-escape"),
    (b'"\\ud800"', "surrogate-escape"),
    (b'"\\ud834\\udd1e"', "surrogate-escape"),
    (b'{"\\ud800":1}', "surrogate-escape"),
    (b'"\\\\ud800"', "surrogate-escape"),
    (b'"\\u0000"', "nul-escape"),
    (b'"\xed\xa0\x80"', "invalid-utf8+surrogate-bytes"),
    (b'"\xff"', "invalid-utf8"),
    (b"\xef\xbb\xbf1", "bom"),
    (b'\xef\xbb\xbf"\xff"', "bom+invalid-utf8"),
    (b"\xff\xfe1\x00", "invalid-utf8+nul+utf16-or-utf32"),
    (b"9007199254740992", "big-integer"),
    (b"-123456789012345678901", "big-integer"),
    (b"0" * 20 + b"1", "big-integer+leading-zero+trailing"),
    (b"1" * 310, "big-integer"),
    (b"1" * 1001, "big-integer+number-length"),
    (b"1" * 4301, "big-integer+number-length"),
    (b"1e400", "float+number-range"),
    (b"1e300", "float+number-range"),
    (b"9e299", "float"),
    (b"1e-400", "float+number-range"),
    (b"5e-324", "float+number-range"),
    (b"1e-299", "float"),
    (b"0e5", "float+number-range"),
    (b"-0.0000000000000", "float+number-range"),
    (b"-0.000000000000", "float"),
    (b"0." + b"1" * 999, "float+number-length+number-range"),
    (b"0." + b"1" * 998, "float+long-fraction"),
    (b"1" + b"0" * 1001 + b"e-1001", "float+number-length+number-range"),
    (b"1.00000000000000011102", "float+long-fraction"),
    (b"2.5", "float"),
    (b"2E5", "float"),
    (b"1e-05", "float+neg-leading-zero"),
    (b"1e-0", "float+neg-zero-int"),
    (b'{"a":1,"a":2}', "duplicate-name"),
    (b'{"a":1,"\\u0061":2}', "duplicate-name"),
    (b"[" * 129 + b"]" * 129, "deep"),
    (b"[" * 129, "deep+unclosed"),
    (b"[" * 129 + b"}", "deep+syntax"),
    (b"", "empty+unclosed"),
    (b" ", "empty+unclosed"),
    (b"[1", "unclosed"),
    (b'"a', "syntax"),
    (b"{}{}", "trailing"),
    (b"1 2", "trailing"),
    (b"[1}", "syntax"),
    (b"]", "syntax"),
    (b"[NaN,9007199254740993]", "big-integer+nan+syntax"),
    (b"[9007199254740993.]", "big-integer+dot-tail+syntax"),
)
"""Documents with their groups, as quirks were stored under them before there were traits."""


@pytest.mark.parametrize("name", TRAITS)
def test_a_trait_is_found_and_not_in_a_document_near(name: str) -> None:
    having, near = PAIRS[name]
    assert name in find_traits(having)
    assert name not in find_traits(near)
    assert TRAITS[name].group in find_groups(having) | {PLAIN}


def test_every_trait_has_a_pair_of_documents() -> None:
    assert list(PAIRS) == list(TRAITS)


@pytest.mark.parametrize(("raw", "groups"), GROUPS, ids=lambda each: repr(each)[:30])
def test_groups_are_the_names_under_which_quirks_are_stored(raw: bytes, groups: str) -> None:
    assert find_groups(raw) == set(groups.split("+"))


@pytest.mark.parametrize("minor", [11, 12, 13, 14])
def test_every_stored_quirk_names_groups(minor: int) -> None:
    groups = {trait.group for trait in TRAITS.values()} | {PLAIN}
    for quirks in load_quirks(quirks_file((3, minor))).known.values():
        for quirk in quirks:
            assert set(quirk.partition(": ")[2].split("+")) <= groups


def _documents() -> list[bytes]:
    source = RandomSource(random.Random(11))
    found = [*PROBES, *(raw for pair in PAIRS.values() for raw in pair)]
    for _ in range(400):
        frames, _, _ = apply_damage(source, [Frame(json_text(source) + b"\n")], "2025-11-25")
        found += b"".join(frame.raw for frame in frames)[:20_000].split(b"\n")
    return found


def test_only_invalid_documents_have_a_trait_that_valid_json_cannot_have() -> None:
    for raw in _documents():
        invalid = {name for name in find_traits(raw) if not TRAITS[name].valid}
        assert bool(invalid) is bool(judge_document(raw, profile="spec").rule), raw


def test_traits_of_a_long_document_are_those_of_the_same_short_one() -> None:
    for raw in _documents():
        if not raw.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")) and b"\x00" not in raw:
            assert find_traits(b" " * 5_000 + raw) == find_traits(raw), raw


def test_a_plain_document_has_no_trait() -> None:
    assert find_traits(b'{"jsonrpc":"2.0","id":1,"method":"ping"}') == frozenset()
    assert find_groups(b'{"jsonrpc":"2.0","id":1,"method":"ping"}') == {PLAIN}
    assert first_trait(frozenset()) == PLAIN


def test_the_first_trait_is_the_first_of_the_table() -> None:
    assert first_trait({"syntax", "nan", "fraction"}) == "nan"
    assert first_trait({"fraction", "exponent"}) == "exponent"
    assert first_trait(find_traits(b'{"a":1,"\\u0061":2.5')) == "unicode-escape"


def test_a_trait_without_a_group_of_quirks_is_plain_alone_only() -> None:
    assert groups_of({"non-ascii", "escape"}) == {PLAIN}
    assert groups_of({"non-ascii", "nan"}) == {"nan"}


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (b"9007199254740992", "int>2^53"),
        (b"-123456789012345678901", "int-21c"),
        (b"1e400", "overflow-exp"),
        (b"0.123456789012345678", "long-mantissa"),
        (b"1" * 1_001, "number-1001c"),
    ],
)
def test_a_number_is_named_behind_a_fault_that_no_reader_gets_over(
    number: bytes, name: str
) -> None:
    assert {"nan", name} <= find_traits(b"[NaN,%b]" % number)
    assert name not in find_traits(b"[NaN,9007199254740991]")


@pytest.mark.parametrize(
    ("raw", "deep"),
    [
        (b"[" * 128 + b"]" * 128, False),
        (b"[[]," + b"[" * 127 + b"]" * 128, False),
        (b"[" * 129, True),
        (b"[" + b",".join([b"[]"] * 500) + b"]", False),
        (b'[{"a":[{}]},' + b'{"a":' * 130, True),
        (b'["%b"]' % (b"[" * 200), False),
    ],
)
def test_what_is_deep_is_open_at_once(raw: bytes, deep: bool) -> None:
    assert ("depth" in find_traits(raw)) is deep


@pytest.mark.parametrize(
    "raw",
    [b"1" * 1_001 + b"e-1001", b"0." + b"0" * 1_001 + b"1", b"-1." + b"5" * 2_000 + b"e10"],
)
def test_a_long_number_within_the_range_of_floats_is_neither_too_large_nor_too_small(
    raw: bytes,
) -> None:
    outside = {"overflow-exp", "underflow", "zero-float"}
    assert outside & find_traits(raw) == ({"underflow"} if b"0000" in raw else set())


def test_the_page_is_the_table() -> None:
    assert (DOCS / "traits.md").read_text(encoding="utf-8") == render_traits()
